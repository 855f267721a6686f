"""Suggestions of a model for a labelling: nearest clusters, and re-clustering around placed sentences.

The similarity of a sentence to a cluster is its mean cosine to the cluster's other sentences. Its margin is the
similarity to the best cluster minus that to the second best; sentences with the smallest margins are reviewed first
(margin sampling, Scheffer, Decomain, Wrobel 2001).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from themescope.core.clustering.inputs import unit_rows
from themescope.core.compute.neighbours import nearest_neighbours
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.types import Floats, Ids, Matrix


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Suggestions for n sentences; row i of every array is one sentence."""

    best: Ids
    """Number of the most similar cluster; :data:`UNASSIGNED` without clusters."""
    margin: Floats
    """Best minus second best similarity, ≥ 0; infinite with fewer than two clusters."""
    pull: Floats
    """Similarity to the best cluster minus that to the own one; above 0 the model disagrees. 0 if unassigned."""

    def queue(self, partition: Partition) -> Ids:
        """Return sentence ids by ascending margin; sentences marked uncertain come first."""
        order = np.lexsort((partition.ids, self.margin, ~partition.uncertain))
        found: Ids = partition.ids[order]
        return found

    def against(self, partition: Partition) -> Ids:
        """Return the ids of assigned sentences that the model puts into another cluster, largest margin first."""
        differ = (self.best != partition.numbers) & (partition.numbers != UNASSIGNED) & (self.best != UNASSIGNED)
        rows = np.flatnonzero(differ)
        found: Ids = partition.ids[rows[np.argsort(-self.pull[rows], kind="stable")]]
        return found


def suggest(partition: Partition, x: Matrix) -> Suggestions:
    """Return suggestions for all sentences, from (n, dim) vectors in the order of the partition's ids."""
    numbers = np.array(sorted(partition.clusters), dtype=np.int64)
    n, similarity = len(partition.ids), affinities(partition, x)
    if not len(numbers) or not np.isfinite(similarity).any():
        return Suggestions(np.full(n, UNASSIGNED, dtype=np.int64), np.full(n, np.inf), np.zeros(n))
    order = np.argsort(-similarity, axis=1, kind="stable")
    best = similarity[np.arange(n), order[:, 0]]
    second = similarity[np.arange(n), order[:, 1]] if len(numbers) > 1 else np.full(n, -np.inf)
    margin = np.where(np.isfinite(second), best - np.where(np.isfinite(second), second, 0.0), np.inf)
    own = np.searchsorted(numbers, partition.numbers).clip(0, len(numbers) - 1)
    to_own = similarity[np.arange(n), own]
    assigned = (partition.numbers != UNASSIGNED) & np.isfinite(to_own)
    pull = np.where(assigned, best - np.where(assigned, to_own, 0.0), 0.0)
    found = np.where(np.isfinite(best), numbers[order[:, 0]], UNASSIGNED)
    return Suggestions(found, margin, pull)


def affinities(partition: Partition, x: Matrix) -> Floats:
    """Return the (n, k) mean cosines of each sentence to the others of each cluster, clusters by number.

    The value is minus infinity if a cluster has no other sentence.
    """
    unit: Any = unit_rows(x)
    numbers = np.array(sorted(partition.clusters), dtype=np.int64)
    rows = np.flatnonzero(partition.numbers != UNASSIGNED)
    column = np.searchsorted(numbers, partition.numbers[rows])
    membership = np.zeros((len(partition.ids), len(numbers)), dtype=np.float32)
    membership[rows, column] = 1.0
    sums = np.asarray(unit @ (unit.T @ membership), dtype=np.float64)
    others = np.tile(membership.sum(axis=0, dtype=np.float64), (len(partition.ids), 1))
    selves = np.asarray((unit.multiply(unit) if hasattr(unit, "multiply") else unit * unit).sum(axis=1)).ravel()
    sums[rows, column] -= selves[rows]
    others[rows, column] -= 1.0
    return np.where(others > 0.5, sums / np.maximum(others, 1.0), -np.inf)


def neighbours(x: Matrix, row: int, top_k: int) -> Ids:
    """Return the rows of the ``top_k`` other sentences nearest to one by cosine, nearest first."""
    found = nearest_neighbours(x[[row]], [(np.arange(x.shape[0]), x)], top_k + 1)
    return np.array([other for other, _ in found if other != row][:top_k], dtype=np.int64)


_SWEEPS = 30


def recluster(partition: Partition, x: Matrix, fixed: Ids) -> Partition:
    """Return the partition with sentences that are not ``fixed`` reassigned by (n, dim) vectors.

    Each is moved to the cluster with the highest mean cosine until none moves (the moves of Iclust with fixed items;
    seeded clustering of Basu, Banerjee, Mooney 2002). Unassigned sentences in ``fixed`` stay unassigned, and no cluster
    becomes empty.
    """
    numbers = np.array(sorted(partition.clusters), dtype=np.int64)
    if not len(numbers):
        return partition
    free = np.flatnonzero(~np.isin(partition.ids, fixed))
    now, seen = partition, set()
    for _ in range(_SWEEPS):
        similarity = affinities(now, x)[free]
        best = numbers[similarity.argmax(axis=1)]
        best = np.where(np.isfinite(similarity.max(axis=1)), best, now.numbers[free])
        after = now.numbers.copy()
        after[free] = best
        for number in numbers[~np.isin(numbers, after) & np.isin(numbers, now.numbers)]:
            after[np.flatnonzero(now.numbers == number)[0]] = number
        key = after.tobytes()
        if np.array_equal(after, now.numbers) or key in seen:
            break
        seen.add(key)
        now = replace(now, numbers=after)
    return now
