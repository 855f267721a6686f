"""Similar clusters: candidates for a merge, groups for themes, and sentences that are far from every cluster.

Similarities are mean cosines, so that they follow from the sums of the unit vectors of each cluster: (k, dim) numbers,
also for hundreds of thousands of sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.clustering.inputs import unit_rows
from core.labelling.partition import UNASSIGNED, Partition
from core.types import Ids, Matrix

Floats = npt.NDArray[np.float64]
_BLOCK = 20_000
"""Sentences that are compared with all clusters at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """Clusters with sentences; row i of every array is cluster ``numbers[i]``, ascending."""

    numbers: Ids
    sizes: Floats
    means: Floats
    """(k, dim) mean of the unit vectors."""
    within: Floats
    """(k,) mean cosine of two different sentences of the cluster; 1 for a single sentence."""

    def only(self, numbers: Iterable[int]) -> Centres:
        """Return some of the clusters."""
        kept = np.isin(self.numbers, list(numbers))
        return Centres(self.numbers[kept], self.sizes[kept], self.means[kept], self.within[kept])


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clusters that could be one."""

    first: int
    second: int
    """Numbers, the smaller one first."""
    similarity: float
    """Mean cosine between the sentences of the two clusters."""
    within: float
    """Mean cosine within the clusters, the mean of both."""

    @property
    def gap(self) -> float:
        """How much more similar sentences are within the clusters than between them; small gaps come first."""
        return self.within - self.similarity


def centres(partition: Partition, x: Matrix) -> Centres:
    """Return the centres of the clusters with sentences, from (n, dim) vectors in the order of the partition's ids."""
    unit: Any = unit_rows(x)
    assigned = np.flatnonzero(partition.numbers != UNASSIGNED)
    numbers, column = np.unique(partition.numbers[assigned], return_inverse=True)
    sizes = np.bincount(column, minlength=len(numbers)).astype(np.float64)
    sums = np.zeros((len(numbers), x.shape[1]))
    selves = np.zeros(len(numbers))
    for rows, owner in _blocks(assigned, column):
        membership = np.zeros((len(rows), len(numbers)), dtype=np.float32)
        membership[np.arange(len(rows)), owner] = 1.0
        part = unit[rows]
        sums += np.asarray((part.T @ membership).T, dtype=np.float64)
        squares = part.multiply(part) if hasattr(part, "multiply") else part * part
        selves += np.bincount(owner, np.asarray(squares.sum(axis=1)).ravel(), minlength=len(numbers))
    pairs = sizes * (sizes - 1)
    within = np.where(pairs > 0, ((sums**2).sum(axis=1) - selves) / np.maximum(pairs, 1), 1.0)
    return Centres(numbers, sizes, sums / np.maximum(sizes, 1)[:, None], within)


def _blocks(rows: npt.NDArray[np.intp], owner: Ids) -> Iterator[tuple[npt.NDArray[np.intp], Ids]]:
    for first in range(0, len(rows), _BLOCK):
        yield rows[first : first + _BLOCK], owner[first : first + _BLOCK]


def similar_pairs(found: Centres, most: int = 50) -> list[Pair]:
    """Return at most ``most`` pairs of clusters, the smallest gap between inner and mutual similarity first."""
    between = found.means @ found.means.T
    first, second = np.triu_indices(len(found.numbers), 1)
    within = (found.within[first] + found.within[second]) / 2
    order = np.argsort(within - between[first, second], kind="stable")[:most]
    columns = (found.numbers[first], found.numbers[second], between[first, second], within)
    return [Pair(int(a), int(b), float(s), float(w)) for a, b, s, w in zip(*(c[order] for c in columns), strict=True)]


