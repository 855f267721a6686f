"""Parts of a selection on a map: what each tool selects, and how it combines with what was selected before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.projection import Polygon
from themescope.webapp.map_view import geometry
from themescope.webapp.map_view.geometry import Rows, Units

REPLACE, ADD, SUBTRACT = "replace", "add", "subtract"
_SIGNS = {REPLACE: "", ADD: "a", SUBTRACT: "s"}
SHAPE, CATEGORY = "", "c"
"""Kinds of parts, as they are written in addresses."""
_MOST_PARTS = 40


@dataclass(frozen=True, slots=True)
class MapPart:
    """One step of a selection: a shape or a category."""

    kind: str
    numbers: tuple[int, ...]
    """Corners of a shape, x and y in turn; or index of a category, -1 for "other"."""
    mode: str = REPLACE

    @property
    def corners(self) -> Polygon:
        """Return the (m, 2) corners of a shape; none for other parts."""
        return geometry.shape_of(self.numbers) if self.kind == SHAPE else geometry.shape_of(())

    def rows(self, units: Units, categories: npt.NDArray[np.int64], hidden: Sequence[int]) -> Rows:
        """Return the rows of (n, 2) points that this part selects; points of hidden categories are left out."""
        if self.kind == SHAPE:
            return geometry.inside_rows(units, categories, self.corners, hidden)
        shown = np.flatnonzero(~np.isin(categories, np.asarray(hidden, dtype=np.int64)))
        return shown[categories[shown] == self.numbers[0]]

    def combined(self, before: npt.NDArray[Any], chosen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``before`` with the ``chosen`` rows or ids of this part added or removed, or replaced by them."""
        if self.mode == ADD:
            return np.union1d(before, chosen)
        return np.setdiff1d(before, chosen) if self.mode == SUBTRACT else chosen

    def described(self, names: Sequence[str]) -> str:
        """Return the part in words; ``names`` are those of the categories."""
        if self.kind == CATEGORY:
            known = 0 <= self.numbers[0] < len(names)
            found = f"all of “{names[self.numbers[0]]}”" if known else "all without a category of their own"
        else:
            found = "a shape"
        return {REPLACE: found, ADD: f"and {found}", SUBTRACT: f"without {found}"}[self.mode]

    def written(self) -> str:
        """Return the part as text of an address."""
        return _SIGNS[self.mode] + self.kind + "_".join(map(str, self.numbers))


def part_of(event: Mapping[str, Any], categories: int) -> MapPart | None:
    """Return the part in an event of the browser about a map of ``categories``; None if it is not valid."""
    mode = event.get("mode", REPLACE)
    if mode not in _SIGNS:
        return None
    if "category" in event:
        kind = event["category"]
        fits = isinstance(kind, int) and 0 <= kind <= categories
        return MapPart(CATEGORY, (-1 if kind == categories else int(kind),), mode) if fits else None
    shape = geometry.shape_of(event.get("corners"))
    return _checked(SHAPE, shape.ravel().tolist(), mode) if len(shape) else None


def _checked(kind: str, numbers: Any, mode: str) -> MapPart | None:
    try:
        found = tuple(int(number) for number in numbers)
    except (TypeError, ValueError, OverflowError):
        return None
    fits = len(found) == 1 and found[0] >= -1 if kind == CATEGORY else len(geometry.shape_of(found)) > 0
    return MapPart(kind, found, mode) if fits else None


def after(parts: Sequence[MapPart], new: MapPart) -> list[MapPart]:
    """Return the parts of a selection after a new one, which may replace the others."""
    return [new] if new.mode == REPLACE else [*parts, new][-_MOST_PARTS:]


def written(parts: Sequence[MapPart]) -> str:
    """Return parts as text of an address."""
    return ".".join(part.written() for part in parts)


def read(text: str) -> list[MapPart]:
    """Parse what :func:`written` returns; no parts if one is not valid."""
    found = [_read(part) for part in text.split(".")[:_MOST_PARTS]] if text else []
    return [part for part in found if part is not None] if all(found) else []


def _read(text: str) -> MapPart | None:
    mode = next((mode for mode, sign in _SIGNS.items() if sign and text.startswith(sign)), REPLACE)
    rest = text[len(_SIGNS[mode]) :]
    kind = CATEGORY if rest.startswith(CATEGORY) else SHAPE
    try:
        return _checked(kind, [int(number) for number in rest[len(kind) :].split("_")], mode)
    except ValueError:
        return None
