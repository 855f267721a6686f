"""Filters by columns: charts beside the map that filter each other and the map in the browser.

The columns travel once, as a code of one or two bytes for each sentence, compressed. The browser counts and draws; the
server learns the filters shortly after, for the list of sentences and the address, so that links and saved views have
them. Filters of several columns are combined with AND, and the counts of a column are those of the sentences that the
filters of all other columns let through. Numbers and dates are filtered by whole bins of their histogram.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.columns import ColumnType, Values
from themescope.core.config import digest_of
from themescope.core.records.stored import CorpusRecord
from themescope.webapp.features.map import state
from themescope.webapp.map_view.geometry import Rows, digest
from themescope.webapp.map_view.scene import LEAD, Scene
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import asset, draw_component

GREY, HIDDEN = "Grey", "Hidden"
MOST_BINS = 60
"""Approximate maximum number of bins of a histogram."""
_UNITS = ("D", "W", "M", "Y")
_TAIL = 0.01
"""Maximum share of the numbers at either end that share a bin, if they reach further than the range of the others."""
_ASSETS = Path(__file__).parent / "assets"

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


def found(corpus: CorpusRecord, scene: Scene) -> FacetsFound:
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


def show(of: FacetsFound, order: Rows, name: str) -> None:
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
        "map_charts", _ASSETS, "crossfilter.js", key=key,
        data={"digest": columns["digest"], "chosen": chosen, "rest": GREY if rest_shown() else HIDDEN},
        on_chosen_change=lambda: keep((st.session_state.get(key) or {}).get("chosen")),
    )  # fmt: skip
    send = st.components.v2.component("themescope_map_columns", js=asset(_ASSETS, "map_columns.js"))
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
