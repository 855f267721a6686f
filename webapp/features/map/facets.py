"""Filters by columns: the values of each column are listed or drawn with their counts, and restrict the sentences.

Filters of several columns are combined with AND. The counts of a column are those of the sentences that the filters of
all other columns let through. The address has the filters, so that links and saved views do too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.columns import ColumnType, Values
from themescope.core.records.stored import CorpusRecord
from themescope.webapp.features.map import state
from themescope.webapp.map_view.scene import LEAD, Scene
from themescope.webapp.shared import queries
from themescope.webapp.shared.figures import histogram_html, tones
from themescope.webapp.shared.text import count, plain, shorten

MISSING = "no value"
GREY, HIDDEN = "Grey", "Hidden"
_LISTED = 12
_BINS = 24
_CHARS = 28


@st.cache_resource(
    show_spinner=False, max_entries=4, hash_funcs={**queries.HASHES, Scene: lambda scene: scene.ids_digest}
)
def facets_of(corpus: CorpusRecord, scene: Scene) -> list[Facet]:
    """Return the facets of the sentences of a scene: all columns but texts, and sections if there are several."""
    found = []
    for column in queries.columns(corpus):
        type = ColumnType(column.type)
        if type is ColumnType.TEXT:
            continue
        values = queries.column_values(column, scene.ids, scene.articles)
        if type is ColumnType.DATE:
            values = values.astype("datetime64[D]")
        facet = Facet(column.label, type, values, column.categories, bool(column.about.get("whole")))
        if facet.known.any():
            found.append(facet)
    used, codes = np.unique(scene.sections, return_inverse=True)
    if len(used) > 1 and all(facet.name != "Section" for facet in found):
        names = [scene.titles[section] or LEAD for section in used.tolist()]
        found.append(Facet("Section", ColumnType.CATEGORY, codes, names))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class FacetsFound:
    """Facets of the sentences of a scene, and what their filters let through."""

    facets: Sequence[Facet]
    filters: Filters
    passing: Mask
    others: Sequence[Mask]
    """For each facet, which sentences the filters of the other facets let through."""

    @property
    def active(self) -> int:
        """Number of facets with a filter."""
        return sum(facet.name in self.filters for facet in self.facets)


def found(corpus: CorpusRecord, scene: Scene) -> FacetsFound:
    """Return the facets of a scene with the filters in the address."""
    facets = facets_of(corpus, scene)
    filters = _current()
    return FacetsFound(facets, filters, *masks(facets, filters, len(scene.ids)))


def panel_shown() -> bool:
    """Return whether the panel beside the map is shown."""
    return bool(st.session_state.get("map_filters_shown", False))


def rest_shown() -> bool:
    """Return whether sentences that do not pass stay on the map in grey."""
    return st.query_params.get(state.REST, GREY) != HIDDEN


def button(of: FacetsFound) -> None:
    """Draw the button that shows or hides the panel."""

    def toggle() -> None:
        st.session_state["map_filters_shown"] = not panel_shown()
        if panel_shown():  # on most screens there is no room for the map between both
            st.session_state[state.LIST_SHOWN] = False

    label = f"Filter ({of.active})" if of.active else "Filter"
    help = "Shows or hides the filters by columns."
    st.button(label, icon=":material/filter_alt:", on_click=toggle, help=help, key="map_filter")


def show(of: FacetsFound) -> None:
    """Draw the panel: each column with its counts."""
    if not of.facets:
        st.caption("These sentences have no columns to filter by.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{int(of.passing.sum()):,} of {count(len(of.passing), 'sentence')}", width="stretch")
        st.button("Clear filters", icon=":material/close:", type="tertiary", disabled=not of.active, on_click=_clear)

    def keep() -> None:
        if st.session_state["map_rest_choice"] == HIDDEN:
            st.query_params[state.REST] = HIDDEN
        else:
            st.query_params.pop(state.REST, None)

    now = GREY if rest_shown() else HIDDEN
    st.segmented_control(
        "Other sentences", [GREY, HIDDEN], default=now, required=True, key="map_rest_choice", on_change=keep
    )
    for facet, mask in zip(of.facets, of.others, strict=True):
        with st.container(border=True, gap="xsmall"):
            chosen = of.filters.get(facet.name)
            key = f"map_facet_{st.session_state.get(state.FACETS_ROUND, 0)}_{facet.name}"
            if facet.type is ColumnType.CATEGORY:
                _categories(facet, mask, [name for name in chosen or () if is_name(name)], key)
            elif facet.type is ColumnType.NUMBER:
                _numbers(facet, mask, chosen, key)
            else:
                _dates(facet, mask, chosen, key)


def _current() -> Filters:
    """Return the filters in the address; ones that came from a link get new widgets, which show them."""
    text = st.query_params.get(state.FACETS, "")
    if st.session_state.get(state.FACETS_WRITTEN, "") != text:
        st.session_state[state.FACETS_WRITTEN] = text
        st.session_state[state.FACETS_ROUND] = st.session_state.get(state.FACETS_ROUND, 0) + 1
    return read_filters(text)


def _write(filters: Filters) -> None:
    text = json.dumps(filters, ensure_ascii=False, separators=(",", ":")) if filters else ""
    st.session_state[state.FACETS_WRITTEN] = text
    if text:
        st.query_params[state.FACETS] = text
    else:
        st.query_params.pop(state.FACETS, None)


def _clear() -> None:
    """Remove all filters. For callbacks."""
    _write({})
    st.session_state[state.FACETS_ROUND] = st.session_state.get(state.FACETS_ROUND, 0) + 1


def _set(name: str, values: list[Any]) -> None:
    filters = _current()
    filters.pop(name, None)
    _write(filters | ({name: values} if values else {}))


# ---------------------------------------------------------------- one facet


def _categories(facet: Facet, others: Mask, chosen: Sequence[str | None], key: str) -> None:
    """Draw the most frequent values as buttons, and all others in a list that can be searched."""
    counts = np.bincount(facet.values[others] + 1, minlength=len(facet.categories) + 1)
    codes = {name: code for code, name in enumerate(facet.categories)}
    picked = [-1 if name is None else codes[name] for name in chosen if name is None or name in codes]
    present = np.bincount(facet.values + 1, minlength=len(facet.categories) + 1)
    order = [code - 1 for code in np.argsort(-present, kind="stable").tolist() if present[code]]
    listed, rest = order[:_LISTED], order[_LISTED:]

    def label(code: int) -> str:
        name = facet.categories[code] if code >= 0 else MISSING
        return f"{plain(shorten(name, _CHARS))} · {counts[code + 1]:,}"

    def keep() -> None:
        codes = [*(st.session_state.get(f"{key}_pills") or []), *(st.session_state.get(f"{key}_more") or [])]
        _set(facet.name, [facet.categories[code] if code >= 0 else None for code in codes])

    st.pills(
        plain(facet.name), listed, selection_mode="multi", default=[code for code in picked if code in listed],
        format_func=label, key=f"{key}_pills", on_change=keep,
    )  # fmt: skip
    if rest:
        st.multiselect(
            f"More values of {plain(facet.name)}", rest, default=[code for code in picked if code in rest],
            format_func=label, key=f"{key}_more", on_change=keep, label_visibility="collapsed",
            placeholder=f"{len(rest):,} more values",
        )  # fmt: skip


def _numbers(facet: Facet, others: Mask, chosen: Sequence[Any] | None, key: str) -> None:
    known = facet.values[facet.known]
    low, high = float(known.min()), float(known.max())
    if low == high:
        st.caption(f"{plain(facet.name)}: {low:g}")
        return
    whole = facet.whole and high - low < 1e9
    step = max(round((high - low) / 200), 1) if whole else (high - low) / 200
    ends = ends_of(facet.type, chosen or ()) or (low, high)
    limits = [int(v) if whole else v for v in (low, high, min(max(ends[0], low), high), max(min(ends[1], high), low))]
    _histogram(facet, others, facet.values, low, high)

    def keep() -> None:
        first, last = st.session_state[key]
        _set(facet.name, [] if (first, last) == (limits[0], limits[1]) else [first, last])

    st.slider(
        plain(facet.name), limits[0], limits[1], (limits[2], limits[3]), step=int(step) if whole else step,
        key=key, on_change=keep, format="%d" if whole else "%.4g",
    )  # fmt: skip


def _dates(facet: Facet, others: Mask, chosen: Sequence[Any] | None, key: str) -> None:
    days = facet.values[facet.known].astype("datetime64[D]")
    low, high = days.min().item(), days.max().item()
    if low == high:
        st.caption(f"{plain(facet.name)}: {low}")
        return
    ends = ends_of(facet.type, chosen or ())
    first, last = (low, high) if ends is None else (min(max(end.item(), low), high) for end in ends)
    numbers = facet.values.astype(np.float64)
    numbers[~facet.known] = np.nan
    _histogram(facet, others, numbers, float(np.nanmin(numbers)), float(np.nanmax(numbers)))

    def keep() -> None:
        begin, end = st.session_state[key]
        _set(facet.name, [] if (begin, end) == (low, high) else [begin.isoformat(), end.isoformat()])

    st.slider(plain(facet.name), low, high, (first, last), key=key, on_change=keep, format="YYYY-MM-DD")


def _histogram(facet: Facet, others: Mask, values: npt.NDArray[np.float64], low: float, high: float) -> None:
    """Draw how many sentences have which value: all in grey, those that pass the other filters in colour."""
    edges = np.linspace(low, high, _BINS + 1)
    known = np.isfinite(values)
    every, passing = (np.histogram(values[known & mask], edges)[0] for mask in (np.ones_like(others), others))
    about = f"Histogram of {facet.name}: {int((known & others).sum()):,} of {int(known.sum()):,} sentences"
    st.html(histogram_html(every.tolist(), passing.tolist(), about, tones(st.context.theme.type)))


Mask = npt.NDArray[np.bool_]  # (n,) whether each sentence passes
Filters = dict[str, list[Any]]
"""Facet → names of categories (None: without a value), or the least and the greatest number, or two ISO dates."""

_MOST = 2_000
"""Maximum number of values of a filter."""


@dataclass(frozen=True)
class Facet:
    """A column of n sentences by which they can be filtered."""

    name: str
    type: ColumnType
    values: Values
    """(n,) codes of categories, numbers, or days as datetime64."""
    categories: Sequence[str] = ()
    whole: bool = False
    """Whether all numbers are whole."""

    @property
    def known(self) -> Mask:
        """Whether each sentence has a value."""
        if self.type is ColumnType.CATEGORY:
            return np.asarray(self.values >= 0)
        return np.asarray(~np.isnan(self.values) if self.type is ColumnType.NUMBER else ~np.isnat(self.values))

    def mask(self, chosen: Sequence[Any] | None) -> Mask:
        """Return which sentences a filter lets through; all without a filter, or with one that does not fit."""
        everything = np.ones(len(self.values), dtype=bool)
        if not chosen:
            return everything
        if self.type is ColumnType.CATEGORY:
            codes = {name: code for code, name in enumerate(self.categories)} | {None: -1}
            return np.isin(self.values, [codes[name] for name in chosen if is_name(name) and name in codes])
        ends = ends_of(self.type, chosen)
        if ends is None:
            return everything
        with np.errstate(invalid="ignore"):
            return np.asarray((self.values >= ends[0]) & (self.values <= ends[1]))


def is_name(value: Any) -> bool:
    """Return whether a value of a filter can name a category; None is for sentences without one."""
    return value is None or isinstance(value, str)


def ends_of(type: ColumnType, chosen: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the least and the greatest value of a filter; None if it does not fit the type."""
    if len(chosen) != 2:
        return None
    if type is ColumnType.NUMBER:
        numbers = [value for value in chosen if isinstance(value, int | float) and not isinstance(value, bool)]
        return (float(numbers[0]), float(numbers[1])) if len(numbers) == 2 else None
    try:
        first, last = (np.datetime64(date.fromisoformat(str(value)), "D") for value in chosen)
    except ValueError:
        return None
    return first, last


def masks(facets: Sequence[Facet], filters: Mapping[str, Sequence[Any]], n: int) -> tuple[Mask, list[Mask]]:
    """Return which of n sentences all filters let through, and for each facet which the filters of the others do."""
    own = [facet.mask(filters.get(facet.name)) for facet in facets]
    failed = np.zeros(n, dtype=np.int64)
    for mask in own:
        failed += ~mask
    return failed == 0, [failed == ~mask for mask in own]


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
