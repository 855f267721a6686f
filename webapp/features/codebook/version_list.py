"""Versions tab of the Codebook page: named states, what differs between them, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import uuid4

import pandas as pd
import streamlit as st

from themescope.core.labelling.changes import EntryChange, Step
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import (
    NAME_LIMIT,
    SENTENCES,
    Code,
    Difference,
    Version,
    codes,
    differences,
    versions,
)
from themescope.core.labelling.operations import OperationKind
from themescope.core.labelling.partition import EntryKind
from themescope.webapp.features.codebook.editing import CodebookState
from themescope.webapp.features.codebook.entries import messages
from themescope.webapp.features.codebook.state import NEW, OLD, VERSION_FORM, VERSION_NAME
from themescope.webapp.shared import people, queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.labelling.codebook_view import difference_html
from themescope.webapp.shared.text import ago, count, plain

_NOW = "Now"


def show(state: CodebookState) -> None:
    """Draw the tab."""
    messages(state)
    if not state.read_only:
        _record(state)
    known = versions(state.partition)
    if not known:
        nothing(
            "No versions yet.", "Record one when the codebook is ready for labellers; later ones show what changed."
        )
        return
    steps = _steps(state.record.id)
    shown = [steps.get(version.key) for version in known]
    frame = pd.DataFrame(
        {
            "Version": [version.name for version in known],
            "Codes": [len(version.codes) for version in known],
            "Recorded": [ago(step.when) if step else "" for step in shown],
            "Who": [(step.person or people.UNNAMED) if step else "" for step in shown],
        }
    )
    st.dataframe(frame[::-1], hide_index=True, height="content" if len(known) < 8 else 310)
    _compare(state, known)


def _record(state: CodebookState) -> None:
    with st.form(VERSION_FORM, border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the version", key=VERSION_NAME, max_chars=NAME_LIMIT, width=320)
        pressed = st.form_submit_button("Record version", icon=":material/bookmark_add:")
    if pressed:
        state.apply(lambda p: book.record_version(p, uuid4().hex, name or ""))
        st.rerun()


def _steps(labelling_id: int) -> dict[str, Step]:
    """Return key → the step that recorded the version."""

    def read(r: queries.Any) -> list[tuple[Step, Iterable[object]]]:
        listed = r.label_steps.list(labelling_id, operation=OperationKind.VERSION.value)
        return [(step, r.label_steps.change_set(step.id)) for step in listed]

    found: dict[str, Step] = {}
    for step, change_set in queries.read(read):
        for change in change_set:
            if isinstance(change, EntryChange) and change.kind is EntryKind.VERSION and change.new is not None:
                found[change.key] = step
    return found


def _compare(state: CodebookState, known: Sequence[Version]) -> None:
    """Draw the choice of two states and what differs."""
    by_name = {version.name: version for version in known}
    listed = list(by_name)[::-1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        old = st.selectbox("From", listed, key=f"{OLD}_{state.record.id}", width=260)
        new = st.selectbox(
            "To", ["", *listed], format_func=lambda name: name or _NOW, key=f"{NEW}_{state.record.id}", width=260
        )
    before = by_name[old if old in by_name else listed[0]]
    after = codes(state.partition) if new not in by_name else by_name[new].codes
    found = differences(before.codes, after)
    ids = {id for code in (*before.codes, *after) for id in _sentences(code)}
    texts = state.texts(ids)
    st.markdown(_summary(found))
    for difference in found:
        with st.container(border=True):
            st.html(difference_html(difference, texts))
    if not state.read_only and st.button(
        f"Restore texts of {plain(before.name)}",
        icon=":material/settings_backup_restore:",
        help="Gives the clusters their texts and examples of this version, in one step that can be undone. Names and "
        "sentences stay as they are, and clusters that the version does not have keep their texts.",
    ):
        state.apply(lambda p: book.restore_version(p, before))
        st.rerun()


def _sentences(code: Code) -> tuple[int, ...]:
    return tuple(id for name in SENTENCES for id in getattr(code.entry, name))


def _summary(found: Sequence[Difference]) -> str:
    if not found:
        return "No differences."
    kinds = [one.kind for one in found]
    counted = {kind: kinds.count(kind) for kind in ("added", "removed", "renamed", "changed")}
    return " · ".join(f"{count(number, 'code')} {kind}" for kind, number in counted.items() if number)
