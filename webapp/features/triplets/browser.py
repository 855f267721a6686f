"""Browse tab: one triplet at a time, verdicts on it by buttons and keys, and the triplets around it in a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.errors import DataError
from themescope.core.types import Ids
from themescope.db.records import TripletCard, TripletReview, TripletSetRecord, Verdict
from themescope.jobs.services import failures as service
from themescope.jobs.services.failures import CollectedFailure
from themescope.webapp.features.triplets import SET, TRIPLET, heading, queries, sets
from themescope.webapp.features.triplets.queries import EvaluatedModel, TripletFilter, TripletView
from themescope.webapp.shared import components, labelling, people, triplet_queries
from themescope.webapp.shared import queries as shared
from themescope.webapp.shared.components import clickable_table
from themescope.webapp.shared.text import ago, plain, shorten_middle, signed

SHORTCUTS = {Verdict.GOOD: "G", Verdict.BAD: "B", Verdict.AMBIGUOUS: "A"}
_HELP = {
    Verdict.GOOD: "Pivot and positive belong together; the negative does not.",
    Verdict.BAD: "Wrong: the negative is as close to the pivot as the positive, or closer.",
    Verdict.AMBIGUOUS: "Cannot be decided.",
}
_COLOURS = {Verdict.GOOD: "green", Verdict.BAD: "red", Verdict.AMBIGUOUS: "orange"}


def buttons(view: TripletView, at: int) -> None:
    """Draw the verdict buttons for the triplet at a position, and its reviews."""
    triplet = int(view.ids[at])
    reviews = view.reviews.get(triplet, ())
    mine = next((r for r in reviews if r.person == people.current_person()), None)
    with st.container(horizontal=True, vertical_alignment="center"):
        for verdict in SHORTCUTS:
            st.button(
                verdict.value.title(),
                # Of this triplet alone: a press that the browser sends again must not count for the next one.
                key=f"triplets_verdict_{verdict}_{triplet}",
                type="primary" if mine is not None and mine.verdict is verdict else "secondary",
                on_click=_give,
                args=(view, at, verdict),
                help=_HELP[verdict],
            )
        _undo_button(view)
        key = _note_key(triplet)

        def store() -> None:
            if mine is not None:
                _store(view, triplet, mine.verdict, st.session_state[key])

        st.session_state.setdefault(key, mine.note if mine is not None else "")
        look: dict[str, Any] = {"placeholder": "Note (saved with your verdict)", "label_visibility": "collapsed"}
        st.text_input("Note", key=key, on_change=store, max_chars=2_000, persist_state="session", **look)
    done = int(np.isin(view.candidates, queries.reviewed(view.reviews, queries.JUDGED)).sum())
    st.caption(
        f"**{done:,} of {len(view.candidates):,}** in this filter reviewed. Keys: G good, B bad, A ambiguous, "
        "U undo, J next, K previous, O collect as error."
    )
    _reviews(reviews)


def by_key(verdict: Verdict) -> Callable[[TripletView], None]:
    """Return the action that gives a verdict on the triplet that is shown when it is handled."""

    def act(view: TripletView) -> None:
        at, me = view.position(), people.current_person()
        # After the last triplet there is none that a further key could mean.
        given = queries.reviews(view.chosen).get(int(view.ids[at]), ()) if at + 1 == len(view.ids) else ()
        if not any(r.person == me and r.verdict is verdict for r in given):
            _give(view, at, verdict)

    return act


def undo(view: TripletView) -> None:
    """Withdraw the person's last verdict on the set, and show its triplet."""
    me = people.current_person()
    mine = [r for reviews in queries.reviews(view.chosen).values() for r in reviews if r.person == me]
    last = max(mine, key=lambda r: r.id, default=None)
    if last is not None and _store(view, last.triplet_id, None, ""):
        st.query_params[TRIPLET] = str(last.triplet_id)


def summary(reviews: Sequence[TripletReview]) -> str | None:
    """Return the verdicts on a triplet, each once, in the order of the keys; None without any."""
    given = {r.verdict for r in reviews}
    return ", ".join(v.value for v in Verdict if v in given) or None


def _give(view: TripletView, at: int, verdict: Verdict) -> None:
    """Store a verdict with its note and show the next triplet; stay if it cannot be stored."""
    triplet = int(view.ids[at])
    # The buttons of the last triplet receive keys too until the browser has removed them.
    if view.position() == at and _store(view, triplet, verdict, st.session_state.get(_note_key(triplet), "")):
        view.go(at + 1)


def _store(view: TripletView, triplet: int, verdict: Verdict | None, note: str) -> bool:
    person = people.current_person()
    return shared.write(lambda w: w.reviews.add(view.chosen.id, triplet, person, verdict, note))


def _undo_button(view: TripletView) -> None:
    me = people.current_person()
    mine = [r for reviews in view.reviews.values() for r in reviews if r.person == me]
    last = max(mine, key=lambda r: r.id, default=None)

    def withdraw() -> None:
        newest = queries.reviews(view.chosen).get(last.triplet_id, ()) if last is not None else ()
        if last is not None and last in newest and _store(view, last.triplet_id, None, ""):
            st.query_params[TRIPLET] = str(last.triplet_id)

    key = f"triplets_undo_{last.id if last else 0}"
    st.button("Undo", key=key, on_click=withdraw, disabled=last is None, help="Withdraws your last verdict.")


def _note_key(triplet: int) -> str:
    return f"triplets_note_{triplet}"


