import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from themescope.core.models.con_s2v import text
from themescope.core.models.con_s2v.kernels import _drawn
from themescope.core.models.con_s2v.text import (
    alias_table,
    discourse_graph,
    encode_text,
    keep_probability,
    keep_thresholds,
    node_noise,
    similarity_graph,
    word_noise,
)
from themescope.core.types import SILENT, Sentence


def neighbours(graph):
    return [graph.targets[graph.starts[i] : graph.starts[i + 1]].tolist() for i in range(len(graph))]


def test_discourse_neighbours_are_previous_and_next_sentence():
    articles, positions = np.array([7, 7, 7, 3, 3, -1, -1, 4]), np.array([0, 1, 2, 5, 9, 0, 1, 0])
    assert neighbours(discourse_graph(articles, positions)) == [[1], [0, 2], [1], [4], [3], [], [], []]


@given(st.randoms(use_true_random=False))
def test_the_discourse_graph_does_not_depend_on_input_order(random):
    rows = [(article, place) for article in range(3) for place in range(4)]
    random.shuffle(rows)
    articles, positions = np.array(rows).T
    found = neighbours(discourse_graph(articles, positions))
    for (article, place), near in zip(rows, found, strict=True):
        assert sorted(rows[i] for i in near) == [(article, p) for p in (place - 1, place + 1) if 0 <= p < 4]


def brute_force(vectors, articles):
    lengths = np.linalg.norm(vectors, axis=1)
    pairs = set()
    for i in range(len(vectors)):
        found = []
        for j in range(len(vectors)):
            if i == j or not lengths[i] or not lengths[j]:
                continue
            cosine = vectors[i] @ vectors[j] / (lengths[i] * lengths[j])
            if cosine >= (0.5 if articles[i] == articles[j] != -1 else 0.8):
                found.append((-cosine, j))
        for _, j in sorted(found)[:20]:
            pairs |= {(i, j), (j, i)}
    return [sorted(j for a, j in pairs if a == i) for i in range(len(vectors))]


@pytest.mark.parametrize("block", [7, 64, 2_048])
def test_the_similarity_graph_equals_brute_force(monkeypatch, block):
    monkeypatch.setattr(text, "_BLOCK", block)
    random = np.random.default_rng(1)
    centres = random.normal(size=(4, 6))
    vectors = (centres[random.integers(0, 4, 150)] + 0.45 * random.normal(size=(150, 6))).astype(np.float32)
    vectors[[3, 70]] = 0
    articles = np.where(random.random(150) < 0.1, -1, np.arange(150) // 12)
    graph = similarity_graph(vectors, articles, SILENT)
    wanted = brute_force(vectors.astype(np.float64), articles)
    assert neighbours(graph) == wanted
    assert max(graph.degrees) > 20 and not wanted[3]


def weighed(drawn):
    """Weights from two bytes each: between 1e-3 and 1e6, one in eight of them 0."""
    numbers = np.frombuffer(drawn, np.uint16)
    return np.where(numbers % 8, 10 ** (numbers / 2**16 * 9 - 3), 0.0)


weights = st.integers(1, 200).flatmap(lambda n: st.binary(min_size=2 * n, max_size=2 * n)).map(weighed)


def probabilities(table):
    """Return the (items,) probabilities of an alias table, exact to 2⁻³²."""
    found = (table >> np.uint64(32)).astype(np.float64) / 2**32
    np.add.at(found, (table & np.uint64(0xFFFFFFFF)).astype(np.int64), 1 - found)
    return found / len(table)


@njit
def draws(alias, count, seed):
    state, found = np.array([seed], np.uint64), np.empty(count, np.int64)
    for place in range(count):
        found[place] = _drawn(state, alias)
    return found


@given(weights)
def test_an_alias_table_has_the_given_distribution(given_weights):
    total = given_weights.sum()
    wanted = given_weights / total if total else np.full(len(given_weights), 1 / len(given_weights))
    assert np.allclose(probabilities(alias_table(given_weights)), wanted, atol=1e-8)


def test_draws_follow_the_distribution():
    table = alias_table(np.array([5.0, 0, 1, 3, 1]))
    share = np.bincount(draws(table, 100_000, 7), minlength=5) / 100_000
    assert share[1] == 0 and np.allclose(share, [0.5, 0, 0.1, 0.3, 0.1], atol=0.006)
    assert np.array_equal(draws(table, 50, 7), draws(table, 50, 7))


def test_noise_and_subsampling_follow_the_published_formulas():
    assert np.allclose(probabilities(word_noise(np.array([16, 1, 0]))), [8 / 9, 1 / 9, 0])
    # Sentence 0 stands in 15 lists, sentence 2 in none: one is added to every count.
    assert np.allclose(probabilities(node_noise(np.zeros(15, np.int32), 3)), [0.8, 0.1, 0.1])
    counts, t = np.array([900_000, 99_990, 10]), 1e-4
    f = counts / counts.sum()
    assert np.allclose(keep_probability(counts, t), np.minimum(1, (np.sqrt(f / t) + 1) * t / f))
    assert (keep_probability(counts, 0) == 1).all()
    thresholds = keep_thresholds(counts, t)
    assert thresholds[2] == 1 << 32 and thresholds[0] < thresholds[1] < 1 << 32


def test_short_sentences_are_left_out_and_rare_words_can_be():
    texts = ["The cat sat here.", "Too short!", "", "Cats, cats: the cat!", "One more of the cats"]
    sentences = [Sentence(text, id=10 + i, article_id=i // 3, position=i % 3) for i, text in enumerate(texts)]
    text = encode_text(sentences)
    assert text.rows.tolist() == [0, 3, 4] and text.words == 13
    assert text.articles.tolist() == [0, 1, 1] and text.positions.tolist() == [0, 0, 1]
    assert [text.vocabulary.words[w] for w in text.ids[slice(*text.starts[1:3])]] == ["cat", "cat", "the", "cat"]
    assert text.vocabulary.words[0] == "cat" and text.vocabulary.counts[0] == 5
    assert text.vocabulary.counts.sum() == text.words
    assert text.vocabulary.rows("cats and THE dog") == [0, text.vocabulary.row_of["the"]]
    text = encode_text(sentences, min_count=2)
    assert set(text.vocabulary.words) == {"cat", "the"}
    assert text.rows.tolist() == [3]
