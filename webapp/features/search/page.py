"""Search page: one box for actions, everything in the store, the pages and the documentation."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from themescope.core.labelling.operations import Origin
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.jobs.services import search
from themescope.jobs.services.everything import words_of
from themescope.webapp.features import search as state
from themescope.webapp.features.search import found
from themescope.webapp.features.search.found import Link, Listed
from themescope.webapp.shared import projects, queries
from themescope.webapp.shared.components import attempt, draw_component, succeeds
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.selections import selections
from themescope.webapp.shared.text import count, plain

_ASSETS = Path(__file__).parent / "assets"
_HELP = (
    "Words: everything that contains all words of the query. Meaning: the sentences of the project “{}” nearest to the "
    "query by “{}”."
)
_SLOW = "Searching by meaning. The first search loads the model …"


def _typed() -> None:
    """Write the query of the box into the address; a callback."""
    query = str((st.session_state.get(state.BOX) or {}).get("query") or "")
    if query:
        st.query_params[state.QUERY] = query
    else:
        st.query_params.pop(state.QUERY, None)


def _chosen() -> None:
    """Remember the result that was chosen, by its place in the list; a callback."""
    place = (st.session_state.get(state.BOX) or {}).get("open")
    if isinstance(place, int):
        st.session_state["search_chosen"] = place


def _found(query: str, way: str, project: CorpusRecord | None, model: ModelRecord | None) -> list[Listed]:
    if way == state.MEANING and project is not None and model is not None:
        with st.spinner(_SLOW, show_time=True):
            return attempt(lambda: found.by_meaning(query, project, model)) or []
    acts = found.matching(words_of(query), project)
    return [*([acts] if acts.links else []), *found.by_words(query, project)]


def _open(link: Link) -> None:
    """Do what a result does, and open its page; an error stays on this one."""
    if (link.do is None or succeeds(link.do)) and link.page:
        switch_page(link.page, link.view)


@st.fragment
def _search() -> None:
    """Draw the box with its results. Only this part reruns while somebody types."""
    project = projects.current()
    model = found.embedded_by(project)
    if project is None or model is None:
        way = state.WORDS
    else:
        search.preload(queries.store(), model)
        chosen = st.segmented_control(
            "Match", [state.WORDS, state.MEANING], default=state.WORDS, required=True, key=state.WAY,
            bind="query-params", help=_HELP.format(plain(project.name), plain(model.name)),
        )  # fmt: skip
        way = str(chosen)
    query = st.query_params.get(state.QUERY, "")
    listed = _found(query, way, project, model)
    place = st.session_state.pop("search_chosen", None)
    targets: list[Link] = [link for one in listed for link in one.links]
    if place is not None and 0 <= place < len(targets):
        _open(targets[place])
    data = {"query": query, "groups": [one.data() for one in listed], "marked": way == state.WORDS}
    draw_component("search_box", _ASSETS, data=data, key=state.BOX, on_query_change=_typed, on_open_change=_chosen)
    if project is not None and way == state.WORDS and query.strip():
        ids = found.sentence_ids(query, project)
        if len(ids):
            origin = Origin("search", (f"search “{query.strip()}”", "all words"))
            selections.offer_button(f"Select {count(len(ids), 'sentence')} found", project.id, lambda: ids, origin)


_search()
