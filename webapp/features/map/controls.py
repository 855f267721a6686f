"""Controls above the map: articles, colouring, search, display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.records.stored import CorpusRecord, MapRecord
from themescope.core.types import Ids
from themescope.jobs.common.model_choice import within_article
from themescope.jobs.services import search as inference
from themescope.webapp.features.map import colourings, search, state
from themescope.webapp.features.map.colourings import ColouredView
from themescope.webapp.features.map.search import MapHits
from themescope.webapp.map_view.scene import Colouring, Scene
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import by_name
from themescope.webapp.shared.text import plain, shorten

_NONE = "None"
_SCALES = (0.4, 3.0)


@dataclass(frozen=True, slots=True)
class Display:
    """Appearance of the points."""

    scale: float
    """Size of the points as a multiple of the usual one."""
    opacity: float


def articles(whole: Scene, corpus: CorpusRecord) -> Ids:
    """Choose articles; returns their ids, none for all. Those of benchmarks come first."""
    measured = queries.benchmark_articles(corpus.id)
    titles: dict[str, int] = {}
    for article in sorted(whole.known.values(), key=lambda a: (a.id not in measured, a.title.casefold(), a.id)):
        titles.setdefault(article.title, article.id)
    first = sum(id in measured for id in titles.values())
    held = st.session_state.get(state.ARTICLES) or []
    kept = [title for title in held if title in titles]
    if kept != held:
        st.session_state[state.ARTICLES] = kept
    with st.popover("Articles", icon=":material/article:"):
        chosen = st.multiselect(
            "Articles", list(titles), key=state.ARTICLES, bind="query-params", placeholder=f"all {len(titles):,}",
            help="Colours only the sentences of these articles; the others stay in grey.",
        )  # fmt: skip
        if first:
            st.caption(
                f"The first {first:,} of the list are in a benchmark, so that clusters of them can be compared."
                if first < len(titles)
                else "All are in a benchmark, so that clusters of them can be compared."
            )
    return np.array(sorted(titles[title] for title in chosen), dtype=np.int64)


def colouring(view: ColouredView) -> Colouring:
    """Choose what the points are coloured by."""
    found = colourings.options(view)
    if st.session_state.get(state.COLOUR) not in found:
        st.session_state.pop(state.COLOUR, None)
    chosen = st.selectbox(
        "Colour by", list(found), key=state.COLOUR, bind="query-params", label_visibility="collapsed",
        help="Clusters are computed within each article: choose one article to colour by them.",
    )  # fmt: skip
    return found[chosen if chosen in found else next(iter(found))].make()


def chosen() -> tuple[str, str]:
    """Return the names of the colouring and of the search, once their controls are drawn."""
    similar = st.query_params.get(state.SIMILAR, "")
    text = str(st.session_state.get(state.SEARCH) or "").strip()
    searched = "similar sentences" if similar else f"“{text}” by {st.session_state.get(state.MATCH)}" if text else ""
    return str(st.session_state.get(state.COLOUR) or ""), searched


# ---------------------------------------------------------------- display


def display(maps: Sequence[MapRecord]) -> tuple[MapRecord, MapRecord | None, Display]:
    """Choose a map and a second one (None for none), and the appearance of their points."""
    models = {model.id: model.name for model in queries.models()}
    with st.popover("Display", icon=":material/tune:"):
        record = by_name("Map", maps, state.MAP, lambda found: found.name or models.get(found.model_id, "Map"))
        scale = st.slider(
            "Point size", *_SCALES, 1.0, 0.1, key=state.SCALE, bind="query-params", format="%.1f×",
            help="As a multiple of the usual size, which depends on the number of points.",
        )  # fmt: skip
        opacity = st.slider(
            "Opacity", 0.1, 1.0, 0.75, 0.05, key=state.OPACITY, bind="query-params", help="1 is fully opaque."
        )
        others = {m.name or f"map {m.id}": m for m in maps if m.id != record.id}
        if st.session_state.get(state.OTHER_MAP) not in (None, _NONE, *others):
            st.session_state.pop(state.OTHER_MAP, None)
        beside = st.selectbox(
            "Compare maps", [_NONE, *others], key=state.OTHER_MAP, bind="query-params",
            help="Shows a second map of the same sentences, aligned with the first.",
        )  # fmt: skip
    return record, others.get(beside), Display(float(scale), float(opacity))


# ---------------------------------------------------------------- search


def found(
    record: MapRecord,
    corpus: CorpusRecord,
    whole: Scene,
    scene: Scene,
) -> MapHits:
    """Draw the search box and return what the search found."""
    text, match, nearest = _search_box()
    if (model := queries.model_by_id(record.model_id)) is not None:
        inference.preload(queries.store(), model)
    query: str | int | None = _similar()
    if query is None:
        query = text.strip() or None
    if query is None:
        return search.NO_SEARCH
    if isinstance(query, str) and match != state.MEANING:
        return search.by_text(scene, corpus, query, match)
    if isinstance(query, str) and model is not None and within_article(model):
        st.caption("The query has no article, so its vector is computed without other sentences.")
    try:
        found = search.by_meaning(record, whole, scene, query, nearest)
    except ThemescopeError as error:
        st.warning(plain(error), icon=":material/search_off:")
        return search.NOTHING_FOUND
    if found.note:
        st.caption(found.note)
    return found


def _search_box() -> tuple[str, str, int]:
    """Return the text, the way to match it, and how many similar sentences are found."""
    text = st.text_input(
        "Search", key=state.SEARCH, bind="query-params", placeholder="Search", width="stretch",
        icon=":material/search:", label_visibility="collapsed",
    )  # fmt: skip
    with st.popover("Search options", icon=":material/manage_search:"):
        match = st.selectbox(
            "Match", state.MATCHES, key=state.MATCH, bind="query-params",
            help="Substring: the text occurs in the sentence. Whole words: all words occur. Meaning: the nearest "
            "sentences by the model of the map.",
        )  # fmt: skip
        nearest = st.number_input(
            "Similar sentences", 5, 1_000, 50, 5, key=state.NEAREST, bind="query-params",
            help="How many nearest neighbours a search by meaning returns.",
        )  # fmt: skip
    return text or "", match or state.SUBSTRING, int(nearest)


def _similar() -> int | None:
    """Return the id of the sentence whose neighbours are searched for, from the address."""
    text = st.query_params.get(state.SIMILAR, "")
    if not text.isdecimal() or len(text) > 18:
        return None
    known = queries.sentences(np.array([int(text)]))
    if int(text) not in known:
        return None
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label = f"Similar to: {plain(shorten(known[int(text)].text, 90))}"
        st.badge(label, icon=":material/join_inner:", color="blue")
        st.button("Clear search", icon=":material/close:", type="tertiary", on_click=search_similar, args=(None,))
    return int(text)


def search_similar(sentence: int | None) -> None:
    """Search for the neighbours of a sentence; with None, clear that search. For callbacks."""
    if sentence is None:
        st.query_params.pop(state.SIMILAR, None)
    else:
        st.query_params[state.SIMILAR] = str(sentence)
