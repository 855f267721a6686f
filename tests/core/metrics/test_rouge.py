"""ROUGE-1: hand-computed examples, and the rouge-score package on the settings it shares."""

import json
import lzma
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.metrics.statistics import RougeSettings, rouge_1, rouge_tokens
from themescope.core.text.languages import STOP_WORDS

PLAIN = RougeSettings(words=0, stemming=False, remove_stop_words=False)
STEMMED = RougeSettings(words=0, remove_stop_words=False)
PAPER = RougeSettings()
TEXT = st.text("abcdefg -'.,XYZ09é\n", max_size=60)


def test_equal_texts_score_one_and_empty_ones_nothing():
    counts = rouge_1("Grain exports rose sharply.", ["Grain exports rose sharply."], PAPER)
    assert (counts.recall, counts.precision, counts.f1) == (1.0, 1.0, 1.0)
    counts = rouge_1("", [""], PAPER)
    assert (counts.recall, counts.precision, counts.f1) == (0.0, 0.0, 0.0)


def test_references_are_averaged_by_their_words_of_which_only_the_first_count():
    long = " ".join(f"word{i}" for i in range(100))
    short = " ".join(f"other{i}" for i in range(50))
    counts = rouge_1(" ".join(f"word{i}" for i in range(50)), [long, short], PAPER)
    assert (counts.hits, counts.total, counts.compared) == (50, 150, 100)
    assert counts.recall == pytest.approx(50 / 150) and counts.precision == pytest.approx(0.5)
    text = " ".join(f"w{i}" for i in range(150))
    assert rouge_1(text, [text], PAPER).total == 100
    assert rouge_1(text, [text], RougeSettings(words=0)).total == 150
    assert rouge_1("w120", [text], PAPER).hits == 0


def test_switches_and_stop_words():
    assert rouge_tokens("The U.S.-backed ships' sailing", PAPER) == {"back": 1, "ship": 1, "sail": 1}
    assert rouge_tokens("The ships", STEMMED) == {"the": 1, "ship": 1}
    assert rouge_tokens("The ships", PLAIN) == {"the": 1, "ships": 1}
    assert rouge_tokens("dies ties die", STEMMED) == {"di": 1, "ti": 1, "die": 1}  # short tokens stay
    assert all(rouge_tokens(word, PLAIN) == {word: 1} for word in STOP_WORDS)
    assert {"the", "of", "reuters"} <= STOP_WORDS and "grain" not in STOP_WORDS


@given(TEXT, TEXT)
def test_bounds_symmetry_and_equality_to_the_rouge_score_package(a, b):
    there, back = rouge_1(a, [b], PAPER), rouge_1(b, [a], PAPER)
    assert 0 <= there.hits <= min(there.total, there.compared)
    assert there.recall == back.precision and there.f1 == back.f1
    assert rouge_1(a, [b, b], PAPER).recall == there.recall
    for settings in (PLAIN, STEMMED):
        assert_equal(a, b, settings)


def test_equal_to_the_rouge_score_package_on_real_summaries(shared_data):
    with lzma.open(shared_data / "summaries" / "billsum100.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line, _ in zip(lines, range(25), strict=False):
            record = json.loads(line)
            assert_equal(record["text"][:4000], record["summary"], PLAIN)
            assert_equal(record["text"][:4000], record["summary"], STEMMED, stems=0.01)


@cache
def package(stemming):
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge1"], use_stemmer=stemming)


def assert_equal(system, reference, settings, stems=0.0):
    theirs = package(settings.stemming).score(reference, system)["rouge1"]
    ours = rouge_1(system, [reference], settings)
    for mine, other in zip((ours.precision, ours.recall, ours.f1), theirs, strict=True):
        assert mine == pytest.approx(other, abs=1e-12 + stems)
