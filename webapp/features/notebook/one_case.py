"""One case: its sentences, what models said about them, the link to where it was found, and the notes on it."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl

import streamlit as st

from themescope.core.labelling.error_cases import NEGATIVE, PIVOT, POSITIVE, Passage
from themescope.core.records.stored import ErrorCase
from themescope.db.access import Right
from themescope.db.label_records import ErrorNote
from themescope.db.repositories.error_notebook import NOTE_LIMIT
from themescope.webapp.features.notebook.filters import KINDS
from themescope.webapp.shared import queries
from themescope.webapp.shared.navigation import offered_cards, page_link
from themescope.webapp.shared.pages import PageCard
from themescope.webapp.shared.people import current_actor, may, shown
from themescope.webapp.shared.text import ago, count, plain

_SHOWN = 6
_ROLES = {
    PIVOT: ("Pivot", "gray"),
    POSITIVE: ("Positive: same section", "green"),
    NEGATIVE: ("Negative: other section", "orange"),
}


def show(case: ErrorCase) -> None:
    """Draw a case."""
    facts = case.facts
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.markdown(f"**Case {case.id}**", width="content")
        st.badge(KINDS[case.kind], color="gray")
        if case.sample_id is not None:
            st.badge("drawn at random", color="blue")
        st.caption(plain(facts.source), width="content")
    with st.container(border=True, gap="small"):
        for passage in facts.passages[:_SHOWN]:
            _passage(passage)
        rest = facts.passages[_SHOWN:]
        if rest:
            with st.expander(f"{count(facts.sentences - _SHOWN, 'more sentence')}"):
                for passage in rest:
                    _passage(passage)
                if facts.sentences > len(facts.passages):
                    st.caption(f"The first {len(facts.passages)} of {facts.sentences:,} are kept.")
    for statement in facts.statements():
        st.markdown(f":material/straighten: {plain(statement)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        page, _, query = case.permalink.partition("?")
        card = next((card for card in offered_cards() if card.id == page), None)
        if card is not None:
            page_link(page, f"Open in {card.title}", view=known_view(card, query), key=f"notebook-open-{case.id}")
        st.caption(f"Added by {shown(case.person)} {ago(case.created)}", width="content")


def _passage(passage: Passage) -> None:
    with st.container(gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            if passage.role in _ROLES:
                label, colour = _ROLES[passage.role]
                st.badge(label, color=colour)  # type: ignore[arg-type]
            place = " › ".join(part for part in (passage.article, passage.section or "(no heading)") if part)
            st.caption(plain(place), width="content")
        st.markdown(plain(passage.text))
        if passage.placed:
            st.caption(f":material/category: {plain(passage.placed)}")


def known_view(card: PageCard, query: str) -> dict[str, list[str]]:
    """Return the values of those parameters of a query that the page knows."""
    keys, found = card.page_keys(), dict[str, list[str]]()
    for name, value in parse_qsl(query, keep_blank_values=True):
        if keys is not None and name in keys.urls:
            found.setdefault(name, []).append(value)
    return found


# --- notes ------------------------------------------------------------------------------------------------------------


LABEL = "New note"
_GONE = "notebook_note_gone"


def show_notes(notes: Sequence[ErrorNote], case: ErrorCase, person: str) -> None:
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
        key = f"notebook_note_new_{case.id}"

        def add() -> None:
            text = str(st.session_state.get(key) or "")
            if text.strip() and queries.write(lambda w: w.error_notebook.add_note(case.id, text, person)):
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
                st.button("Undo deletion", key=f"notebook_note_back_{gone.id}", on_click=_restore, args=(gone, person))


def _history(first: int) -> list[ErrorNote]:
    return queries.read(lambda r: r.error_notebook.note_history(first))


def _change(note: ErrorNote, history: Sequence[ErrorNote], person: str) -> None:
    key = f"notebook_note_edit_{note.id}"

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
    done = queries.write(lambda w: written.append(w.error_notebook.change_note(note, text, person)))
    return written[0] if done else None


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
