"""Concatenated triplet networks: scaling, distances, and saving with shared or separate word vectors."""

import numpy as np
import pytest

from tests.core.models.triplet_network.themes import theme_triplets
from themescope.core.errors import DataError
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import load_model, save_model
from themescope.core.protocols import SILENT
from themescope.core.types import Corpus, Sentence, Split

SENTENCES = [Sentence(text) for text in ("theme1word1 the city", "", "theme2word3 common4 of the north")]
SMALL = {"vocabulary_limit": 50, "hidden": 6, "attention": 4, "threads": 1, "device": "cpu", "epochs": 1}


def net(seed, **changes):
    triplets = {Split.TRAIN: theme_triplets(4, seed), Split.VALIDATION: theme_triplets(2, seed=9)}
    built = REGISTRY.build("triplets-sen", SMALL | changes, seed=seed)
    built.fit(Corpus(triplets=triplets), SILENT)
    return built


@pytest.fixture(scope="module")
def components():
    return net(1), net(2)


def concatenated(models, **settings):
    built = REGISTRY.build("triplets-sen-titles", settings, seed=0)
    built.fit(Corpus(models=models), SILENT)
    return built


def test_components_are_the_vectors_of_the_networks(components):
    both = concatenated(components)
    vectors = both.embed(SENTENCES)
    assert np.array_equal(vectors, np.concatenate([component.embed(SENTENCES) for component in components], axis=1))
    a, b = vectors[[0, 0]], vectors[[2, 0]]
    apart = [
        component.distances(component.embed(SENTENCES)[[0]], component.embed(SENTENCES)[[2]])[0]
        for component in components
    ]
    assert both.distances(a, b) == pytest.approx([sum(apart), 0], abs=1e-5)
    assert both.metrics["titles: training triplets"] == 48


def test_unit_components_have_length_1(components):
    vectors = concatenated(components, unit_components=True).embed(SENTENCES)
    for component in (vectors[:, :12], vectors[:, 12:]):
        assert np.linalg.norm(component, axis=1) == pytest.approx([1, 0, 1], abs=1e-6)


def test_shared_word_vectors_are_saved_once(components, tmp_path):
    for name, models in (("one", components), ("two", (components[0], net(3, vocabulary_limit=20)))):
        both = concatenated(models)
        save_model(both, "triplets-sen-titles", tmp_path / name, {})
        assert len(list((tmp_path / name).glob("*words.txt"))) == {"one": 1, "two": 2}[name]
        loaded, _ = load_model(tmp_path / name)
        assert np.array_equal(loaded.embed(SENTENCES), both.embed(SENTENCES))
        assert loaded.metrics == both.metrics


def test_networks_of_different_distances_are_compared_by_cosine(components):
    both = concatenated((components[0], net(4, loss="facenet")))
    vectors = both.embed(SENTENCES)
    cosine = vectors[0] @ vectors[2] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[2])
    assert both.distances(vectors[[0]], vectors[[2]]) == pytest.approx([1 - cosine], abs=1e-6)


def test_exactly_two_networks_can_be_concatenated(components):
    other = REGISTRY.build("tfidf", {}, seed=0)
    for models in ((), components[:1], (*components, components[0]), (components[0], other)):
        with pytest.raises(DataError, match="two trained triplet networks"):
            concatenated(models)


def test_a_bound_on_norms_holds_wherever_the_network_is_used():
    bounded = net(5, norm_bound=0.05)
    assert np.linalg.norm(bounded.embed(SENTENCES), axis=1) == pytest.approx([0.05, 0, 0.05], rel=1e-5)


def test_a_model_of_version_0_1_is_loaded(components, tmp_path):
    both = concatenated(components, unit_components=True)
    both.save(tmp_path)
    (tmp_path / "components.json").rename(tmp_path / "halves.json")
    settings = tmp_path / "embedder.json"
    settings.write_text(settings.read_text("utf-8").replace("unit_components", "unit_halves"), "utf-8")
    loaded = type(both).load(tmp_path)
    assert loaded.config == both.config
    assert np.array_equal(loaded.embed(SENTENCES), both.embed(SENTENCES))
