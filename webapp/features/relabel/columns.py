"""Layout Columns of the Relabel page: one column of sentences for each cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from themescope.core.labelling.hierarchy import in_order
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.types import Ids
from themescope.webapp.features.relabel.actions import clusters_with_keys
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import COLUMNS
from themescope.webapp.features.relabel.toolbar import ASSETS, SCRIPTS, WORDS, appearance, palette
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import shorten

_MAX_IN_COLUMN, _MIN_IN_COLUMN, _MAX_TOGETHER = 600, 6, 1_800
"""Bounds on the sentences of one column, and about how many all columns show together."""
_MAX_TEXT, _MAX_NOTE, _MAX_NAME = 700, 120, 40
_MIN_HEIGHT = 290
"""Height of a column in pixels; columns grow with the window."""


def show(state: RelabelState, ids: Ids) -> None:
    """Draw the sentences ``ids`` in columns. What is done there arrives with the actions of the toolbar."""
    data, key = columns_data(state, ids), f"{COLUMNS}_{state.record.id}"
    draw_component("columns", ASSETS, *SCRIPTS, data=data, key=key)


def columns_data(state: RelabelState, ids: Ids) -> dict[str, Any]:
    """Return what the browser needs to draw the columns: texts and colours, a few hundred sentences per column."""
    shades = tones(st.context.theme.type)
    columns = _columns(state, ids)
    if len(ids) < len(state.partition.ids):  # with a filter or a search, empty columns come last
        columns.sort(key=lambda column: not column["sentences"])
    return {
        "columns": columns,
        "selected": state.selected.tolist(),
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "height": _MIN_HEIGHT,
        "palette": palette(shades),
        "words": WORDS,
    }


def _columns(state: RelabelState, ids: Ids) -> list[dict[str, Any]]:
    shades = tones(st.context.theme.type)
    rows = state.partition.rows(ids)
    numbers = state.partition.numbers[rows]
    digits = {cluster.number: str(digit) for digit, cluster in enumerate(clusters_with_keys(state), 1)}
    sizes, in_view = state.partition.sizes(), len(np.unique(numbers))
    # Fewer sentences where there are many columns with some; a filter or a search leaves fewer columns.
    limit = max(_MIN_IN_COLUMN, min(_MAX_IN_COLUMN, _MAX_TOGETHER // max(in_view, 1)))
    columns = []
    clusters = state.partition.clusters
    for number in (*(cluster.number for cluster in in_order(state.partition)), UNASSIGNED):
        inside = np.flatnonzero(numbers == number)
        cluster = clusters.get(number)
        only_above = cluster is not None and not sizes[number] and bool(state.partition.children(number))
        if (cluster is None and not len(inside)) or only_above:
            continue
        theme = clusters[cluster.parent].name if cluster is not None and cluster.parent is not None else ""
        size, hidden = sizes[number], len(inside) - limit
        columns.append(
            {
                "number": number,
                "name": cluster.name if cluster else "Unassigned",
                "theme": theme,
                **appearance(shades, cluster.colour if cluster else -1),
                "digit": digits.get(number, ""),
                "count": f"{size:,}" if len(inside) == size else f"{len(inside):,} of {size:,}",
                "empty": "Nothing in view." if size else "Empty. Drag sentences here.",
                "more": f"{hidden:,} more: choose fewer clusters, filter or search" if hidden > 0 else "",
                "sentences": [_sentence(state, int(ids[i]), int(rows[i])) for i in inside[:limit]],
            }
        )
    return columns


def _sentence(state: RelabelState, sentence: int, row: int) -> dict[str, Any]:
    texts = state.texts
    place = texts.row[sentence]
    number = None if state.record.blind else state.suggestion_for(row)
    return {
        "id": sentence,
        "text": shorten(texts.sentences[place].text, _MAX_TEXT),
        "article": texts.articles[place] if texts.several_articles else "",
        "mark": "?" if state.partition.uncertain[row] else "",
        "note": shorten(state.partition.notes.get(sentence, ""), _MAX_NOTE),
        "suggestion": f"→ {shorten(state.partition.clusters[number].name, _MAX_NAME)}" if number is not None else "",
    }
