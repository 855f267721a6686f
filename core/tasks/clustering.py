"""Clustering and scoring of the articles of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import Config
from themescope.core.errors import DataError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.protocols import Clusterer, Executor, Records, Report
from themescope.core.types import Estimate, Labels, Matrix, Shard

CHUNK = 16
Item: TypeAlias = "tuple[Labels, Matrix | None]"
Scores = dict[str, tuple[npt.NDArray[np.float64], Estimate]]


def cluster_items(
    items: Iterable[Item],
    clusterer_id: str,
    settings: Mapping[str, Any] | Config | None,
    seed: int,
    executor: Executor | None,
    report: Report,
    total: int = 0,
    records: Records | None = None,
) -> list[Labels]:
    """Return the labels of every item (truth (n,), vectors (n, dim) or None); k is its number of true clusters.

    Articles are clustered independently with the seeds seed, seed + 1, …, in shards of ``CHUNK`` articles. ``executor``
    computes the shards with one BLAS thread per process, because threads are slower than one process; without it, and
    for a clusterer tagged ``compiled`` if the workers are on this machine, this process does. ``items`` is read once
    and a few chunks ahead. A shard with an entry in ``records`` is not computed again. The result does not depend on
    the executor. Raises ``DataError`` for an article without vectors.
    """
    card = CLUSTERERS.get(clusterer_id)
    clusterer = CLUSTERERS.build(clusterer_id, settings)
    total = total or (len(items) if isinstance(items, Sequence) else 0)
    shards = _shards(_tasks(items, "no-vectors" not in card.tags, seed))
    if executor is None or ("compiled" in card.tags and not executor.remote):
        clustered_here: list[Labels] = []
        for shard in shards:
            clustered_here.extend(_cluster_chunk(clusterer, shard.data))
            report.progress(len(clustered_here), max(total, len(clustered_here)), "articles clustered")
        return clustered_here
    fn = partial(_cluster_chunk, clusterer)
    found = executor.map(fn, shards, report=report, total=total, unit="articles clustered", records=records)
    return [labels for chunk in found for labels in chunk]


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


def _shards(tasks: Iterator[_Task]) -> Iterator[Shard]:
    first = 1
    while chunk := list(islice(tasks, CHUNK)):
        yield Shard(f"articles {first:,} to {first + len(chunk) - 1:,}", chunk, len(chunk))
        first += len(chunk)
