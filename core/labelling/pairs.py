"""Pairs of sentences of which people said whether they belong together: must-link and cannot-link constraints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.labelling.answers import Constraints
from themescope.core.labelling.learning import Placed
from themescope.core.labelling.partition import Rows
from themescope.core.types import Ids

MOST_SENTENCES = 400
"""Maximum number of placed sentences that pairs are made of; more are sampled. It bounds memory and time."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of sentences, each once, in ascending order of their ids; row i of every array is one pair."""

    first: Ids
    """(p,) ids."""
    second: Ids
    """(p,) ids, each larger than that of ``first``."""
    together: Flags
    """(p,) whether the two belong together."""

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sentences(self) -> Ids:
        """Return the (m,) ids of the sentences in pairs, ascending."""
        return np.unique(np.concatenate([self.first, self.second]))

    @property
    def both_kinds(self) -> bool:
        """Return whether some pairs belong together and some do not."""
        return bool(self.together.any() and not self.together.all())

    def only(self, ids: Ids) -> Pairs:
        """Return the pairs of two sentences of ``ids``."""
        return self.where(np.isin(self.first, ids) & np.isin(self.second, ids))

    def where(self, kept: Flags) -> Pairs:
        """Return the pairs of a (p,) mask."""
        return Pairs(self.first[kept], self.second[kept], self.together[kept])

    def rows(self, ids: Ids) -> tuple[Rows, Rows]:
        """Return the (p,) rows of both sentences in the ascending ``ids``, which contain all of them."""
        return np.searchsorted(ids, self.first), np.searchsorted(ids, self.second)


def pairs_of(first: Ids, second: Ids, together: npt.ArrayLike) -> Pairs:
    """Return pairs in their order, without pairs of a sentence with itself and without contradictions.

    The result depends neither on the order of the (p,) arrays nor on how often a pair occurs.
    """
    a, b = np.asarray(first, np.int64), np.asarray(second, np.int64)
    ends = np.stack([np.minimum(a, b), np.maximum(a, b)], axis=1)
    different = ends[:, 0] != ends[:, 1]
    judged = np.column_stack([ends, np.asarray(together, np.int64)])[different]
    judged = np.unique(judged.reshape(-1, 3), axis=0)
    _, place, times = np.unique(judged[:, :2], axis=0, return_index=True, return_counts=True)
    known = judged[place[times == 1]]
    return Pairs(known[:, 0], known[:, 1], known[:, 2].astype(np.bool_))


def pairs_of_placed(placed: Placed, among: Ids | None = None, seed: int = 0) -> Pairs:
    """Return all pairs of the placed sentences (of those in ``among``): together if they are in the same cluster.

    Of more than :data:`MOST_SENTENCES` sentences so many are drawn by the seed.
    """
    ids = placed.ids if among is None else placed.ids[np.isin(placed.ids, among)]
    if len(ids) > MOST_SENTENCES:
        ids = np.sort(np.random.default_rng(seed).choice(ids, MOST_SENTENCES, replace=False))
    numbers = placed.partition.numbers[placed.partition.rows(ids)]
    i, j = np.triu_indices(len(ids), 1)
    return Pairs(ids[i], ids[j], numbers[i] == numbers[j])


def pairs_of_answers(answered: Constraints) -> Pairs:
    """Return the pairs that answers put together or apart, with those that follow from them by transitivity.

    They are pairs of the first :data:`MOST_SENTENCES` sentences with links, by id.
    """
    links, ids = answered.links, answered.links.linked[:MOST_SENTENCES]
    pairs = [(a, b) for place, a in enumerate(ids) for b in ids[place + 1 :]]
    together = [links.are_together(a, b) for a, b in pairs]
    known = [same or links.are_apart(a, b) for same, (a, b) in zip(together, pairs, strict=True)]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Pairs(table[:, 0], table[:, 1], np.array(together, np.bool_)).where(np.array(known, np.bool_))


def joined(parts: Iterable[Pairs]) -> Pairs:
    """Return the pairs of all parts; those on which they contradict each other are left out."""
    known = list(parts)
    return pairs_of(*(np.concatenate([getattr(p, name) for p in known]) for name in ("first", "second", "together")))
