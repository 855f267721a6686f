"""The topic task: labels by LexRank, parts, counts; shares beside the published ones on the real collections (J.15)."""

import math
import unicodedata
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.tasks.topics import PUBLISHED, TopicDocument, TopicSettings, assemble, central, long_enough
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import SILENT, Sentence

SETTINGS = TopicSettings()


def document(number, topic, part, sentences=7):
    listed = [Sentence(f"word {topic} number {i}", number * 100 + i, number, position=i) for i in range(sentences)]
    return TopicDocument(f"Title {number}", topic, part, listed)


def vectors(document):
    return np.random.default_rng(int(document.title[6:])).normal(size=(len(document.sentences), 5))


def topic_task(documents, settings):
    return assemble(((d, central(d.sentences, x, settings)) for d, x in documents), settings)


def task(documents, settings=SETTINGS):
    return topic_task(((d, vectors(d)) for d in documents), settings)


CORPUS = [document(i, ("grain", "ship")[i % 2], "test" if i % 3 == 0 else "train") for i in range(60)]


def test_every_document_with_topic_and_part_gives_a_fifth_of_its_sentences():
    made = task(CORPUS)
    assert made.topics == ("grain", "ship")
    assert (made.counts.documents, made.counts.sentences, made.counts.annotated) == (60, 420, 120)
    articles = np.concatenate([made.train.articles, made.validation.articles, made.test.articles])
    assert np.bincount(articles).tolist() == [2] * 60
    assert (made.test.articles % 3 == 0).all() and len(made.test) == 40
    assert len(made.validation) == 2 * round(0.2 * 40) and len(made.train) == 64
    for items in (made.train, made.validation, made.test):
        assert (items.labels == items.articles % 2).all()
        assert (items.sentences == items.articles * 100 + items.positions).all()
    extra = [replace(CORPUS[0], topic=""), replace(CORPUS[0], part="")]
    assert task([*CORPUS, *extra]).counts == task(CORPUS).counts


def test_the_central_sentences_are_chosen_among_long_ones():
    d = document(1, "grain", "train", 5)
    x = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]], float)
    assert central(d.sentences, x, SETTINGS) == [2]
    assert central(d.sentences, x, TopicSettings(share=0.4)) == [0, 2]
    texts = ["Yes, no!", "a b c", "one-two three", "...", "x"]
    sentences = [Sentence(text, i, 1, position=i) for i, text in enumerate(texts)]
    assert long_enough(sentences, 3) == [1, 2]
    assert central(sentences, np.ones((5, 1)), SETTINGS) == [1]
    assert central(sentences[3:], np.zeros((2, 2)), SETTINGS) == []


@given(st.integers(1, 60))
def test_a_share_is_rounded_up(n):
    d = document(1, "grain", "train", n)
    assert len(central(d.sentences, np.ones((n, 1)), SETTINGS)) == math.ceil(n / 5)


def test_held_out_documents_depend_on_seed_and_title_in_any_spelling_alone():
    def held(documents, seed=0):
        return {*task(documents, TopicSettings(seed=seed)).validation.articles}

    assert held(CORPUS) == held(CORPUS[::-1]) != held(CORPUS, seed=1)
    assert len(held(CORPUS) - held(CORPUS[:-1])) <= 1
    assert len(task(CORPUS, TopicSettings(validation=0.0)).validation) == 0
    documents = []
    for number in range(40):
        spelled = unicodedata.normalize(("NFC", "NFD")[number % 2], f"Zoë_{number // 2}")
        topic = ("grain", "ship")[number // 2 % 2]
        documents.append(replace(document(number, topic, "train" if number < 36 else "test"), title=spelled))
    made = topic_task(((d, np.ones((len(d.sentences), 2))) for d in documents), SETTINGS)
    apart = {*made.validation.articles.tolist()}
    assert apart and all((number in apart) == (number + 1 in apart) for number in range(0, 36, 2))


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ([], "at least two"),
        (CORPUS[::2], "The documents have 1"),
        ([d for d in CORPUS if d.part == "train"], "test part"),
        ([d for d in CORPUS if d.part == "test"], "training part"),
    ],
)
def test_what_is_no_task_is_refused(documents, words):
    with pytest.raises(DataError, match=words):
        task(documents)
    with pytest.raises(DataError, match="but 2 vectors"):
        central(CORPUS[0].sentences, np.zeros((2, 2)), SETTINGS)


def real(paths, reader):
    """Documents of a real collection; how many sentences get labels does not depend on the vectors."""
    splitter, number = SentenceSplitter("en"), 0
    for path in paths:
        for article in READERS.build(reader).read(path, SILENT):
            number += 1
            split = split_article(article, splitter)
            texts = [text for s in split.sections for p in s.paragraphs for text in p.sentences]
            sentences = [Sentence(text, i, number, position=i) for i, text in enumerate(texts)]
            found = TopicDocument(article.title, article.topic, article.part, sentences)
            yield found, np.ones((len(texts), 1))


def files_of(shared_data: Path) -> dict[str, list[Path]]:
    return {
        "reuters": sorted((shared_data / "reuters21578").glob("reut2-*.sgm.gz")),
        "newsgroups": [shared_data / "newsgroups20" / f"8groups-{part}.jsonl.xz" for part in ("train", "test")],
    }


def test_a_third_of_the_sentences_of_reuters_and_a_quarter_of_newsgroups_are_annotated(shared_data: Path):
    counts = topic_task(real(files_of(shared_data)["reuters"][1::5], "reuters-sgml"), SETTINGS).counts
    assert counts.annotated / counts.sentences == pytest.approx(0.32, abs=0.015) and counts.documents > 1_000
    pairs = real(files_of(shared_data)["newsgroups"][1:], "newsgroups")
    half = (replace(d, part="train" if i % 2 else "test") for i, (d, _) in enumerate(islice(pairs, 1_500)))
    counts = topic_task(((d, np.ones((len(d.sentences), 1))) for d in half), SETTINGS).counts
    assert counts.annotated / counts.sentences == pytest.approx(0.23, abs=0.015)


@pytest.mark.slow
def test_reuters_beside_the_published_counts(shared_data: Path):
    made = topic_task(real(files_of(shared_data)["reuters"], "reuters-sgml"), SETTINGS).counts
    published = PUBLISHED["reuters"]
    assert made.documents == published.documents == 9_001
    # Fewer: "Blah blah blah.", which stands for the text of 700 documents, is no sentence here.
    assert made.sentences == pytest.approx(published.sentences, rel=0.03)
    assert made.annotated == pytest.approx(published.annotated, rel=0.02)
    assert made.test == pytest.approx(published.test, rel=0.02)
    assert made.train == pytest.approx(published.train, rel=0.02)


@pytest.mark.slow
def test_newsgroups_beside_the_published_counts(shared_data: Path):
    made = topic_task(real(files_of(shared_data)["newsgroups"], "newsgroups"), SETTINGS).counts
    published = PUBLISHED["newsgroups"]
    # 7,781 messages, less those of which the cleaning leaves nothing; fewer sentences than Punkt finds.
    assert 7_700 < made.documents <= published.documents
    assert made.sentences == pytest.approx(published.sentences, rel=0.05)
    assert made.annotated == pytest.approx(published.annotated, rel=0.05)
