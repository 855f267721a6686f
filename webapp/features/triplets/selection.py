"""Which triplets a person wants to see: everything that can be asked for, and the ids that answer it.

The columns of a set stay in memory (about 50 bytes a triplet, once for all visitors), so that any combination is a few
masks over arrays. What was asked is kept as an array of ids; a page of it is then looked up by key, wherever it lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.metrics.section_pairs import fold_heading
from core.metrics.triplet_correctness import Who, who_is_right
from core.types import Ids, Split
from db.records import TripletReview, TripletSections, TripletSetRecord, Verdict
from webapp.shared import triplet_queries
from webapp.shared.triplet_queries import Judge, Margins

Mask = npt.NDArray[np.bool_]
NO_HEADING = "(no heading)"
REVIEWED, UNREVIEWED = "reviewed", "unreviewed"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the triplets of a set; "" and None ask nothing."""

    split: Split | None = None
    words: str = ""
    """In any of the sentences."""
    article: str = ""
    section: str = ""
    other: str = ""
    """Parts of titles, whatever the case."""
    pair: tuple[str, str] | None = None
    """Two section titles, in any order and spelling."""
    who: Who | None = None
    ahead: str = ""
    behind: str = ""
    """Names of the two judges of :attr:`Who.AGAINST`."""
    judge: str = ""
    """Whose margins the range and the order are about."""
    low: float = -math.inf
    high: float = math.inf
    """From ``low`` up to, without, ``high``."""
    order: str = ""
    """"", or a key of :data:`ORDERS`."""

    @property
    def by_margin(self) -> bool:
        """Whether the margins of one judge are asked about."""
        return bool(self.order) or math.isfinite(self.low) or math.isfinite(self.high)

    @property
    def everything(self) -> bool:
        """Whether nothing but a split is asked for."""
        return self == Wanted(split=self.split)


ORDERS: dict[str, Callable[[Margins], Margins]] = {"wrong": lambda m: m, "right": lambda m: -m, "close": np.abs}
"""Margins → ascending keys."""


def ids(chosen: TripletSetRecord, wanted: Wanted, judges: Sequence[Judge]) -> Ids:
    """The triplets of a set that are as wanted, in the order that is wanted."""
    if wanted.everything:
        return triplet_queries.ids(chosen, wanted.split)
    runs = tuple(e.run.id for judge in judges for e in judge.evaluations)
    return _ids(chosen.id, chosen.created, wanted, runs, chosen, {judge.name: judge for judge in judges})


@st.cache_resource(show_spinner="Looking through the triplets …", max_entries=24)
def _ids(
    set_id: int,
    created: datetime,
    wanted: Wanted,
    runs: tuple[int, ...],
    _set: TripletSetRecord,
    _judges: Mapping[str, Judge],
) -> Ids:
    known = triplet_queries.rows(_set, wanted.split)
    keep = _by_text(_set, wanted) & _by_sections(_set, wanted) & _by_who(known.ids, wanted, _judges)
    found = known.ids[keep]
    if not wanted.by_margin or wanted.judge not in _judges:
        return found
    margins = triplet_queries.margins_at(_judges[wanted.judge], found)
    inside = (margins >= wanted.low) & (margins < wanted.high)  # neither holds where there is no margin
    found, margins = found[inside], margins[inside]
    return found if not wanted.order else found[np.argsort(ORDERS[wanted.order](margins), kind="stable")]


def _by_text(chosen: TripletSetRecord, wanted: Wanted) -> Mask:
    known = triplet_queries.rows(chosen, wanted.split)
    keep = np.ones(len(known.ids), bool)
    if wanted.article:
        keep &= np.isin(known.articles, triplet_queries.titled(chosen, wanted.article))
    if wanted.words:
        columns = [known.pivots] if chosen.kind == "titles" else [known.pivots, known.positives, known.negatives]
        holding = triplet_queries.holding(chosen, wanted.words)
        keep &= np.logical_or.reduce([np.isin(column, holding) for column in columns])
    return keep


def _by_sections(chosen: TripletSetRecord, wanted: Wanted) -> Mask | bool:
    if not (wanted.section or wanted.other or wanted.pair):
        return True
    known = triplet_queries.sections(chosen, wanted.split)
    keep = _titled(known, wanted.section)[known.own] & _titled(known, wanted.other)[known.other]
    if wanted.pair is not None:
        folded = [fold_heading(title) for title in known.titles]
        a, b = (np.array([title == fold_heading(one) for title in folded], bool) for one in wanted.pair)
        keep &= (a[known.own] & b[known.other]) | (b[known.own] & a[known.other])
    return keep


def _titled(known: TripletSections, part: str) -> Mask:
    """(t,) which titles have ``part`` in them."""
    part = fold_heading(part)
    return np.array([part in fold_heading(title or NO_HEADING) for title in known.titles], bool)


def _by_who(known: Ids, wanted: Wanted, judges: Mapping[str, Judge]) -> Mask | bool:
    if wanted.who is None:
        return True
    names = [wanted.ahead, wanted.behind] if wanted.who is Who.AGAINST else [*judges]
    asked = [triplet_queries.margins_at(judges[name], known) for name in names if name in judges]
    if len(asked) < len(names) or not asked:
        return np.zeros(len(known), bool)
    return who_is_right(wanted.who, np.stack(asked))


# ---------------------------------------------------------------- what people said of them


@dataclass(frozen=True, slots=True)
class Judged:
    """Which of the triplets must have been reviewed, by whom (None: anybody)."""

    state: str = ""
    """"", :data:`REVIEWED`, :data:`UNREVIEWED`, or a verdict."""
    person: str | None = None


def reviewed(reviews: Mapping[int, Sequence[TripletReview]], person: str | None, verdict: Verdict | None = None) -> Ids:
    """Ids of the triplets with a verdict (of that kind) by that person, ascending."""
    wanted = [
        triplet
        for triplet, said in reviews.items()
        if any(person in (None, r.person) and verdict in (None, r.verdict) for r in said)
    ]
    return np.array(sorted(wanted), dtype=np.int64)


def with_reviews(found: Ids, reviews: Mapping[int, Sequence[TripletReview]], judged: Judged) -> Ids:
    """Those of the triplets ``found`` that were reviewed as asked, in their order."""
    if not judged.state:
        return found
    verdict = None if judged.state in (REVIEWED, UNREVIEWED) else Verdict(judged.state)
    return found[np.isin(found, reviewed(reviews, judged.person, verdict), invert=judged.state == UNREVIEWED)]
