"""One-to-one matching of the clusters of two partitions, and the items that moved.

Clusters are matched so that the number of items in matched clusters is maximal (Kuhn 1955, the Hungarian method).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.types import Ids, Labels

Table = npt.NDArray[np.int64]
UNASSIGNED = -1


@dataclass(frozen=True, slots=True)
class MatchedPair:
    """A cluster of the first partition with its match in the second."""

    first: int
    second: int
    both: int
    """Number of items in both; at least 1."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Matching of two partitions of n items. Unassigned items (-1) match only each other."""

    pairs: tuple[MatchedPair, ...]
    """Matched clusters by falling overlap, then by the labels of the first partition."""
    only_first: tuple[int, ...]
    """Unmatched clusters of the first partition, ascending."""
    only_second: tuple[int, ...]
    """Unmatched clusters of the second partition, ascending."""
    moved: Ids
    """(m,) positions of the items outside matched pairs, except items unassigned in both, ascending."""
    aligned: Labels
    """(n,) labels of the second partition renamed as in the first; unmatched clusters follow the largest label."""


def match_clusters(first: Labels, second: Labels) -> Matching:
    """Match the clusters of two partitions (n,) with maximum overlap; disjoint clusters stay unmatched.

    Raises :class:`DataError` if the numbers of items differ.
    """
    from scipy.optimize import linear_sum_assignment

    first, second = np.asarray(first), np.asarray(second)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(f"Two partitions need one label per item, not {first.shape} and {second.shape}.")
    rows, columns = (np.unique(labels[labels != UNASSIGNED]) for labels in (first, second))
    both = (first != UNASSIGNED) & (second != UNASSIGNED)
    table: Table = np.zeros((len(rows), len(columns)), dtype=np.int64)
    np.add.at(table, (np.searchsorted(rows, first[both]), np.searchsorted(columns, second[both])), 1)
    at = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    met = [MatchedPair(int(rows[r]), int(columns[c]), int(table[r, c])) for r, c in at if table[r, c]]
    pairs = tuple(sorted(met, key=lambda pair: (-pair.both, pair.first)))
    partner = {pair.second: pair.first for pair in pairs}
    only_second = tuple(int(c) for c in columns if int(c) not in partner)
    after = int(rows[-1]) + 1 if len(rows) else 0
    names = partner | {label: after + i for i, label in enumerate(only_second)}
    found, place = np.unique(second, return_inverse=True)
    aligned: Labels = np.array([names.get(int(label), UNASSIGNED) for label in found], dtype=np.int32)[place]
    taken = {pair.first for pair in pairs}
    return Matching(
        pairs,
        tuple(int(r) for r in rows if int(r) not in taken),
        only_second,
        np.flatnonzero(aligned != first).astype(np.int64),
        aligned,
    )


def same_clusters(first: Labels, second: Labels) -> dict[int, int]:
    """Return cluster → cluster of the second (n,) labels for those of the first that have the same items."""
    assigned = (first != UNASSIGNED) & (second != UNASSIGNED)
    ones, others = (np.bincount(labels[labels != UNASSIGNED], minlength=1) for labels in (first, second))
    pairs, sizes = np.unique(np.stack([first[assigned], second[assigned]]), axis=1, return_counts=True)
    return {
        one: other
        for one, other, size in zip(*pairs.tolist(), sizes.tolist(), strict=True)
        if size == ones[one] == others[other]
    }
