"""Edit tab of the Relabel page: toolbar, filters, and one of three layouts of the same selection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.errors import ThemescopeError
from core.types import Ids
from jobs.services.inference import MOST_WITH_VECTORS as MAX_WITH_VECTORS
from webapp.features.relabel import cluster_map, dialogs, filters, lists, queries, sentence_card, toolbar
from webapp.features.relabel.editing import RelabelState
from webapp.features.relabel.state import CONFLICT, FILTER, LAYOUT, MATCH, MODEL, SEARCH
from webapp.shared import people
from webapp.shared.choose import grouped_by_method, nothing
from webapp.shared.text import ago, count, plain, shorten

LAYOUTS: dict[str, Callable[[RelabelState, Ids], None]] = {
    "Columns": lists.show_columns,
    "Table": lists.show_table,
    "Map": cluster_map.show,
}
NO_MODEL = "no suggestions"
_MAX_CONFLICTS, _MAX_TEXT = 5, 220
_STYLE = Path(__file__).parent / "assets" / "layout.css"


@st.fragment
def show(state: RelabelState) -> None:
    """Draw the tab, up to date with what others have committed."""
    state.session.sync()
    st.html(_STYLE)
    layout, view = _controls(state)
    # A container of its own, so that messages do not move the widgets below to other places in the page.
    with st.container(gap=None):
        _messages(state)
    left, right = st.columns([7, 3])
    with right:
        toolbar.show(state)
    with left:
        with st.container():
            _sentences(state, LAYOUTS[layout], view)
        # Below what is clicked: a card above would push the next sentence away from under the mouse.
        if len(state.selected) == 1:
            sentence_card.show(state)
    dialogs.show_open(state)


def _controls(state: RelabelState) -> tuple[str, tuple[str, str, str]]:
    """Return the layout, and (filter, search, match)."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layout = st.segmented_control("Layout", list(LAYOUTS), key=LAYOUT, bind="query-params", default="Columns")
        name = st.selectbox("Filter", filters.filters(state), key=FILTER, bind="query-params", width=205)
        search = st.text_input("Search", key=SEARCH, bind="query-params", icon=":material/search:", width=170)
        match = st.selectbox(
            "Match",
            filters.MATCHES,
            key=MATCH,
            bind="query-params",
            width=115,
            help="Sentences that contain the text, or the sentences most similar in meaning by the chosen model.",
        )
        _choose_model(state)
    return layout or "Columns", (name or filters.ALL, search or "", match or filters.SUBSTRING)


def _choose_model(state: RelabelState) -> None:
    """Set the model that makes suggestions, by default the newest that has vectors of these sentences."""
    state.model_id = None
    if state.record.blind or len(state.partition.ids) > MAX_WITH_VECTORS:
        return
    models = {m.name: m for m in grouped_by_method(queries.models_for(state.record.id, state.record.created))}
    if not models:
        return
    chosen = st.selectbox(
        "Suggestions from",
        [*models, NO_MODEL],
        key=f"{MODEL}_{state.record.id}",
        width=175,
        help="The model suggests a cluster for every sentence. Nothing changes until you accept a suggestion.",
    )
    state.model_id = models[chosen].id if chosen in models else None


def _sentences(state: RelabelState, draw: Callable[[RelabelState, Ids], None], view: tuple[str, str, str]) -> None:
    """Draw the sentences in view, or the reason why there are none."""
    if state.similar_to is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Most similar to “{plain(shorten(state.session.texts.get(state.similar_to, ''), 90))}”")
            st.button("Show all", icon=":material/close:", on_click=state.show_similar, args=(None,))
    try:
        ids = filters.in_view(state, *view)
    except ThemescopeError as error:
        st.info(plain(error), icon=":material/info:")
        return
    if not len(ids):
        nothing("No matching sentences.", "Choose “All sentences” and clear the search to see all of them.")
        return
    draw(state, ids)
    st.caption(f"Showing {len(ids):,} of {count(len(state.partition.ids), 'sentence')}.")


# ---------------------------------------------------------------- unsaved changes and conflicts


def _messages(state: RelabelState) -> None:
    """Draw what could not be saved, with what to do about it."""
    if state.conflict is not None:
        _conflict(state)
    if state.unsaved is not None:
        with st.container(border=True):
            st.error(f"**Not saved.** {plain(state.unsaved.error)}", icon=":material/error:")
            with st.container(horizontal=True):
                st.button("Try again", icon=":material/refresh:", on_click=state.retry)
                st.button("Discard change", icon=":material/close:", on_click=state.discard)


def _conflict(state: RelabelState) -> None:
    """Draw both versions of what two people changed, and the choice between them."""
    found = state.conflict
    assert found is not None
    with st.container(border=True, key=CONFLICT):
        st.warning(f"**Edit conflict.** {plain(found.message)}", icon=":material/merge:")
        for conflict in found.sentences[:_MAX_CONFLICTS]:
            st.text(shorten(state.session.texts.get(conflict.sentence, ""), _MAX_TEXT))
            who = people.shown(conflict.person) if conflict.when else "someone else"
            st.markdown(
                f"It was **{plain(conflict.seen)}**; you chose **{plain(conflict.mine)}** · {who} chose "
                f"**{plain(conflict.theirs)}** {ago(conflict.when) if conflict.when else ''}"
            )
        if len(found.sentences) > _MAX_CONFLICTS:
            st.caption(f"and {count(len(found.sentences) - _MAX_CONFLICTS, 'more sentence')}")
        with st.container(horizontal=True):
            st.button(
                "Keep their change", type="primary", icon=":material/check:",
                on_click=state.resolve_conflict, args=(False,),
            )  # fmt: skip
            st.button("Use my change", icon=":material/edit:", on_click=state.resolve_conflict, args=(True,))
        st.caption("Both changes stay in the history.")
