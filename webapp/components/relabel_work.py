"""Working in a labelling: the bar, the filters, and one of three views on the same selection."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.types import Ids
from jobs.labelling.vectors import MOST as MOST_VECTORS
from webapp import label_queries, label_view
from webapp.components import relabel_bar, relabel_board, relabel_focus, relabel_map, relabel_table
from webapp.components.choose import nothing
from webapp.components.text import count
from webapp.relabelling import Bench

VIEWS: dict[str, Callable[[Bench, Ids], None]] = {
    "Columns": relabel_board.show,
    "Table": relabel_table.show,
    "Map": relabel_map.show,
}
NO_MODEL = "no suggestions"


@st.fragment
def show(bench: Bench) -> None:
    """Everything, up to date with what others have committed."""
    bench.desk.sync()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = st.segmented_control("View", list(VIEWS), key="layout", bind="query-params", default="Columns")
        show = st.selectbox("Show", label_view.filters(bench), key="show", bind="query-params", width=210)
        search = st.text_input("Containing", key="find", bind="query-params", icon=":material/search:", width=200)
        _model(bench)
    relabel_bar.messages(bench)
    left, right = st.columns([7, 3])
    with right:
        relabel_bar.show(bench)
    with left:
        if len(bench.selected) == 1:
            relabel_focus.show(bench)
        ids = label_view.in_view(bench, show or label_view.EVERYTHING, search or "")
        if len(ids):
            VIEWS[view or "Columns"](bench, ids)
            st.caption(f"{count(len(ids), 'sentence')} in view of {len(bench.partition.ids):,}.")
        else:
            nothing("No sentence fits.", "Choose “All sentences” and clear the search to see the others.")


def _model(bench: Bench) -> None:
    """Whose suggestions are shown; the first time, those of the newest model that has vectors of these sentences."""
    if bench.record.blind or len(bench.partition.ids) > MOST_VECTORS:
        bench.model = None
        return
    models = {m.name: m.id for m in label_queries.models_for(bench.record.id, bench.record.created)}
    if not models:
        bench.model = None
        return
    key = f"label-model-{bench.record.id}"
    chosen = st.selectbox(
        "Suggestions by",
        [*models, NO_MODEL],
        key=key,
        width=190,
        help="The model says where a sentence fits best and how clearly; nothing is done until you accept it.",
    )
    bench.model = models.get(chosen)
