"""The map of a corpus, alone or beside a second one, and beside it the panel of the listed sentences."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.columns import ColumnType, Values
from themescope.core.config import digest_of
from themescope.core.errors import ThemescopeError
from themescope.core.labelling.operations import Origin, selected
from themescope.core.projection import geometry as alignment
from themescope.core.records.stored import CorpusRecord, MapRecord
from themescope.core.types import Points
from themescope.db.records import SentencePlaces
from themescope.jobs.common.importing.waves import without_waves
from themescope.jobs.common.models import WITHIN_ARTICLE, within_article
from themescope.webapp.features import map as state
from themescope.webapp.features.map import controls, figure, state_of, to_address
from themescope.webapp.features.map.colourings import ColouredView
from themescope.webapp.features.map.controls import MapHits
from themescope.webapp.map_view import component, geometry
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.map_view.component import Canvas
from themescope.webapp.map_view.geometry import Rows, Units, digest
from themescope.webapp.map_view.levels import WHOLE_POINTS
from themescope.webapp.map_view.scene import LEAD, Colouring, MapState, Scene
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import asset, draw_component
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.selections import selection_panel
from themescope.webapp.shared.selections.selections import Panel, Ranking
from themescope.webapp.shared.text import count, plain


@dataclass(frozen=True, slots=True)
class ListPanel:
    """Input of the panel."""

    corpus: CorpusRecord
    record: MapRecord
    scene: Scene
    colouring: Colouring
    state: MapState
    found: MapHits
    height: int
    moved: npt.NDArray[np.float64] | None = None
    """(n,) distance of each sentence between both maps, if two are shown."""
    find_similar: Callable[[int], None] = lambda sentence: None
    """Searches for the neighbours of the sentence with this id."""
    coloured_by: str = ""
    """Name of the colouring."""
    searched: str = ""
    """What was searched for."""


def show_list(panel: ListPanel) -> None:
    """Draw the details of the chosen sentence, and the panel of the selection."""
    _details(panel)
    rows, ranking = _listed(panel)
    chosen = selected(panel.corpus.id, panel.scene.ids[rows], _origin(panel))
    shown = Panel(
        chosen,
        "map_panel",
        state.STORED,
        panel.height,
        (state.SHAPE, state.SIDE),
        {state.MAP: panel.record.name},
        state.LIST,
        ranking=ranking,
        heading=_heading(panel, len(rows)),
        columns=partial(controls.columns, panel.scene, panel.colouring),
        places=partial(_places, panel, rows),
        whole=np.sort(panel.scene.ids),
        focus=panel.state.sentence,
        on_pick=panel.state.click,
        on_clear=_clear(panel) if len(panel.state.ids) else None,
    )
    selection_panel.show(shown)


def _places(panel: ListPanel, rows: Rows) -> SentencePlaces:
    scene = panel.scene
    return SentencePlaces(
        scene.ids[rows], scene.articles[rows], scene.positions[rows], scene.sections[rows], scene.titles
    )


def _heading(panel: ListPanel, listed: int) -> str:
    chosen = len(panel.state.rows(panel.scene))
    if len(panel.state.ids) and panel.found.searched:
        return f"{count(listed, 'sentence')} found among {chosen:,} selected"
    if len(panel.state.ids):
        return f"{count(chosen, 'sentence')} selected"
    return f"{count(listed, 'sentence')} found" if panel.found.searched else f"All {count(listed, 'sentence')} shown"


def _clear(panel: ListPanel) -> Callable[[], None]:
    def clear() -> None:
        panel.state.clear()
        st.query_params.pop(state.STORED, None)

    return clear


def _listed(panel: ListPanel) -> tuple[Rows, Ranking | None]:
    """Return the rows to list, and their order if it is not the reading order."""
    selected_rows, found = panel.state.rows(panel.scene), panel.found
    if found.searched:
        inside = np.isin(found.rows, selected_rows) if len(panel.state.ids) else np.ones(len(found.rows), bool)
        rows = found.rows[inside]
        return rows, None if found.cosines is None else Ranking(
            "Most similar", panel.scene.ids[rows], [f"{value:.3f}" for value in found.cosines[inside].tolist()]
        )
    rows = selected_rows if len(panel.state.ids) else np.arange(len(panel.scene.ids))
    return rows, _by_value(panel, rows)


def _by_value(panel: ListPanel, rows: Rows) -> Ranking | None:
    """Return the order by distance moved, largest first; without a second map, by the value of the colouring."""
    values = panel.moved if panel.moved is not None else panel.colouring.values
    if values is None:
        return None
    sign = -1 if panel.moved is not None else 1
    order = rows[np.argsort(sign * values[rows], kind="stable")]
    first = "earliest" if panel.colouring.dates else "lowest"
    name = "Moved most" if panel.moved is not None else f"{panel.colouring.column}, {first} first"
    if panel.moved is None and panel.colouring.dates:
        notes = [str(panel.colouring.value(row) or "") for row in order.tolist()]
    else:
        notes = ["" if np.isnan(value) else f"{value:.2f}" for value in values[order].tolist()]
    return Ranking(name, panel.scene.ids[order], notes)


def _origin(panel: ListPanel) -> Origin:
    if panel.state.origin is not None:
        facts, kind = list(panel.state.origin.facts), panel.state.origin.kind
    elif len(panel.state.ids):
        chosen = ", ".join(part.described(panel.colouring.names) for part in panel.state.parts)
        facts, kind = [f"{chosen or 'a list'} on map {panel.record.name}"], "lasso"
    else:
        facts, kind = [f"all sentences shown on map {panel.record.name}"], "filter"
    if panel.searched:
        facts, kind = [f"search {panel.searched}", *(facts if len(panel.state.ids) else facts[-1:])], "search"
    if panel.coloured_by and panel.state.origin is None:
        facts.append(f"coloured by {panel.coloured_by}")
    return Origin(kind, tuple(facts))


def _details(panel: ListPanel) -> None:
    rows = panel.scene.rows_of(np.array([panel.state.sentence]))
    if not len(rows):
        return
    row = int(rows[0])
    (sentence,) = map_scene.texts(panel.scene, rows)
    with st.container(border=True, gap="small", key="map_details"):
        st.text(sentence.text)
        parts = [panel.scene.article(row), panel.scene.section(row)]
        parts += [panel.colouring.name(row)] if panel.colouring.column else []
        st.caption(" · ".join(plain(part) for part in parts if part))
        with st.container(horizontal=True):
            st.button(
                "Find similar", icon=":material/join_inner:", shortcut="A", on_click=panel.find_similar,
                args=(sentence.id,),
                help="Lists the nearest neighbours of this sentence and rings them on the map.",
            )  # fmt: skip
            page_link(
                "texts", "Read the article", icon=":material/menu_book:", view={"article": panel.scene.article(row)}
            )


# --- view -------------------------------------------------------------------------------------------------------------


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


@st.cache_resource(
    show_spinner="Aligning the maps …", max_entries=4,
    hash_funcs={**queries.HASHES, Scene: lambda scene: scene.ids_digest},
)  # fmt: skip
def pair_of(first: Scene, other: MapRecord) -> Pair:
    """Return a scene and another map as a pair; raises ``DataError`` if they share less than three sentences."""
    return align(first, map_scene.opened(other))


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
_BELOW = 84
"""Pixels below the map, for its list form and notes."""
_LIST_WIDTH, _EDGE_WIDTH, _FILTERS_WIDTH, _MOST_CONTEXT = 400, 24, 250, 100_000
_ASSETS = Path(__file__).parent / "assets"


@dataclass(frozen=True, slots=True)
class _Bar:
    """Places of the controls on the map, in their order."""

    colour: DeltaGenerator
    search: DeltaGenerator
    more: DeltaGenerator

    @classmethod
    def drawn(cls) -> _Bar:
        """Draw the places."""
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="map_controls"):
            colour = st.container(width="stretch")
            search = st.container(horizontal=True, gap="xsmall", width="stretch")
            more = st.container(horizontal=True, gap="xsmall", width="content")
        return cls(colour, search, more)


def show(corpus: CorpusRecord, maps: Sequence[MapRecord]) -> None:
    """Draw a map with its controls on it, and the list of sentences beside it."""
    with st.container(horizontal=True, gap="small", key="map_body"):
        filters = st.container(key="map_filters", width=_FILTERS_WIDTH) if panel_shown() else None
        frame = st.container(key="map_frame")
        drawer = _drawer() if list_shown() else None
    with frame:
        bar = _Bar.drawn()
    with bar.more:
        place = st.container()
        record, other, scale, opacity = controls.display(maps)
    whole = map_scene.opened(record)
    with place:
        articles = controls.articles(whole, corpus)
    pair = _pair(whole, other)
    base = pair.first if pair is not None else whole
    chosen_articles = np.isin(base.articles, articles) if len(articles) else np.ones(len(base.ids), dtype=bool)
    scene = base if chosen_articles.all() else base.only(chosen_articles)
    columns = facets_found(corpus, scene)
    with bar.more:
        button(columns)
    with bar.colour:
        colouring = controls.colouring(ColouredView(corpus, base, scene, articles))
    passing = scene if columns.passing.all() else scene.only(columns.passing)
    with bar.search:
        found = controls.found(record, corpus, whole, passing)
    canvas = component.canvas_of(
        scene, colouring, found=scene.rows_of(passing.ids[found.rows]),
        size=scale * geometry.point_size(len(scene.ids)), opacity=opacity, height=_HEIGHT, fill=_BELOW,
        name=record.digest[:12], frame=geometry.frame_of(scene.units),
        shown=None if columns.passing.all() else columns.passing,
    )  # fmt: skip
    order, left_out = canvas.levels.order, ~chosen_articles
    # Two large maps have their points in two orders, so that the server filters them.
    if filters is not None and (pair is None or len(order) <= WHOLE_POINTS):
        canvas = replace(canvas, columns=columns_digest(columns.facets, order))
    else:
        canvas = canvas.filtered
        left_out[chosen_articles] = ~columns.passing
    if rest_shown():
        canvas = replace(canvas, context=_sampled(base.units[left_out]))
    beside = second_canvas(pair, canvas.scene, canvas, other) if pair is not None and other is not None else None
    chosen = state_of(record.digest)
    if chosen.fresh:
        of = (beside if beside is not None and chosen.side else canvas).filtered
        chosen.take(of.scene, of.units, of.colouring)
    moved = pair.moved[pair.first.rows_of(passing.ids)] if pair is not None else None
    with bar.more:
        figure.downloads(canvas.filtered, record, controls.chosen()[0])
        _list_button(len(chosen.rows(passing)))
    coloured_by, searched = controls.chosen()
    shown = colouring.only(columns.passing)
    panel = ListPanel(
        corpus, record, passing, shown, chosen, found, _TABLE, moved, controls.search_similar, coloured_by, searched
    )
    if filters is not None:
        with filters:
            show_facets(columns, order, canvas.name)
    # The list comes before the map: a map that is drawn knows that its list is.
    if drawer is not None:
        with drawer:
            show_list(panel)
    with frame:
        if pair is not None and other is not None and beside is not None:
            _two((canvas, beside), chosen, (record.name, other.name), pair)
        else:
            component.points(canvas)
            component.interactive(canvas, chosen, chosen.version, to_address)
    _notes(canvas, record, whole)
    to_address(chosen)


def _sampled(units: Units) -> Units:
    return units[:: len(units) // _MOST_CONTEXT + 1]


def _drawer() -> DeltaGenerator:
    with st.container(key="map_edge", width=_EDGE_WIDTH):
        draw_component("map_edge", _ASSETS, key="map_edge_view")
    return st.container(key="map_drawer", width=_LIST_WIDTH)


def list_shown() -> bool:
    """Return whether the list beside the map is shown."""
    return bool(st.session_state.get(state.LIST_SHOWN, True))


def _list_button(selected: int) -> None:
    def toggle() -> None:
        st.session_state[state.LIST_SHOWN] = not list_shown()

    label = f"{selected:,} selected" if selected and not list_shown() else "List"
    icon = ":material/right_panel_close:" if list_shown() else ":material/right_panel_open:"
    st.button(label, icon=icon, on_click=toggle, help="Shows or hides the list of sentences.", key="map_list_button")


def _pair(whole: Scene, other: MapRecord | None) -> Pair | None:
    """Return both maps, if a second one is chosen that shares sentences with the first."""
    try:
        return None if other is None else pair_of(whole, other)
    except ThemescopeError as error:
        st.warning(plain(error), icon=":material/warning:")
        return None


def _two(canvases: tuple[Canvas, Canvas], chosen: MapState, names: tuple[str, str], pair: Pair) -> None:
    for column, canvas, name in zip(st.columns(2), canvases, names, strict=True):
        with column:
            st.markdown(f"**{plain(name)}**")
            component.points(canvas)
            linked = replace(canvas, link="pair", height=_PAIR_HEIGHT, fill=None)
            component.interactive(linked, chosen, chosen.version, to_address)
    st.caption(
        f"{count(len(pair.first.ids), 'sentence')} are on both maps. The second map is rotated, mirrored and moved to "
        f"fit the first (Procrustes alignment). Residual after alignment: {pair.error:.0%} of the variance."
    )


def _notes(canvas: Canvas, record: MapRecord, whole: Scene) -> None:
    shown = count(canvas.scene.ids.size if canvas.shown is None else int(canvas.shown.sum()), "sentence")
    parts = [f"{shown} shown."]
    if record.sampled_from > len(whole.ids):
        parts.append(
            f"This map is a random sample of {len(whole.ids):,} out of {record.sampled_from:,} sentences "
            f"(seed {record.seed})."
        )
    corpus = queries.read(lambda r: r.corpora.get(record.corpus_id))
    if not record.config.get("articles") and (note := without_waves(corpus, record.sampled_from, "map")):
        parts.append(plain(note))
    fitted = int(record.config.get("landmarks", len(whole.ids)))
    if fitted < len(whole.ids):
        parts.append(
            f"Positions fitted on {fitted:,} of {len(whole.ids):,} sentences; the others were placed by the fitted "
            "model."
        )
    if repeated := len(whole.ids) - whole.places:
        parts.append(f"{count(repeated, 'sentence')} with the text of another lie at its point.")
    if len(canvas.scene.ids) > controls.FILE_POINTS:
        parts.append(f"Figures and HTML have a random sample of {controls.FILE_POINTS:,} points.")
    parts.append(
        f"Nearby points are similar: {record.faithfulness:.1%} of the 15 nearest neighbours of a sentence stay close "
        "on the map. Distances between far groups mean little."
    )
    model = queries.model_by_id(record.model_id)
    if model is not None and within_article(model):
        parts.append(WITHIN_ARTICLE)
    st.caption(plain(" ".join(parts)))


# Filters by columns: charts beside the map that filter each other and the map in the browser

GREY, HIDDEN = "Grey", "Hidden"
MOST_BINS = 60
"""Approximate maximum number of bins of a histogram."""
_UNITS = ("D", "W", "M", "Y")
_TAIL = 0.01
"""Maximum share of the numbers at either end that share a bin, if they reach further than the range of the others."""
_FACETS_ASSETS = Path(__file__).parent / "assets"

Mask = npt.NDArray[np.bool_]  # (n,) whether each sentence passes
Filters = dict[str, list[Any]]
"""Facet → names of categories (None: without a value), or the least and the greatest number, or two ISO dates."""
_MOST = 2_000
"""Maximum number of values of a filter."""


@dataclass(frozen=True)
class Facet:
    """A column of n sentences by which they can be filtered."""

    name: str
    codes: npt.NDArray[np.int32]
    """(n,) category or bin of each sentence, -1 without a value."""
    categories: Sequence[str] = ()
    """Names of the categories; empty for numbers and dates."""
    bins: Sequence[tuple[Any, Any]] = ()
    """Least and greatest number, or ISO date, of the values in each bin; of a bin without values, its borders."""

    @property
    def size(self) -> int:
        """Number of categories or bins."""
        return len(self.bins) or len(self.categories)

    def allowed(self, chosen: Sequence[Any] | None) -> Mask | None:
        """Return the (size + 1,) categories or bins of a filter, "no value" last; None without one, or if it fits not.

        A range takes every bin in which it has values.
        """
        if not chosen:
            return None
        found = np.zeros(self.size + 1, dtype=bool)
        if not self.bins:
            codes = {name: code for code, name in enumerate(self.categories)} | {None: -1}
            found[[codes[name] for name in chosen if isinstance(name, str | None) and name in codes]] = True
            return found
        kind = type(self.bins[0][0])
        ends = [_end(value, kind) for value in chosen]
        if len(ends) != 2 or None in ends:
            return None
        found[:-1] = [ends[0] <= high and low <= ends[1] for low, high in self.bins]
        return found


def _end(value: Any, kind: type) -> Any:
    """Return an end of a range as a number or an ISO date; None if it is neither."""
    if kind is float:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        return None


# ---------------------------------------------------------------- columns


@st.cache_resource(
    show_spinner=False, max_entries=4, hash_funcs={**queries.HASHES, Scene: lambda scene: scene.ids_digest}
)
def facets_of(corpus: CorpusRecord, scene: Scene) -> list[Facet]:
    """Return the facets of the sentences of a scene: all columns but texts, and sections if there are several."""
    found = []
    for column in queries.columns(corpus):
        if column.type == ColumnType.TEXT:
            continue
        values = queries.column_values(column, scene.ids, scene.articles)
        if column.type == ColumnType.CATEGORY:
            found.append(Facet(column.label, values.astype(np.int32), column.categories))
        else:
            found.append(Facet(column.label, *_binned(ColumnType(column.type), values)))
    used, codes = np.unique(scene.sections, return_inverse=True)
    if len(used) > 1 and all(facet.name != "Section" for facet in found):
        names = [scene.titles[section] or LEAD for section in used.tolist()]
        found.append(Facet("Section", codes.astype(np.int32), names))
    return [facet for facet in found if (facet.codes >= 0).any()]


def _binned(type: ColumnType, values: Values) -> tuple[npt.NDArray[np.int32], tuple[()], list[tuple[Any, Any]]]:
    """Return the bin of each value and the ends of the bins; there are no categories."""
    dates = type is ColumnType.DATE
    days = values.astype("datetime64[D]") if dates else values
    there = ~(np.isnat(days) if dates else np.isnan(days))
    codes, known = np.full(len(values), -1, dtype=np.int32), days[there]
    if not len(known):
        return codes, (), []
    number = date_bins(known) if dates else number_bins(known.astype(np.float64))
    codes[there] = number - number.min()
    size, order = int(codes.max()) + 1, np.argsort(codes[there], kind="stable")
    starts = np.searchsorted(codes[there][order], np.arange(size))
    filled = np.flatnonzero(np.bincount(codes[there], minlength=size))
    as_end = str if dates else float
    lows, highs = (fold.reduceat(known[order], starts[filled]) for fold in (np.minimum, np.maximum))
    ends = {int(b): (as_end(low), as_end(high)) for b, low, high in zip(filled, lows, highs, strict=True)}
    bins: list[tuple[Any, Any]] = []
    for place in range(size):  # an empty bin lies behind the last one that has values
        bins.append(ends.get(place, (bins[-1][1], bins[-1][1]) if bins else ("", "")))
    return codes, (), bins


def number_bins(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return (n,) bins of numbers whose width is 1, 2 or 5 times a power of ten; few far ones are in the last bins."""
    low, high = np.quantile(values, _TAIL, method="higher"), np.quantile(values, 1 - _TAIL, method="lower")
    least, most = values.min(), values.max()
    low, high = (least if 2 * low - high <= least else low), (most if most <= 2 * high - low else high)
    if low >= high:  # of few numbers, or if nearly all are equal
        low, high = least, most
    if high - low < 1e-300:
        return np.zeros(len(values), dtype=np.int64)
    power = 10.0 ** np.floor(np.log10((high - low) / MOST_BINS))
    step = next(power * m for m in (1, 2, 5, 10) if power * m * MOST_BINS >= (high - low) * (1 - 1e-9))
    if (values == np.rint(values)).all():
        step = max(step, 1.0)
    return np.floor(np.clip(values, low, high) / step + 1e-9).astype(np.int64)