def between(partition: Partition, x: Matrix, found: Centres, pair: Pair, top_k: int = 6) -> tuple[Ids, int]:
    """Return the sentences between two clusters, and how many are nearer to the other cluster than to their own.

    The at most ``top_k`` ids are those with the highest similarity to the other cluster minus that to the rest of
    their own. A cluster of one sentence has no rest, so its sentence counts as nearer to its own.
    """
    excess, ids = [], []
    for own, other in ((pair.first, pair.second), (pair.second, pair.first)):
        rows = np.flatnonzero(partition.numbers == own)
        unit: Any = unit_rows(x[rows])
        here, there = np.searchsorted(found.numbers, [own, other])
        n = found.sizes[here]
        selves = np.asarray((unit.multiply(unit) if hasattr(unit, "multiply") else unit * unit).sum(axis=1)).ravel()
        rest = (np.asarray(unit @ found.means[here]) * n - selves) / (n - 1) if n > 1 else np.ones(len(rows))
        excess.append(np.asarray(unit @ found.means[there]) - rest)
        ids.append(partition.ids[rows])
    every, values = np.concatenate(ids), np.concatenate(excess)
    nearest: Ids = every[np.argsort(-values, kind="stable")[:top_k]]
    return nearest, int((values > 0).sum())


def best_similarities(partition: Partition, x: Matrix, found: Centres) -> tuple[Ids, Floats]:
    """Return the (n,) nearest cluster of each sentence and the mean cosine to its other sentences.

    Without another sentence in any cluster they are :data:`UNASSIGNED` and minus infinity.
    """
    n = len(partition.ids)
    numbers, best = np.full(n, UNASSIGNED, dtype=np.int64), np.full(n, -np.inf)
    if not len(found.numbers):
        return numbers, best
    own = np.searchsorted(found.numbers, partition.numbers)
    for rows, column in _blocks(np.arange(n), own):
        unit: Any = unit_rows(x[rows])
        cosines = np.asarray(unit @ found.means.T, dtype=np.float64)
        inside = np.flatnonzero(partition.numbers[rows] != UNASSIGNED)
        at = column[inside]
        selves = np.asarray((unit.multiply(unit) if hasattr(unit, "multiply") else unit * unit).sum(axis=1)).ravel()
        size = found.sizes[at]
        rest = (cosines[inside, at] * size - selves[inside]) / np.maximum(size - 1, 1)
        cosines[inside, at] = np.where(size > 1, rest, -np.inf)
        place = cosines.argmax(axis=1)
        best[rows] = cosines[np.arange(len(rows)), place]
        numbers[rows] = np.where(np.isfinite(best[rows]), found.numbers[place], UNASSIGNED)
    return numbers, best


def usual_limit(similarity: Floats) -> float:
    """Return the lower fence of Tukey's box plot: the first quartile minus 1.5 times the interquartile range.

    Sentences whose similarity to the nearest cluster is below it are outliers.
    """
    known = similarity[np.isfinite(similarity)]
    if not len(known):
        return 0.0
    low, high = np.quantile(known, [0.25, 0.75])
    return float(low - 1.5 * (high - low))


def similar_groups(found: Centres, groups: int) -> list[tuple[int, ...]]:
    """Return groups of clusters for ``groups`` themes, by average linkage on the cosines of the centres.

    The groups are in the order of their first clusters; the one with a single cluster needs no theme of its own.
    Average linkage: Sokal and Michener 1958, A statistical method for evaluating systematic relationships.
    """
    from scipy.cluster.hierarchy import fcluster

    if len(found.numbers) < 2:
        return [(int(number),) for number in found.numbers]
    labels = fcluster(_tree(found), max(groups, 1), criterion="maxclust")
    by_label: dict[int, list[int]] = {}
    for label, number in zip(labels.tolist(), found.numbers.tolist(), strict=True):
        by_label.setdefault(label, []).append(number)
    return [tuple(numbers) for numbers in by_label.values()]


def _tree(found: Centres) -> Floats:
    """Return the (k - 1, 4) linkage matrix of the centres."""
    from scipy.cluster.hierarchy import linkage

    unit: Any = unit_rows(found.means)
    distance = np.clip(1.0 - unit @ unit.T, 0.0, 2.0)
    return np.asarray(linkage(distance[np.triu_indices(len(found.numbers), 1)], "average"))


def usual_groups(found: Centres) -> int:
    """Return the number of groups before the largest step in the heights of the tree, between 2 and half of them."""
    k = len(found.numbers)
    if k < 4:
        return max(k - 1, 1)
    heights = _tree(found)[:, 2]
    steps = np.diff(heights)  # step i leads from k - 1 - i clusters to k - 2 - i
    counts = np.arange(k - 1, 1, -1)
    usable = (counts >= 2) & (counts <= max(k // 2, 2))
    return int(counts[usable][np.argmax(steps[usable])])
