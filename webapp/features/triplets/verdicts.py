"""Good, bad or ambiguous, by one key: stored at once under the person's name, and on to the next triplet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core.errors import ThemescopeError
from db.records import TripletReview, Verdict
from webapp.features.triplets import selection
from webapp.features.triplets.state import PLACE
from webapp.features.triplets.view import View
from webapp.shared import people, triplet_queries
from webapp.shared.text import ago, plain

KEYS = {Verdict.GOOD: "G", Verdict.BAD: "B", Verdict.AMBIGUOUS: "A"}
_ABOUT = {
    Verdict.GOOD: "The first two belong together, the third does not.",
    Verdict.BAD: "The label is wrong: the third is as near or nearer.",
    Verdict.AMBIGUOUS: "Nobody could tell.",
}
_COLOURS = {Verdict.GOOD: "green", Verdict.BAD: "red", Verdict.AMBIGUOUS: "orange"}
_FAILED = "verdict-failed"


def bar(view: View, at: int) -> None:
    """The three verdicts, a note, undo, how much is done, and what was said of this triplet before."""
    triplet = int(view.ids[at])
    said = view.reviews.get(triplet, ())
    mine = next((r for r in said if r.person == people.current_person()), None)
    with st.container(horizontal=True, vertical_alignment="center"):
        for verdict, key in KEYS.items():
            st.button(
                verdict.value.title(),
                # Of this triplet alone: a press that the browser sends again must not count for the next one.
                key=f"verdict-{verdict}-{triplet}",
                shortcut=key,
                type="primary" if mine is not None and mine.verdict is verdict else "secondary",
                on_click=_judge,
                args=(view, at, verdict),
                help=_ABOUT[verdict],
            )
        _undo(view)
        _note(view, triplet, mine)
    failed = st.session_state.pop(_FAILED, "")
    if failed:
        st.error(f"This was not stored. {plain(failed)}", icon=":material/error:")
    _progress(view)
    _said(said)


def in_short(said: Sequence[TripletReview]) -> str | None:
    """The verdicts on a triplet, each once, in the order of the keys; None without any."""
    given = {r.verdict for r in said}
    return ", ".join(v.value for v in Verdict if v in given) or None


def _judge(view: View, at: int, verdict: Verdict) -> None:
    """Store the verdict with its note and go on; where it cannot be stored, stay and say so."""
    triplet = int(view.ids[at])
    # The buttons of the last triplet hear keys as well until the browser has taken them away.
    if view.place() == at and _stored(view, triplet, verdict, st.session_state.get(_note_key(triplet), "")):
        view.go(at + 1)


def _stored(view: View, triplet: int, verdict: Verdict | None, note: str) -> bool:
    try:
        triplet_queries.review(view.chosen.id, triplet, people.current_person(), verdict, note)
    except ThemescopeError as error:
        st.session_state[_FAILED] = str(error)
        return False
    return True


def _undo(view: View) -> None:
    """Takes the person's last verdict on this set back, and returns to its triplet."""
    me = people.current_person()
    mine = [r for said in view.reviews.values() for r in said if r.person == me]
    last = max(mine, key=lambda r: r.id, default=None)

    def take_back() -> None:
        newest = triplet_queries.reviews(view.chosen).get(last.triplet_id, ()) if last is not None else ()
        if last is not None and last in newest and _stored(view, last.triplet_id, None, ""):
            st.query_params[PLACE] = str(last.triplet_id)

    st.button(
        "Undo",
        key=f"undo-{last.id if last else 0}",
        shortcut="U",
        on_click=take_back,
        disabled=last is None,
        help="Takes your last verdict back.",
    )


def _note_key(triplet: int) -> str:
    return f"note-{triplet}"


def _note(view: View, triplet: int, mine: TripletReview | None) -> None:
    """A note to the verdict. Changed after the verdict, it is stored at once; before, together with it."""
    key = _note_key(triplet)

    def keep() -> None:
        if mine is not None:
            _stored(view, triplet, mine.verdict, st.session_state[key])

    st.session_state.setdefault(key, mine.note if mine is not None else "")
    st.text_input(
        "Note",
        key=key,
        on_change=keep,
        placeholder="Note, kept with your verdict",
        label_visibility="collapsed",
        max_chars=2_000,
        persist_state="session",
    )


def _progress(view: View) -> None:
    done = int(np.isin(view.among, selection.reviewed(view.reviews, view.person)).sum())
    by = "" if view.person is None else f" by {people.shown(view.person)}"
    st.caption(
        f"**{done:,} of {len(view.among):,}** in this filter reviewed{by}. Keys: G good, B bad, A ambiguous, U undo, "
        "J next, K previous."
    )


def _said(said: Sequence[TripletReview]) -> None:
    """Everybody's verdict on this triplet, with when and the note."""
    if not said:
        return
    with st.container(horizontal=True):
        for r in said:
            assert r.verdict is not None  # what was taken back is not listed
            note = f": {plain(r.note)}" if r.note else ""
            colour = _COLOURS[r.verdict]
            st.badge(f"{people.shown(r.person)} · {r.verdict.value} · {ago(r.created)}{note}", color=colour)  # type: ignore[arg-type]
