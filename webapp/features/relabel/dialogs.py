"""Dialogs of the Relabel page: add a note, merge, delete; those that re-cluster and group are in their own modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st

from themescope.core.labelling import operations as op
from themescope.core.labelling.operations import NOTE_LIMIT
from themescope.core.labelling.partition import Cluster
from themescope.webapp.features.relabel import codebook_panel, error_case, grouping, reclustering
from themescope.webapp.features.relabel.cluster_actions import clusters_of_selection
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import DIALOG_CLUSTER, DIALOG_REASON
from themescope.webapp.shared import error_notebook
from themescope.webapp.shared.text import count

_MAX_REASON = 500


def _choose_cluster(state: RelabelState, dialog: str) -> Cluster:
    """Return one of the clusters, by default that of the selection."""
    numbers, clusters, sizes = sorted(state.partition.clusters), state.partition.clusters, state.partition.sizes()
    own = clusters_of_selection(state)
    number = st.selectbox(
        "Cluster",
        numbers,
        index=numbers.index(own[0]) if own else 0,
        format_func=lambda n: f"{clusters[n].name} ({count(sizes[n], 'sentence')})",
        key=f"{DIALOG_CLUSTER}_{dialog}",
    )
    return clusters[number]


def _note(state: RelabelState) -> None:
    known = {state.partition.notes.get(int(i), "") for i in state.selected}
    text = st.text_area(
        f"Note on {count(len(state.selected), 'sentence')}",
        value=known.pop() if len(known) == 1 else "",
        max_chars=NOTE_LIMIT,
        placeholder="Why it belongs there, or why that is hard to decide. Leave empty to remove the note.",
    )
    if st.button("Save note", type="primary", icon=":material/save:"):
        state.apply_to_selection(lambda p, ids: op.note(p, ids, text or ""), keep_selection=True)
        _close(state)


def _merge(state: RelabelState) -> None:
    clusters, sizes = state.partition.clusters, state.partition.sizes()

    def label(number: int) -> str:
        return f"{clusters[number].name} ({sizes[number]:,})"

    chosen = st.multiselect(
        "Clusters to merge",
        sorted(clusters),
        default=sorted(clusters_of_selection(state)),
        format_func=label,
        key=f"{DIALOG_CLUSTER}_merge",
    )
    if len(chosen) < 2:
        st.caption("Choose two or more. All other clusters keep their names and colours.")
        return
    largest = max(chosen, key=lambda n: sizes[n])
    target = st.selectbox("Keep name and colour of", chosen, index=chosen.index(largest), format_func=label)
    reason = st.text_input("Reason (optional)", max_chars=_MAX_REASON, key=DIALOG_REASON)
    if st.button("Merge clusters", type="primary", icon=":material/merge:"):
        state.apply(lambda p: op.merge(p, chosen, target), reason or "")
        _close(state)


def _delete(state: RelabelState) -> None:
    cluster = _choose_cluster(state, "delete")
    size = state.partition.sizes()[cluster.number]
    st.markdown(f"{count(size, 'sentence')} will be unassigned. Undo (`U`) restores the cluster.")
    if st.button("Delete cluster", type="primary", icon=":material/delete:"):
        state.apply(lambda p: op.delete(p, cluster.number))
        _close(state)


def _recluster(state: RelabelState) -> None:
    if reclustering.dialog(state):
        _close(state)


def _group(state: RelabelState) -> None:
    if grouping.dialog(state):
        _close(state)


_DIALOGS: dict[str, tuple[str, Literal["small", "large"], Callable[[RelabelState], None]]] = {
    "note": ("Note", "small", _note),
    "error_case": (error_notebook.LABEL, "small", error_case.show),
    "merge": ("Merge clusters", "small", _merge),
    "delete": ("Delete a cluster", "small", _delete),
    "codebook": ("Codebook entry", "large", codebook_panel.edit),
    "recluster": ("Re-cluster a part", "large", _recluster),
    "group": ("Group clusters", "large", _group),
}


def show_open(state: RelabelState) -> None:
    """Draw the open dialog, if there is one; it stays open when the page behind it is redrawn."""
    if state.dialog:
        title, width, body = _DIALOGS[state.dialog]
        st.dialog(title, width=width, on_dismiss=lambda: setattr(state, "dialog", ""))(body)(state)


def _close(state: RelabelState) -> None:
    state.dialog = ""
    st.rerun()
