"""Column layout of the Relabel page: one column per cluster; click, drag, and edit names and colours in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.labelling.partition import UNASSIGNED
from core.types import Ids
from webapp.features.relabel.actions import clusters_with_keys
from webapp.features.relabel.state import COLUMNS, RelabelState
from webapp.features.relabel.toolbar import WORDS, appearance, palette, source
from webapp.shared.palette import tones
from webapp.shared.text import shorten

_MAX_IN_COLUMN, _MIN_IN_COLUMN, _MAX_TOGETHER = 150, 6, 1_800
"""Bounds on the sentences of one column, and about how many all columns show together."""
_MAX_TEXT, _MAX_NOTE, _MAX_NAME = 700, 120, 40
_MIN_HEIGHT = 290
"""Height of a column in pixels; columns grow with the window."""


def show(state: RelabelState, ids: Ids) -> None:
    """Draw the sentences ``ids`` in columns. What is done there arrives with the actions of the toolbar."""
    draw = st.components.v2.component(
        "themescope_relabel_columns",
        html='<div class="columns"></div>',
        css=source("columns.css"),
        js=source("action_queue.js", "cluster_editor.js", "columns.js"),
    )
    draw(data=columns_data(state, ids), key=f"{COLUMNS}_{state.record.id}")


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
    sizes, limit = state.partition.sizes(), _limit(len(state.partition.clusters))
    columns = []
    for number in (*sorted(state.partition.clusters), UNASSIGNED):
        inside = np.flatnonzero(numbers == number)
        cluster = state.partition.clusters.get(number)
        if cluster is None and not len(inside):
            continue
        size, hidden = sizes[number], len(inside) - limit
        columns.append(
            {
                "number": number,
                "name": cluster.name if cluster else "Unassigned",
                **appearance(shades, cluster.colour if cluster else -1),
                "digit": digits.get(number, ""),
                "count": f"{size:,}" if len(inside) == size else f"{len(inside):,} of {size:,}",
                "empty": "Nothing in view." if size else "Empty. Drag sentences here.",
                "more": f"{hidden:,} more: search, or use the table" if hidden > 0 else "",
                "sentences": [_sentence(state, int(ids[i]), int(rows[i])) for i in inside[:limit]],
            }
        )
    return columns


def _limit(columns: int) -> int:
    """Return how many sentences a column shows: fewer where there are many columns."""
    return max(_MIN_IN_COLUMN, min(_MAX_IN_COLUMN, _MAX_TOGETHER // max(columns, 1)))


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