def date_bins(days: npt.NDArray[np.datetime64]) -> npt.NDArray[np.int64]:
    """Return (n,) bins of days: days, weeks, months, years or several years."""
    for unit in _UNITS:
        codes: npt.NDArray[np.int64] = days.astype(f"datetime64[{unit}]").astype(np.int64)
        if np.ptp(codes) < MOST_BINS:
            return codes
    return codes // -(-int(np.ptp(codes)) // MOST_BINS)


# ---------------------------------------------------------------- filters


@dataclass(frozen=True, slots=True, eq=False)
class FacetsFound:
    """Facets of the sentences of a scene, and what their filters let through."""

    facets: Sequence[Facet]
    filters: Filters
    passing: Mask

    @property
    def active(self) -> int:
        """Number of facets with a filter."""
        return sum(facet.name in self.filters for facet in self.facets)


def facets_found(corpus: CorpusRecord, scene: Scene) -> FacetsFound:
    """Return the facets of a scene with the filters in the address."""
    facets = facets_of(corpus, scene)
    filters = read_filters(st.query_params.get(state.FACETS, ""))
    return FacetsFound(facets, filters, passing(facets, filters, len(scene.ids)))


def passing(facets: Sequence[Facet], filters: Mapping[str, Sequence[Any]], n: int) -> Mask:
    """Return which of n sentences all filters let through."""
    mask = np.ones(n, dtype=bool)
    for facet in facets:
        allowed = facet.allowed(filters.get(facet.name))
        if allowed is not None:
            mask &= allowed[facet.codes]  # -1, without a value, is the last one
    return mask


