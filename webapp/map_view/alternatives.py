"""A map for those who do not see its points: a PNG image for browsers without WebGL2, and a list for screen readers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.webapp.map_view.geometry import Units
from themescope.webapp.map_view.scene import channels

WIDTH, HEIGHT = 960, 600
_ZOOM_OUT = 1.06
_FAINTEST = 0.35
"""Opacity of a single point; the densest pixel is opaque."""


def map_png(
    units: Units,
    categories: npt.NDArray[np.int64],
    colours: Sequence[str],
    paper: str,
    frame: Sequence[int],
    size: float,
) -> bytes:
    """Return a PNG image of (n, 2) points, n ≥ 0, inside a frame [left, bottom, right, top] of the grid.

    The colour of a pixel is the mean of the colours of its points. ``colours`` are those of the categories 0, 1, …, and
    at last that of -1; ``size`` is the diameter of a point in pixels.
    """
    from PIL import Image

    left, bottom, right, top = frame
    step = _ZOOM_OUT * max((right - left) / WIDTH, (top - bottom) / HEIGHT, 0.01)
    x = np.floor((units[:, 0] - (left + right) / 2) / step + WIDTH / 2).astype(np.int64)
    y = np.floor(HEIGHT / 2 - (units[:, 1] - (bottom + top) / 2) / step).astype(np.int64)
    table = np.array([channels(colour) for colour in colours], dtype=np.float64)
    counts, sums = np.zeros(WIDTH * HEIGHT), np.zeros((3, WIDTH * HEIGHT))
    for dx, dy in _disc(size):
        inside = (x + dx >= 0) & (x + dx < WIDTH) & (y + dy >= 0) & (y + dy < HEIGHT)
        pixels = (y[inside] + dy) * WIDTH + x[inside] + dx
        painted = table[categories[inside]]
        counts += np.bincount(pixels, minlength=len(counts))
        for channel in range(3):
            sums[channel] += np.bincount(pixels, painted[:, channel], minlength=len(counts))
    means = sums / np.maximum(counts, 1)
    opacity = np.where(counts > 0, _FAINTEST + (1 - _FAINTEST) * np.log1p(counts) / np.log1p(max(counts.max(), 1)), 0)
    pixels = np.rint(means * opacity + np.array(channels(paper))[:, None] * (1 - opacity)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels.T.reshape(HEIGHT, WIDTH, 3))).save(stream, "PNG")
    return stream.getvalue()


def _disc(size: float) -> list[tuple[int, int]]:
    radius = int(size // 2)
    steps = range(-radius, radius + 1)
    return [(dx, dy) for dx in steps for dy in steps if dx * dx + dy * dy <= radius * radius]


_NEAR, _SENTENCES = 3, 5


@dataclass(frozen=True, slots=True)
class AlternativeGroup:
    """A category in the list."""

    kind: int
    """Index of the category; that of "other" comes after all others."""
    near: list[int]
    """The nearest other categories by their centres, nearest first."""
    rows: list[int]
    """Rows of the sentences that are nearest to the centre, nearest first."""


def outline_of(units: Units, categories: npt.NDArray[np.int64], names: int) -> list[AlternativeGroup]:
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
        groups.append(AlternativeGroup(kind, near[:_NEAR], closest.tolist()))
    return groups
