"""The map page: what to look at, the map, and the sentences that lie where a person points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from core.errors import ThemescopeError
from core.types import Ids
from db.records import CorpusRecord, MapRecord
from webapp.features.map import atlas_list, map_files, map_pair
from webapp.features.map.atlas_list import Panel
from webapp.map_view import atlas_large, atlas_small, colourings, map_choice, map_scene, map_search
from webapp.map_view.atlas_large import Canvas
from webapp.map_view.colourings import Colouring, View
from webapp.map_view.map_choice import Choice
from webapp.map_view.map_scene import Scene
from webapp.map_view.map_search import MEANING, WAYS, Found
from webapp.shared import queries
from webapp.shared.choose import by_name
from webapp.shared.palette import ground, tones
from webapp.shared.text import count, plain, shorten

CHART_MOST = 1_000
"""Points up to which a map is a chart: a chart of more takes seconds longer to appear than a drawing of our own."""
_HEIGHT, _PAIR_HEIGHT, _TABLE = 410, 330, 215
_NONE = "no other map"
_SIZE, _SIZES = "size", (1.0, 14.0)


@dataclass(frozen=True, slots=True)
class Look:
    """How points are drawn, and how many neighbours are sought."""

    size: float
    opacity: float
    nearest: int


def show(corpus: CorpusRecord, record: MapRecord, maps: Sequence[MapRecord]) -> None:
    """Controls, map, and list: side by side where there is room."""
    whole = map_scene.opened(record)
    first, second, third, fourth, fifth = st.columns([5, 4, 4, 3, 2], vertical_alignment="bottom")
    with first:
        articles = _articles(whole)
    with fifth:
        other, look = _more(record, maps, len(whole.ids))
    pair = _pair(whole, other)
    base = pair.first if pair is not None else whole
    scene = base.only(np.isin(base.articles, articles)) if len(articles) else base
    choice = map_choice.of_map(record.digest)
    with second:
        colouring = _colouring(View(corpus, base, scene, articles))
    text, way = _search(third, fourth)
    like = _like(choice)
    found, searched = _found(record, corpus, whole, scene, (text, way, like, look.nearest))
    canvas = _canvas(scene, colouring, found, look, record)
    beside = map_pair.second(pair, scene, canvas, other) if pair is not None and other is not None else None
    if choice.fresh:
        choice.take(scene, beside.units if beside is not None and choice.side else scene.units, colouring)
    moved = pair.moved[pair.first.rows_of(scene.ids)] if pair is not None else None
    panel = Panel(scene, colouring, choice, found, searched, _TABLE, moved, _ask_alike)
    # The list comes before the map: a map that is drawn knows that its list is.
    if pair is not None and other is not None and beside is not None:
        above = st.container()
        atlas_list.show(panel)
        with above:
            _two((canvas, beside), choice, (record.name, other.name), pair)
    else:
        left, right = st.columns([11, 9])
        with left:
            _send(canvas)
        with right:
            atlas_list.show(panel)
        with left:
            _draw(canvas, choice)
    _honesty(canvas, record, whole)
    map_choice.to_address(choice)


# ---------------------------------------------------------------- what to look at


def _articles(whole: Scene) -> Ids:
    """Ids of the articles to show; none: all.

    Not kept as "article", which is one title on other pages: the page that is turned to still finds what was here.
    """
    titles: dict[str, int] = {}
    for article in sorted(whole.known.values(), key=lambda a: (a.title.casefold(), a.id)):
        titles.setdefault(article.title, article.id)
    kept = [title for title in st.session_state.get("titles") or [] if title in titles]
    if kept != (st.session_state.get("titles") or []):
        st.session_state["titles"] = kept
    chosen = st.multiselect(
        "Articles", list(titles), key="titles", bind="query-params", placeholder=f"all {len(titles):,}",
        help="Show only the sentences of these articles; none: the whole map.",
    )  # fmt: skip
    return np.array(sorted(titles[title] for title in chosen), dtype=np.int64)


def _colouring(view: View) -> Colouring:
    found = colourings.choices(view)
    if st.session_state.get("colour") not in found:
        st.session_state.pop("colour", None)
    chosen = st.selectbox(
        "Colour by", list(found), key="colour", bind="query-params",
        help="Clusters are made inside each article: choose one article to colour by them.",
    )  # fmt: skip
    return found[chosen if chosen in found else next(iter(found))].make()


def _search(third: st.delta_generator.DeltaGenerator, fourth: st.delta_generator.DeltaGenerator) -> tuple[str, str]:
    text = third.text_input(
        "Search", key="find", bind="query-params", placeholder="a word or a sentence", icon=":material/search:",
        help="What is found is ringed on the map and listed beside it.",
    )  # fmt: skip
    way = fourth.selectbox(
        "by", WAYS, key="by", bind="query-params",
        help="Letters anywhere in a sentence, all of the words as whole words, or the sentences nearest in meaning.",
    )  # fmt: skip
    return text or "", way or WAYS[0]


def _more(record: MapRecord, maps: Sequence[MapRecord], n: int) -> tuple[MapRecord | None, Look]:
    with st.popover("Look", icon=":material/palette:", width="stretch"):
        size = _size(2.5 if n > 50_000 else 4.0 if n > 2_000 else 8.0)
        opacity = st.slider(
            "Opacity", 0.1, 1.0, 0.75, 0.05, key="opacity", bind="query-params", help="1 hides what lies below."
        )
        nearest = st.number_input(
            "Sentences found by meaning", 5, 1_000, 50, 5, key="nearest", bind="query-params",
            help="How many of the nearest are ringed and listed.",
        )  # fmt: skip
        others = {m.name or f"map {m.id}": m for m in maps if m.id != record.id}
        if st.session_state.get("beside") not in (None, _NONE, *others):
            st.session_state.pop("beside", None)
        beside = st.selectbox(
            "Beside another map", [_NONE, *others], key="beside", bind="query-params",
            help="Two models on the same sentences: the second map is turned, scaled and moved onto the first.",
        )  # fmt: skip
    return others.get(beside), Look(float(size), float(opacity), int(nearest))


def _size(usual: float) -> float:
    """The size of points: what somebody chose, or a link; on a map with far more or fewer points, what is usual."""
    key, mine = f"{_SIZE}-{usual:g}", st.session_state

    def keep() -> None:
        st.query_params[_SIZE] = f"{mine[key]:g}"

    if key not in mine:
        if any(str(name).startswith(f"{_SIZE}-") for name in mine):
            st.query_params.pop(_SIZE, None)
        mine[key] = _asked_size(st.query_params.get(_SIZE, ""), usual)
    about = "In pixels, before zooming in."
    return float(st.slider("Size of points", *_SIZES, step=0.5, key=key, on_change=keep, help=about))


def _asked_size(text: str, usual: float) -> float:
    """The size that an address names, on the slider's steps; ``usual`` where it names none."""
    try:
        asked = float(text)
    except ValueError:
        return usual
    return min(max(round(2 * asked) / 2, _SIZES[0]), _SIZES[1]) if math.isfinite(asked) else usual


