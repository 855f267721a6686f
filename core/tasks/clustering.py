"""Clustering and scoring of the articles of a benchmark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from core.clustering import REGISTRY as CLUSTERERS
from core.config import Config
from core.errors import DataError
from core.metrics import REGISTRY as METRICS
from core.metrics.statistics.intervals import bootstrap_mean
from core.protocols import Clusterer, Report
from core.types import Estimate, Labels, Matrix

CHUNK = 16
Item: TypeAlias = "tuple[Labels, Matrix | None]"
Scores = dict[str, tuple[npt.NDArray[np.float64], Estimate]]


def cluster_items(
    items: Iterable[Item],
    clusterer_id: str,
    settings: Mapping[str, Any] | Config | None,
    seed: int,
    workers: int,
    report: Report,
    total: int = 0,
) -> list[Labels]:
    """Return the labels of every item (truth (n,), vectors (n, dim) or None); k is its number of true clusters.

    Articles are clustered independently with the seeds seed, seed + 1, …. A clusterer tagged ``compiled`` runs in this
    process, others in ``workers`` processes with one BLAS thread each (0: one process per core), because threads are
    slower than one process. ``items`` is read once and a few chunks ahead. The result does not depend on ``workers``.
    """
    card = CLUSTERERS.get(clusterer_id)
    clusterer = CLUSTERERS.build(clusterer_id, settings)
    total = total or (len(items) if isinstance(items, Sequence) else 0)
    needs_vectors = "no-vectors" not in card.tags
    tasks = _tasks(items, needs_vectors, seed)
    workers = workers or os.cpu_count() or 1
    serial = "compiled" in card.tags or workers == 1
    labels: list[Labels] = []
    for found in _serial(clusterer, tasks) if serial else _parallel(clusterer, tasks, workers):
        labels.extend(found)
        report.progress(len(labels), max(total, len(labels)), "articles clustered")
    return labels


def score_labels(truths: Sequence[Labels], labels: Sequence[Labels], seed: int = 0) -> Scores:
    """Return for every metric the values of the articles (m,), and their unweighted mean with its interval."""
    if len(truths) != len(labels):
        raise DataError(f"There are {len(truths)} true partitions but {len(labels)} computed ones.")
    scores: Scores = {}
    for card in METRICS:
        metric = METRICS.build(card.id)
        values = np.array([metric.score(*pair) for pair in zip(truths, labels, strict=True)], dtype=np.float64)
        scores[card.id] = (values, bootstrap_mean(values, seed=seed))
    return scores


_Task: TypeAlias = "tuple[Matrix, int, int]"  # vectors, k, seed


def _tasks(items: Iterable[Item], needs_vectors: bool, seed: int) -> Iterator[_Task]:
    for number, (truth, vectors) in enumerate(items):
        if vectors is None:
            if needs_vectors:
                raise DataError(f"Article {number + 1} of the benchmark has no vectors. Embed the corpus first.")
            vectors = np.zeros((len(truth), 0), dtype=np.float32)
        if vectors.shape[0] != len(truth):
            raise DataError(
                f"Article {number + 1} of the benchmark has {len(truth)} sentences but {vectors.shape[0]} vectors. "
                "Embed the corpus again."
            )
        yield vectors, len(np.unique(truth)), seed + number


def _cluster_chunk(clusterer: Clusterer, chunk: Sequence[_Task]) -> list[Labels]:
    """Cluster the items of a chunk, in this process or in a worker, without further threads of BLAS."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        return [clusterer.fit_predict(vectors, k, seed) for vectors, k, seed in chunk]


def _chunks(tasks: Iterator[_Task]) -> Iterator[list[_Task]]:
    while chunk := list(islice(tasks, CHUNK)):
        yield chunk


def _serial(clusterer: Clusterer, tasks: Iterator[_Task]) -> Iterator[list[Labels]]:
    return (_cluster_chunk(clusterer, chunk) for chunk in _chunks(tasks))


def _parallel(clusterer: Clusterer, tasks: Iterator[_Task], workers: int) -> Iterator[list[Labels]]:
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=workers, backend="loky", return_as="generator", pre_dispatch="2*n_jobs")
    found: Iterator[list[Labels]] = run(delayed(_cluster_chunk)(clusterer, chunk) for chunk in _chunks(tasks))
    return found
