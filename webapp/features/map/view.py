"""The map of a corpus, the drawer of a selection, and the filters."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.labelling.operations import Origin, selected
from themescope.core.records.stored import CorpusRecord, MapRecord, SelectionRecord
from themescope.db.records import SentencePlaces
from themescope.jobs.common.columns import without_waves
from themescope.jobs.common.models import WITHIN_ARTICLE, within_article
from themescope.webapp.features import map as state
from themescope.webapp.features.map import colourings, controls, figure, state_of, to_address
from themescope.webapp.features.map.colourings import ColouredView
from themescope.webapp.features.map.controls import MapHits
from themescope.webapp.map_view import component
from themescope.webapp.map_view import scene as geometry
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.map_view.component import Canvas
from themescope.webapp.map_view.scene import LEAD, Colouring, MapState, Rows, Scene
from themescope.webapp.shared import queries, selections
from themescope.webapp.shared.navigation import page_link, saved_views
from themescope.webapp.shared.selections import Panel, Ranking
from themescope.webapp.shared.text import count, distinct, plain

_HEIGHT, _LIST, _BELOW, _MOST_CONTEXT = 430, 300, 1, 100_000
"""Least heights of map and list and the distance of the map from the lower border, in pixels; most points in grey."""
_ASSETS = Path(__file__).parent / "assets"
_PANEL, _DIALOG = "map_panel_open", "map_dialog"
FILTER, DISPLAY = "filter", "display"
_MORE = (
    ("all", "Select all units"),
    (DISPLAY, "Other map, size, opacity"),
    ("figure", "Figure and files"),
    ("saved", "Saved selections"),
    ("views", "Saved views"),
    ("compute", "Compute a map"),
    ("about", "About this map"),
)
_EVERYTHING = "all units shown"


@dataclass(frozen=True)
class MapPage:
    """What the page shows in this run."""

    corpus: CorpusRecord
    record: MapRecord
    whole: Scene
    scene: Scene
    """The sentences in view; their colouring is ``colouring``."""
    passing: Scene
    """The sentences that the filters let through."""
    colouring: Colouring
    coloured_by: str
    state: MapState
    found: MapHits
    columns: FacetsFound
    filters: int
    """Number of filters, of columns and others."""

    @cached_property
    def colours(self) -> Colouring:
        """The colouring of the sentences that pass."""
        return self.colouring.only(self.columns.passing)


def show(corpus: CorpusRecord, maps: Sequence[MapRecord], compute: Callable[[], None]) -> None:
    """Draw the map, and beside it the drawer of what is selected or found; ``compute`` draws the form of a new map."""
    models = {model.id: model.name for model in queries.models()}
    named = dict(zip(distinct(m.name or models.get(m.model_id, "Map") for m in maps), maps, strict=True))
    first = next(iter(named))
    name = chosen if (chosen := state.held(state.MAP, first)) in named else first
    record = named[name]
    whole, chosen_state = map_scene.opened(record), state_of(record.digest)
    if (offered := selections.offered(corpus.id)) is not None:
        chosen_state.select(offered.ids, offered.origin)
    asked = _answer(chosen_state)
    titles = controls.titles_of(whole, corpus)
    articles = np.array(sorted(titles[title] for title in state.articles_held(titles)), dtype=np.int64)
    inside = np.isin(whole.articles, articles) if len(articles) else np.ones(len(whole.ids), dtype=bool)
    scene = whole if inside.all() else whole.only(inside)
    columns = facets_found(corpus, scene)
    options = colourings.options(ColouredView(corpus, whole, scene, articles))
    wanted = colourings.of_today(state.held(state.COLOUR))
    coloured_by = wanted if wanted in options else next(iter(options))
    passing = scene if columns.passing.all() else scene.only(columns.passing)
    colours, found = options[coloured_by].make(), controls.found(record, corpus, passing)
    active = columns.active + bool(len(articles)) + bool(controls.searched())
    shown = MapPage(corpus, record, whole, scene, passing, colours, coloured_by, chosen_state, found, columns, active)
    if asked == "all":
        facts = f"{_EVERYTHING} on map {record.name}", f"coloured by {coloured_by}"
        chosen_state.select(passing.ids, Origin("filter", facts))
        chosen_state.asked = "", ""
    canvas = _canvas(shown, list(options), inside)
    if chosen_state.fresh:
        chosen_state.take(canvas.scene, canvas.units, canvas.colouring)
    with st.container(horizontal=True, gap=None, key="map_body"):
        frame = st.container(key="map_frame")
        # The drawer comes before the map: a map that is drawn knows that its list is.
        if len(chosen_state.ids) or shown.found.searched or len(scene.rows_of(np.array([chosen_state.sentence]))):
            with st.container(key="map_drawer"):
                _drawer(shown)
    with frame:
        place_of_panel = st.container()  # always there: the map behind it keeps its place, and so what was done on it
        if panel := st.session_state.get(_PANEL, ""):
            with place_of_panel, st.container(key="map_panel", gap="small"):
                _panel(panel, shown, list(named), name)
        component.points(canvas)
        component.interactive(canvas, chosen_state, chosen_state.version, to_address)
    _dialog(shown, canvas, compute)
    to_address(chosen_state)


def _answer(chosen: MapState) -> str:
    """Do what a menu of the map requested; return what is left to do once the map is known."""
    what, value = chosen.asked
    if what == "all":  # asked until it is done: a message of the browser may end this run before
        return what
    chosen.asked = "", ""
    if what == "colour":
        st.session_state[state.COLOUR] = value
    elif what in (FILTER, DISPLAY):
        st.session_state[_PANEL] = "" if st.session_state.get(_PANEL) == what else what
    elif what in dict(_MORE):
        st.session_state[_DIALOG] = what
        selections.close("map_drawer")  # one dialog at a time
    return what


def _canvas(page: MapPage, options: Sequence[str], inside: npt.NDArray[np.bool_]) -> Canvas:
    """Return the canvas of the units that pass; those that the choice of texts or a filter leaves out are in grey."""
    scale, opacity = controls.appearance_held()
    frame = geometry.frame_of(page.scene.units)
    if page.state.frame not in (frame, None):  # other articles: the view of those before would show none of them
        page.state.camera = None
    page.state.frame = frame
    filtering = st.session_state.get(_PANEL) == FILTER
    left_out = ~inside
    left_out[inside] = ~page.columns.passing
    grey = page.whole.units[left_out]
    return component.canvas_of(
        page.passing,
        page.colours,
        found=page.found.rows,
        size=scale * geometry.point_size(len(page.scene.ids)),
        opacity=opacity,
        height=_HEIGHT,
        fill=_BELOW,
        name=page.record.digest[:12],
        frame=frame,
        page={
            "colour": {"options": list(options), "chosen": page.coloured_by},
            "filters": page.filters,
            "filtering": filtering,
            "more": [*map(list, _MORE)],
        },
        status=_status(page),
        context=grey[:: len(grey) // _MOST_CONTEXT + 1],
    )


def _status(page: MapPage) -> str:
    all, shown = len(page.scene.ids), int(page.columns.passing.sum())
    units = count(shown, "unit") if shown == all else f"{shown:,} of {count(all, 'unit')}"
    drawn_from = page.record.sampled_from
    sampled = f", a random sample of {drawn_from:,}" if drawn_from > len(page.whole.ids) else ""
    missed = " · no unit lies in the shape" if page.state.parts and not page.state.fresh | len(page.state.ids) else ""
    return f"{units}{sampled}{missed}"


def _panel(panel: str, page: MapPage, maps: Sequence[str], shown: str) -> None:
    """Draw the panel over the map: the filters, or the choice of the map and the look of its points."""
    close = partial(st.session_state.__setitem__, _PANEL, "")
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        st.markdown(f"**{'Filter' if panel == FILTER else 'Map'}**", width="stretch")
        st.button("Close", type="tertiary", key="map_panel_close", on_click=close)
    if panel == FILTER:
        controls.search_fields(page.whole, page.corpus)
        show_facets(page.columns)
    else:
        controls.display_fields(maps, shown)


def _dialog(page: MapPage, canvas: Canvas, compute: Callable[[], None]) -> None:
    """Draw the dialog that a menu of the map requested; every run draws it, so that it stays while the map changes."""

    def open_saved(record: SelectionRecord) -> None:
        if (stored := selections.stored(record.id)) is not None:
            page.state.select(stored.ids, stored.origin)
            st.session_state[_DIALOG] = ""

    def saved() -> None:
        selections.saved_list(page.corpus.id, open_saved)
        if not st.session_state.get(_DIALOG):
            st.rerun()

    dialogs: dict[str, Callable[[], object]] = {
        "figure": lambda: figure.show(canvas, page.record, page.coloured_by),
        "saved": saved,
        "views": lambda: saved_views("map", menu=False),
        "compute": compute,
        "about": lambda: st.markdown(plain(_about(page))),
    }
    opened = st.session_state.get(_DIALOG, "")
    if opened in dialogs:
        title = dict(_MORE)[opened]
        close = partial(st.session_state.__setitem__, _DIALOG, "")
        st.dialog(title, width="small" if opened == "about" else "large", on_dismiss=close)(dialogs[opened])()


def _about(page: MapPage) -> str:
    """Return how the map was made and how far to trust it."""
    record, n = page.record, len(page.whole.ids)
    corpus, model = queries.read(lambda r: r.corpora.get(record.corpus_id)), queries.model_by_id(record.model_id)
    fitted, repeated = int(record.config.get("landmarks", n)), n - page.whole.places
    parts = [
        f"“{record.name}”: nearby points are similar. {record.faithfulness:.1%} of the 15 nearest neighbours of a unit "
        "stay close on the map; distances between far groups mean little.",
        f"A random sample of {n:,} out of {record.sampled_from:,} units (seed {record.seed})."
        if record.sampled_from > n
        else "",
        "" if record.articles else without_waves(corpus, record.sampled_from, "map"),
        f"Positions fitted on {fitted:,} of {n:,} units; the others were placed by the fitted model."
        if fitted < n
        else "",
        f"{count(repeated, 'unit')} with the text of another lie at its point." if repeated else "",
        f"Figures and HTML have a random sample of {controls.FILE_POINTS:,} points."
        if len(page.scene.ids) > controls.FILE_POINTS
        else "",
        WITHIN_ARTICLE if model is not None and within_article(model) else "",
    ]
    return " ".join(filter(None, parts))


def _drawer(page: MapPage) -> None:
    """Draw the unit that was clicked, and the units that are selected or found."""
    rows, ranking = _listed(page)
    listing = bool(len(page.state.ids)) or page.found.searched
    _details(page, listing and page.state.sentence in page.passing.ids[rows])
    if page.found.note:
        st.caption(plain(page.found.note))
    if not listing:
        return
    # A selection that was not made here may have units that are not on the map: they count all the same.
    elsewhere = page.state.origin is not None and not page.found.searched and not page.columns.active
    ids = page.state.ids if elsewhere else page.passing.ids[rows]
    on_map = len(ids) == len(rows)
    heading = count(len(ids), "unit") + (" found" if page.found.searched else "")
    if page.found.searched and len(page.state.ids):
        heading += f" among {len(page.state.rows(page.passing)):,} selected"
    selections.show(
        Panel(
            selected(page.corpus.id, ids, _origin(page)),
            "map_drawer",
            state.STORED,
            _LIST,
            (state.SHAPE,),
            {state.MAP: page.record.name},
            ranking=ranking if on_map else None,
            heading=heading,
            groups=_groups(page, rows) if on_map else None,
            mark=state.held(state.SEARCH) if state.held(state.MATCH, state.SUBSTRING) == state.SUBSTRING else "",
            columns=partial(controls.columns, page.passing, page.colours) if on_map else None,
            places=partial(_places, page, rows) if on_map else None,
            focus=page.state.sentence,
            on_pick=page.state.click,
            on_clear=partial(_clear, page),
            clear=f"Clear selection ({len(page.state.ids):,})" if len(page.state.ids) else "Clear search",
            on_similar=controls.search_similar,
        )
    )


def _places(page: MapPage, rows: Rows) -> SentencePlaces:
    scene = page.passing
    return SentencePlaces(
        scene.ids[rows], scene.articles[rows], scene.positions[rows], scene.sections[rows], scene.titles
    )


def _groups(page: MapPage, rows: Rows) -> Counter[str]:
    """Return the number of the listed units in each group that has a colour."""
    kinds, counts = np.unique(page.colours.categories[rows], return_counts=True)
    names = [page.colours.names[kind] if kind >= 0 else page.colours.other for kind in kinds.tolist()]
    return Counter(dict(zip((re.sub(r"^\d+\. ", "", name) for name in names), counts.tolist(), strict=True)))


def _clear(page: MapPage) -> None:
    if page.found.searched and not len(page.state.ids):
        st.session_state[state.SIMILAR] = st.session_state[state.SEARCH] = ""
    page.state.clear()
    st.query_params.pop(state.STORED, None)


def _listed(page: MapPage) -> tuple[Rows, Ranking | None]:
    """Return the rows to list, and their order if it is not the reading order."""
    chosen, found = page.state.rows(page.passing), page.found
    if not found.searched:
        return chosen, _by_value(page, chosen)
    inside = np.isin(found.rows, chosen) if len(page.state.ids) else np.ones(len(found.rows), bool)
    rows = found.rows[inside]
    return rows, None if found.cosines is None else Ranking(
        "Most similar", page.passing.ids[rows], [f"{value:.3f}" for value in found.cosines[inside].tolist()]
    )


def _by_value(page: MapPage, rows: Rows) -> Ranking | None:
    """Return the order by the value of the colouring, lowest first."""
    colours = page.colours
    if colours.values is None:
        return None
    order = rows[np.argsort(colours.values[rows], kind="stable")]
    if colours.dates:
        notes = [str(colours.value(row) or "") for row in order.tolist()]
    else:
        notes = ["" if np.isnan(value) else f"{value:.2f}" for value in colours.values[order].tolist()]
    name = f"{colours.column}, {'earliest' if colours.dates else 'lowest'} first"
    return Ranking(name, page.passing.ids[order], notes)


def _origin(page: MapPage) -> Origin:
    """Return how the listed units were selected or found."""
    made, searched = page.state.origin, controls.searched()
    parts = ", ".join(part.described(page.colouring.names) for part in page.state.parts)
    if made is not None:
        facts, kind = list(made.facts), made.kind
    else:
        facts, kind = [f"{parts or _EVERYTHING} on map {page.record.name}"], "lasso" if parts else "filter"
    if searched:
        facts, kind = [f"search {searched}", *facts], "search"
    if made is None:
        facts.append(f"coloured by {page.coloured_by}")
    return Origin(kind, tuple(facts))


def _details(page: MapPage, listed: bool) -> None:
    """Draw what the unit that was clicked leads to, and its text where the list below does not have it."""
    rows = page.scene.rows_of(np.array([page.state.sentence]))
    if not len(rows):
        return
    row = int(rows[0])
    (sentence,) = map_scene.texts(page.scene, rows)
    with st.container(gap="small", key="map_details"):
        if not listed:
            st.text(sentence.text)
            parts = [page.scene.article(row), page.scene.section(row)]
            parts += [page.colouring.name(row)] if page.colouring.column else []
            st.caption(" · ".join(plain(part) for part in parts if part))
        with st.container(horizontal=True):
            st.button(
                "Find similar",
                shortcut="A",
                on_click=controls.search_similar,
                args=(sentence.id,),
                type="tertiary",
                help="Lists the nearest neighbours of this unit and rings them on the map.",
            )
            page_link("texts", "Read the text", icon="", view={"article": page.scene.article(row)})
            st.button("Close", type="tertiary", key="map_details_close", on_click=page.state.click, args=(-1,))


# Filters by columns

_MOST = 2_000
"""Maximum number of values of a filter, and of the values of a column that are offered, the most frequent ones."""
Mask = npt.NDArray[np.bool_]  # (n,) whether each sentence passes
Filters = dict[str, list[Any]]
"""Facet → names of categories (None: without a value), or the least and the greatest number, or two ISO dates."""


@dataclass(frozen=True)
class Facet:
    """A column of n sentences by which they can be filtered."""

    name: str
    values: npt.NDArray[Any]
    """(n,) category of each sentence, -1 without one; or numbers, or days."""
    categories: Sequence[str] = ()
    """Names of the categories; empty for numbers and dates."""

    def ends(self) -> tuple[Any, Any] | None:
        """Return the least and the greatest number or day; None if they are equal or there are none."""
        known = self.values[~np.isnat(self.values) if self.values.dtype.kind == "M" else np.isfinite(self.values)]
        if self.categories or not len(known) or known.min() == known.max():
            return None
        return known.min().item(), known.max().item()

    def passing(self, chosen: Sequence[Any]) -> Mask | None:
        """Return which sentences a filter lets through; None if it does not fit the column."""
        if self.categories:
            codes = {name: code for code, name in enumerate(self.categories)} | {None: -1}
            return np.isin(
                self.values, [codes[name] for name in chosen if isinstance(name, str | None) and name in codes]
            )
        try:
            low, high = np.array(chosen, dtype=self.values.dtype)
        except (TypeError, ValueError, OverflowError):
            return None
        return None if low != low or high != high else (low <= self.values) & (self.values <= high)


@st.cache_resource(
    show_spinner=False, max_entries=4, hash_funcs={**queries.HASHES, Scene: lambda scene: scene.ids_digest}
)
def facets_of(corpus: CorpusRecord, scene: Scene) -> list[Facet]:
    """Return the facets of the sentences of a scene: all columns but texts, and sections if there are several."""
    found = []
    for column in queries.columns(corpus):
        if column.type != ColumnType.TEXT:
            values = queries.column_values(column, scene.ids, scene.articles)
            found.append(
                Facet(
                    column.label,
                    values.astype("datetime64[D]") if column.type == ColumnType.DATE else values,
                    column.categories if column.type == ColumnType.CATEGORY else (),
                )
            )
    used, codes = np.unique(scene.sections, return_inverse=True)
    if len(used) > 1 and all(facet.name != "Section" for facet in found):
        found.append(Facet("Section", codes, [scene.titles[section] or LEAD for section in used.tolist()]))
    return [facet for facet in found if ((facet.values >= 0).any() if facet.categories else facet.ends())]


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
        if facet.name in filters and (allowed := facet.passing(filters[facet.name])) is not None:
            mask &= allowed
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


def show_facets(of: FacetsFound) -> None:
    """Draw a choice of values, or a range, for each column; the address keeps them."""
    if not of.facets:
        st.caption("These units have no columns to filter by.")
        return
    for place, facet in enumerate(of.facets):
        key, chosen = f"map_facet_{place}", of.filters.get(facet.name)
        if facet.categories:
            codes, counts = np.unique(facet.values, return_counts=True)
            order = codes[np.argsort(-counts, kind="stable")][:_MOST].tolist()
            names = {code: "no value" if code < 0 else facet.categories[code] for code in order}
            labels = {
                None if code < 0 else name: f"{name} ({counts[codes == code][0]:,})" for code, name in names.items()
            }
            st.session_state[key] = [value for value in chosen or () if value in labels]
            st.multiselect(
                facet.name,
                list(labels),
                key=key,
                placeholder="all",
                on_change=_keep,
                args=(of, facet, key),
                format_func=labels.__getitem__,
            )
        elif (ends := facet.ends()) is not None:
            st.session_state[key] = _range_of(facet, chosen, ends)
            days = isinstance(ends[0], date)
            st.slider(
                facet.name,
                *ends,
                key=key,
                on_change=_keep,
                args=(of, facet, key),
                step=None if days else (1.0 if _whole(facet) else (ends[1] - ends[0]) / 200),
                format="YYYY-MM-DD" if days else "%.0f" if _whole(facet) else "%.4g",
            )


def _whole(facet: Facet) -> bool:
    known = facet.values[np.isfinite(facet.values)]
    return bool((known == np.rint(known)).all())


def _range_of(facet: Facet, chosen: Sequence[Any] | None, ends: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the range of a filter within the ends of a column; all of it without one."""
    if not chosen or facet.passing(chosen) is None:
        return ends
    low, high = (value.item() for value in np.array(chosen, dtype=facet.values.dtype))
    return min(max(low, ends[0]), ends[1]), max(min(high, ends[1]), ends[0])


def _keep(of: FacetsFound, facet: Facet, key: str) -> None:
    """Write the filters into the address, with that of a widget that was changed."""
    values = list(st.session_state[key])
    if not facet.categories:
        values = [] if tuple(values) == facet.ends() else [str(end) if isinstance(end, date) else end for end in values]
    filters = {name: chosen for name, chosen in of.filters.items() if name != facet.name} | {facet.name: values}
    if active := {name: chosen for name, chosen in filters.items() if chosen}:
        st.query_params[state.FACETS] = json.dumps(active, ensure_ascii=False, separators=(",", ":"))
    else:
        st.query_params.pop(state.FACETS, None)
