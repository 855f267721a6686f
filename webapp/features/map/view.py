"""The map of a corpus, alone or beside a second one: controls, the map and the list of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.errors import ThemescopeError
from core.projection import geometry as alignment
from core.types import Points
from db.records import CorpusRecord, MapRecord
from jobs.common.model_notes import WITHIN_ARTICLE, within_article
from webapp.features.map import controls, export, sentence_list
from webapp.features.map.colourings import View
from webapp.features.map.sentence_list import Panel
from webapp.features.map.state import state_of, to_address
from webapp.map_view import component, geometry
from webapp.map_view import scene as map_scene
from webapp.map_view.component import Canvas
from webapp.map_view.scene import Scene
from webapp.map_view.view_state import MapState
from webapp.shared import queries
from webapp.shared.components import download
from webapp.shared.text import count, plain


@dataclass(frozen=True, slots=True)
class Pair:
    """The sentences on both maps; row i of every array is one of them."""

    first: Scene
    second: Points
    """(n, 2) coordinates on the second map, aligned with the first."""
    error: float
    """Residual of the alignment: share of the variance of the first map, 0…1."""
    moved: npt.NDArray[np.float64]
    """(n,) distance between both positions, in standard deviations of the first map."""


def pair_of(first: Scene, other: MapRecord) -> Pair:
    """Return a scene and another map as a pair; raises ``DataError`` if they share less than three sentences."""
    return _together(geometry.digest(first.ids), other.digest, first, other)


@st.cache_resource(show_spinner="Aligning the maps …", max_entries=4)
def _together(ids: str, digest: str, _first: Scene, _other: MapRecord) -> Pair:
    return align(_first, map_scene.opened(_other))


def align(first: Scene, other: Scene) -> Pair:
    """Return the sentences on both, in the order of ``first``, with ``other`` aligned with ``first``."""
    shared = first.only(np.isin(first.ids, other.ids))
    points = other.points[other.rows_of(shared.ids)]
    found = alignment.align(points, shared.points)
    fitted = found.apply(points, even=True)
    return Pair(shared, fitted, found.error, alignment.moved(fitted, shared.points))


def second_canvas(pair: Pair, scene: Scene, canvas: Canvas, other: MapRecord) -> Canvas:
    """Return the canvas of the second map of the sentences in view, on the grid of the first."""
    rows = pair.first.rows_of(scene.ids)
    return replace(canvas, units=scene.grid.units(pair.second[rows]), name=other.digest[:12], side=1)


_HEIGHT, _PAIR_HEIGHT, _TABLE = 430, 330, 300


def show(corpus: CorpusRecord, record: MapRecord, maps: Sequence[MapRecord]) -> None:
    """Draw controls, map and list: map and list side by side where there is room."""
    whole = map_scene.opened(record)
    first, second, third, fourth, fifth = st.columns([5, 4, 4, 3, 3], vertical_alignment="bottom")
    with first:
        articles = controls.articles(whole)
    with fifth:
        shown = np.isin(whole.articles, articles) if len(articles) else np.ones(len(whole.ids), bool)
        other, display = controls.display(record, maps, int(shown.sum()))
    pair = _pair(whole, other)
    base = pair.first if pair is not None else whole
    scene = base.only(np.isin(base.articles, articles)) if len(articles) else base
    state = state_of(record.digest)
    with second:
        colouring = controls.colouring(View(corpus, base, scene, articles))
    found = controls.found(record, corpus, whole, scene, (third, fourth), display.nearest)
    canvas = component.canvas_of(
        scene, colouring, found=found.rows, size=display.size, opacity=display.opacity, height=_HEIGHT,
        name=record.digest[:12],
    )  # fmt: skip
    beside = second_canvas(pair, scene, canvas, other) if pair is not None and other is not None else None
    if state.fresh:
        state.take(scene, beside.units if beside is not None and state.side else scene.units, colouring)
    moved = pair.moved[pair.first.rows_of(scene.ids)] if pair is not None else None
    coloured_by, searched = controls.chosen()
    panel = Panel(
        corpus, record, scene, colouring, state, found, _TABLE, moved, controls.search_similar, coloured_by, searched
    )
    # The list comes before the map: a map that is drawn knows that its list is.
    if pair is not None and other is not None and beside is not None:
        above = st.container()
        sentence_list.show(panel)
        with above:
            _two((canvas, beside), state, (record.name, other.name), pair)
    else:
        left, right = st.columns([11, 9])
        with left:
            component.points(canvas)
        with right:
            sentence_list.show(panel)
        with left:
            component.interactive(canvas, state, state.version, to_address)
    _notes(canvas, record, whole)
    to_address(state)


def _pair(whole: Scene, other: MapRecord | None) -> Pair | None:
    """Return both maps, if a second one is chosen that shares sentences with the first."""
    try:
        return None if other is None else pair_of(whole, other)
    except ThemescopeError as error:
        st.warning(plain(error), icon=":material/warning:")
        return None


def _two(canvases: tuple[Canvas, Canvas], state: MapState, names: tuple[str, str], pair: Pair) -> None:
    """Draw two maps of the same sentences that share pan and zoom."""
    for column, canvas, name in zip(st.columns(2), canvases, names, strict=True):
        with column:
            st.markdown(f"**{plain(name)}**")
            component.points(canvas)
            linked = replace(canvas, link="pair", height=_PAIR_HEIGHT)
            component.interactive(linked, state, state.version, to_address)
    st.caption(
        f"{count(len(pair.first.ids), 'sentence')} are on both maps. The second map is rotated, mirrored and moved to "
        f"fit the first (Procrustes alignment). Residual after alignment: {pair.error:.0%} of the variance."
    )


def _notes(canvas: Canvas, record: MapRecord, whole: Scene) -> None:
    """Draw sampling and faithfulness of the map, and its downloads."""
    shown = count(len(canvas.scene.ids), "sentence")
    parts = [f"{shown} shown."]
    if record.sampled_from > len(whole.ids):
        parts.append(
            f"This map is a random sample of {len(whole.ids):,} out of {record.sampled_from:,} sentences "
            f"(seed {record.seed})."
        )
    fitted = int(record.config.get("landmarks", len(whole.ids)))
    if fitted < len(whole.ids):
        parts.append(
            f"Positions fitted on {fitted:,} of {len(whole.ids):,} sentences; the others were placed by the fitted "
            "model."
        )
    if len(canvas.scene.ids) > export.FILE_POINTS:
        parts.append(f"SVG and HTML have a random sample of {export.FILE_POINTS:,} points.")
    parts.append(
        f"Nearby points are similar: {record.faithfulness:.1%} of the 15 nearest neighbours of a sentence stay close "
        "on the map. Distances between far groups mean little."
    )
    model = queries.model_by_id(record.model_id)
    if model is not None and within_article(model):
        parts.append(WITHIN_ARTICLE)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(plain(" ".join(parts)), width="stretch")
        for label, suffix, content, help in (
            ("SVG", "svg", lambda: export.svg(canvas), "Download the map as an image."),
            ("HTML", "html", lambda: export.page(canvas, f"{record.name}: {shown}"),
             "Download the map with its sentences as one file that opens without Themescope."),
        ):  # fmt: skip
            download(label, content, f"themescope-map.{suffix}", icon=None, help=help)
