"""A map as a list for screen readers and keyboards: categories, their nearest categories, and sentences of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.webapp.map_view.geometry import Units

_NEAR, _SENTENCES = 3, 5


@dataclass(frozen=True, slots=True)
class Group:
    """A category in the list."""

    kind: int
    """Index of the category; that of "other" comes after all others."""
    near: list[int]
    """The nearest other categories by their centres, nearest first."""
    rows: list[int]
    """Rows of the sentences that are nearest to the centre, nearest first."""


def outline_of(units: Units, categories: npt.NDArray[np.int64], names: int) -> list[Group]:
    """Return the categories of (n, 2) points that have any, largest first and "other" last.

    The centre of a category is the median of its points in each direction.
    """
    kinds = np.where(categories < 0, names, categories)
    sizes = np.bincount(kinds, minlength=names + 1)
    there = sorted(np.flatnonzero(sizes).tolist(), key=lambda kind: (kind == names, -int(sizes[kind]), kind))
    members = {kind: np.flatnonzero(kinds == kind) for kind in there}
    centres = np.array([np.median(units[members[kind]], axis=0) for kind in there]).reshape(-1, 2)
    groups = []
    for place, kind in enumerate(there):
        rows, far = members[kind], ((centres - centres[place]) ** 2).sum(axis=1)
        near = [there[other] for other in np.argsort(far, kind="stable") if other != place and there[other] != names]
        distances = ((units[rows] - centres[place]) ** 2).sum(axis=1)
        closest = rows[np.argsort(distances, kind="stable")[:_SENTENCES]]
        groups.append(Group(kind, near[:_NEAR], closest.tolist()))
    return groups
