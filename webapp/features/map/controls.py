"""Controls above the map: articles, colouring, display, and the search by substring, whole words or meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st
from scipy import sparse

from themescope.core.compute import INDEX_FROM, cosines, nearest_neighbours
from themescope.core.errors import ThemescopeError
from themescope.core.records.stored import CorpusRecord, MapRecord, ModelRecord
from themescope.core.types import Ids, Matrix
from themescope.jobs.common.model_choice import within_article
from themescope.jobs.common.vectors import keys_of
from themescope.jobs.services import search
from themescope.webapp.features.map import colourings, state
from themescope.webapp.features.map.colourings import ColouredView
from themescope.webapp.features.map.state import WHOLE_WORDS
from themescope.webapp.map_view.geometry import Rows, rows_of
from themescope.webapp.map_view.scene import Colouring, Scene
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import bound, by_name
from themescope.webapp.shared.text import plain, shorten

_KEPT_BYTES = 1_000_000_000
"""Vectors of a map that need more memory than this are read again for each search."""


@dataclass(frozen=True, slots=True)
class MapHits:
    """Result of a search among the sentences in view, best first."""

    rows: Rows
    cosines: npt.NDArray[np.float32] | None
    """(n,) cosine similarity for a search by meaning, else None."""
    searched: bool = True
    note: str = ""
    """Sentence that says that the search was approximate; empty if it was exact."""


NOTHING_FOUND = MapHits(np.empty(0, dtype=np.intp), None)
NO_SEARCH = MapHits(np.empty(0, dtype=np.intp), None, searched=False)


def by_text(scene: Scene, corpus: CorpusRecord, text: str, match: str) -> MapHits:
    """Return the sentences that contain ``text``, or all its words; case is ignored."""
    wanted = " ".join(text.split())
    if not wanted:
        return NOTHING_FOUND
    ids = _containing(corpus, wanted, match == WHOLE_WORDS)
    return MapHits(np.flatnonzero(np.isin(scene.ids, ids)), None)


@st.cache_data(show_spinner="Searching …", max_entries=32, hash_funcs=queries.HASHES)
def _containing(corpus: CorpusRecord, text: str, whole_words: bool) -> Ids:
    if whole_words:
        return search.sentences_with_words(queries.store(), corpus.id, text)
    return queries.sentence_ids_with(corpus.id, text)


# ---------------------------------------------------------------- by meaning


def by_meaning(record: MapRecord, whole: Scene, scene: Scene, query: str | int, most: int) -> MapHits:
    """Return the ``most`` sentences in view with the largest cosine similarity to a text (str) or a sentence (id).

    Raises ``ThemescopeError`` if the model cannot embed the text.
    """
    model = queries.model_by_id(record.model_id)
    if model is None:
        raise ThemescopeError("The model of this map was deleted, so search by meaning is not possible.")
    if (through := _through_index(record, model, whole, scene, query, most)) is not None:
        return through
    first: Any = next(vectors for _, vectors in _blocks(model, whole.only(np.arange(1))))
    bytes_each = 8 * 40 if sparse.issparse(first) else 2 * int(first.shape[1])
    if len(whole.ids) * bytes_each > _KEPT_BYTES:
        blocks = ((scene.ids[rows], vectors) for rows, vectors in _blocks(model, scene))
        best = nearest_neighbours(_query(model, whole, query), blocks, most + 1)
        found = MapHits(
            rows_of(scene.ids, np.array([i for i, _ in best], np.int64)), np.array([c for _, c in best], np.float32)
        )
    else:
        similarity = _all_cosines(record, query, model, whole)
        here = similarity[rows_of(whole.ids, scene.ids)]
        best_rows = np.argsort(-here, kind="stable")[: most + 1]
        found = MapHits(best_rows, here[best_rows])
    keep = scene.ids[found.rows] != query if isinstance(query, int) else np.ones(len(found.rows), bool)
    return MapHits(found.rows[keep][:most], found.cosines[keep][:most] if found.cosines is not None else None)


def _through_index(
    record: MapRecord, model: ModelRecord, whole: Scene, scene: Scene, query: str | int, most: int
) -> MapHits | None:
    """Search through the index; None if there is none, few sentences are in view, or most candidates are hidden."""
    if len(scene.ids) < INDEX_FROM:
        return None
    index = search.index_of(queries.store(), model.id, record.corpus_id)
    if index is None:
        return None
    wanted = most + 1
    asked = 2 * wanted * max(index.vectors // len(scene.ids), 1)
    if asked > search.MOST_CANDIDATES:
        return None
    near = search.near(queries.store(), model, index, _query(model, whole, query), asked)
    rows = np.flatnonzero(np.isin(scene.articles, near.articles, kind="table"))
    keys = keys_of(scene.articles[rows], scene.positions[rows])
    row_of = dict(zip(keys.tolist(), rows.tolist(), strict=True))
    found = [
        (row_of[key], cosine)
        for key, cosine in zip(keys_of(near.articles, near.positions).tolist(), near.cosines.tolist(), strict=True)
        if key in row_of and scene.ids[row_of[key]] != query
    ][:most]
    if len(found) < most:
        return None
    chosen, similarity = zip(*found, strict=True)
    return MapHits(np.array(chosen, np.intp), np.array(similarity, np.float32), note=search.recall_note(index))


@st.cache_data(show_spinner="Searching …", max_entries=32, hash_funcs=queries.HASHES)
def _all_cosines(record: MapRecord, query: str | int, _model: ModelRecord, _whole: Scene) -> npt.NDArray[np.float32]:
    return cosines(_query(_model, _whole, query), _vectors(record.digest, _model, _whole))


def _query(model: ModelRecord, whole: Scene, query: str | int) -> Matrix:
    if isinstance(query, str):
        return search.query_vector(queries.store(), model, query)
    return next(vectors for _, vectors in _blocks(model, whole.only(whole.rows_of(np.array([query])))))


def _blocks(model: ModelRecord, scene: Scene) -> Any:
    return search.stored_blocks(queries.store(), model, scene.articles, scene.positions)


@st.cache_resource(show_spinner="Reading the vectors …", max_entries=2)
def _vectors(digest: str, _model: ModelRecord, _whole: Scene) -> Matrix:
    """Return the vectors of a map in the order of its rows; dense ones as float16, as they are stored."""
    parts = list(_blocks(_model, _whole))
    rows = np.concatenate([rows for rows, _ in parts])
    back = np.argsort(rows, kind="stable")
    if sparse.issparse(parts[0][1]):
        return sparse.vstack([vectors for _, vectors in parts], format="csr")[back]
    return np.concatenate([vectors.astype(np.float16) for _, vectors in parts])[back]


# --- controls ---------------------------------------------------------------------------------------------------------


_NONE = "None"
_SCALES = (0.4, 3.0)


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
    help = "Clusters are computed within each article: choose one article to colour by them."
    return found[bound("Colour by", list(found), state.COLOUR, label_visibility="collapsed", help=help)].make()


def chosen() -> tuple[str, str]:
    """Return the names of the colouring and of the search, once their controls are drawn."""
    similar = st.query_params.get(state.SIMILAR, "")
    text = str(st.session_state.get(state.SEARCH) or "").strip()
    searched = "similar sentences" if similar else f"“{text}” by {st.session_state.get(state.MATCH)}" if text else ""
    return str(st.session_state.get(state.COLOUR) or ""), searched


def display(maps: Sequence[MapRecord]) -> tuple[MapRecord, MapRecord | None, float, float]:
    """Choose a map and a second one (None for none), and relative size and opacity of their points."""
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
        help = "Shows a second map of the same sentences, aligned with the first."
        beside = bound("Compare maps", [_NONE, *others], state.OTHER_MAP, help=help)
    return record, others.get(beside), float(scale), float(opacity)


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
        search.preload(queries.store(), model)
    query: str | int | None = _similar()
    if query is None:
        query = text.strip() or None
    if query is None:
        return NO_SEARCH
    if isinstance(query, str) and match != state.MEANING:
        return by_text(scene, corpus, query, match)
    if isinstance(query, str) and model is not None and within_article(model):
        st.caption("The query has no article, so its vector is computed without other sentences.")
    try:
        found = by_meaning(record, whole, scene, query, nearest)
    except ThemescopeError as error:
        st.warning(plain(error), icon=":material/search_off:")
        return NOTHING_FOUND
    if found.note:
        st.caption(found.note)
    return found


def _search_box() -> tuple[str, str, int]:
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
