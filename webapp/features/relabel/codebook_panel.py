"""Codebook panel of the Relabel page: the entry of a cluster beside the work, and what can be added to it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import streamlit as st

from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.codebook.entries import Code, CodebookEntry, entry_of
from themescope.core.labelling.operations import Operation
from themescope.core.labelling.partition import Partition
from themescope.core.types import Ids
from themescope.webapp.features.relabel.actions import current_cluster
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import CODEBOOK, CODEBOOK_CHOICE
from themescope.webapp.shared.labelling.codebook_view import STYLE, close_editor, editor, entry_html
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.text import plain


def show(state: RelabelState) -> None:
    """Draw the panel, if it is open: the entry of the cluster of the selection, or of another one."""
    if not state.shows_codebook or not state.partition.clusters:
        return
    st.html(STYLE)
    with st.container(border=True, key=CODEBOOK, gap="xsmall"):
        clusters, current = state.partition.clusters, current_cluster(state)
        numbers = sorted(clusters)
        key = f"{CODEBOOK_CHOICE}_{state.record.id}_{current.number if current else 0}"
        number = st.selectbox(
            "Codebook entry of",
            numbers,
            index=numbers.index(current.number) if current else 0,
            format_func=lambda n: clusters[n].name,
            key=key,
        )
        st.session_state[CODEBOOK_CHOICE] = number
        code = Code(clusters[number], entry_of(state.partition, number))
        st.html(entry_html(code, state.partition, state.session.texts))
        if not state.read_only:
            _buttons(state, code)
        page_link("codebook", "Open codebook", view={"labelling": state.record.name})


def _buttons(state: RelabelState, code: Code) -> None:
    """Draw what can be done; the first three need a selection."""
    number, nothing = code.cluster.number, not len(state.selected)

    def add(counter: bool) -> Callable[[Partition, Ids], Operation]:
        return lambda p, ids: codebook.add_examples(p, number, ids.tolist(), counter)

    def train(p: Partition, ids: Ids) -> Operation:
        return codebook.choose_training(p, (uuid4().hex for _ in ids), ids.tolist())

    with st.container(horizontal=True, gap="xsmall"):
        for label, icon, make in (
            ("Example", ":material/push_pin:", add(False)),
            ("Counter-example", ":material/block:", add(True)),
            ("Training item", ":material/school:", train),
        ):
            st.button(
                label, icon=icon, disabled=nothing, on_click=_add, args=(state, make),
                help="Select sentences first." if nothing else f"Make the selection {label.lower()} of this cluster",
            )  # fmt: skip
        st.button("Edit entry", icon=":material/edit:", on_click=_open, args=(state, number))


def _add(state: RelabelState, make: Callable[[Partition, Ids], Operation]) -> None:
    state.apply_to_selection(make, keep_selection=True)


def _open(state: RelabelState, number: int) -> None:
    close_editor(CODEBOOK, number)
    state.dialog = "codebook"


def edit(state: RelabelState) -> None:
    """Draw the form of the entry that the panel shows, in its dialog."""
    number = int(st.session_state.get(CODEBOOK_CHOICE, 0))
    if number not in state.partition.clusters:
        st.info("That cluster no longer exists.")
        return
    code = Code(state.partition.clusters[number], entry_of(state.partition, number))
    st.markdown(f"**{plain(code.cluster.name)}**")
    texts = state.session.texts

    def save(entry: CodebookEntry) -> bool:
        state.apply(lambda p: codebook.write(p, number, entry), keep_selection=True)
        return True  # what was refused is kept by the state, which shows it above the sentences

    if editor(CODEBOOK, code, state.partition, lambda ids: {id: texts[id] for id in ids}, save):
        state.dialog = ""
        st.rerun()
