"""Triplet accuracy by unordered pair of section titles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.metrics.statistics.intervals import bootstrap_mean
from core.metrics.triplets import correctness
from core.types import Estimate, Ids, fold_title

Codes = npt.NDArray[np.int32]
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class SectionPairs:
    """Accuracy by pair of folded titles; row p of every (p,) array is one pair, the most frequent first."""

    names: list[tuple[str, str]]
    """Each title in its most frequent spelling, the two in alphabetical order."""
    counts: Ids
    """Triplets."""
    articles: Ids
    """Articles that these triplets are from."""
    accuracy: npt.NDArray[np.float64]
    correct: npt.NDArray[np.float32]
    """(n,) 1, 0 or ½ of each triplet."""
    groups: Ids
    """(n,) its article."""
    order: Ids
    """(n,) places of the triplets pair by pair; those of pair p begin at ``starts[p]`` (p + 1,)."""
    starts: Ids

    def __len__(self) -> int:
        return len(self.names)

    def triplets(self, row: int) -> Ids:
        """Return the positions of the triplets of one pair, ascending."""
        return self.order[self.starts[row] : self.starts[row + 1]]

    def find(self, titles: Sequence[str]) -> int | None:
        """The row of two titles in any order and spelling; None where no triplet has them."""
        wanted = sorted(map(fold_heading, titles))
        found = (row for row, names in enumerate(self.names) if sorted(map(fold_heading, names)) == wanted)
        return next(found, None)

    def estimate(self, row: int) -> Estimate:
        """Accuracy of a pair with its interval over articles (2,000 resamples); one article has no interval."""
        chosen = self.triplets(row)
        return bootstrap_mean(self.correct[chosen], self.groups[chosen], RESAMPLES)


def fold_heading(title: str) -> str:
    """Return the normalised form of a section title: NFC, single spaces, case folded."""
    return " ".join(fold_title(title).casefold().split())


def section_pairs(own: Codes, other: Codes, titles: Sequence[str], margins: npt.ArrayLike, groups: Ids) -> SectionPairs:
    """Group n triplets by the unordered pair of their titles; ``own`` and ``other`` (n,) are places in ``titles``.

    ``margins`` (n,) decide who is right, an exact tie counts ½; ``groups`` (n,) are article ids. Raises
    :class:`DataError` when there are no triplets, or the columns differ in length.
    """
    values = np.asarray(margins, dtype=np.float32)
    if not len(values) or not len(values) == len(own) == len(other) == len(groups):
        raise DataError("Pairs of sections need triplets with a margin, an article and two titles each.")
    folded, spelled = _folded(titles, np.concatenate([own, other]))
    a, b = folded[own].astype(np.int64), folded[other].astype(np.int64)
    keys = np.minimum(a, b) * len(spelled) + np.maximum(a, b)
    distinct, pair, counts = np.unique(keys, return_inverse=True, return_counts=True)
    rank = np.argsort(-counts, kind="stable")
    pair = np.argsort(rank, kind="stable")[pair]
    correct = correctness(values)
    counts = counts[rank]
    _, first_seen = np.unique(pair * (int(groups.max()) + 2) + groups + 1, return_index=True)
    return SectionPairs(
        names=[_alphabetical(spelled[k // len(spelled)], spelled[k % len(spelled)]) for k in distinct[rank].tolist()],
        counts=counts,
        articles=np.bincount(pair[first_seen], minlength=len(counts)),
        accuracy=np.bincount(pair, weights=correct) / counts,
        correct=correct,
        groups=np.asarray(groups),
        order=np.argsort(pair, kind="stable"),
        starts=np.concatenate([[0], np.cumsum(counts)]),
    )


def _folded(titles: Sequence[str], used: Codes) -> tuple[Codes, list[str]]:
    """Code of the folded form of each title, and for every form the spelling that is used most."""
    forms: dict[str, int] = {}
    codes = np.fromiter((forms.setdefault(fold_heading(t), len(forms)) for t in titles), np.int32, len(titles))
    uses = np.bincount(used, minlength=len(titles))
    spelled = [""] * len(forms)
    for place in np.argsort(uses, kind="stable").tolist():  # the most used comes last and stays
        spelled[codes[place]] = " ".join(fold_title(titles[place]).split())
    return codes, spelled


def _alphabetical(a: str, b: str) -> tuple[str, str]:
    return (a, b) if (a.casefold(), a) <= (b.casefold(), b) else (b, a)
