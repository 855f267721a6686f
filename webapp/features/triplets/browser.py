"""Browse tab: one triplet at a time with the verdicts of models and people, and the triplets around it in a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from themescope.db.records import NewCase, TripletCard, TripletSetRecord
from themescope.jobs.services.notebook.cases import triplet_case
from themescope.webapp.features.triplets import attention, export, filters, queries, sets, verdicts
from themescope.webapp.features.triplets.filters import Filter, TripletView
from themescope.webapp.features.triplets.queries import EvaluatedModel
from themescope.webapp.features.triplets.state import REVIEW_KEYS, SET, STEP, TABLE, TRIPLET, heading
from themescope.webapp.shared import components
from themescope.webapp.shared.components import clickable_table
from themescope.webapp.shared.labelling import error_notebook
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.text import plain, shorten_middle, signed

_ROWS = 50
KEYS = {key: verdict.value for verdict, key in verdicts.SHORTCUTS.items()} | {
    "U": "undo", "J": "next", "K": "previous", "O": "notebook",
}  # fmt: skip
HANDLERS: Mapping[str, Callable[[TripletView], None]] = {
    **{verdict.value: verdicts.by_key(verdict) for verdict in verdicts.SHORTCUTS},
    "undo": verdicts.undo,
    "next": lambda view: view.go(view.position() + 1),
    "previous": lambda view: view.go(view.position() - 1),
    "notebook": lambda view: error_notebook.open_dialog(REVIEW_KEYS),
}
_MARGIN_HELP = "Margin: distance to the other section minus distance to the same section, by this model's distance"
_COLUMNS = {
    "Article": st.column_config.TextColumn(width=150),
    "Verdict": st.column_config.TextColumn(width=90),
    "Section": st.column_config.TextColumn(width=140),
    "Other section": st.column_config.TextColumn(width=140),
    "Pivot": st.column_config.TextColumn(width="large"),
}


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw the filter, and below it one triplet."""
    left, middle, right = st.columns([4, 4, 4], vertical_alignment="bottom")
    with left:
        chosen = sets.choose_set(listed)
    with middle:
        split = filters.split()
    with right:
        words = filters.words()
    models = queries.evaluated_models(triplet_queries.evaluations(chosen))
    reviews = [r for of_triplet in queries.reviews(chosen).values() for r in of_triplet]
    conditions = filters.panel(split, words, models, reviews)
    st.fragment(_one_triplet)(chosen, models, conditions)


def filtered(chosen: TripletSetRecord, models: Sequence[EvaluatedModel], conditions: Filter) -> TripletView:
    """Return the triplets that pass the filter, with their current reviews."""
    reviews = queries.reviews(chosen)
    candidates = filters.ids(chosen, conditions.triplets, models)
    ids = filters.with_reviews(candidates, reviews, conditions.reviews)
    return TripletView(chosen, models, reviews, candidates, ids, conditions.reviews.person)


def _one_triplet(chosen: TripletSetRecord, models: Sequence[EvaluatedModel], conditions: Filter) -> None:
    """Draw one triplet and its page of the table; stepping reruns only this fragment."""
    view = filtered(chosen, models, conditions)
    if not len(view.ids):
        if len(view.candidates):
            st.info("No triplet left: all that match the filter have other reviews.", icon=":material/task_alt:")
        else:
            st.info("No matching triplets. Change or reset the filter.", icon=":material/info:")
        return
    at = view.position()
    first = at // _ROWS * _ROWS
    page = view.ids[first : first + _ROWS]
    cards = queries.cards(chosen, page)
    margins = {model.name: queries.margins_at(model, page).tolist() for model in models}
    current = cards[at - first]
    shown = {name: values[at - first] for name, values in margins.items()}
    with st.container(horizontal=True, vertical_alignment="center"):
        # Keys of this position alone: a press that the browser sends again leads to the same triplet, not one further.
        back, forward = f"{STEP}_back_{at}", f"{STEP}_forward_{at}"
        last = at + 1 >= len(view.ids)
        st.button("Previous", back, on_click=view.step, args=(at, at - 1), disabled=at == 0)
        st.button("Next", forward, on_click=view.step, args=(at, at + 1), disabled=last)
        st.caption(f"Triplet {at + 1:,} of {len(view.ids):,}", width="content")
        st.space("stretch")
        error_notebook.add_button(REVIEW_KEYS, lambda: _case(view, current, shown))
        export.buttons(view.chosen, view.models, conditions.triplets.split, view.ids)
    verdicts.buttons(view, at)
    components.action_keys(REVIEW_KEYS, TRIPLET, KEYS, {kind: partial(act, view) for kind, act in HANDLERS.items()})
    card(current, chosen.kind)
    model_badges(shown)
    attention.show(current, roles(chosen.kind))
    _table(view, cards, margins, first)


