import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.models.con_s2v.topics import accuracy, build
from tests.core.models.triplet_network.themes import theme_triplets
from themescope.core.errors import DataError
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import load_model, save_model
from themescope.core.models.composite import position_rows, transition
from themescope.core.models.con_s2v.text import discourse_graph
from themescope.core.types import Corpus, Sentence, Split

SENTENCES = [Sentence(text) for text in ("theme1word1 the city", "", "theme2word3 common4 of the north")]
SMALL = {"vocabulary_limit": 50, "hidden": 6, "attention": 4, "threads": 1, "device": "cpu", "epochs": 1}


def net(seed, **changes):
    triplets = {Split.TRAIN: theme_triplets(4, seed), Split.VALIDATION: theme_triplets(2, seed=9)}
    return REGISTRY.build("triplets-sen", SMALL | changes, seed=seed).fit(Corpus(triplets=triplets))


@pytest.fixture(scope="module")
def components():
    return net(1), net(2)


def concatenated(models, **settings):
    return REGISTRY.build("triplets-sen-titles", settings, seed=0).fit(Corpus(models=models))


def test_components_are_the_vectors_of_the_networks_also_of_length_1_or_other_distances(components):
    both = concatenated(components)
    vectors = both.embed(SENTENCES)
    own = [component.embed(SENTENCES) for component in components]
    assert np.array_equal(vectors, np.concatenate(own, axis=1))
    a, b = vectors[[0, 0]], vectors[[2, 0]]
    apart = [component.distances(x[[0]], x[[2]])[0] for component, x in zip(components, own, strict=True)]
    assert both.distances(a, b) == pytest.approx([sum(apart), 0], abs=1e-5)
    assert both.metrics["titles: training triplets"] == 48
    vectors = concatenated(components, unit_components=True).embed(SENTENCES)
    for component in (vectors[:, :12], vectors[:, 12:]):
        assert np.linalg.norm(component, axis=1) == pytest.approx([1, 0, 1], abs=1e-6)
    mixed = concatenated((components[0], net(4, loss="facenet")))
    vectors = mixed.embed(SENTENCES)
    cosine = vectors[0] @ vectors[2] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[2])
    assert mixed.distances(vectors[[0]], vectors[[2]]) == pytest.approx([1 - cosine], abs=1e-6)


def test_shared_word_vectors_are_saved_once_and_files_of_version_0_1_loaded(components, tmp_path):
    for name, models in (("one", components), ("two", (components[0], net(3, vocabulary_limit=20)))):
        both = concatenated(models)
        save_model(both, "triplets-sen-titles", tmp_path / name, {})
        assert len(list((tmp_path / name).glob("*words.txt"))) == {"one": 1, "two": 2}[name]
        loaded, _ = load_model(tmp_path / name)
        assert np.array_equal(loaded.embed(SENTENCES), both.embed(SENTENCES))
        assert loaded.metrics == both.metrics
    older = concatenated(components, unit_components=True)
    older.save(tmp_path)
    (tmp_path / "components.json").rename(tmp_path / "halves.json")
    settings = tmp_path / "embedder.json"
    settings.write_text(settings.read_text("utf-8").replace("unit_components", "unit_halves"), "utf-8")
    read = type(older).load(tmp_path)
    assert read.config == older.config
    assert np.array_equal(read.embed(SENTENCES), older.embed(SENTENCES))


def test_exactly_two_networks_can_be_concatenated(components):
    other = REGISTRY.build("tfidf", {}, seed=0)
    for models in ((), components[:1], (*components, components[0]), (components[0], other)):
        with pytest.raises(DataError, match="two trained triplet networks"):
            concatenated(models)


def test_a_bound_on_norms_holds_wherever_the_network_is_used():
    bounded = net(5, norm_bound=0.05)
    assert np.linalg.norm(bounded.embed(SENTENCES), axis=1) == pytest.approx([0.05, 0, 0.05], rel=1e-5)


ARTICLES, POSITIONS = np.array([5, 5, 5, 2, -1, -1]), np.array([1, 0, 2, 0, 0, 1])
X = np.array([[3.0, 0], [0, 3], [6, 0], [1, 1], [2, 0], [0, 2]], np.float32)


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("doc-mean", [*[[3, 1]] * 3, [1, 1], [2, 0], [0, 2]]),
        # A neighbour has a weight of a quarter; in order of positions the rows of article 5 are 1, 0, 2.
        ("neighbour-mean", [[3, 0.75], [1.5, 1.5], [4.5, 0], [1, 1], [2, 0], [0, 2]]),
    ],
)
def test_means_leave_sentences_without_an_article(method, wanted):
    assert np.allclose(REGISTRY.build(method, seed=0)._smooth(X, ARTICLES, POSITIONS), wanted)


