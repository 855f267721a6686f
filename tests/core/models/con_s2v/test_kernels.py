"""The compiled training steps against the formulas of Saha et al. (2017)."""

import numpy as np
import pytest

from themescope.core.models.con_s2v import kernels
from themescope.core.models.con_s2v.text import (
    Context,
    Losses,
    Noise,
    Span,
    Tables,
    TextArrays,
    discourse_graph,
    node_noise,
    word_noise,
)

DIM = 8


def filled(random, rows, scale=0.5):
    return (scale * random.normal(size=(rows, DIM))).astype(np.float32)


def loss_of(x, rows):
    """-ln σ(w_v·φ) - Σ ln σ(-w_s·φ): the first row is the item, the others are noise."""
    logits = rows @ x
    return np.log1p(np.exp(-logits[0])) + np.log1p(np.exp(logits[1:])).sum()


def slope(function, at, step=1e-5):
    found = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        moved = [at.copy(), at.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        found[place] = (function(moved[0]) - function(moved[1])) / (2 * step)
    return found


# The same step serves content (w) and neighbours (g); 3 and 6 rows go three at a time, 2 and 5 do not.
@pytest.mark.parametrize("targets", [[0, 1], [4, 2, 0], [3, 1, 2, 0, 4], [0, 1, 2, 3, 4, 5]])
def test_a_step_is_the_gradient_of_its_loss(targets):
    random = np.random.default_rng(0)
    x, table = filled(random, 3), filled(random, 6)
    before, gradient = table.copy(), np.zeros(DIM, np.float32)
    loss = kernels.descend(x, 1, table, np.array(targets), len(targets), np.float32(1), gradient)
    rows = before[targets].astype(np.float64)
    assert loss == pytest.approx(loss_of(x[1], rows), rel=1e-5)
    assert np.allclose(gradient, -slope(lambda p: loss_of(p, rows), x[1].astype(np.float64)), atol=1e-5)
    moved = slope(lambda w: loss_of(x[1].astype(np.float64), w), rows)
    assert np.allclose(table[targets] - before[targets], -moved, atol=1e-5)
    untouched = np.setdiff1d(np.arange(6), targets)
    assert np.array_equal(table[untouched], before[untouched])


def test_duplicate_noise_counts_twice_and_logits_are_limited_to_six():
    random = np.random.default_rng(2)
    x, table = filled(random, 1), filled(random, 3)
    before, gradient = table.copy(), np.zeros(DIM, np.float32)
    kernels.descend(x, 0, table, np.array([0, 1, 1]), 3, np.float32(0.01), gradient)
    once = 0.01 / (1 + np.exp(-before[1] @ x[0]))
    assert np.allclose(before[1] - table[1], 2 * once * x[0], rtol=1e-2)
    x, gradient = np.full((1, DIM), 10, np.float32), np.zeros(DIM, np.float32)
    table = np.full((2, DIM), -10, np.float32)
    loss = kernels.descend(x, 0, table, np.array([0, 1]), 2, np.float32(1), gradient)
    edge = 1 / (1 + np.exp(6))
    assert loss == pytest.approx(-np.log(edge) - np.log(1 - edge), rel=1e-4)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_the_proximity_step_is_the_gradient_of_proximity(share):
    random = np.random.default_rng(1)
    x, mean = filled(random, 2), filled(random, 1)[0]
    start = x[1].astype(np.float64)
    kernels.pull(x, 1, mean, np.float32(share))
    # λ is defined by the step, so the loss is ½‖φ - mean‖² (F.2: the factor 2 is absorbed).
    assert np.allclose(x[1] - start, -share * slope(lambda p: 0.5 * ((p - mean) ** 2).sum(), start), atol=1e-5)


class Small:
    """Six sentences of two articles with nine words."""

    def __init__(self, seed=0):
        random = np.random.default_rng(seed)
        lengths = np.array([4, 5, 3, 6, 4, 5])
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        self.ids = random.integers(0, 9, self.starts[-1]).astype(np.int32)
        graph = discourse_graph(np.array([0, 0, 0, 1, 1, 1]), np.arange(6))
        self.context = Context(graph.targets, graph.starts)
        counts = np.bincount(self.ids, minlength=9)
        self.noise = Noise(word_noise(counts), node_noise(graph.targets, 6), 5)
        self.text = TextArrays(self.ids, self.starts, np.full(9, 1 << 32, np.uint64))
        self.tables = Tables(filled(random, 6), filled(random, 9, 0), filled(random, 6, 0), filled(random, 9))

    def span(self, low=0, high=6, rate=0.1, seed=5):
        return Span(low, high, rate, 0, int(self.starts[-1]), seed)

    def train(self, low=0, high=6, rate=0.1, content=True, neighbours=1.0, strength=0.0, implicit=False, window=0):
        steps = Losses(content, neighbours, strength, implicit, window)
        span = self.span(low, high, rate)
        return kernels.train_sentences(self.tables, self.text, self.context, self.noise, steps, span)


@pytest.mark.parametrize("losses", [{"neighbours": 0.0}, {"content": False}])
def test_from_zero_outputs_the_first_step_moves_only_outputs(losses):
    small = Small()
    small.text = TextArrays(small.ids[:1], np.array([0, 1, 1, 1, 1, 1, 1]), small.text.keep)
    before = small.tables.sentences.copy()
    small.train(high=1, **losses)
    assert np.array_equal(small.tables.sentences, before)
    moved = (small.tables.words.any(), small.tables.nodes.any())
    assert moved == ("neighbours" in losses, "content" in losses)


def test_neighbour_prediction_uses_its_share_of_the_learning_rate():
    tables = []
    for share in (1.0, 0.25):
        small = Small()
        small.text = TextArrays(small.ids[:1], np.array([0, 1, 1, 1, 1, 1, 1]), small.text.keep)
        small.train(high=1, neighbours=share)
        tables.append(small.tables)
    assert tables[0].nodes.any() and np.allclose(tables[0].nodes * 0.25, tables[1].nodes, rtol=0.05)
    assert np.array_equal(tables[0].words, tables[1].words)


def test_every_word_takes_one_step_of_each_loss_where_there_are_neighbours():
    small = Small()
    loss, words, node_loss, nodes = small.train(strength=0.5)
    assert words == nodes == len(small.ids)
    # At the start every answer is a coin toss: ln 2 for the item and for each noise word that is not the item.
    assert 0 < loss / words < 6 * np.log(2) + 0.1 and 0 < node_loss / nodes < 6 * np.log(2) + 0.1
    small = Small()
    small.context = Context(np.zeros(0, np.int32), np.zeros(7, np.int64))
    _, words, _, nodes = small.train(strength=1.0)
    assert words == len(small.ids) and nodes == 0 and not small.tables.nodes.any()


def test_a_proximity_step_reaches_the_only_neighbour_and_is_stable_if_implicit():
    small = Small()
    small.train(high=1, rate=0.5, content=False, neighbours=0.0, strength=2.0)
    assert np.allclose(small.tables.sentences[0], small.tables.sentences[1], atol=1e-6)
    explicit, implicit = Small(), Small()
    explicit.train(rate=1.0, content=False, neighbours=0.0, strength=100.0)
    implicit.train(rate=1.0, content=False, neighbours=0.0, strength=100.0, implicit=True)
    assert np.abs(explicit.tables.sentences).max() > 1e6
    assert np.abs(implicit.tables.sentences).max() < 2


def test_the_learning_rate_falls_linearly_with_progress():
    small = Small()
    rates = []
    for high in range(1, 7):
        start = small.tables.sentences[high - 1].copy()
        mean = small.tables.sentences[small.context.targets[slice(*small.context.starts[high - 1 : high + 1])]].mean(0)
        length = small.starts[high] - small.starts[high - 1]
        small.train(high - 1, high, content=False, neighbours=0.0, strength=0.01)
        moved = (small.tables.sentences[high - 1] - start) @ (mean - start) / ((mean - start) @ (mean - start))
        rates.append(moved / length / 0.01)
    assert np.allclose(rates, 0.1 * (1 - small.starts[:6] / small.starts[6]), rtol=0.02)


def test_the_reference_mode_also_trains_word_inputs():
    small, paper = Small(), Small()
    inputs = small.tables.inputs.copy()
    _, pairs, _, rounds = small.train(window=2)
    assert not np.array_equal(small.tables.inputs, inputs)
    # A round a word, and one more for words as near to the sentence's start as the radius that they drew.
    assert len(small.ids) + 6 <= rounds <= len(small.ids) + 12
    assert pairs > rounds
    paper.train()
    assert np.array_equal(paper.tables.inputs, inputs)


def test_distributed_memory_updates_sentences_and_preceding_words():
    small = Small()
    inputs, sentences = small.tables.inputs.copy(), small.tables.sentences.copy()
    first = kernels.train_memory(small.tables, small.text, small.noise, 3, small.span())
    assert first[1] == len(small.ids)
    for _ in range(200):
        last = kernels.train_memory(small.tables, small.text, small.noise, 3, small.span())
    assert last[0] < 0.8 * first[0]
    assert (small.tables.inputs != inputs).any() and (small.tables.sentences != sentences).all(axis=1).any()


def test_fastsent_predicts_the_words_of_neighbours():
    small = Small()
    plain = kernels.train_bags(small.tables, small.text, small.context, small.noise, False, small.span())
    assert plain[1] == np.diff(small.starts)[small.context.targets].sum()
    own = kernels.train_bags(small.tables, small.text, small.context, small.noise, True, small.span())
    assert own[1] == plain[1] + len(small.ids)


def test_inference_changes_only_the_new_rows_independently():
    small = Small()
    for _ in range(50):
        small.train(neighbours=0.0)
    words, start = small.tables.words.copy(), filled(np.random.default_rng(9), 6)
    whole, seeds = start.copy(), np.arange(6)
    kernels.infer(Tables(whole, words, words, words), small.text, small.noise, 0, 5, 0.05, seeds)
    assert np.array_equal(words, small.tables.words) and (whole != start).any(axis=1).all()
    alone = start[2:3].copy()
    text = TextArrays(small.ids[small.starts[2] : small.starts[3]], np.array([0, 3]), small.text.keep)
    kernels.infer(Tables(alone, words, words, words), text, small.noise, 0, 5, 0.05, seeds[2:3])
    assert np.array_equal(alone[0], whole[2])


def test_retrofitting_reaches_its_fixed_point():
    random = np.random.default_rng(4)
    n = 40
    articles, positions = np.repeat([0, 1, 2, 3, -1], [15, 1, 20, 3, 1]), np.arange(n)
    graph = discourse_graph(articles, positions)
    start = random.normal(size=(n, DIM)).astype(np.float32)
    vectors = start.copy()
    kernels.retrofit(vectors, start, Context(graph.targets, graph.starts), 20)
    adjacency = np.zeros((n, n))
    adjacency[np.repeat(np.arange(n), graph.degrees), graph.targets] = 1
    share = adjacency / np.maximum(adjacency.sum(1, keepdims=True), 1)
    exact = np.linalg.solve(np.eye(n) - 0.5 * share, 0.5 * start.astype(np.float64))
    isolated = graph.degrees == 0
    assert np.array_equal(vectors[isolated], start[isolated]) and isolated.sum() == 2
    difference = np.linalg.norm(vectors[~isolated] - exact[~isolated]) / np.linalg.norm(exact[~isolated])
    assert difference < 2**-20
