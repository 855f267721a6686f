"""Filter of the Browse tab. All of its settings are URL keys, so that a view can be shared as a link."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.metrics.triplets import CorrectnessFilter, correctness_mask, fold_heading
from themescope.core.types import Ids, Split
from themescope.db.records import TripletReview, TripletSections, TripletSetRecord, Verdict
from themescope.webapp.features import triplets as state
from themescope.webapp.features.triplets import JUDGED, TRIPLET, UNJUDGED, UNTITLED, queries
from themescope.webapp.features.triplets.queries import EvaluatedModel
from themescope.webapp.shared import people
from themescope.webapp.shared.choose import bound
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.triplet_queries import Margins
from themescope.webapp.shared.text import plain

_ALL = "all"
_MARGIN_HELP = "Distance to the other section minus distance to the same section. Below 0, the model is wrong."


def split() -> Split | None:
    """Return the chosen split; None for all."""
    splits = [_ALL, *(s.value for s in Split)]
    if st.session_state.get(state.SPLIT, st.query_params.get(state.SPLIT)) not in splits:
        st.session_state[state.SPLIT] = _ALL
    chosen = st.segmented_control(
        "Split",
        splits,
        required=True,
        key=state.SPLIT,
        bind="query-params",
        help="The title of an article decides its split",
    )
    return None if chosen in (None, _ALL) else Split(chosen)


def words() -> str:
    """Return the text to search for in the sentences."""
    return st.text_input(
        "Search", key=state.WORDS, bind="query-params", placeholder="words in a sentence", icon=":material/search:"
    ).strip()


def panel(
    chosen: Split | None, text: str, models: Sequence[EvaluatedModel], reviews: Sequence[TripletReview]
) -> tuple[TripletFilter, ReviewFilter]:
    """Draw the other settings in a panel above the text, and a summary of the filter; return the filter."""
    with st.popover("Filter and sort", icon=":material/filter_list:", key="triplets_filter", width="content"):
        fields = (
            (
                "Article",
                state.ARTICLE,
                "part of a title",
                "Part of the article's title; in quotation marks, the whole title.",
            ),
            ("Section", state.SECTION, "such as Career", "Part of the title of the pivot's section."),
            (
                "Other section",
                state.OTHER_SECTION,
                "such as Early life",
                "Part of the title of the negative's section.",
            ),
        )
        found = [
            column.text_input(label, key=key, bind="query-params", placeholder=placeholder, help=help).strip()
            for column, (label, key, placeholder, help) in zip(st.columns(3), fields, strict=True)
        ]
        article, section, other = found[0], found[1], found[2]
        correct, right, wrong = _correct(models)
        model, low, high, order = _margins(models)
        review_filter = _reviews(sorted({r.person for r in reviews}))
    titles = st.query_params.get_all(state.PAIR)
    pair = (titles[0], titles[1]) if len(titles) == 2 else None
    triplets = TripletFilter(
        chosen, text, article, section, other, pair, correct, right, wrong, model, low, high, order
    )
    summary = describe(triplets, review_filter)
    if summary:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Showing only {summary}", width="content")
            st.button("Reset filter", icon=":material/close:", on_click=state.reset_filter, type="tertiary")
    return triplets, review_filter


def _correct(models: Sequence[EvaluatedModel]) -> tuple[CorrectnessFilter | None, str, str]:
    left, middle, right = st.columns(3)
    names = [model.name for model in models]
    with left:
        help = "Of the models that were evaluated on a triplet."
        correct = _select("Correct models", state.CORRECT, help, disabled=not models)
    if correct != CorrectnessFilter.AGAINST:
        return (CorrectnessFilter(correct) if correct else None), "", ""
    with middle:
        first = _select_model("Correct", names, state.CORRECT_MODEL, 0)
    with right:
        second = _select_model("Wrong", names, state.WRONG_MODEL, 1)
    return CorrectnessFilter.AGAINST, first, second


def _select_model(label: str, names: Sequence[str], key: str, default: int) -> str:
    """Return one of the models, by default the one at that place.

    The box itself has no default, because the address would leave that model out, and its place may change.
    """
    usual = names[min(default, len(names) - 1)]
    if st.session_state.get(key) not in names:
        st.session_state.pop(key, None)
    if key not in st.session_state and st.query_params.get(key) not in names:
        st.session_state[key] = usual
    return st.selectbox(label, names, index=None, key=key, bind="query-params") or usual


def _margins(models: Sequence[EvaluatedModel]) -> tuple[str, float, float, str]:
    columns = st.columns([4, 2, 2, 4])
    with columns[0]:
        model = _select_model("Margin of", [one.name for one in models], state.MARGIN_MODEL, 0) if models else ""
        if not models:
            st.selectbox("Margin of", [], placeholder="no evaluated model", disabled=True)
    low = columns[1].number_input(
        "Min", value=None, key=state.MARGIN_MIN, bind="query-params", format="%g", help=_MARGIN_HELP
    )
    high = columns[2].number_input(
        "Max", value=None, key=state.MARGIN_MAX, bind="query-params", format="%g", help="Exclusive."
    )
    with columns[3]:
        order = _select("Sort", state.ORDER, "By the margin of the model on the left.", disabled=not models)
    if not models:
        return "", -math.inf, math.inf, ""
    return model, -math.inf if low is None else low, math.inf if high is None else high, order


def _reviews(listed: Sequence[str]) -> ReviewFilter:
    left, right, _ = st.columns(3)
    with left:
        verdict = _select("Review", state.REVIEWED, "The current verdict on a triplet.")
    me = people.current_person()
    named: dict[str, str | None] = {state.ANYONE: None} | {p or people.UNNAMED: p for p in dict.fromkeys([me, *listed])}
    with right:
        who = bound("Reviewer", list(named), state.REVIEWER, help="The person whose verdicts count.")
    return ReviewFilter(verdict, named[who])


def _select(label: str, key: str, help: str, *, disabled: bool = False) -> str:
    """Return one of the values of a setting, which are shown by their titles."""
    titles = state.TITLES[key]
    return bound(label, list(titles), key, format_func=titles.__getitem__, help=help, disabled=disabled)


def describe(triplets: TripletFilter, reviews: ReviewFilter) -> str:
    """Return the filter in words for Markdown, without split and search; "" where there is no other condition."""
    titles = (("article", triplets.article), ("section", triplets.section), ("other section", triplets.other))
    parts = [f"{noun} with **{plain(text)}**" for noun, text in titles if text]
    if triplets.pair:
        a, b = (f"**{plain(state.heading(title))}**" for title in triplets.pair)
        parts.append(f"{a} and {b}")
    if triplets.correct is CorrectnessFilter.AGAINST:
        parts.append(f"**{plain(triplets.correct_model)}** correct, **{plain(triplets.wrong_model)}** wrong")
    elif triplets.correct is not None:
        parts.append(f"correct models: {state.TITLES[state.CORRECT][triplets.correct]}")
    if math.isfinite(triplets.low) or math.isfinite(triplets.high):
        parts.append(f"margin of **{plain(triplets.margin_model)}** {margin_range(triplets.low, triplets.high)}")
    if reviews.state:
        by = "" if reviews.person is None else f" by {people.shown(reviews.person)}"
        verdict = {state.UNJUDGED: "not reviewed", state.JUDGED: "reviewed"}.get(
            reviews.state, f"judged {reviews.state}"
        )
        parts.append(verdict + by)
    ordered = f", {state.TITLES[state.ORDER][triplets.order]}" if triplets.order else ""
    return (" · ".join(parts) or "triplets with a margin") + ordered if parts or ordered else ""


def margin_range(low: float, high: float) -> str:
    """Return margins in words: ``below 0``, ``from −2 to −1``."""
    if math.isinf(low):
        return f"below {high:g}".replace("-", "−")
    return (f"from {low:g}" + ("" if math.isinf(high) else f" to {high:g}")).replace("-", "−")


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


@st.cache_resource(show_spinner="Filtering triplets …", max_entries=24, hash_funcs=queries.HASHES)
def ids(chosen: TripletSetRecord, conditions: TripletFilter, models: Sequence[EvaluatedModel]) -> Ids:
    """Return the ids of the triplets that pass the filter, in its order."""
    if conditions.is_empty:
        return triplet_queries.ids(chosen, conditions.split)
    named = {model.name: model for model in models}
    known = triplet_queries.rows(chosen, conditions.split)
    keep = (
        _by_text(chosen, conditions) & _by_sections(chosen, conditions) & _by_correctness(known.ids, conditions, named)
    )
    found = known.ids[keep]
    if not conditions.by_margin or conditions.margin_model not in named:
        return found
    margins = queries.margins_at(named[conditions.margin_model], found)
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
class TripletView:
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
