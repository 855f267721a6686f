"""Verdicts on a triplet: buttons with keys, a note, undo, progress and everyone's reviews."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.db.records import TripletReview, Verdict
from themescope.webapp.features.triplets import filters, queries
from themescope.webapp.features.triplets.filters import TripletView
from themescope.webapp.features.triplets.state import NOTE, REFUSED, TRIPLET, UNDO, VERDICT
from themescope.webapp.shared import people
from themescope.webapp.shared.text import ago, plain

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
                key=f"{VERDICT}_{verdict}_{triplet}",
                type="primary" if mine is not None and mine.verdict is verdict else "secondary",
                on_click=_give,
                args=(view, at, verdict),
                help=_HELP[verdict],
            )
        _undo_button(view)
        _note_field(view, triplet, mine)
    refused = st.session_state.pop(REFUSED, "")
    if refused:
        st.error(f"Verdict not saved. {plain(refused)}", icon=":material/error:")
    done = int(np.isin(view.candidates, filters.reviewed(view.reviews, view.person)).sum())
    by = "" if view.person is None else f" by {people.shown(view.person)}"
    st.caption(
        f"**{done:,} of {len(view.candidates):,}** in this filter reviewed{by}. Keys: G good, B bad, A ambiguous, "
        "U undo, J next, K previous, O add to error notebook."
    )
    _reviews(reviews)


def by_key(verdict: Verdict) -> Callable[[TripletView], None]:
    """Return the action that gives a verdict on the triplet that is shown when it is handled."""

    def act(view: TripletView) -> None:
        at = view.position()
        last = at + 1 == len(view.ids)
        # After the last triplet there is none that a further key could mean.
        if not (last and _judged(view, int(view.ids[at]), verdict)):
            _give(view, at, verdict)

    return act


def _judged(view: TripletView, triplet: int, verdict: Verdict) -> bool:
    """Return whether the person has given this verdict already."""
    me = people.current_person()
    found = queries.reviews(view.chosen).get(triplet, ())
    return any(r.person == me and r.verdict is verdict for r in found)


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
    try:
        queries.review(view.chosen.id, triplet, people.current_person(), verdict, note)
    except ThemescopeError as error:
        st.session_state[REFUSED] = str(error)
        return False
    return True


def _undo_button(view: TripletView) -> None:
    """Draw the button that withdraws the person's last verdict on this set and shows its triplet."""
    me = people.current_person()
    mine = [r for reviews in view.reviews.values() for r in reviews if r.person == me]
    last = max(mine, key=lambda r: r.id, default=None)

    def withdraw() -> None:
        newest = queries.reviews(view.chosen).get(last.triplet_id, ()) if last is not None else ()
        if last is not None and last in newest and _store(view, last.triplet_id, None, ""):
            st.query_params[TRIPLET] = str(last.triplet_id)

    st.button(
        "Undo",
        key=f"{UNDO}_{last.id if last else 0}",
        on_click=withdraw,
        disabled=last is None,
        help="Withdraws your last verdict.",
    )


def _note_key(triplet: int) -> str:
    return f"{NOTE}_{triplet}"


def _note_field(view: TripletView, triplet: int, mine: TripletReview | None) -> None:
    """Draw the note. It is stored with the verdict, or at once where there is a verdict already."""
    key = _note_key(triplet)

    def store() -> None:
        if mine is not None:
            _store(view, triplet, mine.verdict, st.session_state[key])

    st.session_state.setdefault(key, mine.note if mine is not None else "")
    st.text_input(
        "Note",
        key=key,
        on_change=store,
        placeholder="Note (saved with your verdict)",
        label_visibility="collapsed",
        max_chars=2_000,
        persist_state="session",
    )


def _reviews(reviews: Sequence[TripletReview]) -> None:
    """Draw everyone's verdict on this triplet, with time and note."""
    if not reviews:
        return
    with st.container(horizontal=True):
        for r in reviews:
            assert r.verdict is not None  # withdrawn verdicts are not listed
            note = f": {plain(r.note)}" if r.note else ""
            colour = _COLOURS[r.verdict]
            st.badge(f"{people.shown(r.person)} · {r.verdict.value} · {ago(r.created)}{note}", color=colour)  # type: ignore[arg-type]
