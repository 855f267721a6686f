import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.core.models.recurrent.test_skip_thought import SMALL as SKIP
from tests.core.models.recurrent.test_skip_thought import gap, running_text, tokenised
from tests.core.reports import Watched
from themescope.core.errors import Cancelled, DataError, TrainingError
from themescope.core.models import REGISTRY
from themescope.core.models.recurrent.data import END, SPECIAL, SaeConfig, SdaeConfig, word_rows
from themescope.core.models.recurrent.model import corrupted, train_autoencoder, train_skip
from themescope.core.types import SILENT, Corpus, NullReport, Sentence

SMALL = {"hidden": 16, "decoder": 16, "word_dim": 12, "negatives": 40, "batch_size": 16, "threads": 1, "device": "cpu",
         "learning_rate": 0.02, "epochs": 3}  # fmt: skip
LENGTHS = st.lists(st.integers(0, 9), min_size=1, max_size=6)
SHARES = st.floats(0, 1)


def padded(lengths):
    """Sentences without repeated words."""
    ids = np.zeros((len(lengths), max(*lengths, 1)), np.int64)
    for row, length in enumerate(lengths):
        ids[row, :length] = 100 * (row + 1) + np.arange(length)
    return ids, np.array(lengths)


def noisy(lengths, deleted, swapped, seed=0):
    ids, found = padded(lengths)
    seen, left = corrupted(ids, found, deleted, swapped, np.random.default_rng(seed))
    return [row[:n].tolist() for row, n in zip(ids, found, strict=True)], seen, left


def rows_of(sentences, least=3):
    return word_rows((s.text.split() for s in sentences), 1_000, lambda: None, least=least)


@given(LENGTHS, SHARES, SHARES, st.integers(0, 5))
def test_noise_adds_no_words_and_keeps_the_padding(lengths, deleted, swapped, seed):
    whole, seen, left = noisy(lengths, deleted, swapped, seed)
    again = noisy(lengths, deleted, swapped, seed)
    assert np.array_equal(seen, again[1]) and np.array_equal(left, again[2])
    for sentence, row, n in zip(whole, seen, left, strict=True):
        assert (row[n:] == END).all()
        assert len(set(row[:n].tolist())) == n <= len(sentence)
        assert set(row[:n].tolist()) <= set(sentence)


@given(LENGTHS, SHARES, st.integers(0, 5))
def test_deletion_keeps_the_order_of_words(lengths, deleted, seed):
    whole, seen, left = noisy(lengths, deleted, 0.0, seed)
    for sentence, row, n in zip(whole, seen, left, strict=True):
        assert row[:n].tolist() == [word for word in sentence if word in row[:n]]
        assert deleted < 1 or n == 0
        assert deleted > 0 or n == len(sentence)


@given(LENGTHS, SHARES, st.integers(0, 5))
def test_swapped_pairs_do_not_overlap(lengths, swapped, seed):
    whole, seen, left = noisy(lengths, 0.0, swapped, seed)
    for sentence, row, n in zip(whole, seen, left, strict=True):
        assert n == len(sentence)
        for first in range(0, n - 1, 2):
            pair, found = sentence[first : first + 2], row[first : first + 2].tolist()
            assert found in (pair, pair[::-1])
            assert swapped < 1 or found == pair[::-1]
            assert swapped > 0 or found == pair
        if n % 2:
            assert row[n - 1] == sentence[-1]


def test_noise_has_the_configured_frequency_and_changes_what_is_learned():
    whole, seen, left = noisy([40] * 500, 0.1, 0.0)
    assert left.mean() / 40 == pytest.approx(0.9, abs=0.01)
    whole, seen, _ = noisy([40] * 500, 0.0, 0.3)
    turned = np.mean([row[::2] != np.array(sentence)[::2] for sentence, row in zip(whole, seen, strict=True)])
    assert turned == pytest.approx(0.3, abs=0.01)
    data = rows_of(running_text(4))
    quiet = train_autoencoder(SaeConfig(**SMALL), 5, data, SILENT)
    without = SdaeConfig(**SMALL, deleted=0.0, swapped=0.0)
    loud = train_autoencoder(SdaeConfig(**SMALL), 5, data, SILENT)
    assert np.array_equal(quiet.table, train_autoencoder(without, 5, data, SILENT).table)
    assert not np.array_equal(quiet.table, loud.table)


def test_short_sentences_punctuation_and_unknown_words_are_not_used():
    rows = word_rows([["a", "b", "a"], ["b"], [], ["c", "a", "b"]], 2, lambda: None, least=3)
    assert rows.words == ["a", "b"] and rows.usable.tolist() == [0, 3]
    assert rows.counts.tolist() == [4, 1, 3, 3]
    assert rows.lengths.tolist() == [3, 1, 0, 3]
    assert rows.padded(np.array([3]))[0].tolist() == [[1, SPECIAL, SPECIAL + 1]]
    model = REGISTRY.build("sdae", SMALL | {"epochs": 1}, seed=1).fit(Corpus(sentences=running_text(4)))
    texts = ("theme1word2 common4 theme1word3", "Theme1word2, qqxx (common4) theme1word3!", "qqxx", "")
    plain, marked, unknown, empty = model.embed([Sentence(t) for t in texts])
    assert np.array_equal(plain, marked) and plain.any()
    assert not unknown.any() and not empty.any()


@pytest.mark.parametrize("method", ["sae", "sdae"])
def test_the_loss_falls_on_a_tiny_corpus(method):
    sentences = running_text(12)
    settings = {"epochs": 8, "batch_size": 32, "learning_rate": 0.06, "dropout_rate": 0.0}
    curve = Watched()
    model = REGISTRY.build(method, SMALL | settings, seed=1).fit(Corpus(sentences=sentences), curve)
    assert {name for name, _, _ in curve.points} == {"loss"}
    losses = [value for _, _, value in curve.points]
    assert losses[-1] < losses[0] - 1
    vectors = model.embed(sentences)
    assert vectors.shape == (len(sentences), 32)
    assert gap(vectors, sentences) > 0.4


def denoising(report):
    return train_autoencoder(SdaeConfig(**SMALL), 5, rows_of(running_text(8)), report)


def skipping(report):
    return train_skip(SKIP, 5, tokenised(running_text(8)), report)


@pytest.mark.parametrize("training", [denoising, skipping])
def test_a_resumed_training_ends_with_the_same_weights(tmp_path, training):
    undisturbed = training(SILENT)
    for interrupted_at in (4, 17, 31):
        with pytest.raises(Cancelled):
            training(Watched(tmp_path, interrupted_at))
        resumed = training(NullReport(tmp_path))
        assert all(torch.equal(undisturbed.weights[name], resumed.weights[name]) for name in undisturbed.weights)
        assert np.array_equal(undisturbed.table, resumed.table) and not list(tmp_path.iterdir())


def test_a_corpus_without_sentences_is_refused():
    with pytest.raises(DataError, match="has none"):
        REGISTRY.build("sae", SMALL, seed=0).fit(Corpus(), SILENT)
    with pytest.raises(TrainingError, match="No sentence has 3 words"):
        REGISTRY.build("sdae", SMALL, seed=0).fit(Corpus(sentences=[Sentence("two words")]), SILENT)
