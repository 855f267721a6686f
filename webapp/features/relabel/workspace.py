"""Working in a labelling: the bar, the filters, and one of three views on the same selection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.errors import ThemescopeError
from core.types import Ids
from jobs.services.labelling.vectors import MOST as MOST_VECTORS
from webapp.features.relabel import (
    cluster_map,
    columns,
    dialogs,
    filters,
    messages,
    sentence_card,
    table,
    toolbar,
)
from webapp.features.relabel.state import Bench
from webapp.shared import label_queries
from webapp.shared.choose import nothing
from webapp.shared.model_choice import by_method
from webapp.shared.text import count, plain, shorten

VIEWS: dict[str, Callable[[Bench, Ids], None]] = {
    "Columns": columns.show,
    "Table": table.show,
    "Map": cluster_map.show,
}
NO_MODEL = "no suggestions"
_STYLE = Path(__file__).parent / "assets" / "layout.css"


@st.fragment
def show(bench: Bench) -> None:
    """Everything, up to date with what others have committed."""
    bench.desk.sync()
    st.html(_STYLE)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = st.segmented_control("View", list(VIEWS), key="layout", bind="query-params", default="Columns")
        show = st.selectbox("Show", filters.filters(bench), key="show", bind="query-params", width=205)
        search = st.text_input("Search", key="find", bind="query-params", icon=":material/search:", width=170)
        way = st.selectbox(
            "by",
            [filters.LETTERS, filters.MEANING],
            key="by",
            bind="query-params",
            width=115,
            help="Letters anywhere in a sentence, or the sentences nearest in meaning to the model of the suggestions.",
        )
        _model(bench)
    # A place of its own, so that what comes and goes here moves nothing below to another place in the page.
    with st.container(gap=None):
        messages.show(bench)
    left, right = st.columns([7, 3])
    with right:
        toolbar.show(bench)
    with left:
        with st.container():
            _view(bench, VIEWS[view or "Columns"], (show or filters.EVERYTHING, search or "", way or ""))
        # Below what is clicked: a card above would push the next sentence away from under the mouse.
        if len(bench.selected) == 1:
            sentence_card.show(bench)
    dialogs.open_asked(bench)


def _view(bench: Bench, draw: Callable[[Bench, Ids], None], wanted: tuple[str, str, str]) -> None:
    """The sentences that are asked for, drawn; where there are none, what to do."""
    if bench.alike is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Most like “{plain(shorten(bench.desk.texts.get(bench.alike, ''), 90))}”")
            st.button("Show all again", icon=":material/close:", on_click=bench.look_alike, args=(None,))
    try:
        ids = filters.in_view(bench, *wanted)
    except ThemescopeError as error:
        st.info(plain(error), icon=":material/info:")
        return
    if not len(ids):
        nothing("No sentence fits.", "Choose “All sentences” and clear the search to see the others.")
        return
    draw(bench, ids)
    st.caption(f"{count(len(ids), 'sentence')} in view of {len(bench.partition.ids):,}.")


def _model(bench: Bench) -> None:
    """Whose suggestions are shown; the first time, those of the newest model that has vectors of these sentences."""
    if bench.record.blind or len(bench.partition.ids) > MOST_VECTORS:
        bench.model = None
        return
    models = {m.name: m for m in by_method(label_queries.models_for(bench.record.id, bench.record.created))}
    if not models:
        bench.model = None
        return
    key = f"label-model-{bench.record.id}"
    chosen = st.selectbox(
        "Suggestions by",
        [*models, NO_MODEL],
        key=key,
        width=175,
        help="The model says where a sentence fits best and how clearly; nothing is done until you accept it.",
    )
    bench.model = models[chosen].id if chosen in models else None
