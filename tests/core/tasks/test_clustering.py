"""Clustering and scoring over articles: order, seeds, processes, errors."""

import numpy as np
import pytest
from scipy import sparse

from themescope.core.errors import Cancelled, DataError, UnknownNameError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.protocols import SILENT, NullReport
from themescope.core.tasks.clustering import Item, cluster_items, score_labels
from themescope.jobs.executors.local import LocalConfig, LocalExecutor


def items(n: int = 12, seed: int = 0) -> list[Item]:
    rng = np.random.default_rng(seed)
    found: list[Item] = []
    for i in range(n):
        truth = np.repeat(np.arange(3 + i % 3), 6).astype(np.int32)
        found.append((truth, (4 * np.eye(6)[truth] + rng.normal(size=(len(truth), 6))).astype(np.float32)))
    return found


def test_k_is_the_number_of_true_clusters_and_order_is_kept() -> None:
    labels = cluster_items(items(), "iclust", None, 0, None, SILENT)
    assert [len(set(found)) for found in labels] == [3 + i % 3 for i in range(12)]
    scores = score_labels([truth for truth, _ in items()], labels)
    assert set(scores) == set(METRICS.ids())
    values, estimate = scores["ami"]
    assert values.shape == (12,) and estimate.n == 12 and values.mean() > 0.9
    assert estimate.value == pytest.approx(values.mean())


def test_processes_give_the_same_labels() -> None:
    source = items(20)
    one = cluster_items(source, "kmeans", None, 5, None, SILENT)
    with LocalExecutor(LocalConfig(2)) as executor:
        two = cluster_items(iter(source), "kmeans", None, 5, executor, SILENT, total=20)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_random_labels_need_no_vectors() -> None:
    labels = cluster_items([(truth, None) for truth, _ in items()], "random", None, 0, None, SILENT)
    assert [len(found) for found in labels] == [len(truth) for truth, _ in items()]
    assert not np.array_equal(labels[0], labels[3])


def test_sparse_vectors() -> None:
    source = items()
    dense = cluster_items(source, "kmeans", None, 0, None, SILENT)
    csr = cluster_items([(t, sparse.csr_array(x)) for t, x in source], "kmeans", None, 0, None, SILENT)
    for a, b in zip(dense, csr, strict=True):
        np.testing.assert_array_equal(a, b)


def test_progress_and_cancel() -> None:
    class Watch(NullReport):
        seen: list[tuple[float, float]]

        def __init__(self, stop: bool) -> None:
            super().__init__()
            self.seen, self.stop = [], stop

        def progress(self, done: float, total: float, message: str = "") -> None:
            self.seen.append((done, total))
            if self.stop:
                raise Cancelled

    watch = Watch(stop=False)
    cluster_items(items(40), "kmeans", None, 0, None, watch)
    assert watch.seen == [(16, 40), (32, 40), (40, 40)]
    with pytest.raises(Cancelled):
        cluster_items(items(40), "kmeans", None, 0, None, Watch(stop=True))


def test_errors_say_which_article() -> None:
    truth, vectors = items(1)[0]
    with pytest.raises(DataError, match="Article 2 of the benchmark has no vectors"):
        cluster_items([(truth, vectors), (truth, None)], "iclust", None, 0, None, SILENT)
    with pytest.raises(DataError, match="18 sentences but 17 vectors"):
        cluster_items([(truth, vectors[:17])], "iclust", None, 0, None, SILENT)
    with pytest.raises(UnknownNameError, match="iclust"):
        cluster_items([], "iclsut", None, 0, None, SILENT)
    with pytest.raises(DataError, match="1 true partitions but 0"):
        score_labels([truth], [])