@given(st.floats(0, 0.95), st.integers(0, 100))
def test_smoothing_solves_its_equation(share, seed):
    x = np.random.default_rng(seed).normal(size=(6, 3))
    graph = discourse_graph(ARTICLES, POSITIONS)
    found = REGISTRY.build("smoothed", {"share": share}, seed=0)._smooth(x, ARTICLES, POSITIONS)
    own = np.where(graph.degrees == 0, 1.0, 0.0)[:, None]
    around = transition(graph) @ found + own * found
    assert np.allclose(found, (1 - share) * x + share * around, atol=1e-9)
    assert np.allclose(found[graph.degrees == 0], x[graph.degrees == 0])


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=30), st.floats(1, 100), st.integers(1, 10**9))
def test_positions_have_the_similarity_of_the_curve_within_an_article_only(positions, reach, article):
    rows = position_rows([Sentence("x", article_id=4, position=p) for p in positions], reach)
    distances = np.subtract.outer(positions, positions)
    assert np.allclose((rows @ rows.T).toarray(), np.exp(-(distances**2) / (2 * reach**2)), atol=2e-3)
    rows = position_rows([Sentence("x", article_id=article + n, position=positions[0]) for n in range(3)], 6.0)
    assert np.allclose((rows @ rows.T).toarray(), np.eye(3), atol=1e-6)


@pytest.mark.parametrize("id", ["doc-mean", "neighbour-mean", "smoothed"])
def test_sparse_models_are_reduced_before_smoothing(corpus, id):
    words = build("tfidf", corpus, scope="corpus")
    control = build(id, corpus, (words,), lsa=12)
    mixed = control.embed(corpus[0].sentences)
    assert mixed.shape == (len(corpus[0].sentences), 12) and mixed.dtype == np.float32
    reduced = control._latent[0].project(control.submodels[0].embed(corpus[0].sentences))
    assert accuracy(mixed, corpus[1]) > accuracy(reduced, corpus[1])


def test_several_models_are_smoothed_separately_and_concatenated_also_with_the_sentence(corpus, content, tmp_path):
    sentences = corpus[0].sentences[:16]
    joined = build("doc-mean", corpus, (content,), keep_own=True).embed(sentences)
    own = content.embed(sentences)
    assert np.allclose(joined[:, :20], own) and np.allclose(joined[3, 20:], own[:8].mean(axis=0), atol=1e-6)
    sentences, words = corpus[0].sentences, build("tfidf", corpus, scope="corpus")
    both = build("doc-mean", corpus, (words, content), lsa=12, unit=True, unit_mixed=True)
    found = both.embed(sentences)
    assert found.shape == (len(sentences), 12 + 20)
    assert np.allclose(np.linalg.norm(found[:, :12], axis=1), 1, atol=1e-5)
    alone = build("doc-mean", corpus, (content,), unit=True, unit_mixed=True).embed(sentences)
    assert np.allclose(found[:, 12:], alone, atol=1e-6)
    both.save(tmp_path)
    assert np.allclose(type(both).load(tmp_path).embed(sentences), found, atol=1e-6)


def test_whitened_axes_have_equal_variance(corpus, content, tmp_path):
    sentences, words = corpus[0].sentences, build("tfidf", corpus, scope="corpus")
    white = build("neighbour-mean", corpus, (words, content), lsa=12, axes=6)
    found = white.embed(sentences)
    assert found.shape == (len(sentences), 6)
    used = found[found.any(axis=1)]
    assert np.allclose(np.cov(used.T, bias=True), np.eye(6), atol=1e-3) and np.allclose(used.mean(axis=0), 0, atol=1e-3)
    white.save(tmp_path)
    assert np.allclose(type(white).load(tmp_path).embed(sentences), found, atol=1e-5)
    turned = build("neighbour-mean", corpus, (words, content), lsa=12, axes=6, evenness=0.0).embed(sentences)
    plain = build("neighbour-mean", corpus, (words, content), lsa=12).embed(sentences)
    centred = (plain - plain.mean(axis=0))[:40]
    assert np.linalg.norm(turned[:40] @ turned[:40].T) <= np.linalg.norm(centred @ centred.T) * 1.01
    with pytest.raises(DataError, match="Whitening is fitted"):
        build("doc-mean", (Corpus(), None), (content,), axes=3)