def read_filters(text: str) -> Filters:
    """Return the filters that an address names; none if it is damaged."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    fitting = {name: values for name, values in found.items() if isinstance(values, list) and 0 < len(values) <= _MOST}
    plain = (str, int, float, type(None))
    return {name: values for name, values in fitting.items() if all(isinstance(value, plain) for value in values)}


def rest_shown() -> bool:
    """Return whether sentences that do not pass stay on the map in grey."""
    return st.query_params.get(state.REST, GREY) != HIDDEN


def keep(chosen: Any) -> None:
    """Write filters and what happens to other sentences into the address, as the browser sends them."""
    if not isinstance(chosen, Mapping):
        return
    filters = read_filters(json.dumps(chosen.get("filters")))
    text = json.dumps(filters, ensure_ascii=False, separators=(",", ":")) if filters else ""
    for name, value in ((state.FACETS, text), (state.REST, HIDDEN if chosen.get("rest") == HIDDEN else "")):
        if value:
            st.query_params[name] = value
        else:
            st.query_params.pop(name, None)


# ---------------------------------------------------------------- charts


def panel_shown() -> bool:
    """Return whether the charts beside the map are shown."""
    return bool(st.session_state.get("map_filters_shown", False))


def button(of: FacetsFound) -> None:
    """Draw the button that shows or hides the charts."""

    def toggle() -> None:
        st.session_state["map_filters_shown"] = not panel_shown()
        if panel_shown():  # on most screens there is no room for the map between both
            st.session_state[state.LIST_SHOWN] = False

    label = f"Filter ({of.active})" if of.active else "Filter"
    help = "Shows or hides charts of the columns, which filter the map."
    st.button(label, icon=":material/filter_alt:", on_click=toggle, help=help, key="map_filter")


def show_facets(of: FacetsFound, order: Rows, name: str) -> None:
    """Draw the charts of the columns of n sentences, which travel in the order of the points: ``order`` are their rows.

    ``name`` tells maps apart.
    """
    if not of.facets:
        st.caption("These sentences have no columns to filter by.")
        return
    columns = _sent(columns_digest(of.facets, order), of.facets, order)
    allowed = {facet.name: facet.allowed(of.filters.get(facet.name)) for facet in of.facets}
    chosen = {name: np.flatnonzero(mask).tolist() for name, mask in allowed.items() if mask is not None}
    key = "map_charts_view"
    draw_component(
        "map_charts", _FACETS_ASSETS, "crossfilter.js", key=key,
        data={"digest": columns["digest"], "chosen": chosen, "rest": GREY if rest_shown() else HIDDEN},
        on_chosen_change=lambda: keep((st.session_state.get(key) or {}).get("chosen")),
    )  # fmt: skip
    send = st.components.v2.component("themescope_map_columns", js=asset(_FACETS_ASSETS, "map_columns.js"))
    send(data=columns, key=f"columns-{name}", height=1)


def columns_digest(facets: Sequence[Facet], order: Rows) -> str:
    """Return a hash of the columns and of the order of their sentences."""
    parts = [[facet.name, [*facet.categories], [*facet.bins], digest(facet.codes)] for facet in facets]
    return digest_of([parts, digest(order)])


@st.cache_resource(show_spinner=False, max_entries=2)
def _sent(digest: str, _facets: Sequence[Facet], _order: Rows) -> dict[str, Any]:
    """Return the columns for the browser: codes of 1, 2 or 4 bytes, compressed; the last one is "no value"."""
    columns = []
    for facet in _facets:
        width = 1 if facet.size < 256 else 2 if facet.size < 65_536 else 4
        codes = np.where(facet.codes < 0, facet.size, facet.codes)[_order].astype(f"<u{width}")
        packed = base64.b64encode(zlib.compress(codes.tobytes(), 1)).decode("ascii")
        about = {"name": facet.name, "categories": list(facet.categories), "bins": list(facet.bins), "width": width}
        columns.append(about | {"codes": packed})
    return {"digest": digest, "total": len(_order), "columns": columns}
