"""Outliers: sentences without similar ones, to leave, to unassign, to assign or to gather in a new one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from themescope.core.labelling.dismissals import accepted_outliers
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.types import Ids
from themescope.jobs.services.labelling import clusters
from themescope.webapp.features.relabel import cluster_queries
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.lists import selectable
from themescope.webapp.features.relabel.state import NEEDS_MODEL, OUTLIER_LIMIT
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.text import count

_MAX_ROWS, _HEIGHT = 1_000, 380
_LEAST_RANGE = 0.01
IN_OUTLIERS = "among the outliers"
_COLUMNS = {
    "Similarity": st.column_config.NumberColumn(
        format="%.2f", width=75, help="Mean cosine to the ten most similar sentences."
    ),
    "Sentence": st.column_config.TextColumn(width=290),
    "Cluster": st.column_config.TextColumn(width=140),
    "Suggested": st.column_config.TextColumn(width=140, help="The most similar cluster, which the key A assigns."),
}


def show(state: RelabelState, ids: Ids) -> None:
    """Draw the limit and those of the sentences ``ids`` that have less similar neighbours."""
    found = cluster_queries.densities(state)
    if found is None:
        st.info(NEEDS_MODEL, icon=":material/info:")
        return
    every, density = found
    known = density[np.isfinite(density)]
    low, high = (float(known.min()), float(np.median(known))) if len(known) else (0.0, 0.0)
    if high - low < _LEAST_RANGE:
        nothing("No outliers.", "All sentences have equally similar neighbours.")
        return
    usual = float(np.clip(max(clusters.usual_limit(density), np.quantile(known, 0.01)), low, high))
    limit = st.slider(
        "Similarity below", round(low, 2), round(high, 2) + 0.01, round(usual, 2), 0.01,
        key=f"{OUTLIER_LIMIT}_{state.record.id}_{state.model_id}",
        help="A sentence is an outlier if its mean cosine to the ten most similar sentences is below this limit. At "
        "first the limit is the first quartile minus 1.5 times the interquartile range, or the lowest 1 %.",
    )  # fmt: skip
    rows = np.flatnonzero(density < limit)
    rows = rows[np.argsort(density[rows], kind="stable")]
    listed = every[rows]
    left = np.isin(listed, accepted_outliers(state.partition))
    rows = rows[~left & np.isin(listed, ids)]
    words = f", without {left.sum():,} that were left in place" if left.any() else ""
    st.caption(
        f"{count(len(rows), 'outlier')}{words}. Select some, then leave them (H), unassign them (0), accept the "
        f"suggested cluster (A) or gather them in a new one (N). {cluster_queries.sample_note(state)}"
    )
    if len(rows):
        _table(state, every[rows[:_MAX_ROWS]], density[rows[:_MAX_ROWS]])


def _table(state: RelabelState, ids: Ids, density: npt.NDArray[np.float64]) -> None:
    p, rows, found = state.partition, state.partition.rows(ids), state.suggestions
    nearest = np.full(len(rows), UNASSIGNED) if found is None else found.best[rows]
    names = {n: c.name for n, c in p.clusters.items()} | {UNASSIGNED: ""}
    frame = pd.DataFrame(
        {
            "Similarity": density,
            "Sentence": [state.session.texts[i] for i in ids.tolist()],
            "Cluster": [names[int(n)] for n in p.numbers[rows]],
            "Suggested": [names[int(n)] for n in nearest],
        }
    )
    with st.container(horizontal=True):
        select = st.button("Select all", icon=":material/select_all:", key=f"{OUTLIER_LIMIT}_all")
        clear = st.button("Clear selection", icon=":material/deselect:", key=f"{OUTLIER_LIMIT}_none")
    if select or clear:
        state.select(ids if select else ids[:0], IN_OUTLIERS)
        st.rerun()
    selectable(state, ids, frame, IN_OUTLIERS, height=_HEIGHT, column_config=_COLUMNS)
