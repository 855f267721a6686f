"""Two networks side by side: raw and with unit halves, saved with one word table or two."""

import numpy as np
import pytest

from core.errors import DataError
from core.models import REGISTRY
from core.models.artifact import load_model, save_model
from core.protocols import SILENT
from core.types import Corpus, Sentence, Split
from tests.core.models.networks.themes import theme_triplets

SENTENCES = [Sentence(text) for text in ("theme1word1 the city", "", "theme2word3 common4 of the north")]
SMALL = {"vocabulary_limit": 50, "hidden": 6, "attention": 4, "threads": 1, "device": "cpu", "epochs": 1}


def net(seed, **changes):
    triplets = {Split.TRAIN: theme_triplets(4, seed), Split.VALIDATION: theme_triplets(2, seed=9)}
    built = REGISTRY.build("triplets-sen", SMALL | changes, seed=seed)
    built.fit(Corpus(triplets=triplets), SILENT)
    return built


@pytest.fixture(scope="module")
def halves():
    return net(1), net(2)


def joined(models, **settings):
    built = REGISTRY.build("triplets-sen-titles", settings, seed=0)
    built.fit(Corpus(models=models), SILENT)
    return built


def test_raw_halves_are_the_vectors_of_the_networks(halves):
    both = joined(halves)
    vectors = both.embed(SENTENCES)
    assert np.array_equal(vectors, np.concatenate([half.embed(SENTENCES) for half in halves], axis=1))
    a, b = vectors[[0, 0]], vectors[[2, 0]]
    apart = [half.distances(half.embed(SENTENCES)[[0]], half.embed(SENTENCES)[[2]])[0] for half in halves]
    assert both.distances(a, b) == pytest.approx([sum(apart), 0], abs=1e-5)
    assert both.metrics["titles: training triplets"] == 48


def test_unit_halves_have_length_1_each(halves):
    vectors = joined(halves, unit_components=True).embed(SENTENCES)
    for half in (vectors[:, :12], vectors[:, 12:]):
        assert np.linalg.norm(half, axis=1) == pytest.approx([1, 0, 1], abs=1e-6)


def test_one_word_table_is_saved_once_and_two_are_saved_both(halves, tmp_path):
    for name, models in (("one", halves), ("two", (halves[0], net(3, vocabulary_limit=20)))):
        both = joined(models)
        save_model(both, "triplets-sen-titles", tmp_path / name, {})
        assert len(list((tmp_path / name).glob("*words.txt"))) == {"one": 1, "two": 2}[name]
        loaded, _ = load_model(tmp_path / name)
        assert np.array_equal(loaded.embed(SENTENCES), both.embed(SENTENCES))
        assert loaded.metrics == both.metrics


def test_networks_of_different_distances_are_compared_by_cosine(halves):
    both = joined((halves[0], net(4, loss="facenet")))
    vectors = both.embed(SENTENCES)
    cosine = vectors[0] @ vectors[2] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[2])
    assert both.distances(vectors[[0]], vectors[[2]]) == pytest.approx([1 - cosine], abs=1e-6)


def test_only_two_networks_can_be_joined(halves):
    other = REGISTRY.build("tfidf", {}, seed=0)
    for models in ((), halves[:1], (*halves, halves[0]), (halves[0], other)):
        with pytest.raises(DataError, match="two trained triplet networks"):
            joined(models)


def test_a_bound_on_norms_holds_wherever_the_network_is_used():
    bounded = net(5, norm_bound=0.05)
    assert np.linalg.norm(bounded.embed(SENTENCES), axis=1) == pytest.approx([0.05, 0, 0.05], rel=1e-5)
