"""What is searched for and how the map is shown, and the files of a map.

The choices are kept under the URL keys of the page; the widgets of a panel that is open show them.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.compute import nearest_neighbours
from themescope.core.errors import ThemescopeError
from themescope.core.records.stored import CorpusRecord, MapRecord
from themescope.core.types import Ids
from themescope.jobs.common.models import within_article
from themescope.jobs.services import search
from themescope.webapp.features import map
from themescope.webapp.features.map import WHOLE_WORDS
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.map_view.component import (
    POINTS_SOURCE,
    STYLE,
    VIEW_SOURCE,
    Canvas,
    appearance,
    outline,
    points_data,
    source,
    view_data,
)
from themescope.webapp.map_view.scene import Colouring, MapState, Rows, Scene, rows_of
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import asset
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import shorten


@dataclass(frozen=True, slots=True)
class MapHits:
    """Result of a search among the sentences in view, best first."""

    rows: Rows
    cosines: npt.NDArray[np.float32] | None
    """(n,) cosine similarity for a search by meaning, else None."""
    searched: bool = True
    note: str = ""
    """What to know about the search: that it was approximate, or why it was not possible; else empty."""


NOTHING_FOUND = MapHits(np.empty(0, dtype=np.intp), None)


def by_text(scene: Scene, corpus: CorpusRecord, text: str, match: str) -> MapHits:
    """Return the sentences that a search looks for; case is ignored."""
    wanted = " ".join(text.split())
    if not wanted:
        return NOTHING_FOUND
    ids = _containing(corpus, wanted, match == WHOLE_WORDS)
    return MapHits(np.flatnonzero(np.isin(scene.ids, ids)), None)


@st.cache_data(show_spinner="Searching …", max_entries=32, hash_funcs=queries.HASHES)
def _containing(corpus: CorpusRecord, text: str, whole_words: bool) -> Ids:
    query = search.parsed(text)
    if whole_words:
        query = [[search.Term(term.text, True) for term in terms] for terms in query]
    return search.sentences_for(queries.store(), corpus.id, query)


@st.cache_data(
    show_spinner="Searching …", max_entries=32, hash_funcs={**queries.HASHES, Scene: lambda scene: scene.ids_digest}
)
def by_meaning(record: MapRecord, scene: Scene, query: str | int, most: int) -> MapHits:
    """Return the ``most`` sentences in view with the largest cosine similarity to a text (str) or a sentence (id).

    Raises ``ThemescopeError`` if the model cannot embed the text.
    """
    model = queries.model_by_id(record.model_id)
    if model is None:
        raise ThemescopeError("The model of this map was deleted, so search by meaning is not possible.")
    vector = search.vector_of(queries.store(), model, query)
    stored = search.stored_blocks(queries.store(), model, scene.articles, scene.positions)
    wanted = most + 1  # a sentence is its own nearest neighbour
    best = nearest_neighbours(vector, ((scene.ids[rows], vectors) for rows, vectors in stored), wanted)
    best = [(id, cosine) for id, cosine in best if id != query][:most]
    rows = rows_of(scene.ids, np.array([id for id, _ in best], np.int64))
    return MapHits(rows, np.array([cosine for _, cosine in best], np.float32))


# --- search and settings ----------------------------------------------------------------------------------------------


_SCALES, _OPACITIES = (0.4, 3.0), (0.1, 1.0)


def found(record: MapRecord, corpus: CorpusRecord, scene: Scene) -> MapHits:
    """Return what the search in the address finds among the sentences in view."""
    text, match = map.held(map.SEARCH).strip(), map.held(map.MATCH, map.SUBSTRING)
    nearest = int(map.number_held(map.NEAREST, 50, 5, 1_000))
    if (model := queries.model_by_id(record.model_id)) is not None:
        search.preload(queries.store(), model)
    query: str | int = _similar() or text
    if not query:
        return replace(NOTHING_FOUND, searched=False)
    if isinstance(query, str) and match != map.MEANING:
        return by_text(scene, corpus, query, match)
    note = ""
    if isinstance(query, str) and model is not None and within_article(model):
        note = "The query has no text around it, so its vector is computed without other units."
    try:
        hits = by_meaning(record, scene, query, nearest)
    except ThemescopeError as error:
        return replace(NOTHING_FOUND, note=str(error))
    return replace(hits, note=" ".join(filter(None, (note, hits.note))))


def _similar() -> int:
    """Return the id of the sentence whose neighbours are searched for; 0 for none."""
    text = map.held(map.SIMILAR)
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        return 0
    return int(text) if int(text) in queries.sentences(np.array([int(text)])) else 0


def searched() -> str:
    """Return what is searched for, as the origin of a selection says it; "" for nothing."""
    if similar := _similar():
        return f"units similar to “{shorten(queries.sentences(np.array([similar]))[similar].text, 60)}”"
    text = map.held(map.SEARCH).strip()
    return f"“{text}” by {map.held(map.MATCH, map.SUBSTRING)}" if text else ""


def search_similar(sentence: int) -> None:
    """Search for the neighbours of a sentence; for callbacks."""
    st.session_state[map.SIMILAR] = str(sentence)


def _field(key: str, value: Any, kind: Callable[[Any], Any] = str) -> dict[str, Any]:
    """Return key and callback of a widget that shows the value of a URL key and changes it."""
    name = f"{key}_field"
    st.session_state[name] = value

    def take() -> None:
        st.session_state[key] = kind(st.session_state[name])

    return {"key": name, "on_change": take}


def search_fields(whole: Scene, corpus: CorpusRecord) -> None:
    """Draw the search and the choice of articles, for the panel of the filters."""
    st.text_input(
        "Search",
        placeholder="Search",
        icon=":material/search:",
        label_visibility="collapsed",
        **_field(map.SEARCH, map.held(map.SEARCH)),
    )
    match = map.held(map.MATCH, map.SUBSTRING)
    with st.container(horizontal=True):
        st.selectbox(
            "Match",
            map.MATCHES,
            **_field(map.MATCH, match if match in map.MATCHES else map.SUBSTRING),
            help="Substring: the text occurs in the unit. Whole words: all words occur. Meaning: the nearest units by "
            "the model of the map.",
        )
        if match == map.MEANING or map.held(map.SIMILAR):
            nearest = int(map.number_held(map.NEAREST, 50, 5, 1_000))
            st.number_input("Nearest units", 5, 1_000, step=5, **_field(map.NEAREST, nearest), width=120)
    titles = titles_of(whole, corpus)
    if len(titles) > 1:
        st.multiselect(
            "Texts",
            list(titles),
            placeholder=f"all {len(titles):,}",
            **_field(map.ARTICLES, map.articles_held(titles), list),
            help="Colours only the units of these texts; the others stay in grey.",
        )


def titles_of(whole: Scene, corpus: CorpusRecord) -> dict[str, int]:
    """Return article titles → ids; those of benchmarks, whose clusters can be compared, come first."""
    measured = queries.benchmark_articles(tuple(one.id for one in queries.benchmarks(corpus.id)))
    titles: dict[str, int] = {}
    for article in sorted(whole.known.values(), key=lambda a: (a.id not in measured, a.title.casefold(), a.id)):
        titles.setdefault(article.title, article.id)
    return titles


def appearance_held() -> tuple[float, float]:
    """Return relative size and opacity of the points."""
    return map.number_held(map.SCALE, 1.0, *_SCALES), map.number_held(map.OPACITY, 0.75, *_OPACITIES)


def display_fields(maps: Sequence[str], shown: str) -> None:
    """Draw the choice of the map, and size and opacity of the points."""
    scale, opacity = appearance_held()
    st.selectbox("Map", maps, **_field(map.MAP, shown))
    st.slider("Point size", *_SCALES, step=0.1, format="%.1f×", **_field(map.SCALE, scale, "{:g}".format))
    st.slider("Opacity", *_OPACITIES, step=0.05, **_field(map.OPACITY, opacity, "{:g}".format))


# Export of a map: columns for tables, and a self-contained HTML page. Pictures are in :mod:`.figure`


def columns(scene: Scene, colouring: Colouring, ids: Ids) -> dict[str, Sequence[Any]]:
    """Return the group, the value and the coordinates of sentences of the map, as columns of a file."""
    rows = scene.rows_of(ids)
    return {
        "group": [colouring.name(row) for row in rows],
        "value": [colouring.value(row) for row in rows],
        "x": scene.points[rows, 0].astype(float).tolist(),
        "y": scene.points[rows, 1].astype(float).tolist(),
    }


FILE_POINTS = 100_000
"""Maximum number of points in a file."""


def sampled(canvas: Canvas) -> Canvas:
    """Return the canvas for a file: of more than ``FILE_POINTS`` points a random sample, always the same one."""
    n = len(canvas.scene.ids)
    if n <= FILE_POINTS:
        return canvas
    return canvas.only(np.sort(np.random.default_rng(n).choice(n, FILE_POINTS, replace=False)))


def page(canvas: Canvas, about: str) -> str:
    """Return an HTML page with points, names, sentences and drawing code in one file that loads nothing else.

    It can be searched, and it is light or dark as the browser of the reader is.
    """
    canvas = sampled(canvas)
    scene = canvas.scene
    sentences = map_scene.texts(scene, np.arange(len(scene.ids)))
    index = {article: i for i, article in enumerate(scene.known)}
    categories, names = canvas.colouring.categories, canvas.colouring.names
    fixed = {"label": about, "fill": 24, "found": {"places": "", "kinds": ""}, "marked": "", "pins": [], "fixed": True}
    data = {
        "points": points_data(canvas),
        "looks": {theme: appearance(replace(canvas, tones=tones(theme))) for theme in ("light", "dark")},
        "view": {**view_data(canvas, MapState()), **fixed, "outline": outline(canvas)},
        "titles": [title or scene.lead for title in scene.titles],
        "sections": scene.sections.tolist(),
        "articles": [article.title for article in scene.known.values()],
        "owners": [index[int(article)] for article in scene.articles],
        "kinds": np.where(categories < 0, len(names), categories).tolist(),
        "sentences": [shorten(" ".join(s.text.split()), 240) for s in sentences],
    }
    # "<" is escaped, so that no sentence can close the script element.
    written = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    start = asset(Path(__file__).parent / "assets", "page.js")
    script = "\n".join((_as_function(POINTS_SOURCE, "takePoints"), _as_function(VIEW_SOURCE, "drawView"), start))
    return _PAGE.format(title=html.escape(about), css=source(STYLE), data=written, script=script)


def _as_function(files: Sequence[str], name: str) -> str:
    """Return a JavaScript module as a function expression with a scope of its own."""
    body = source(*files).replace("export default function", "return function")
    return f"const {name} = (() => {{\n{body}\n}})();"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0.7rem 1rem; font-family: sans-serif; background: light-dark(#fdfcf9, #12171c); }}
body {{ color: light-dark(#1f2a33, #e6e8ea); }}
header {{ display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center; margin-bottom: 0.5rem; }}
h1 {{ flex: 1; margin: 0; font-size: 1.1rem; }}
header input {{ min-width: 16rem; padding: 0.3rem 0.5rem; font: inherit; }}
{css}
</style>
</head>
<body>
<header>
<h1>{title}</h1>
<output id="found"></output>
<input type="search" id="search" placeholder="Search" aria-label="Search">
</header>
<div class="map-view"></div>
<script type="application/json" id="data">{data}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""
