"""Clusters of two partitions of the same items, matched one-to-one, and the items that moved.

A cluster has no name of its own: which cluster of one partition is "the same" as which of the other is decided so
that as many items as possible stay where they are (Kuhn 1955, the Hungarian method).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.types import Ids, Labels

Table = npt.NDArray[np.int64]
UNASSIGNED = -1


@dataclass(frozen=True, slots=True)
class Pair:
    """A cluster of the first partition with its partner in the second."""

    first: int
    second: int
    both: int
    """Items in both; at least 1."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Two partitions of n items side by side. Unassigned items (-1) are no cluster: they match only each other."""

    pairs: tuple[Pair, ...]
    """Matched clusters, the largest overlap first; among equal ones in the order of the first partition's labels."""
    only_first: tuple[int, ...]
    """Clusters of the first partition without a partner, ascending."""
    only_second: tuple[int, ...]
    """Clusters of the second partition without a partner, ascending."""
    moved: Ids
    """(m,) positions of the items that do not stay in a matched pair (and are not unassigned in both), ascending."""
    aligned: Labels
    """(n,) the second partition by the labels of the first; clusters without a partner follow on the largest label."""

    @property
    def stayed(self) -> int:
        """Number of items in matched clusters."""
        return len(self.aligned) - len(self.moved)


def match_clusters(first: Labels, second: Labels) -> Matching:
    """Match the clusters of two partitions (n,) with maximum overlap; disjoint clusters stay unmatched.

    Raises :class:`DataError` when the partitions are not of the same items.
    """
    from scipy.optimize import linear_sum_assignment

    first, second = np.asarray(first), np.asarray(second)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(f"Two partitions of the same items need one label an item: {first.shape}, {second.shape}.")
    rows, columns, table = _overlaps(first, second)
    at = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    met = [Pair(int(rows[r]), int(columns[c]), int(table[r, c])) for r, c in at if table[r, c]]
    pairs = tuple(sorted(met, key=lambda pair: (-pair.both, pair.first)))
    partner = {pair.second: pair.first for pair in pairs}
    only_second = tuple(int(c) for c in columns if int(c) not in partner)
    after = int(rows[-1]) + 1 if len(rows) else 0
    aligned = _renamed(second, partner | {label: after + i for i, label in enumerate(only_second)})
    taken = {pair.first for pair in pairs}
    return Matching(
        pairs,
        tuple(int(r) for r in rows if int(r) not in taken),
        only_second,
        np.flatnonzero(aligned != first).astype(np.int64),
        aligned,
    )


def _overlaps(first: Labels, second: Labels) -> tuple[Labels, Labels, Table]:
    """Return the labels of both partitions, ascending, and their (u, v) contingency table."""
    rows, columns = (np.unique(labels[labels != UNASSIGNED]) for labels in (first, second))
    both = (first != UNASSIGNED) & (second != UNASSIGNED)
    table = np.zeros((len(rows), len(columns)), dtype=np.int64)
    np.add.at(table, (np.searchsorted(rows, first[both]), np.searchsorted(columns, second[both])), 1)
    return rows, columns, table


def _renamed(labels: Labels, names: dict[int, int]) -> Labels:
    """(n,) labels under new names; unassigned ones stay so."""
    found, place = np.unique(labels, return_inverse=True)
    return np.array([names.get(int(label), UNASSIGNED) for label in found], dtype=np.int32)[place]