def _case(view: TripletView, triplet: TripletCard, margins: Mapping[str, float]) -> NewCase:
    """Return a triplet as a case of the error notebook."""
    address = error_notebook.permalink({SET: view.chosen.name, TRIPLET: str(triplet.id)})
    return triplet_case(triplet, view.chosen, margins, address)


def card(triplet: TripletCard, kind: str) -> None:
    """Draw the three texts with their sections side by side."""
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
    """Return the roles of the three texts of a triplet of that kind."""
    if kind == "sentences":
        return "Pivot", "Positive: same section", "Negative: other section"
    return "Pivot", "Positive: its section's title", "Negative: another section's title"


def model_badges(margins: Mapping[str, float]) -> None:
    """Draw which models are correct on a triplet, with their margins; NaN where a model was not evaluated."""
    known = {name: margin for name, margin in margins.items() if math.isfinite(margin)}
    if not margins:
        st.caption("No model is evaluated on this set yet. Evaluate one on the Compare page, tab “Triplet accuracy”.")
    elif not known:
        st.caption("Models are evaluated on another split of this set. Choose the split “test” above to see results.")
    with st.container(horizontal=True):
        for name, margin in known.items():
            label, colour, icon = outcome(margin)
            st.badge(
                f"{plain(name)} {label} · {signed(margin)}",
                color=colour,  # type: ignore[arg-type]
                icon=icon,
                help=_MARGIN_HELP,
            )


def outcome(margin: float) -> tuple[str, str, str]:
    """Return word, colour and icon for a margin."""
    if margin > 0:
        return "correct", "green", ":material/check:"
    return ("wrong", "red", ":material/close:") if margin < 0 else ("tied", "gray", ":material/drag_handle:")


def _table(view: TripletView, cards: Sequence[TripletCard], margins: Mapping[str, Sequence[float]], first: int) -> None:
    # A model that was evaluated on none of these triplets would be an empty column.
    known = {name: values for name, values in margins.items() if any(map(math.isfinite, values))}
    heads = {name: f"margin-{place}" for place, name in enumerate(known)}
    columns = {heads[name]: [m if math.isfinite(m) else None for m in values] for name, values in known.items()}
    frame = pd.DataFrame(
        {
            "Article": [c.article for c in cards],
            "Verdict": [verdicts.summary(view.reviews.get(c.id, ())) for c in cards],
            "Section": [c.pivot_section for c in cards],
            "Other section": [c.negative_section for c in cards],
            **columns,
            "Pivot": [c.pivot for c in cards],
        }
    )
    key = f"{TABLE}_{view.chosen.id}_{hash(tuple(c.id for c in cards))}"

    signs = " Columns of models show margins: positive is correct, negative is wrong." if known else ""
    st.caption(f"Click a row to show the triplet.{signs}")
    clickable_table(
        frame,
        key,
        lambda row: view.go(first + row),
        height=300,
        placeholder="–",
        column_config=_COLUMNS
        | {
            head: st.column_config.NumberColumn(shorten_middle(name, 17), help=plain(name), format="%+.3f", width=136)
            for name, head in heads.items()
        },
    )
