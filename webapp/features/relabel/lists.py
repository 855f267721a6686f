"""Column and table layouts of the Relabel page: one column per cluster, or a table with ticked rows as selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.labelling.hierarchy import in_order
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.types import Ids
from themescope.webapp.features.relabel.actions import clusters_with_keys
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import COLUMNS, TABLE
from themescope.webapp.features.relabel.toolbar import ASSETS, SCRIPTS, WORDS, appearance, palette
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import shorten

_MAX_IN_COLUMN, _MIN_IN_COLUMN, _MAX_TOGETHER = 150, 6, 1_800
"""Bounds on the sentences of one column, and about how many all columns show together."""
_MAX_TEXT, _MAX_NOTE, _MAX_NAME = 700, 120, 40
_MIN_HEIGHT = 290
"""Height of a column in pixels; columns grow with the window."""


def show_columns(state: RelabelState, ids: Ids) -> None:
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
    sizes, limit = state.partition.sizes(), _limit(len(state.partition.clusters))
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


_MAX_ROWS = 2_000
_HEIGHT = 400
IN_TABLE = "in the table"
_COLUMNS = {
    "Sentence": st.column_config.TextColumn(width=300),
    "Cluster": st.column_config.TextColumn(width=120),
    "Theme": st.column_config.TextColumn(width=120),
    "Suggested": st.column_config.TextColumn(width=120, help="Cluster that the model suggests, if it is another one."),
    "Margin": st.column_config.NumberColumn(
        format="%.2f", help="Similarity to the best cluster minus that to the second best. Small values are uncertain."
    ),
    "?": st.column_config.TextColumn(width=30, help="Marked as uncertain."),
    "Section": st.column_config.TextColumn(width=130),
    "Article": st.column_config.TextColumn(width=130),
}


def show_table(state: RelabelState, ids: Ids) -> None:
    """Draw the first rows of ``ids``."""
    listed = ids[:_MAX_ROWS]
    selectable(state, listed, frame(state, listed), IN_TABLE, height=_HEIGHT, column_config=_COLUMNS)
    if len(ids) > len(listed):
        st.caption(f"Showing {len(listed):,} of {len(ids):,} sentences; search or filter to see others.")


def selectable(state: RelabelState, listed: Ids, frame: pd.DataFrame, method: str, **options: Any) -> None:
    """Draw a table with a row for each of the sentences ``listed``; its ticked rows are the selection."""
    # Another key for other sentences: Streamlit keeps the numbers of the ticked rows under a key.
    key = f"{TABLE}_{state.record.id}_{state.generation}_{state.session.snapshot.step}_{hash(listed.tobytes())}"

    def tick() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        elsewhere = state.selected[~np.isin(state.selected, listed)]
        # Set directly: the table shows the selection already, and a new generation would draw another table.
        state.selected, state.selection_method = np.unique(np.concatenate([elsewhere, listed[rows]])), method

    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        on_select=tick,
        selection_mode="multi-row",
        selection_default={"selection": {"rows": np.flatnonzero(np.isin(listed, state.selected)).tolist()}},
        placeholder="",
        **options,
    )


def frame(state: RelabelState, ids: Ids) -> pd.DataFrame:
    """Return one row per sentence; sections and the model's suggestions only where the work is not blind."""
    texts, p = state.texts, state.partition
    places, rows = [texts.row[int(i)] for i in ids], p.rows(ids)
    names = {n: c.name for n, c in p.clusters.items()} | {UNASSIGNED: ""}
    themes = {n: names.get(c.parent, "") if c.parent else "" for n, c in p.clusters.items()} | {UNASSIGNED: ""}
    columns: dict[str, Any] = {
        "Cluster": [names[int(n)] for n in p.numbers[rows]],
        **({"Theme": [themes[int(n)] for n in p.numbers[rows]]} if any(themes.values()) else {}),
        "Sentence": [texts.sentences[place].text for place in places],
        "?": ["?" if mark else "" for mark in p.uncertain[rows]],
    }
    found = state.suggestions
    if found is not None and not state.record.blind:
        best, own = found.best[rows], p.numbers[rows]
        columns["Suggested"] = [names.get(int(b), "") if b != o else "" for b, o in zip(best, own, strict=True)]
        columns["Margin"] = np.where(np.isfinite(found.margin[rows]), found.margin[rows], np.nan)
    if p.notes:
        columns["Note"] = [p.notes.get(int(i), "") for i in ids]
    if not state.record.blind:
        columns["Section"] = [texts.sections[place] for place in places]
    if texts.several_articles:
        columns["Article"] = [texts.articles[place] for place in places]
    return pd.DataFrame(columns)
