"""Filter of the Browse tab. All of its settings are URL keys, so that a view can be shared as a link."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from themescope.core.metrics.triplet_analysis import CorrectnessFilter
from themescope.core.types import Split
from themescope.db.records import TripletReview
from themescope.webapp.features.triplets import state
from themescope.webapp.features.triplets.queries import EvaluatedModel
from themescope.webapp.features.triplets.selection import ReviewFilter, TripletFilter
from themescope.webapp.shared import people
from themescope.webapp.shared.text import plain

_ALL = "all"
_MARGIN_HELP = "Distance to the other section minus distance to the same section. Below 0, the model is wrong."


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on triplets and on their reviews."""

    triplets: TripletFilter
    reviews: ReviewFilter


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
) -> Filter:
    """Draw the other settings in a panel above the text, and a summary of the filter; return the filter."""
    with st.popover("Filter and sort", icon=":material/filter_list:", key=state.FILTER, width="content"):
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
    return Filter(triplets, review_filter)


def _correct(models: Sequence[EvaluatedModel]) -> tuple[CorrectnessFilter | None, str, str]:
    """Return which models must be correct, and the two models where one is compared with another."""
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
    """Return the model whose margins count, their range and their order."""
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
    """Return the condition on reviews."""
    left, right, _ = st.columns(3)
    with left:
        verdict = _select("Review", state.REVIEWED, "The current verdict on a triplet.")
    me = people.current_person()
    named: dict[str, str | None] = {state.ANYONE: None} | {p or people.UNNAMED: p for p in dict.fromkeys([me, *listed])}
    with right:
        if st.session_state.get(state.REVIEWER) not in named:
            st.session_state.pop(state.REVIEWER, None)
        help = "The person whose verdicts count."
        who = st.selectbox("Reviewer", list(named), key=state.REVIEWER, bind="query-params", help=help)
    return ReviewFilter(verdict, named[who])


def _select(label: str, key: str, help: str, *, disabled: bool = False) -> str:
    """Return one of the values of a setting, which are shown by their titles."""
    options = state.TITLES[key]
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    title: Callable[[str], str] = options.__getitem__
    ids = list(options)
    chosen = st.selectbox(label, ids, key=key, bind="query-params", format_func=title, help=help, disabled=disabled)
    return chosen if chosen in ids else ids[0]


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
