"""Similar clusters: candidates for a merge, groups for themes, and sentences that are far from all others.

Similarities are mean cosines, so that they follow from the sums of the unit vectors of each cluster: (k, dim) numbers,
also for hundreds of thousands of sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.clustering.inputs import unit_rows
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.types import Floats, Ids, Matrix

_BLOCK, _CELLS = 20_000, 20_000_000
"""Sentences whose sums are computed at once, and cosines that are computed at once."""
COMPARED = 5_000
"""Maximum number of sentences among which nearest neighbours are sought."""


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
class ClusterPair:
    """Two clusters that could be one."""

    first: int
    second: int
    """Numbers, the smaller one first."""
    similarity: float
    """Mean cosine between the sentences of the two clusters."""
    within: float
    """Mean cosine within the clusters, the mean of both."""


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


def similar_pairs(found: Centres, most: int) -> list[ClusterPair]:
    """Return at most ``most`` pairs of clusters, the highest mean cosine first.

    On articles with known sections, this finds pairs of one section as well as Ward's criterion does, and better than
    the similarity less that within the clusters (experiment log).
    """
    between = found.means @ found.means.T
    first, second = np.triu_indices(len(found.numbers), 1)
    within = (found.within[first] + found.within[second]) / 2
    order = np.argsort(-between[first, second], kind="stable")[:most]
    columns = (found.numbers[first], found.numbers[second], between[first, second], within)
    return [
        ClusterPair(int(a), int(b), float(s), float(w)) for a, b, s, w in zip(*(c[order] for c in columns), strict=True)
    ]


def between(partition: Partition, x: Matrix, found: Centres, pair: ClusterPair, top_k: int = 6) -> tuple[Ids, int]:
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


def densities(x: Matrix, neighbours: int = 10, seed: int = 0) -> Floats:
    """Return the mean cosine of each of n vectors to its nearest ``neighbours`` of the others, NaN for a single one.

    Of more than :data:`COMPARED` sentences, a random sample is compared with. Sentences without similar ones are
    outliers (distance to the nearest neighbours: Ramaswamy, Rastogi, Shim 2000).
    """
    n = x.shape[0]
    unit: Any = unit_rows(x)
    others = np.sort(np.random.default_rng(seed).permutation(n)[:COMPARED])
    found = np.full(n, np.nan)
    taken = min(neighbours, len(others) - 1)
    for rows in np.array_split(np.arange(n), max(-(-n * len(others) // _CELLS), 1)) if taken > 0 else ():
        product = unit[rows] @ unit[others].T
        cosines = np.asarray(product.toarray() if hasattr(product, "toarray") else product)
        place = np.searchsorted(others, rows).clip(0, len(others) - 1)
        own = np.flatnonzero(others[place] == rows)
        cosines[own, place[own]] = -np.inf
        found[rows] = np.partition(cosines, -taken, axis=1)[:, -taken:].mean(axis=1)
    return found


def usual_limit(similarity: Floats) -> float:
    """Return the lower fence of Tukey's box plot: the first quartile minus 1.5 times the interquartile range."""
    known = similarity[np.isfinite(similarity)]
    if not len(known):
        return 0.0
    low, high = np.quantile(known, [0.25, 0.75])
    return float(low - 1.5 * (high - low))


def similar_groups(found: Centres, groups: int) -> list[tuple[int, ...]]:
    """Return groups of clusters for ``groups`` themes, in the order of their first clusters.

    Ward's criterion on the centres, less their mean and scaled to length 1: it finds the subjects of newsgroups better
    than average linkage of the cosines (experiment log).
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(found.numbers) < 2:
        return [(int(number),) for number in found.numbers]
    centred = np.asarray(unit_rows(found.means - found.means.mean(axis=0)))
    labels = fcluster(linkage(centred, "ward"), max(groups, 1), criterion="maxclust")
    by_label: dict[int, list[int]] = {}
    for label, number in zip(labels.tolist(), found.numbers.tolist(), strict=True):
        by_label.setdefault(label, []).append(number)
    return [tuple(numbers) for numbers in by_label.values()]