# ---------------------------------------------------------------- searching


def _like(choice: Choice) -> int | None:
    """Id of the sentence whose neighbours are sought, as the address says it."""
    said = st.query_params.get("like", "")
    if not said.isdecimal() or len(said) > 18:
        return None
    known = queries.sentences(np.array([int(said)]))
    if int(said) not in known:
        return None
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(f"Like: {plain(shorten(known[int(said)].text, 90))}", icon=":material/join_inner:", color="blue")
        st.button("Stop", icon=":material/close:", type="tertiary", on_click=_ask_alike, args=(None,))
    return int(said)


def _ask_alike(sentence: int | None) -> None:
    if sentence is None:
        st.query_params.pop("like", None)
    else:
        st.query_params["like"] = str(sentence)


def _found(
    record: MapRecord, corpus: CorpusRecord, whole: Scene, scene: Scene, asked: tuple[str, str, int | None, int]
) -> tuple[Found, bool]:
    """What was searched for, and whether anything was."""
    text, way, like, nearest = asked
    query: str | int | None = like if like is not None else text.strip() or None
    if query is None:
        return map_search.nothing(), False
    if isinstance(query, str) and way != MEANING:
        return map_search.by_text(scene, corpus, query, way), True
    try:
        return map_search.by_meaning(record, whole, scene, query, nearest), True
    except ThemescopeError as error:
        st.warning(plain(error), icon=":material/search_off:")
        return map_search.nothing(), True


