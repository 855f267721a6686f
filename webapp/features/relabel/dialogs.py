"""Dialogs of the Relabel page: add a note, merge, split with a preview, delete, re-cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import streamlit as st

from core.labelling import operations as op
from core.labelling.operations import NAME_LIMIT, NOTE_LIMIT
from core.labelling.partition import UNASSIGNED, Cluster
from jobs.services.labelling import assistance
from webapp.features.relabel import error_case, queries
from webapp.features.relabel.editing import RelabelState
from webapp.features.relabel.state import DIALOG_CLUSTER, DIALOG_REASON, SPLIT_NAME, SPLIT_PARTS
from webapp.shared import error_notebook
from webapp.shared.components import attempt
from webapp.shared.text import count, shorten

if TYPE_CHECKING:
    from core.labelling.suggestions import Part

_EXAMPLES, _MAX_TEXT = 4, 160
_MAX_PARTS = 8
_MAX_REASON = 500


def _choose_cluster(state: RelabelState, dialog: str) -> Cluster:
    """Return one of the clusters, by default that of the selection."""
    numbers, clusters, sizes = sorted(state.partition.clusters), state.partition.clusters, state.partition.sizes()
    own = _clusters_of_selection(state)
    number = st.selectbox(
        "Cluster",
        numbers,
        index=numbers.index(own[0]) if own else 0,
        format_func=lambda n: f"{clusters[n].name} ({count(sizes[n], 'sentence')})",
        key=f"{DIALOG_CLUSTER}_{dialog}",
    )
    return clusters[number]


def _clusters_of_selection(state: RelabelState) -> list[int]:
    """Return the clusters of the selected sentences, each once."""
    numbers = state.partition.numbers[state.partition.rows(state.selected)]
    return list(dict.fromkeys(int(n) for n in numbers if n != UNASSIGNED))


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
        default=sorted(_clusters_of_selection(state)),
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
    """Preview which sentences would move, and apply it."""
    x = state.vectors
    if x is None:
        st.info("Re-clustering needs vectors. Choose a model under “Suggestions from” first.", icon=":material/info:")
        return
    preview = assistance.preview_reclustering(state.partition, x, queries.log(state.record.id))
    if not preview.placed:
        st.info("Nobody has placed a sentence yet. Assign a few sentences first; the others are clustered around them.")
        return
    moved = preview.operation.change_set.sentences()
    st.markdown(
        f"{count(preview.placed, 'sentence')} placed by people, and those marked as uncertain, stay where they are. "
        f"**{count(len(moved), 'other')}** would move."
    )
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()} | {UNASSIGNED: "unassigned"}
    for i in moved[:_EXAMPLES].tolist():
        row = int(preview.after.rows([i])[0])
        old, new = names[int(state.partition.numbers[row])], names[int(preview.after.numbers[row])]
        st.text(f"{old} → {new}:  {shorten(state.session.texts[i], _MAX_TEXT)}")
    if st.button("Move sentences", type="primary", icon=":material/auto_fix_high:", disabled=not len(moved)):
        state.apply(lambda p: preview.operation)
        _close(state)


def _split(state: RelabelState) -> None:
    """Preview the parts, let the user name them, and split the cluster."""
    cluster = _choose_cluster(state, "split")
    size = state.partition.sizes()[cluster.number]
    if size < 2:
        st.caption("A cluster of one sentence cannot be split.")
        return
    x = state.vectors
    if x is None:
        st.info(
            "The preview needs vectors. Choose a model under “Suggestions from”, or select sentences and create a new "
            "cluster from them (N).",
            icon=":material/info:",
        )
        return
    k = int(st.slider("Parts", 2, min(_MAX_PARTS, size), 2, key=SPLIT_PARTS)) if size > 2 else 2
    with st.spinner("Splitting …"):
        parts = attempt(lambda: assistance.preview_split(state.partition, state.session.texts, x, cluster.number, k))
    if parts is None:
        return
    names = _part_names(state, cluster, parts)
    if st.button(f"Split into {k}", type="primary", icon=":material/call_split:"):
        named = [(name, part.ids) for name, part in zip(names, parts, strict=True)]
        state.apply(lambda p: op.split(p, cluster.number, named, state.session.next_number))
        _close(state)


def _part_names(state: RelabelState, cluster: Cluster, parts: Sequence[Part]) -> list[str]:
    """Draw each part with its most central sentences; return the names, which the user may edit."""
    names = []
    for place, part in enumerate(parts):
        with st.container(border=True):
            default = cluster.name if place == 0 else op.free_name(state.partition, part.name)
            name = st.text_input(
                f"Part {place + 1} · {count(len(part.ids), 'sentence')} · {part.name}",
                value=default,
                max_chars=NAME_LIMIT,
                key=f"{SPLIT_NAME}_{cluster.number}_{len(parts)}_{place}_{state.session.snapshot.step}",
            )
            names.append(name or default)
            with st.container(gap="xxsmall"):
                for i in part.ids[:_EXAMPLES]:
                    st.text(f"· {shorten(state.session.texts[int(i)], _MAX_TEXT)}")
    return names


_DIALOGS: dict[str, tuple[str, Literal["small", "large"], Callable[[RelabelState], None]]] = {
    "note": ("Note", "small", _note),
    "error_case": (error_notebook.LABEL, "small", error_case.show),
    "merge": ("Merge clusters", "small", _merge),
    "split": ("Split a cluster", "large", _split),
    "delete": ("Delete a cluster", "small", _delete),
    "recluster": ("Re-cluster around placed sentences", "small", _recluster),
}


def show_open(state: RelabelState) -> None:
    """Draw the open dialog, if there is one; it stays open when the page behind it is redrawn."""
    if state.dialog:
        title, width, body = _DIALOGS[state.dialog]
        st.dialog(title, width=width, on_dismiss=lambda: setattr(state, "dialog", ""))(body)(state)


def _close(state: RelabelState) -> None:
    state.dialog = ""
    st.rerun()
