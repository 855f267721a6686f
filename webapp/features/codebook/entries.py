"""Codes tab of the Codebook page: every code with its fields, one of which can be edited in place."""

from __future__ import annotations

import streamlit as st

from core.labelling.codebook import operations as book
from core.labelling.codebook.entries import TEXTS, Code, CodebookEntry, codes
from webapp.features.codebook.editing import CodebookState
from webapp.features.codebook.state import DRAFT, EDIT, FORM, SEARCH, SHOWN
from webapp.shared.choose import nothing
from webapp.shared.codebook_view import edit_form, entry_html, title_html
from webapp.shared.figures import tones
from webapp.shared.navigation import page_link
from webapp.shared.partition_queries import edit_view
from webapp.shared.text import count, plain

_AT_ONCE = 30
_INDENT = 36
"""Indent of sub-themes in pixels."""


def show(state: CodebookState) -> None:
    """Draw the tab."""
    listed = codes(state.partition)
    if not listed:
        nothing(
            "This labelling has no clusters yet.",
            "Create clusters on the Relabel page, or import codes in the tab Files.",
            "relabel",
            "Open Relabel",
            edit_view(state.record.name),
        )
        return
    search = _head(state, listed)
    texts = state.texts({id for code in listed for id in _sentences(code)})
    found = [code for code in listed if _matches(code, search, texts)]
    if not found:
        nothing("No matching codes.", "Clear the search to see all of them.")
    limit = int(st.session_state.get(SHOWN, _AT_ONCE))
    for code in found[:limit]:
        _code(state, code, texts)
    if len(found) > limit:
        st.button(
            f"Show {count(min(_AT_ONCE, len(found) - limit), 'more code')}",
            icon=":material/expand_more:",
            on_click=lambda: st.session_state.update({SHOWN: limit + _AT_ONCE}),
        )


def _sentences(code: Code) -> tuple[int, ...]:
    return code.entry.examples + code.entry.counter_examples


def _matches(code: Code, search: str, texts: dict[int, str]) -> bool:
    """Return whether every word of the search is in the name, a field or an example of a code."""
    parts = [code.cluster.name, *(getattr(code.entry, name) for name in TEXTS), *(texts[i] for i in _sentences(code))]
    whole = " ".join(parts).casefold()
    return all(word in whole for word in search.casefold().split())


def _head(state: CodebookState, listed: list[Code]) -> str:
    """Draw search, undo and messages, and return the search."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Search", key=SEARCH, bind="query-params", icon=":material/search:", width=260)
        undo_state = state.session.undo_state
        if not state.read_only:
            st.button(
                "Undo", icon=":material/undo:", on_click=state.undo, disabled=not undo_state.undoable,
                help="Undo your last change of this labelling",
            )  # fmt: skip
            st.button("Redo", icon=":material/redo:", on_click=state.redo, disabled=not undo_state.redoable)
        st.space("stretch")
        page_link("relabel", "Open in Relabel", view=edit_view(state.record.name))
    written = sum(bool(code.entry) for code in listed)
    about = f"{count(len(listed), 'code')}, {written:,} with a codebook entry"
    st.caption(plain(f"{about} · Saved: {state.saved}" if state.saved else about))
    messages(state)
    return search or ""


def messages(state: CodebookState) -> None:
    """Draw why the last action was refused, once."""
    if state.notice:
        st.warning(plain(state.notice), icon=":material/info:")
        state.notice = ""


def _code(state: CodebookState, code: Code, texts: dict[int, str]) -> None:
    """Draw one code, as text or as the form in which it is edited."""
    number = code.cluster.number
    editing = st.session_state.get(EDIT) == (state.record.id, number)
    with st.container(horizontal=True, gap=None):
        if code.cluster.parent is not None:
            st.space(_INDENT)
        with st.container(border=True, gap="xsmall"):
            left, right = st.columns([5, 1], vertical_alignment="top")
            size = state.partition.sizes()[number]
            left.html(title_html(code.cluster, tones(st.context.theme.type), size))
            if not state.read_only:
                with right.container(horizontal_alignment="right"):
                    _edit_button(state, code, editing)
            if editing:
                _form(state, code)
            else:
                st.html(entry_html(code, state.partition, texts))


def _edit_button(state: CodebookState, code: Code, editing: bool) -> None:
    target = None if editing else (state.record.id, code.cluster.number)
    st.button(
        "Close" if editing else "Edit",
        icon=":material/close:" if editing else ":material/edit:",
        key=f"{EDIT}_{code.cluster.number}",
        help=f"{'Close' if editing else 'Edit'} the entry of {plain(code.cluster.name)}",
        on_click=lambda: st.session_state.update({EDIT: target, DRAFT: None}),
    )


def _form(state: CodebookState, code: Code) -> None:
    """Draw the form. What could not be saved because of a conflict stays in it, below what is stored."""
    place = state.record.id, code.cluster.number
    refused: tuple[object, CodebookEntry] | None = st.session_state.get(DRAFT)
    draft = refused[1] if refused is not None and refused[0] == place else None
    if draft is not None:
        st.caption("The stored entry:")
        st.html(entry_html(code, state.partition, state.texts(_sentences(code))))
        st.caption("Yours, not saved yet:")
    edited = edit_form(FORM, code if draft is None else Code(code.cluster, draft), state.partition, state.texts)
    if edited is None:
        return
    saved = state.apply(lambda p: book.write(p, code.cluster.number, edited)) is not None
    st.session_state[DRAFT] = (place, edited) if state.notice and not saved else None
    st.session_state[EDIT] = None if saved else place
    st.rerun()
