import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.models.con_s2v import text
from themescope.core.models.con_s2v.text import discourse_graph, similarity_graph
from themescope.core.protocols import SILENT


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


def test_graphs_without_sentences_are_empty():
    assert len(similarity_graph(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), SILENT)) == 0
    assert len(discourse_graph(np.zeros(0, np.int64), np.zeros(0, np.int64))) == 0
