"""The filter over the triplets of a set. All of it lives in the address, so that a view can be sent as a link."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from core.metrics.triplet_correctness import Who
from core.types import Split
from db.records import TripletReview, Verdict
from webapp.features.triplets.selection import REVIEWED, UNREVIEWED, Judged, Wanted
from webapp.features.triplets.state import ANYBODY, PAIR, clear, heading
from webapp.shared import people
from webapp.shared.text import plain
from webapp.shared.triplet_queries import Judge

_ALL = "all"
_WHO = {
    "": "does not matter",
    Who.ANY: "at least one model",
    Who.ALL: "every model",
    Who.NONE: "no model",
    Who.DIFFER: "some models, others wrong",
    Who.AGAINST: "one model, another wrong",
}
_ORDERS = {"": "as sampled", "wrong": "most wrong first", "right": "most right first", "close": "closest calls first"}
_REVIEWS = {
    "": "does not matter",
    UNREVIEWED: "not yet",
    REVIEWED: "yes",
    Verdict.GOOD: "good",
    Verdict.BAD: "bad",
    Verdict.AMBIGUOUS: "ambiguous",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """What is asked of the triplets themselves, and of what people said of them."""

    wanted: Wanted
    judged: Judged


def split() -> Split | None:
    """The split that is asked for; None: all."""
    splits = [_ALL, *(s.value for s in Split)]
    if st.session_state.get("split", st.query_params.get("split")) not in splits:
        st.session_state["split"] = _ALL
    chosen = st.segmented_control(
        "Split", splits, required=True, key="split", bind="query-params", help="Decided by article title"
    )
    return None if chosen in (None, _ALL) else Split(chosen)


def words() -> str:
    """The words that are looked for."""
    return st.text_input(
        "Find", key="words", bind="query-params", placeholder="words in a sentence", icon=":material/search:"
    ).strip()


def panel(chosen: Split | None, text: str, judges: Sequence[Judge], reviews: Sequence[TripletReview]) -> Filter:
    """Everything else, folded away until it is needed; and in words what is asked for."""
    with st.expander("Filter and order", icon=":material/filter_list:", key="filter"):
        article, section, other = _titles()
        who, ahead, behind = _who(judges)
        judge, low, high, order = _margins(judges)
        judged = _reviews(sorted({r.person for r in reviews}))
    asked = st.query_params.get_all(PAIR)
    pair = (asked[0], asked[1]) if len(asked) == 2 else None
    wanted = Wanted(chosen, text, article, section, other, pair, who, ahead, behind, judge, low, high, order)
    told = in_words(wanted, judged)
    if told:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Only {told}", width="content")
            st.button("Show all", icon=":material/close:", on_click=clear, type="tertiary")
    return Filter(wanted, judged)


def _titles() -> tuple[str, str, str]:
    """Parts of the titles of article, section and other section."""
    asked = (
        (
            "Article",
            "article",
            "part of a title",
            "Articles with this in their title; in quotation marks: with this title.",
        ),
        ("Section", "section", "such as Career", "Only triplets whose pivot is from a section with this in its title."),
        ("Other section", "other", "such as Early life", "Only triplets whose third sentence is from such a section."),
    )
    found = []
    for column, (label, key, placeholder, about) in zip(st.columns(3), asked, strict=True):
        text = column.text_input(label, key=key, bind="query-params", placeholder=placeholder, help=about)
        found.append(text.strip())
    return found[0], found[1], found[2]


def _who(judges: Sequence[Judge]) -> tuple[Who | None, str, str]:
    """Who must be right, and the two models where one is held against another."""
    left, middle, right = st.columns(3)
    names = [judge.name for judge in judges]
    with left:
        who = _one_of(
            "Who is right", _WHO, "who", "Of the models that were evaluated on a triplet.", disabled=not judges
        )
    if who != Who.AGAINST:
        return (Who(who) if who else None), "", ""
    with middle:
        ahead = _model("Right", names, "ahead", 0)
    with right:
        behind = _model("Wrong", names, "behind", 1)
    return Who.AGAINST, ahead, behind


def _model(label: str, names: Sequence[str], key: str, place: int) -> str:
    """One of the models; without a choice, that in its place."""
    if st.session_state.get(key, names[0]) not in names:
        st.session_state.pop(key)
    if key not in st.session_state and st.query_params.get(key) not in names:
        st.session_state[key] = names[min(place, len(names) - 1)]
    return st.selectbox(label, names, key=key, bind="query-params")


def _margins(judges: Sequence[Judge]) -> tuple[str, float, float, str]:
    """Whose margins, their range and their order."""
    columns = st.columns([4, 2, 2, 4])
    with columns[0]:
        judge = _model("Margin of", [judge.name for judge in judges], "by", 0) if judges else ""
        if not judges:
            st.selectbox("Margin of", [], placeholder="no model evaluated yet", disabled=True)
    about = "Distance to the other section minus distance to the same section; below 0 is wrong."
    low = columns[1].number_input("from", value=None, key="from", bind="query-params", format="%g", help=about)
    high = columns[2].number_input("to below", value=None, key="to", bind="query-params", format="%g")
    with columns[3]:
        order = _one_of("Order", _ORDERS, "sort", "By the margin of the model at the left.", disabled=not judges)
    if not judges:
        return "", -math.inf, math.inf, ""
    return judge, -math.inf if low is None else low, math.inf if high is None else high, order


def _reviews(listed: Sequence[str]) -> Judged:
    """Whether a triplet must have been reviewed, and by whom."""
    left, right, _ = st.columns(3)
    with left:
        state = _one_of("Reviewed", _REVIEWS, "reviewed", "What people made of a triplet, as it stands now.")
    me = people.current_person()
    named: dict[str, str | None] = {ANYBODY: None} | {p or people.UNNAMED: p for p in dict.fromkeys([me, *listed])}
    with right:
        who = _one_of("By", {name: name for name in named}, "reviewer", "Whose verdicts count here.")
    return Judged(state, named[who])


def _one_of(label: str, options: dict[str, str], key: str, about: str, *, disabled: bool = False) -> str:
    """One of some ids, shown in words."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    show: Callable[[str], str] = options.__getitem__
    ids = [str(id) for id in options]
    chosen = st.selectbox(label, ids, key=key, bind="query-params", format_func=show, help=about, disabled=disabled)
    return chosen if chosen in ids else ids[0]


