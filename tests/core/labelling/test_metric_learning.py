"""The effect of a learned metric is measured where it was not learned, and its use is a step like any other."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.labelling.changes import apply
from themescope.core.labelling.learning import (
    MetricEffect,
    Pairs,
    effect_on_articles,
    effect_on_sentences,
    helps,
    learn_metric,
    metric_of,
    stop_metric,
    use_metric,
)
from themescope.core.labelling.partition import Cluster, Partition, start
from themescope.core.models.base import unit_length
from themescope.core.models.linear_metric import LinearMetricConfig
from themescope.core.types import Estimate

CONFIG = LinearMetricConfig()
DIM, CLUSTERS = 24, 3


def sentences(n: int, signal: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors in which the cluster of a sentence has a direction of its own, below noise in a few other directions."""
    random = np.random.default_rng(seed)
    labels = np.arange(n) % CLUSTERS
    x = random.normal(size=(n, DIM)) * np.where(np.arange(DIM) < 6, 2.0, 0.3)
    x[np.arange(n), DIM - 1 - labels] += signal
    return unit_length(x.astype(np.float32)), labels


def all_pairs(ids: np.ndarray, labels: np.ndarray) -> Pairs:
    i, j = np.triu_indices(len(ids), 1)
    return Pairs(ids[i], ids[j], labels[i] == labels[j])


def test_a_metric_that_finds_what_clusters_share_helps_with_other_sentences_and_articles() -> None:
    x, labels = sentences(60, signal=1.5)
    ids = np.arange(100, 160)
    pairs = all_pairs(ids, labels)
    found = effect_on_sentences(pairs, ids, x, CONFIG)
    assert found is not None and found.difference.low > 0 and helps(found)
    assert found.after - found.before == pytest.approx(found.difference.value)
    articles = np.arange(60) // 10
    other = effect_on_articles(pairs, ids, x, CONFIG, articles)
    assert other is not None and other.difference.n == 6 and helps(found, other)


def test_on_random_labels_it_has_no_effect() -> None:
    x, _ = sentences(60, signal=0.0)
    ids = np.arange(60)
    labels = np.random.default_rng(5).integers(0, CLUSTERS, 60)
    found = effect_on_sentences(all_pairs(ids, labels), ids, x, CONFIG)
    assert found is not None and found.difference.low < 0.02 and abs(found.after - 0.5) < 0.1


def test_too_little_to_measure_is_none_and_does_not_help() -> None:
    x, labels = sentences(4, signal=1.0)
    ids = np.arange(4)
    assert effect_on_sentences(all_pairs(ids[:1], labels[:1]), ids, x, CONFIG) is None
    assert effect_on_sentences(all_pairs(ids, np.zeros(4)), ids, x, CONFIG) is None
    assert effect_on_articles(all_pairs(ids, labels), ids, x, CONFIG, np.array([0, 0, 1, 1])) is None
    assert not helps(None) and not helps()
    good, bad = (MetricEffect(0.5, 0.5 + d, Estimate(d, d - 0.1, d + 0.1, 9)) for d in (0.02, -0.02))
    assert helps(good, None) and not helps(good, bad)


@given(st.integers(2, 30), st.randoms(use_true_random=False))
def test_the_order_of_constraints_does_not_matter(n: int, random: Random) -> None:
    x, labels = sentences(n, signal=1.0)
    pairs = all_pairs(np.arange(n), labels)
    order = list(range(len(pairs)))
    random.shuffle(order)
    shuffled = Pairs(pairs.first[order], pairs.second[order], pairs.together[order])
    first, second = (learn_metric(p, np.arange(n), x, CONFIG).metric() for p in (pairs, shuffled))
    assert np.allclose(first, second, atol=1e-8)


def partition() -> Partition:
    return start([1, 2, 3], [1, 1, 2], [Cluster(1, "a", 0), Cluster(2, "b", 1)])


def test_use_and_stop_are_steps_that_undo_exactly() -> None:
    before = partition()
    moved = start([1, 2, 3], [1, 2, 2], before.clusters.values())
    data = {"model": "ff", "name": "m"}
    step = use_metric(before, data, moved)
    assert step.summary == "metric m is used, 1 unit moved"
    used = apply(before, step.change_set)
    assert metric_of(used) == data and used.numbers.tolist() == [1, 2, 2] and metric_of(before) is None
    assert apply(used, step.change_set.inverse()).to_bytes() == before.to_bytes()
    assert not use_metric(used, data).change_set
    stopped = apply(used, stop_metric(used).change_set)
    assert metric_of(stopped) is None and stopped.numbers.tolist() == [1, 2, 2]
    assert not stop_metric(stopped).change_set
