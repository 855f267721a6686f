"""Triplets picked out by what a model made of them: a range of margins, a pair of sections. Kept in the address."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.records import TripletSetRecord
from core.types import Ids
from webapp import triplet_queries
from webapp.components.text import plain
from webapp.triplet_queries import Evaluation

NO_HEADING = "(no heading)"
_RUN, _FROM, _TO, _PAIR = "run", "from", "to", "pair"


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which triplets of an evaluation are meant: margins from ``low`` up to, without, ``high``; a pair of titles."""

    evaluation: Evaluation
    low: float = -math.inf
    high: float = math.inf
    pair: tuple[str, str] | None = None

    def ids(self, chosen: TripletSetRecord, search: str = "") -> Ids:
        """Ids of these triplets of the set, those that are most wrong first."""
        if self.pair is None:
            ids, margins = triplet_queries.margins(self.evaluation)
        else:
            view = triplet_queries.pair_view(self.evaluation, chosen)
            row = view.pairs.find(self.pair)
            at = np.empty(0, np.int64) if row is None else view.pairs.triplets(row)
            ids, margins = view.ids[at], view.margins[at]
        inside = (margins >= self.low) & (margins < self.high)
        ids, margins = ids[inside], margins[inside]
        ids = ids[np.argsort(margins, kind="stable")]
        if search:
            found = triplet_queries.matching(chosen.id, self.evaluation.split, search, chosen.created)
            ids = ids[np.isin(ids, found)]
        return ids

    @property
    def key(self) -> str:
        """Tells narrowings apart."""
        return f"{self.evaluation.run.id}-{self.low}-{self.high}-{self.pair}"

    @property
    def range(self) -> str:
        """The margins in words: ``below 0``, ``from −2 to −1``."""
        if math.isinf(self.low):
            return f"below {self.high:g}".replace("-", "−")
        return (f"from {self.low:g}" + ("" if math.isinf(self.high) else f" to {self.high:g}")).replace("-", "−")

    def words(self) -> str:
        """In a sentence, for Markdown."""
        parts = []
        if self.pair:
            parts.append(f"**{plain(heading(self.pair[0]))}** against **{plain(heading(self.pair[1]))}**")
        if math.isfinite(self.low) or math.isfinite(self.high):
            parts.append(f"margin {self.range}")
        return f"{', '.join(parts)} · {plain(self.evaluation.name)}, the most wrong first"


def heading(title: str) -> str:
    """A section title as it is shown."""
    return title or NO_HEADING


def from_address(found: Sequence[Evaluation]) -> Narrowing | None:
    """The narrowing that the address asks for, where its evaluation is one of ``found``."""
    asked = st.query_params
    evaluation = next((e for e in found if str(e.run.id) == asked.get(_RUN)), None)
    if evaluation is None:
        return None
    pair = asked.get_all(_PAIR)
    low, high = _number(asked, _FROM, -math.inf), _number(asked, _TO, math.inf)
    return Narrowing(evaluation, low, high, (pair[0], pair[1]) if len(pair) == 2 else None)


def _number(asked: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(asked.get(name, default))
    except ValueError:
        return default


def put_into_address(wanted: Narrowing | None) -> None:
    """Ask for a narrowing; None shows all triplets again. For callbacks."""
    asked = st.query_params
    for name in (_RUN, _FROM, _TO, _PAIR):
        if name in asked:
            del asked[name]
    if wanted is None:
        return
    asked[_RUN] = str(wanted.evaluation.run.id)
    if math.isfinite(wanted.low):
        asked[_FROM] = f"{wanted.low:g}"
    if math.isfinite(wanted.high):
        asked[_TO] = f"{wanted.high:g}"
    if wanted.pair is not None:
        asked[_PAIR] = list(wanted.pair)


def read(wanted: Narrowing, label: str, count: int, *, primary: bool = False) -> None:
    """A button that opens the tab "Look" on these triplets."""

    def jump() -> None:
        put_into_address(wanted)
        st.session_state["view"] = "Look"

    st.button(
        label,
        key=f"read-{wanted.key}",
        on_click=jump,
        disabled=not count,
        icon=":material/chrome_reader_mode:",
        type="primary" if primary else "secondary",
    )
