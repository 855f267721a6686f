"""The sentences in view as a table; ticking rows selects them, as everywhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.labelling.partition import UNASSIGNED
from core.types import Ids
from webapp.features.relabel.state import Bench
from webapp.shared.text import count

_ROWS = 2_000
_HEIGHT = 400
HOW = "in the table"
_COLUMNS = {
    "Sentence": st.column_config.TextColumn(width=300),
    "Cluster": st.column_config.TextColumn(width=120),
    "Suggested": st.column_config.TextColumn(width=120, help="Where the model would put it, if elsewhere."),
    "Margin": st.column_config.NumberColumn(
        format="%.2f", help="How much more alike it is to the best cluster than to the second best; small is unclear."
    ),
    "?": st.column_config.TextColumn(width=30, help="Marked uncertain."),
    "Section": st.column_config.TextColumn(width=130),
    "Article": st.column_config.TextColumn(width=130),
}


def show(bench: Bench, ids: Ids) -> None:
    """Draw the first rows of ``ids``."""
    listed = ids[:_ROWS]
    key = f"labels-{bench.record.id}-{bench.generation}-{bench.desk.shown.step}-{len(listed)}"
    st.dataframe(
        frame(bench, listed),
        hide_index=True,
        height=_HEIGHT,
        key=key,
        on_select=lambda: _ticked(bench, listed, key),
        selection_mode="multi-row",
        selection_default={"selection": {"rows": np.flatnonzero(np.isin(listed, bench.selected)).tolist()}},
        column_config=_COLUMNS,
        placeholder="",
    )
    if len(ids) > len(listed):
        st.caption(f"The first {len(listed):,} of {count(len(ids), 'sentence')}; search or filter to see others.")


def _ticked(bench: Bench, listed: Ids, key: str) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    elsewhere = bench.selected[~np.isin(bench.selected, listed)]
    # Set directly: this table shows it already, and a new generation would draw another table.
    bench.selected, bench.how = np.unique(np.concatenate([elsewhere, listed[rows]])), HOW


def frame(bench: Bench, ids: Ids) -> pd.DataFrame:
    """One row a sentence; sections and the model's opinion only where the work is not blind."""
    texts, p = bench.texts, bench.partition
    rows, places = [texts.row[int(i)] for i in ids], p.rows(ids)
    names = {n: c.name for n, c in p.clusters.items()} | {UNASSIGNED: ""}
    columns: dict[str, Any] = {
        "Cluster": [names[int(n)] for n in p.numbers[places]],
        "Sentence": [texts.sentences[r].text for r in rows],
        "?": ["?" if mark else "" for mark in p.uncertain[places]],
    }
    found = bench.suggestions
    if found is not None and not bench.record.blind:
        best, own = found.best[places], p.numbers[places]
        columns["Suggested"] = [names.get(int(b), "") if b != o else "" for b, o in zip(best, own, strict=True)]
        columns["Margin"] = np.where(np.isfinite(found.margin[places]), found.margin[places], np.nan)
    if p.notes:
        columns["Note"] = [p.notes.get(int(i), "") for i in ids]
    if not bench.record.blind:
        columns["Section"] = [texts.sections[r] for r in rows]
    if texts.several:
        columns["Article"] = [texts.articles[r] for r in rows]
    return pd.DataFrame(columns)
