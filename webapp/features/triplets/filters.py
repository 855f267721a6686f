"""Filter of the Browse tab. All of its settings are URL keys, so that a view can be shared as a link."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.metrics.triplets import fold_heading
from themescope.core.types import Ids, Split
from themescope.db.records import TripletReview, TripletSetRecord, Verdict
from themescope.webapp.features import triplets as state
from themescope.webapp.features.triplets import LOWEST, TRIPLET, queries
from themescope.webapp.features.triplets.queries import EvaluatedModel
from themescope.webapp.shared import people
from themescope.webapp.shared.choose import by_name
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.triplet_queries import Margins
from themescope.webapp.shared.text import plain

_ALL = "all"
ANY, UNJUDGED, JUDGED = "any", "not reviewed by me", "reviewed"
_REVIEWS = (ANY, UNJUDGED, JUDGED, *(verdict.value for verdict in Verdict))
AS_SAMPLED = "as sampled"
ORDERS: Mapping[str, Callable[[Margins], Margins]] = {
    LOWEST: lambda m: m,
    "highest margin first": lambda m: -m,
    "margin closest to 0 first": np.abs,
}
"""Orders → sort keys, ascending, of margins."""


@dataclass(frozen=True, slots=True)
class TripletFilter:
    """Conditions on the triplets of a set, and their order; empty values impose none."""

    split: Split | None = None
    words: str = ""
    """Text that one of the sentences contains."""
    article: str = ""
    """Part of a title; in quotation marks, the whole title."""
    pair: tuple[str, ...] = ()
    """Two section titles in any order, ignoring case and spacing."""
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """Models that are right, and that are wrong, about the triplet."""
    review: str = ANY
    order: str = AS_SAMPLED
    order_model: str = ""
    """The model whose margins the order refers to."""


def panel(models: Sequence[EvaluatedModel]) -> TripletFilter:
    """Draw the settings in a panel above the text, and a summary of the filter; return the filter."""
    names = [model.name for model in models]
    beside = st.container(horizontal=True, vertical_alignment="center")
    with beside.popover("Filter and sort", icon=":material/filter_list:", key="triplets_filter", width="content"):
        columns = st.columns(3)
        with columns[0]:
            split = by_name("Split", [_ALL, *(s.value for s in Split)], state.SPLIT, str)
            right = _models("Right", names, state.RIGHT)
            review = by_name("Review", _REVIEWS, state.REVIEW, str, help="Of anyone, if not said otherwise.")
        with columns[1]:
            words = st.text_input("Words", key=state.WORDS, bind="query-params", placeholder="in a sentence")
            wrong = _models("Wrong", names, state.WRONG)
            order = by_name("Sort", [AS_SAMPLED, *ORDERS], state.ORDER, str, disabled=not names)
        with columns[2]:
            article = st.text_input("Article", key=state.ARTICLE, bind="query-params", placeholder="part of a title")
            st.caption("A model is right if the margin is above 0: the pivot is nearer to the positive.")
            of = by_name("By the margins of", names, state.ORDER_MODEL, str) if names else ""
    pair = tuple(st.query_params.get_all(state.PAIR))
    found = TripletFilter(
        None if split == _ALL else Split(split), words.strip(), article.strip(), pair if len(pair) == 2 else (),
        right, wrong, review, order if names else AS_SAMPLED, of,
    )  # fmt: skip
    summary = describe(found)
    if summary:
        beside.markdown(f"Showing only {summary}", width="content")
        beside.button("Reset filter", icon=":material/close:", on_click=state.reset_filter, type="tertiary")
    return found


def _models(label: str, names: Sequence[str], key: str) -> tuple[str, ...]:
    if key in st.session_state:
        st.session_state[key] = [name for name in st.session_state[key] if name in names]
    chosen = st.multiselect(label, names, key=key, bind="query-params", placeholder="any model", disabled=not names)
    return tuple(chosen)


def describe(found: TripletFilter) -> str:
    """Return the filter in words for Markdown; "" where there is no condition."""
    parts = [f"the {found.split.value} split"] if found.split else []
    texts = (("article", found.article), ("words", found.words))
    parts += [f"{noun} with **{plain(text)}**" for noun, text in texts if text]
    if found.pair:
        parts.append(" and ".join(f"**{plain(state.heading(title))}**" for title in found.pair))
    parts += [f"**{plain(name)}** right" for name in found.right]
    parts += [f"**{plain(name)}** wrong" for name in found.wrong]
    parts += [found.review] if found.review != ANY else []
    return " · ".join(parts) + (f", {found.order}" if found.order != AS_SAMPLED else "") if parts else ""


def ids(chosen: TripletSetRecord, conditions: TripletFilter, models: Sequence[EvaluatedModel]) -> Ids:
    """Return the ids of the triplets that pass the filter, whatever their reviews, in its order."""
    if replace(conditions, review=ANY) == TripletFilter(split=conditions.split, order_model=conditions.order_model):
        return triplet_queries.ids(chosen, conditions.split)
    return _ids(chosen, replace(conditions, review=ANY), models)


@st.cache_resource(show_spinner="Filtering triplets …", max_entries=24, hash_funcs=queries.HASHES)
def _ids(chosen: TripletSetRecord, conditions: TripletFilter, models: Sequence[EvaluatedModel]) -> Ids:
    named = {model.name: model for model in models}
    known = triplet_queries.rows(chosen, conditions.split)
    keep = np.ones(len(known.ids), bool)
    if conditions.article:
        keep &= np.isin(known.articles, queries.articles_titled(chosen, conditions.article))
    if conditions.words:
        columns = [known.pivots] if chosen.kind == "titles" else [known.pivots, known.positives, known.negatives]
        holding = queries.sentences_containing(chosen, conditions.words)
        keep &= np.logical_or.reduce([np.isin(column, holding) for column in columns])
    if conditions.pair:
        keep &= _of_sections(chosen, conditions)
    for names, sign in ((conditions.right, 1), (conditions.wrong, -1)):
        for name in names:
            keep &= sign * queries.margins_at(named[name], known.ids) > 0  # False where the margin is NaN
    found = known.ids[keep]
    if conditions.order == AS_SAMPLED:
        return found
    margins = queries.margins_at(named[conditions.order_model], found)
    found, margins = found[np.isfinite(margins)], margins[np.isfinite(margins)]
    return found[np.argsort(ORDERS[conditions.order](margins), kind="stable")]


def _of_sections(chosen: TripletSetRecord, conditions: TripletFilter) -> npt.NDArray[np.bool_]:
    """Return a mask of the triplets of two sections, one of which has the pivot."""
    known = queries.sections(chosen, conditions.split)
    folded = [fold_heading(title) for title in known.titles]
    a, b = (np.array([title == fold_heading(one) for title in folded], bool) for one in conditions.pair)
    found: npt.NDArray[np.bool_] = (a[known.own] & b[known.other]) | (b[known.own] & a[known.other])
    return found


def reviewed(reviews: Mapping[int, Sequence[TripletReview]], review: str) -> Ids:
    """Return the ids of the triplets with a review, one by this person, or a verdict of anyone, in ascending order."""
    me = people.current_person()

    def fits(one: TripletReview) -> bool:
        return one.person == me if review == UNJUDGED else review in (JUDGED, one.verdict)

    return np.array(sorted(id for id, listed in reviews.items() if any(map(fits, listed))), dtype=np.int64)


def with_reviews(found: Ids, reviews: Mapping[int, Sequence[TripletReview]], review: str) -> Ids:
    """Return those of the triplets ``found`` that have such a review, in their order."""
    return found if review == ANY else found[np.isin(found, reviewed(reviews, review), invert=review == UNJUDGED)]


@dataclass(frozen=True, slots=True)
class TripletView:
    """The triplets that pass the filter, in order, with models and reviews."""

    chosen: TripletSetRecord
    models: Sequence[EvaluatedModel]
    reviews: Mapping[int, Sequence[TripletReview]]
    candidates: Ids
    """(m,) ids that pass the filter, whatever their reviews."""
    ids: Ids
    """(n,) ids that pass the whole filter."""

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
