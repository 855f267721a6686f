"""Categories for colouring the points of a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from core.types import Ids, Labels
from webapp.map_view.colouring import MANY


def categories(
    codes: npt.NDArray[np.integer], names: Sequence[str], keep_order: bool = False
) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Return the (n,) category of each point and the code behind each category; rare codes have the category -1.

    ``codes`` are indices into ``names``. The categories are the ``MANY`` most frequent codes, ties broken by name, in
    order of first appearance with ``keep_order`` (sections of one article), else by frequency.
    """
    counts = np.bincount(codes, minlength=len(names)) if len(codes) else np.zeros(len(names), np.int64)
    least = np.sort(counts)[-MANY] if len(counts) >= MANY else 0
    there = np.flatnonzero((counts > 0) & (counts >= least))
    chosen = sorted(there.tolist(), key=lambda code: (-int(counts[code]), names[code]))[:MANY]
    if keep_order:
        first = dict(zip(*(part.tolist() for part in np.unique(codes, return_index=True)), strict=True))
        chosen.sort(key=first.__getitem__)
    place = np.full(len(names), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    return place[codes] if len(codes) else np.empty(0, np.int64), chosen


def lasting_colours(names: Sequence[str], known: Sequence[str]) -> list[int]:
    """Return the palette index of each of ``names``, the same in every view for names among ``known``.

    Other names take the free indices in their order, so that no two categories in view look the same.
    """
    place = {name: i for i, name in enumerate(known)}
    taken = {place[name] for name in names if name in place}
    free = (i for i in range(len(names) + len(taken)) if i not in taken)
    return [place[name] if name in place else next(free) for name in names]


def cluster_of(labels: Mapping[int, Labels], items: Mapping[int, Ids]) -> dict[int, int]:
    """Return sentence id → label over every article of a run."""
    return {
        int(sentence): int(label)
        for article, ids in items.items()
        if article in labels
        for sentence, label in zip(ids, labels[article], strict=True)
    }


def ranges(values: npt.NDArray[np.floating], parts: int) -> tuple[npt.NDArray[np.int64], list[tuple[float, float]]]:
    """Return the (n,) range of each value, lowest first, and the bounds of each range; NaN has the range -1.

    The at most ``parts`` ranges hold about equally many values; equal values are in the same range.
    """
    there = np.isfinite(values)
    found = np.full(len(values), -1, dtype=np.int64)
    if not there.any():
        return found, []
    known = values[there]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, parts + 1)[1:-1], method="higher"))
    place = np.searchsorted(edges, known, side="right")
    _, found[there] = np.unique(place, return_inverse=True)
    return found, [(float(known[place == p].min()), float(known[place == p].max())) for p in np.unique(place)]