def in_words(wanted: Wanted, judged: Judged) -> str:
    """What is asked for besides a split and words, for Markdown; "" where nothing is."""
    titles = (("article", wanted.article), ("section", wanted.section), ("other section", wanted.other))
    parts = [f"{what} with **{plain(text)}**" for what, text in titles if text]
    if wanted.pair:
        a, b = (f"**{plain(heading(title))}**" for title in wanted.pair)
        parts.append(f"{a} against {b}")
    if wanted.who is Who.AGAINST:
        parts.append(f"**{plain(wanted.ahead)}** right, **{plain(wanted.behind)}** wrong")
    elif wanted.who is not None:
        parts.append(f"{_WHO[wanted.who]} right")
    if math.isfinite(wanted.low) or math.isfinite(wanted.high):
        parts.append(f"margin of **{plain(wanted.judge)}** {margin_range(wanted.low, wanted.high)}")
    if judged.state:
        by = "" if judged.person is None else f" by {people.shown(judged.person)}"
        said = {UNREVIEWED: "not yet reviewed", REVIEWED: "reviewed"}.get(judged.state, f"called {judged.state}")
        parts.append(said + by)
    ordered = f", {_ORDERS[wanted.order]}" if wanted.order else ""
    return (" · ".join(parts) or "the triplets with a margin") + ordered if parts or ordered else ""


def margin_range(low: float, high: float) -> str:
    """Margins in words: ``below 0``, ``from −2 to −1``."""
    if math.isinf(low):
        return f"below {high:g}".replace("-", "−")
    return (f"from {low:g}" + ("" if math.isinf(high) else f" to {high:g}")).replace("-", "−")
