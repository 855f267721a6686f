"""What a map shows and what was chosen on it: plain functions, so that no wrong id can hide behind a browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from core.types import Ids, Labels
from webapp.components.text import figure_text, shorten

_LINE = 64
LIMIT = 18
"""More categories than this cannot be told apart; the rest become "other"."""


def selected_ids(event: Mapping[str, Any] | None) -> Ids:
    """(n,) ids of the points in a selection event, each once, in ascending order.

    The id of a point is its ``customdata``; its place in a trace says nothing, because it changes with colouring,
    filters and sampling.
    """
    points = ((event or {}).get("selection") or {}).get("points") or []
    found = {_id(point.get("customdata")) for point in points}
    return np.array(sorted(i for i in found if i is not None), dtype=np.int64)


def _id(value: Any) -> int | None:
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = value[0] if value else None
    return None if value is None else int(value)


def categories(keys: Sequence[str], keep_order: bool = False) -> tuple[npt.NDArray[np.int64], list[str]]:
    """(n,) category of each key and the categories' names; what is rarer than the ``LIMIT`` most frequent is -1.

    With ``keep_order`` the names stand in order of first appearance (sections of one article), else by frequency.
    """
    frequent = [name for name, _ in Counter(keys).most_common(LIMIT)]
    if keep_order:
        first = {name: place for place, name in reversed(list(enumerate(keys)))}
        frequent.sort(key=first.__getitem__)
    place = {name: i for i, name in enumerate(frequent)}
    return np.array([place.get(key, -1) for key in keys], dtype=np.int64), frequent


def lasting_colours(names: Sequence[str], known: Sequence[str]) -> list[int]:
    """Place in the palette of each of ``names``: a name among the ``known`` keeps its place there in every view.

    The others take the places that are left, in their order, so that no two categories in view look alike.
    """
    place = {name: i for i, name in enumerate(known)}
    taken = {place[name] for name in names if name in place}
    free = (i for i in range(len(names) + len(taken)) if i not in taken)
    return [place[name] if name in place else next(free) for name in names]


def cluster_of(labels: Mapping[int, Labels], items: Mapping[int, Ids]) -> dict[int, int]:
    """Sentence id → label, over every article of a run."""
    return {
        int(sentence): int(label)
        for article, ids in items.items()
        if article in labels
        for sentence, label in zip(ids, labels[article], strict=True)
    }


def hover_text(article: str, section: str, sentence: str, letters: int) -> str:
    """The lines of a hover label, escaped for a chart."""
    head = f"{figure_text(article, 60)} · {figure_text(section or 'Introduction', 50)}"
    lines = wrapped(shorten(" ".join(sentence.split()), letters), _LINE)
    return "<br>".join([f"<b>{head}</b>", *(figure_text(line) for line in lines)])


def wrapped(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` letters, broken at spaces where there are any; quick for whole maps."""
    lines = []
    while len(text) > width:
        cut = text.rfind(" ", 1, width + 1)
        cut = width if cut < 0 else cut
        lines.append(text[:cut])
        text = text[cut:].lstrip(" ")
    return [*lines, text] if text else lines


def matching(texts: Sequence[str], query: str) -> npt.NDArray[np.bool_]:
    """(n,) whether each text contains ``query``, case ignored; nothing matches an empty query."""
    wanted = query.strip().casefold()
    return np.array([bool(wanted) and wanted in text.casefold() for text in texts], dtype=bool)
