"""Weak labels, one at a time: pivot, same theme, other theme, which model tells them apart, and what people think."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from db.records import TripletCard, TripletSetRecord
from webapp.features.triplets import attention, export, filter_form, selection, verdicts
from webapp.features.triplets.filter_form import Filter
from webapp.features.triplets.state import heading
from webapp.features.triplets.view import View
from webapp.shared import triplet_queries, triplet_sets
from webapp.shared.text import plain, shorten_middle, signed
from webapp.shared.triplet_queries import Judge

_PAGE = 50


def browse(sets: Sequence[TripletSetRecord]) -> None:
    """The filter, and below it the triplets one by one."""
    left, middle, right = st.columns([4, 4, 4], vertical_alignment="bottom")
    with left:
        chosen = triplet_sets.choose(sets)
    with middle:
        split = filter_form.split()
    with right:
        words = filter_form.words()
    judges = triplet_queries.judges(triplet_queries.evaluations(chosen))
    people = [r for said in triplet_queries.reviews(chosen).values() for r in said]
    asked = filter_form.panel(split, words, judges, people)
    st.fragment(_one_by_one)(chosen, judges, asked)


def look(chosen: TripletSetRecord, judges: Sequence[Judge], asked: Filter) -> View:
    """The triplets that are asked for, with the reviews of this moment."""
    reviews = triplet_queries.reviews(chosen)
    among = selection.ids(chosen, asked.wanted, judges)
    ids = selection.with_reviews(among, reviews, asked.judged)
    return View(chosen, judges, reviews, among, ids, asked.judged.person)


def _one_by_one(chosen: TripletSetRecord, judges: Sequence[Judge], asked: Filter) -> None:
    """One triplet large, its neighbours in a table below; a step draws this part of the page alone."""
    view = look(chosen, judges, asked)
    if not len(view.ids):
        _nothing(view)
        return
    at = view.place()
    first = at // _PAGE * _PAGE
    page = view.ids[first : first + _PAGE]
    cards = triplet_queries.cards(chosen, page)
    margins = {judge.name: triplet_queries.margins_at(judge, page).tolist() for judge in judges}
    current = cards[at - first]
    _steps(view, at, asked)
    verdicts.bar(view, at)
    card(current, chosen.kind)
    model_badges({name: listed[at - first] for name, listed in margins.items()})
    attention.show(current, roles(chosen.kind))
    _table(view, cards, margins, first)


def _nothing(view: View) -> None:
    if len(view.among):
        st.info("Nothing is left here: no triplet of this filter was reviewed as asked.", icon=":material/task_alt:")
    else:
        st.info("No triplet matches. Change the filter, or show all again.", icon=":material/info:")


def _steps(view: View, at: int, asked: Filter) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        # Keys of this place alone: a press that the browser sends again leads to the same triplet, not one further.
        back, on = f"previous-{at}", f"next-{at}"
        st.button("Previous", back, shortcut="K", on_click=view.step, args=(at, at - 1), disabled=at == 0)
        st.button("Next", on, shortcut="J", on_click=view.step, args=(at, at + 1), disabled=at + 1 >= len(view.ids))
        st.caption(f"Triplet {at + 1:,} of {len(view.ids):,}", width="content")
        st.space("stretch")
        export.buttons(view.chosen, view.judges, asked.wanted.split, view.ids)


def card(triplet: TripletCard, kind: str) -> None:
    """The three texts with their sections, side by side."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(triplet.article)}**", width="content")
        st.badge(triplet.split.value, color="gray")
    parts = (
        (triplet.pivot_section, triplet.pivot, "gray"),
        (triplet.pivot_section, triplet.positive, "green"),
        (triplet.negative_section, triplet.negative, "orange"),
    )
    for column, role, (section, text, colour) in zip(st.columns(3), roles(kind), parts, strict=True):
        with column, st.container(border=True, height="stretch"):
            st.badge(role, color=colour)  # type: ignore[arg-type]
            st.caption(plain(heading(section)))
            st.text(text)


def roles(kind: str) -> tuple[str, str, str]:
    """What the three texts of a triplet are to each other."""
    if kind == "sentences":
        return "Pivot", "Same section", "Other section"
    return "Pivot", "Its section's title", "Another section's title"


def model_badges(margins: Mapping[str, float]) -> None:
    """Which model puts the same section nearer, and by how much of its own distance; not a number: not evaluated."""
    known = {name: margin for name, margin in margins.items() if math.isfinite(margin)}
    if not margins:
        st.caption("No model has been evaluated on this set yet. Ask for it on the page Compare, “Triplet accuracy”.")
    elif not known:
        st.caption("Models were evaluated on another split of this set; choose “test” above to see who was right.")
    with st.container(horizontal=True):
        for name, margin in known.items():
            _verdict(name, margin)


def _verdict(name: str, margin: float) -> None:
    label, colour, icon = outcome(margin)
    st.badge(
        f"{plain(name)} {label} · {signed(margin)}",
        color=colour,  # type: ignore[arg-type]
        icon=icon,
        help="Margin: distance to the other section minus distance to the same section, in this model's own distance",
    )


def outcome(margin: float) -> tuple[str, str, str]:
    """Word, colour and symbol for a margin: distance to the other theme minus distance to the same theme."""
    if margin > 0:
        return "right", "green", ":material/check:"
    return ("wrong", "red", ":material/close:") if margin < 0 else ("undecided", "gray", ":material/drag_handle:")


def _table(view: View, cards: Sequence[TripletCard], margins: Mapping[str, Sequence[float]], first: int) -> None:
    # A model that was evaluated on none of these would be a column of dashes.
    known = {name: listed for name, listed in margins.items() if any(map(math.isfinite, listed))}
    heads = {name: f"margin-{place}" for place, name in enumerate(known)}
    columns = {heads[name]: [m if math.isfinite(m) else None for m in listed] for name, listed in known.items()}
    frame = pd.DataFrame(
        {
            "Article": [c.article for c in cards],
            "Verdict": [verdicts.in_short(view.reviews.get(c.id, ())) for c in cards],
            "Section": [c.pivot_section for c in cards],
            "Other section": [c.negative_section for c in cards],
            **columns,
            "Pivot": [c.pivot for c in cards],
        }
    )
    key = f"rows-{view.chosen.id}-{hash(tuple(c.id for c in cards))}"

    def jump() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells:
            view.go(first + cells[0][0])

    signs = " A model's column holds its margin: positive is right, negative is wrong." if known else ""
    st.caption(f"Click a row to see it above.{signs}")
    st.dataframe(
        frame,
        hide_index=True,
        height=300,
        on_select=jump,
        selection_mode="single-cell",
        key=key,
        placeholder="–",
        column_config={
            **{
                head: st.column_config.NumberColumn(
                    shorten_middle(name, 17), help=plain(name), format="%+.3f", width=136
                )
                for name, head in heads.items()
            },
            "Article": st.column_config.TextColumn(width=150),
            "Verdict": st.column_config.TextColumn(width=90),
            "Section": st.column_config.TextColumn(width=140),
            "Other section": st.column_config.TextColumn(width=140),
            "Pivot": st.column_config.TextColumn(width="large"),
        },
    )
