"""Notes on a case: everybody adds their own; earlier texts are kept, and a deletion can be undone."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from themescope.core.records.stored import ErrorCase
from themescope.db.access import Right
from themescope.db.records import ErrorNote
from themescope.db.repositories.error_notebook import NOTE_LIMIT
from themescope.webapp.features.notebook import state
from themescope.webapp.shared import queries
from themescope.webapp.shared.people import current_actor, may, shown
from themescope.webapp.shared.text import ago, plain

LABEL = "New note"
_REFUSED, _GONE = f"{state.NOTE}_refused", f"{state.NOTE}_gone"


def show(notes: Sequence[ErrorNote], case: ErrorCase, person: str) -> None:
    """Draw the notes on a case, and the field for a new one."""
    actor = current_actor()
    for note in notes:
        with st.container(border=True, gap="xxsmall"):
            st.text(note.text)
            with st.container(horizontal=True, vertical_alignment="center"):
                history = _history(note.note)
                edited = f", edited {ago(note.created)}" if len(history) > 1 else ""
                st.caption(f"{shown(note.person)}, {ago(history[0].created)}{edited}", width="stretch")
                if actor.may(Right.LABEL) and actor.owns(note.person):
                    _change(note, history, person)
    if not notes:
        st.caption("No notes yet.")
    if may(Right.LABEL):
        _new(case, person)
    if refused := st.session_state.pop(_REFUSED, ""):
        st.error(plain(refused), icon=":material/error:")


def _history(first: int) -> list[ErrorNote]:
    return queries.read(lambda r: r.error_notebook.note_history(first))


def _new(case: ErrorCase, person: str) -> None:
    key = f"{state.NOTE}_new_{case.id}"

    def add() -> None:
        text = str(st.session_state.get(key) or "")
        if text.strip():
            st.session_state[_REFUSED] = queries.write(lambda w: w.error_notebook.add_note(case.id, text, person))
            if not st.session_state[_REFUSED]:
                st.session_state[key] = ""

    with st.form(f"{key}_form", border=False):
        st.text_area(
            LABEL, key=key, max_chars=NOTE_LIMIT, height=96,
            placeholder="What went wrong, and why? Ctrl+Enter adds the note.",
        )  # fmt: skip
        st.form_submit_button("Add note", icon=":material/add_comment:", on_click=add)
    gone: ErrorNote | None = st.session_state.get(_GONE)
    if gone is not None and gone.case_id == case.id:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Note deleted.", width="content")
            st.button("Undo deletion", key=f"{state.NOTE}_back_{gone.id}", on_click=_restore, args=(gone, person))


def _change(note: ErrorNote, history: Sequence[ErrorNote], person: str) -> None:
    """Draw the form that edits a note, with its earlier texts, and the button that deletes it."""
    key = f"{state.NOTE}_edit_{note.id}"

    def save() -> None:
        text = str(st.session_state.get(key) or "")
        if text.strip():
            _write(note, text, person)

    with st.popover("Edit", type="tertiary", icon=":material/edit:", key=f"{key}_popover"):
        st.text_area("Text of the note", value=note.text, key=key, max_chars=NOTE_LIMIT)
        st.button("Save note", key=f"{key}_save", icon=":material/save:", on_click=save)
        for earlier in history[-2::-1]:
            st.caption(f"{ago(earlier.created)}: {plain(earlier.text or '(deleted)')}")
    st.button(
        "Delete", key=f"{key}_delete", type="tertiary", icon=":material/delete:", on_click=_delete, args=(note, person)
    )


def _write(note: ErrorNote, text: str, person: str) -> ErrorNote | None:
    written: list[ErrorNote] = []
    refused = queries.write(lambda w: written.append(w.error_notebook.change_note(note, text, person)))
    st.session_state[_REFUSED] = refused
    return written[0] if written and not refused else None


def _delete(note: ErrorNote, person: str) -> None:
    deleted = _write(note, "", person)
    if deleted is not None:
        # The version that a restoring change must name, with the text to restore.
        st.session_state[_GONE] = ErrorNote(
            deleted.id, note.case_id, deleted.note, note.text, note.person, note.created
        )


def _restore(gone: ErrorNote, person: str) -> None:
    if _write(gone, gone.text, person) is not None:
        st.session_state.pop(_GONE, None)
