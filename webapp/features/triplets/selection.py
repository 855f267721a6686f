"""Filters over the triplets of a set, and the triplets that pass them.

The columns of a set stay in memory (about 50 bytes per triplet, shared by all sessions), so that any combination is a
few masks over arrays. The result is an array of ids, of which only the page in view is read with its texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.metrics.triplet_analysis import CorrectnessFilter, correctness_mask, fold_heading
from themescope.core.types import Ids, Split
from themescope.db.records import TripletReview, TripletSections, TripletSetRecord, Verdict
from themescope.webapp.features.triplets import queries
from themescope.webapp.features.triplets.queries import EvaluatedModel
from themescope.webapp.features.triplets.state import JUDGED, TRIPLET, UNJUDGED, UNTITLED
from themescope.webapp.shared import triplet_queries
from themescope.webapp.shared.triplet_queries import Margins

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TripletFilter:
    """Conditions on the triplets of a set; "" and None impose none."""

    split: Split | None = None
    words: str = ""
    """Text that one of the sentences contains."""
    article: str = ""
    section: str = ""
    other: str = ""
    """Parts of titles, ignoring case."""
    pair: tuple[str, str] | None = None
    """Two section titles in any order, ignoring case and spacing."""
    correct: CorrectnessFilter | None = None
    """Which models must be correct."""
    correct_model: str = ""
    wrong_model: str = ""
    """The two models of :attr:`CorrectnessFilter.AGAINST`."""
    margin_model: str = ""
    """The model whose margins the range and the order refer to."""
    low: float = -math.inf
    high: float = math.inf
    """Margins from ``low``, inclusive, to ``high``, exclusive."""
    order: str = ""
    """"", or a key of :data:`ORDERS`."""

    @property
    def by_margin(self) -> bool:
        """True if the margins of a model matter."""
        return bool(self.order) or math.isfinite(self.low) or math.isfinite(self.high)

    @property
    def is_empty(self) -> bool:
        """True if there is no condition except a split."""
        return self == TripletFilter(split=self.split)


ORDERS: dict[str, Callable[[Margins], Margins]] = {"wrong": lambda m: m, "right": lambda m: -m, "close": np.abs}
"""Margins → sort keys in ascending order."""


def ids(chosen: TripletSetRecord, conditions: TripletFilter, models: Sequence[EvaluatedModel]) -> Ids:
    """Return the ids of the triplets that pass the filter, in its order."""
    if conditions.is_empty:
        return triplet_queries.ids(chosen, conditions.split)
    runs = tuple(e.run.id for model in models for e in model.evaluations)
    return _ids(chosen.id, chosen.created, conditions, runs, chosen, {model.name: model for model in models})


@st.cache_resource(show_spinner="Filtering triplets …", max_entries=24)
def _ids(
    set_id: int,
    created: datetime,
    conditions: TripletFilter,
    runs: tuple[int, ...],
    _set: TripletSetRecord,
    _models: Mapping[str, EvaluatedModel],
) -> Ids:
    known = triplet_queries.rows(_set, conditions.split)
    keep = _by_text(_set, conditions) & _by_sections(_set, conditions) & _by_correctness(known.ids, conditions, _models)
    found = known.ids[keep]
    if not conditions.by_margin or conditions.margin_model not in _models:
        return found
    margins = queries.margins_at(_models[conditions.margin_model], found)
    inside = (margins >= conditions.low) & (margins < conditions.high)  # both are false where the margin is NaN
    found, margins = found[inside], margins[inside]
    return found if not conditions.order else found[np.argsort(ORDERS[conditions.order](margins), kind="stable")]


def _by_text(chosen: TripletSetRecord, conditions: TripletFilter) -> Mask:
    known = triplet_queries.rows(chosen, conditions.split)
    keep = np.ones(len(known.ids), bool)
    if conditions.article:
        keep &= np.isin(known.articles, queries.articles_titled(chosen, conditions.article))
    if conditions.words:
        columns = [known.pivots] if chosen.kind == "titles" else [known.pivots, known.positives, known.negatives]
        holding = queries.sentences_containing(chosen, conditions.words)
        keep &= np.logical_or.reduce([np.isin(column, holding) for column in columns])
    return keep


def _by_sections(chosen: TripletSetRecord, conditions: TripletFilter) -> Mask | bool:
    if not (conditions.section or conditions.other or conditions.pair):
        return True
    known = queries.sections(chosen, conditions.split)
    keep = _titled(known, conditions.section)[known.own] & _titled(known, conditions.other)[known.other]
    if conditions.pair is not None:
        folded = [fold_heading(title) for title in known.titles]
        a, b = (np.array([title == fold_heading(one) for title in folded], bool) for one in conditions.pair)
        keep &= (a[known.own] & b[known.other]) | (b[known.own] & a[known.other])
    return keep


def _titled(known: TripletSections, part: str) -> Mask:
    """Return a (t,) mask of the titles that contain ``part``."""
    part = fold_heading(part)
    return np.array([part in fold_heading(title or UNTITLED) for title in known.titles], bool)


def _by_correctness(known: Ids, conditions: TripletFilter, models: Mapping[str, EvaluatedModel]) -> Mask | bool:
    if conditions.correct is None:
        return True
    names = [*models]
    if conditions.correct is CorrectnessFilter.AGAINST:
        names = [conditions.correct_model, conditions.wrong_model]
    margins = [queries.margins_at(models[name], known) for name in names if name in models]
    if len(margins) < len(names) or not margins:
        return np.zeros(len(known), bool)
    return correctness_mask(conditions.correct, np.stack(margins))


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """Condition on the reviews of a triplet, by one person or by anyone (None)."""

    state: str = ""
    """"", :data:`JUDGED`, :data:`UNJUDGED`, or a verdict."""
    person: str | None = None


def reviewed(reviews: Mapping[int, Sequence[TripletReview]], person: str | None, verdict: Verdict | None = None) -> Ids:
    """Return the ids of the triplets with a verdict (of one kind) by that person, in ascending order."""
    found = [
        triplet
        for triplet, listed in reviews.items()
        if any(person in (None, r.person) and verdict in (None, r.verdict) for r in listed)
    ]
    return np.array(sorted(found), dtype=np.int64)


def with_reviews(found: Ids, reviews: Mapping[int, Sequence[TripletReview]], review_filter: ReviewFilter) -> Ids:
    """Return those of the triplets ``found`` that pass the review filter, in their order."""
    if not review_filter.state:
        return found
    verdict = None if review_filter.state in (JUDGED, UNJUDGED) else Verdict(review_filter.state)
    return found[
        np.isin(found, reviewed(reviews, review_filter.person, verdict), invert=review_filter.state == UNJUDGED)
    ]


@dataclass(frozen=True, slots=True)
class View:
    """The triplets that pass the filter, in order, with models and reviews."""

    chosen: TripletSetRecord
    models: Sequence[EvaluatedModel]
    reviews: Mapping[int, Sequence[TripletReview]]
    candidates: Ids
    """(m,) ids that pass the filter on triplets, whatever their reviews."""
    ids: Ids
    """(n,) ids that pass the whole filter."""
    person: str | None
    """The person whose reviews count; None for anyone."""

    def position(self) -> int:
        """Return the position of the triplet that the URL names; 0 if it is not in view."""
        text = st.query_params.get(TRIPLET, "")
        wanted = int(text) if text.isdecimal() and len(text) < 19 else 0
        found = np.flatnonzero(self.ids == wanted)
        return int(found[0]) if len(found) else 0

    def step(self, at: int, to: int) -> None:
        """Move from position ``at`` to ``to``, unless the user has left ``at``; for callbacks."""
        if self.position() == at:
            self.go(to)

    def go(self, to: int) -> None:
        """Show the triplet at a position; for callbacks."""
        st.query_params[TRIPLET] = str(self.ids[min(max(to, 0), len(self.ids) - 1)])
