"""Table layout of the Relabel page; ticked rows are the selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.labelling.partition import UNASSIGNED
from core.types import Ids
from webapp.features.relabel.state import TABLE, RelabelState

_MAX_ROWS = 2_000
_HEIGHT = 400
IN_TABLE = "in the table"
_COLUMNS = {
    "Sentence": st.column_config.TextColumn(width=300),
    "Cluster": st.column_config.TextColumn(width=120),
    "Suggested": st.column_config.TextColumn(width=120, help="Cluster that the model suggests, if it is another one."),
    "Margin": st.column_config.NumberColumn(
        format="%.2f", help="Similarity to the best cluster minus that to the second best. Small values are uncertain."
    ),
    "?": st.column_config.TextColumn(width=30, help="Marked as uncertain."),
    "Section": st.column_config.TextColumn(width=130),
    "Article": st.column_config.TextColumn(width=130),
}


def show(state: RelabelState, ids: Ids) -> None:
    """Draw the first rows of ``ids``."""
    listed = ids[:_MAX_ROWS]
    key = f"{TABLE}_{state.record.id}_{state.generation}_{state.session.snapshot.step}_{len(listed)}"
    st.dataframe(
        frame(state, listed),
        hide_index=True,
        height=_HEIGHT,
        key=key,
        on_select=lambda: _ticked(state, listed, key),
        selection_mode="multi-row",
        selection_default={"selection": {"rows": np.flatnonzero(np.isin(listed, state.selected)).tolist()}},
        column_config=_COLUMNS,
        placeholder="",
    )
    if len(ids) > len(listed):
        st.caption(f"Showing {len(listed):,} of {len(ids):,} sentences; search or filter to see others.")


def _ticked(state: RelabelState, listed: Ids, key: str) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    elsewhere = state.selected[~np.isin(state.selected, listed)]
    # Set directly: this table shows the selection already, and a new generation would draw another table.
    state.selected = np.unique(np.concatenate([elsewhere, listed[rows]]))
    state.selection_method = IN_TABLE


def frame(state: RelabelState, ids: Ids) -> pd.DataFrame:
    """Return one row per sentence; sections and the model's suggestions only where the work is not blind."""
    texts, p = state.texts, state.partition
    places, rows = [texts.row[int(i)] for i in ids], p.rows(ids)
    names = {n: c.name for n, c in p.clusters.items()} | {UNASSIGNED: ""}
    columns: dict[str, Any] = {
        "Cluster": [names[int(n)] for n in p.numbers[rows]],
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