# ---------------------------------------------------------------- drawing


def _canvas(scene: Scene, colouring: Colouring, found: Found, look: Look, record: MapRecord) -> Canvas:
    theme = st.context.theme.type or "light"
    return Canvas(
        scene=scene,
        colouring=colouring,
        units=scene.units,
        found=found.rows,
        tones=tones(theme),
        paper=ground(theme),
        size=look.size,
        opacity=look.opacity,
        height=_HEIGHT,
        frame=atlas_large.frame_of(scene.units),
        name=record.digest[:12],
    )


def _send(canvas: Canvas) -> None:
    """The points are the most that is sent; they are on their way while the list is made."""
    if len(canvas.scene.ids) > CHART_MOST:
        atlas_large.points(canvas)


def _draw(canvas: Canvas, choice: Choice) -> None:
    if len(canvas.scene.ids) <= CHART_MOST:
        atlas_small.view(canvas, choice)
    else:
        _view(canvas, choice, choice.version)


@st.fragment
def _view(canvas: Canvas, choice: Choice, listed: int) -> None:
    """Pointing at something redraws only this; choosing something, which the list does not know, redraws the page."""
    if choice.version != listed:
        st.rerun()
    atlas_large.view(canvas, choice)
    map_choice.to_address(choice)


def _two(canvases: tuple[Canvas, Canvas], choice: Choice, names: tuple[str, str], pair: map_pair.Pair) -> None:
    """Two maps of the same sentences that move together."""
    for column, canvas, name in zip(st.columns(2), canvases, names, strict=True):
        with column:
            st.markdown(f"**{plain(name)}**")
            atlas_large.points(canvas)
            _view(replace(canvas, link="pair", height=_PAIR_HEIGHT), choice, choice.version)
    st.caption(
        f"{count(len(pair.first.ids), 'sentence')} stand on both maps. The second is turned, mirrored and moved onto "
        "the first as well as can be (Procrustes), with the same spread. What the best fit leaves unexplained: "
        f"{pair.error:.0%} of the spread."
    )


def _pair(whole: Scene, other: MapRecord | None) -> map_pair.Pair | None:
    """Both maps, where another one was chosen that shares sentences with this one."""
    try:
        return None if other is None else map_pair.together(whole, other)
    except ThemescopeError as error:
        st.warning(plain(error), icon=":material/warning:")
        return None


def _honesty(canvas: Canvas, record: MapRecord, whole: Scene) -> None:
    """What the map leaves out, how far it may be believed, and the whole of it as files."""
    scene, parts = canvas.scene, [f"{count(len(canvas.scene.ids), 'sentence')} in view."]
    if record.sampled_from > len(whole.ids):
        parts.append(
            f"This map is a sample of {len(whole.ids):,} out of {record.sampled_from:,} sentences, "
            f"drawn with seed {record.seed}."
        )
    parts.append(
        f"Faithfulness: {record.faithfulness:.1%} of the 15 nearest neighbours that a sentence has among the vectors "
        "are also near it on the map; distances between far groups mean little."
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(plain(" ".join(parts)), width="stretch")
        name = f"{record.name}: {count(len(scene.ids), 'sentence')}"
        for label, ending, mime, made, help in (
            ("SVG", "svg", "image/svg+xml", lambda: map_files.svg(canvas), "The map in view as a picture."),
            ("HTML", "html", "text/html", lambda: map_files.page(canvas, name), "The map in view with its sentences."),
        ):
            st.download_button(
                label, data=made, file_name=f"themescope-map.{ending}", mime=mime, on_click="ignore", help=help
            )


def choose_map(found: Sequence[MapRecord]) -> MapRecord:
    """One of the maps of a corpus, named by its model."""
    names = {m.id: m.name for m in queries.models()}
    return by_name("Map", found, "map", lambda m: m.name or names.get(m.model_id, "map"))
