"""Colours of the points of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from webapp.shared.palette import Tones

Categories = npt.NDArray[np.int64]  # (n,) category of each point, -1 for "other"
Numbers = npt.NDArray[np.floating]

MANY = 18
"""Number of categories whose colours and shapes can still be told apart."""
MAX_CATEGORIES = 31
"""Number of categories that the component can draw beside "other"."""
_WRONG, _RIGHT = 1, 6
"""Indices of orange and blue in the palette."""


@dataclass(frozen=True, slots=True)
class Colouring:
    """The category of each point, the names of the categories and how they are painted."""

    categories: Categories
    """(n,) -1 is "other"."""
    names: list[str]
    other: str
    colours: Sequence[int] = ()
    """Palette index of each category; empty: 0, 1, 2, …"""
    shades: Sequence[float] = ()
    """For ordered categories, position of each on a ramp instead: -1 wrong … 0 … 1 right."""
    column: str = ""
    """Heading of the table column with the category; "" if the table has one already."""
    values: Numbers | None = None
    """(n,) the number behind the category, NaN where there is none."""

    def only(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Colouring:
        """Return the colouring of some rows."""
        values = None if self.values is None else self.values[rows]
        return Colouring(self.categories[rows], self.names, self.other, self.colours, self.shades, self.column, values)

    def name(self, row: int) -> str:
        """Return the name of the category of one row."""
        return self.names[self.categories[row]] if self.categories[row] >= 0 else self.other

    def paint(self, tones: Tones, category: int) -> tuple[str, int]:
        """Return (colour, shape 0…3) of a category."""
        if category < 0:
            return tones.other, 0
        if self.shades:
            return _ramp(tones, self.shades[category]), 0
        index = self.colours[category] if self.colours else category
        return tones.colour(index), index // len(tones.categories) % 4


def _ramp(tones: Tones, position: float) -> str:
    """Return a colour between neutral grey (0), orange (-1) and blue (1)."""
    end, share = tones.colour(_RIGHT if position > 0 else _WRONG), abs(position)
    pairs = zip(_channels(tones.other), _channels(end), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