def _reviews(reviews: Sequence[TripletReview]) -> None:
    if not reviews:
        return
    with st.container(horizontal=True):
        for r in reviews:
            assert r.verdict is not None  # withdrawn verdicts are not listed
            note = f": {plain(r.note)}" if r.note else ""
            colour = _COLOURS[r.verdict]
            st.badge(f"{people.shown(r.person)} · {r.verdict.value} · {ago(r.created)}{note}", color=colour)  # type: ignore[arg-type]


_ROWS = 20
KEYS = {key: verdict.value for verdict, key in SHORTCUTS.items()} | {
    "U": "undo",
    "J": "next",
    "K": "previous",
    "O": "collect",
}
HANDLERS: Mapping[str, Callable[[TripletView], None]] = {
    **{verdict.value: by_key(verdict) for verdict in SHORTCUTS},
    "undo": undo,
    "next": lambda view: view.go(view.position() + 1),
    "previous": lambda view: view.go(view.position() - 1),
    "collect": lambda view: _collect(view, view.ids[view.position() :][:1]),
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
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=360):
            chosen = sets.choose_set(listed)
        models = queries.evaluated_models(triplet_queries.evaluations(chosen))
        conditions = queries.panel(models)
    st.fragment(_one_triplet)(chosen, models, conditions)


def _one_triplet(chosen: TripletSetRecord, models: Sequence[EvaluatedModel], conditions: TripletFilter) -> None:
    """Draw one triplet and its page of the table; stepping reruns only this fragment."""
    reviews = queries.reviews(chosen)
    candidates = queries.ids(chosen, conditions, models)
    ids = queries.with_reviews(candidates, reviews, conditions.review)
    view = TripletView(chosen, models, reviews, candidates, ids)
    if not len(ids):
        if len(candidates):
            st.info("No triplet left: all that match the filter have other reviews.", icon=":material/task_alt:")
        else:
            st.info("No matching triplets. Change or reset the filter.", icon=":material/info:")
        return
    at = view.position()
    first = at // _ROWS * _ROWS
    page = ids[first : first + _ROWS]
    cards = queries.cards(chosen, page)
    margins = {model.name: queries.margins_at(model, page).tolist() for model in models}
    current = cards[at - first]
    with st.container(horizontal=True, vertical_alignment="center"):
        # Keys of this position alone: a press that the browser sends again leads to the same triplet, not one further.
        back, forward = f"triplets_step_back_{at}", f"triplets_step_forward_{at}"
        last = at + 1 >= len(ids)
        st.button("Previous", back, on_click=view.step, args=(at, at - 1), disabled=at == 0)
        st.button("Next", forward, on_click=view.step, args=(at, at + 1), disabled=last)
        st.caption(f"Triplet {at + 1:,} of {len(ids):,}", width="stretch")
        with st.popover("⋯", help="More"):
            batch, one = _batch(view), ids[at : at + 1]
            labelling.button("triplet", "Collect as error", chosen.corpus_id, batch, lambda: _failures(view, one))
            if models and len(ids) > 1:
                labelling.button(
                    "triplets", "Collect wrong ones", chosen.corpus_id, batch, lambda: _failures(view, _wrong(view))
                )
            queries.buttons(chosen, models, conditions.split, ids)
    card(current, chosen.kind)
    model_badges({name: values[at - first] for name, values in margins.items()})
    buttons(view, at)
    acts = {kind: partial(act, view) for kind, act in HANDLERS.items()}
    components.action_keys("triplets_review_keys", TRIPLET, KEYS, acts)
    _table(view, cards, margins, first)


def _batch(view: TripletView) -> str:
    return f"Triplets of {view.chosen.name}"


def _collect(view: TripletView, ids: Ids) -> None:
    labelling.collect(view.chosen.corpus_id, _batch(view), lambda: _failures(view, ids))


def _wrong(view: TripletView) -> Ids:
    """Return the triplets in view that a model has wrong; raise ``DataError`` for none, and for too many at once."""
    wrong = np.any([queries.margins_at(model, view.ids) < 0 for model in view.models], axis=0)
    found: Ids = view.ids[wrong]
    if not 0 < len(found) <= service.MOST_DRAWN:
        raise DataError(
            f"{len(found):,} triplets of this filter are wrong; 1 to {service.MOST_DRAWN:,} can be collected at once. "
            "Change the filter, or draw a sample on the page Errors."
        )
    return found


def _failures(view: TripletView, ids: Ids) -> list[CollectedFailure]:
    margins = {model.name: queries.margins_at(model, ids) for model in view.models}
    found = shared.store(), view.chosen, ids, margins
    return service.triplets(*found, lambda id: labelling.permalink({SET: view.chosen.name, TRIPLET: str(id)}))


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
        st.caption("No model is evaluated on this set yet.")
    elif not known:
        st.caption("Models are evaluated on another split of this set.")
    with st.container(horizontal=True):
        for name, margin in known.items():
            label, colour, icon = outcome(margin)
            text = f"{plain(name)} {label} · {signed(margin)}"
            st.badge(text, color=colour, icon=icon, help=_MARGIN_HELP)  # type: ignore[arg-type]


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
    key = f"triplets_table_{view.chosen.id}_{hash(tuple(c.id for c in cards))}"
    signs = " Columns of models show margins: positive is correct, negative is wrong." if known else ""
    st.caption(f"Click a row to show the triplet.{signs}")
    clickable_table(
        {
            "Article": [c.article for c in cards],
            "Verdict": [summary(view.reviews.get(c.id, ())) for c in cards],
            "Section": [c.pivot_section for c in cards],
            "Other section": [c.negative_section for c in cards],
            **columns,
            "Pivot": [c.pivot for c in cards],
        },
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
