"""Batches: every triplet once in an epoch, few distinct sentences by article, order determined by the seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.models.triplet_network.themes import NO_WORDS, theme_data
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.network import epoch_batches, length_chunks, triplet_data
from themescope.core.types import TripletTexts


@pytest.mark.parametrize("batching", ["by-article", "shuffled"])
def test_an_epoch_contains_every_triplet_once(batching):
    data = theme_data(7, per_article=23)
    config = TripletNetConfig(batching=batching, batch_size=10, run_length=6)
    first, again, other = (epoch_batches(data, config, 1, epoch) for epoch in (0, 0, 1))
    assert sorted(np.concatenate(first)) == list(range(len(data)))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(np.concatenate(first), np.concatenate(other))
    assert max(map(len, first)) <= 10


def test_an_epoch_can_be_a_sample():
    config = TripletNetConfig(batch_size=10, triplets_per_epoch=25)
    drawn = np.concatenate(epoch_batches(theme_data(), config, 1, 0))
    assert len(drawn) == len(set(drawn)) == 25


def test_a_limit_keeps_whole_articles_the_same_in_every_epoch():
    data = theme_data(7, per_article=10)
    config = TripletNetConfig(batch_size=8, training_limit=35)
    first, second = (np.sort(np.concatenate(epoch_batches(data, config, 1, epoch))) for epoch in (0, 1))
    assert np.array_equal(first, second)
    assert sorted(np.unique(data.groups[first], return_counts=True)[1]) == [10, 10, 10]
    other = np.concatenate(epoch_batches(data, config, 2, 0))
    assert set(data.groups[other]) != set(data.groups[first])
    alone = np.concatenate(epoch_batches(data, TripletNetConfig(training_limit=1), 1, 0))
    assert len(set(data.groups[alone])) == 1


def test_by_article_shares_sentences():
    sentences = [[f"article{a} sentence{i}" for i in range(40)] for a in range(6)]
    texts = TripletTexts([], [], [], np.repeat(np.arange(6), 38 * 4))
    for article in sentences:
        for i in range(38):
            for _ in range(4):
                texts.pivots.append(article[i])
                texts.positives.append(article[i + 1])
                texts.negatives.append(article[i + 2])
    data = triplet_data(texts, NO_WORDS)
    assert len(data.tokens) == 240

    def distinct(batching):
        config = TripletNetConfig(batching=batching, batch_size=64, run_length=32)
        return np.mean([len(np.unique(data.triplets[b])) / len(b) for b in epoch_batches(data, config, 1, 0)])

    assert distinct("by-article") < distinct("shuffled") / 2


def test_balance_gives_articles_the_same_weight():
    data = theme_data(3, per_article=4)
    groups = np.array([0] * 9 + [1] * 2 + [2])
    weights = type(data)(data.tokens, data.triplets, groups).weights(1.0)
    sums = np.bincount(groups, weights)
    assert sums == pytest.approx(np.full(3, 4.0)) and weights.mean() == pytest.approx(1)
    assert (data.weights(0.0) == 1).all()


@given(st.lists(st.integers(0, 60), max_size=80), st.integers(1, 400))
def test_chunks_contain_every_row_once_within_the_limit(lengths, tokens):
    lengths = np.array(lengths, np.int64)
    chunks = length_chunks(lengths, tokens)
    assert sorted(np.concatenate([*chunks, []])) == list(range(len(lengths)))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * max(lengths[chunk].max(), 1) <= tokens


def test_padded_ids_are_the_words():
    data = triplet_data(TripletTexts(["a b c"], ["a"], [""], np.array([0])), NO_WORDS)
    ids, lengths = data.tokens.padded(np.array([0, 1, 2]))
    assert lengths.tolist() == [3, 1, 0]
    assert ids.tolist() == [[0, 1, 2], [0, 0, 0], [0, 0, 0]]


def test_a_limit_samples_triplets():
    texts = TripletTexts(list("abcdef"), list("ghijkl"), list("mnopqr"), np.arange(6))
    data = triplet_data(texts, NO_WORDS, limit=3, seed=1)
    assert len(data) == 3 and len(data.tokens) == 9
