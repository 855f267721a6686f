"""Layout Clusters of the Relabel page: themes and sub-themes, suggested merges and outliers."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from themescope.core.types import Ids
from themescope.webapp.features.relabel import merges, outliers, themes
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import CLUSTER_VIEW, MERGES, OUTLIERS, THEMES

VIEWS: dict[str, Callable[[RelabelState, Ids], None]] = {
    THEMES: themes.show,
    MERGES: merges.show,
    OUTLIERS: outliers.show,
}
_HIDDEN_WHEN_BLIND = (MERGES, OUTLIERS)
NAME = "Clusters"
"""Name of the layout."""


def choose(state: RelabelState, layout: str) -> None:
    """Draw the choice of the view, before the toolbar, which has the actions of the view."""
    if layout != NAME:
        state.clusters.view = ""
        return
    offered = [view for view in VIEWS if not (state.record.blind and view in _HIDDEN_WHEN_BLIND)]
    chosen = st.segmented_control(
        "Show", offered, key=CLUSTER_VIEW, bind="query-params", default=THEMES, label_visibility="collapsed"
    )
    state.clusters.view = chosen or THEMES
    state.clusters.pair = merges.current(state) if state.clusters.view == MERGES else None


def show(state: RelabelState, ids: Ids) -> None:
    """Draw the open view; ``ids`` are the sentences in view, which the filter and the search restrict."""
    VIEWS[state.clusters.view or THEMES](state, ids)
