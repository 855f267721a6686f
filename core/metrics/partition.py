"""Metrics that compare two partitions of the same items.

MI is in nats and AMI is normalised by the larger entropy: the variants that the tables of Ein Dor et al. 2018 imply.
Items labelled -1 (unassigned) count as one more cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config
from themescope.core.errors import DataError
from themescope.core.types import Ids, Labels

Counts = npt.NDArray[np.int64]  # (u, v): items in class u of the first and class v of the second partition
_TINY = 1e-12


@dataclass(frozen=True)
class MetricConfig(Config):
    """Settings of a metric: none, because each variant is a metric of its own."""


@dataclass(frozen=True, slots=True)
class ContingencyTable:
    """Contingency table of two partitions of n items."""

    counts: Counts

    @classmethod
    def of(cls, truth: Labels, labels: Labels) -> ContingencyTable:
        """Count the items of every pair of labels. Raises :class:`DataError` for different lengths or no items."""
        truth, labels = np.asarray(truth), np.asarray(labels)
        if truth.ndim != 1 or truth.shape != labels.shape:
            raise DataError(f"Two partitions need one label per item, not {truth.shape} and {labels.shape}.")
        if len(truth) == 0:
            raise DataError("The partitions have no items to compare.")
        rows, row = np.unique(truth, return_inverse=True)
        columns, column = np.unique(labels, return_inverse=True)
        flat = np.bincount(row * len(columns) + column, minlength=len(rows) * len(columns))
        return cls(flat.reshape(len(rows), len(columns)).astype(np.int64))

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    @property
    def margins(self) -> tuple[Counts, Counts]:
        """Class sizes of both partitions."""
        return self.counts.sum(axis=1), self.counts.sum(axis=0)

    @property
    def identical(self) -> bool:
        """Whether the partitions are equal up to renaming of labels."""
        rows, columns = self.counts.shape
        return bool(rows == columns == np.count_nonzero(self.counts))

    def mutual_information(self) -> float:
        """Return Σ (n_uv/N) ln(N n_uv/(a_u b_v)) in nats."""
        a, b = self.margins
        u, v = np.nonzero(self.counts)
        joint = self.counts[u, v]
        # As a difference of logarithms, because the product of two margins may overflow an integer.
        terms = joint / self.n * (np.log(joint) + np.log(self.n) - np.log(a[u]) - np.log(b[v]))
        return max(float(terms.sum()), 0.0)

    def entropies(self) -> tuple[float, float]:
        """Return H of both partitions in nats."""
        first, second = (float(-(m / self.n * np.log(m / self.n)).sum()) for m in self.margins)
        return max(first, 0.0), max(second, 0.0)

    def expected_mutual_information(self) -> float:
        """Return E[MI] over all pairs of partitions with these class sizes (hypergeometric model) in nats."""
        from themescope.core.metrics.expected_information import expected_mutual_information

        a, b = self.margins
        return float(expected_mutual_information(a, b))

    def adjusted(self, normaliser: float) -> float:
        """Return (MI - E[MI]) / (normaliser - E[MI]), and 1 for identical partitions, where that may be 0/0."""
        if self.identical:
            return 1.0
        expected = self.expected_mutual_information()
        span = normaliser - expected
        return (self.mutual_information() - expected) / span if abs(span) > _TINY else 0.0

    def pairs(self) -> tuple[float, float, float, float]:
        """Return the numbers of pairs of items: together in both, in the first, in the second, and in total."""
        a, b = self.margins
        together, first, second = (float((m * (m - 1)).sum()) / 2 for m in (self.counts, a, b))
        return together, first, second, self.n * (self.n - 1) / 2


class PartitionMetric(ABC):
    """Base of metrics that are functions of the contingency table."""

    def __init__(self, config: MetricConfig) -> None:
        self.config = config

    def score(self, truth: Labels, labels: Labels) -> float:
        """Return the metric of (n,) ``labels`` against (n,) ``truth``."""
        return self.of(ContingencyTable.of(truth, labels))

    @abstractmethod
    def of(self, table: ContingencyTable) -> float:
        """Compute the metric from a contingency table."""


class MutualInformation(PartitionMetric):
    """MI in nats."""

    def of(self, table: ContingencyTable) -> float:
        """Return a value in 0 … min(H(truth), H(labels))."""
        return table.mutual_information()


class AdjustedMutualInformation(PartitionMetric):
    """AMI divided by the larger entropy (Vinh, Epps, Bailey 2010)."""

    def of(self, table: ContingencyTable) -> float:
        """Return at most 1, and 0 on average over random labels."""
        return table.adjusted(max(table.entropies()))


class ArithmeticAdjustedMutualInformation(PartitionMetric):
    """AMI divided by the mean of the entropies: scikit-learn's default since 0.22."""

    def of(self, table: ContingencyTable) -> float:
        """Return at most 1, and 0 on average over random labels; if positive, at least the variant by the maximum."""
        return table.adjusted(sum(table.entropies()) / 2)


class RandIndex(PartitionMetric):
    """Share of pairs on which the partitions agree (Rand 1971)."""

    def of(self, table: ContingencyTable) -> float:
        """Return a value in 0 … 1; 1 for a single item."""
        together, first, second, pairs = table.pairs()
        return (pairs + 2 * together - first - second) / pairs if pairs else 1.0


class AdjustedRandIndex(PartitionMetric):
    """Rand index corrected for chance (Hubert and Arabie 1985)."""

    def of(self, table: ContingencyTable) -> float:
        """Return at most 1, and 0 on average over random labels."""
        together, first, second, pairs = table.pairs()
        if table.identical:
            return 1.0
        expected = first * second / pairs
        span = (first + second) / 2 - expected
        return (together - expected) / span if abs(span) > _TINY else 0.0


class VMeasure(PartitionMetric):
    """Harmonic mean of homogeneity and completeness = MI over the mean of the entropies."""

    def of(self, table: ContingencyTable) -> float:
        """Return a value in 0 … 1; 1 if both partitions have a single cluster."""
        total = sum(table.entropies())
        return min(2 * table.mutual_information() / total, 1.0) if total > _TINY else 1.0


# One-to-one matching of the clusters of two partitions, and the items that moved

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
    """Match clusters of two partitions (n,) by maximum overlap, if any; raise :class:`DataError` if n differs."""
    from scipy.optimize import linear_sum_assignment

    first, second = np.asarray(first), np.asarray(second)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(f"Two partitions need one label per item, not {first.shape} and {second.shape}.")
    rows, columns = (np.unique(labels[labels != UNASSIGNED]) for labels in (first, second))
    both = (first != UNASSIGNED) & (second != UNASSIGNED)
    table: Counts = np.zeros((len(rows), len(columns)), dtype=np.int64)
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
    only_first = tuple(int(r) for r in rows if int(r) not in taken)
    moved = np.flatnonzero(aligned != first).astype(np.int64)
    return Matching(pairs, only_first, only_second, moved, aligned)


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
