"""Codebook panel of the Relabel page, and its dialogs but for re-clustering, which has a module of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal
from uuid import uuid4

import streamlit as st

from themescope.core.labelling import hierarchy
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.codebook.entries import Code, CodebookEntry, entry_of
from themescope.core.labelling.error_cases import MOST_PASSAGES
from themescope.core.labelling.hierarchy import ClusterGroup
from themescope.core.labelling.operations import NAME_LIMIT, NOTE_LIMIT, Operation
from themescope.core.labelling.partition import Partition
from themescope.core.types import Ids
from themescope.db.records import NewCase
from themescope.jobs.services.labelling.session import place_of
from themescope.jobs.services.notebook.cases import Finding, sentence_case
from themescope.webapp.features.relabel import queries, reclustering
from themescope.webapp.features.relabel.actions import clusters_of_selection, current_cluster
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import (
    CODEBOOK,
    CODEBOOK_CHOICE,
    DIALOG_CLUSTER,
    DIALOG_REASON,
    GROUPING,
    GROUPS,
    KEYS,
    LABELLING,
    NEEDS_MODEL,
    THEME,
)
from themescope.webapp.shared import queries as records
from themescope.webapp.shared.labelling import error_notebook
from themescope.webapp.shared.labelling.codebook_view import STYLE, close_editor, editor, entry_html
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.text import count, plain, shorten


def show_codebook(state: RelabelState) -> None:
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


def edit_entry(state: RelabelState) -> None:
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


# --- dialogs ----------------------------------------------------------------------------------------------------------


_MAX_REASON = 500
CHOSEN, SIMILAR = "Chosen clusters", "Suggested groups"
_NEW = 0
_MAX_NAME = 60
_IN_A_THEME, _FEWEST = 3, 3
"""Mean number of clusters of a theme at first, and number of clusters from which groups are suggested."""


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
    number = reclustering.choose_cluster(state, "delete")
    size = state.partition.sizes()[number]
    st.markdown(f"{count(size, 'sentence')} will be unassigned. Undo (`U`) restores the cluster.")
    if st.button("Delete cluster", type="primary", icon=":material/delete:"):
        state.apply(lambda p: op.delete(p, number))
        _close(state)


def _recluster(state: RelabelState) -> None:
    if reclustering.dialog(state):
        _close(state)


def _error_case(state: RelabelState) -> None:
    if not len(state.selected):
        st.info("Select sentences first.", icon=":material/info:")
        return
    error_notebook.form(f"{KEYS.page}-error-case", lambda: _new_case(state), lambda: setattr(state, "dialog", ""))


def _new_case(state: RelabelState) -> NewCase:
    ids = [int(i) for i in state.selected]
    model = records.model_by_id(state.model_id)
    placed = {i: _placed(state, i, model.name if model is not None else "") for i in ids[:MOST_PASSAGES]}
    predicted = placed[ids[0]] if len(ids) == 1 else ""
    finding = Finding(f"labelling {state.record.name}", (model.name,) if model is not None else (), predicted, placed)
    address = error_notebook.permalink({LABELLING: state.record.name})
    return sentence_case(records.store(), state.record.corpus_id, ids, finding, address)


def _placed(state: RelabelState, sentence: int, model: str) -> str:
    own, row = f"in {place_of(state.partition, sentence)}", int(state.partition.rows([sentence])[0])
    other, found = state.suggestion_for(row), state.suggestions
    if other is None or found is None:
        return own
    return f"{own}; {model} suggests {state.partition.clusters[other].name} (margin {found.margin[row]:.2f})"


def _group(state: RelabelState) -> None:
    how = st.segmented_control("Group", [CHOSEN, SIMILAR], default=CHOSEN, key=GROUPING, required=True)
    if _suggested_groups(state) if how == SIMILAR else _chosen_group(state):
        _close(state)


def _chosen_group(state: RelabelState) -> bool:
    p, totals = state.partition, hierarchy.total_sizes(state.partition)

    def label(number: int) -> str:
        return f"{p.clusters[number].name} ({totals[number]:,})"

    own = sorted(clusters_of_selection(state))
    ordered = [cluster.number for cluster in hierarchy.in_order(p)]
    chosen = st.multiselect("Clusters", ordered, default=own, format_func=label, key=f"{GROUPING}_clusters_{own}")
    themes = [number for number in ordered if p.clusters[number].parent is None and number not in chosen]
    theme = st.selectbox(
        "Theme", [_NEW, *themes], format_func=lambda n: "A new theme" if n == _NEW else label(n), key=THEME
    )
    name = ""
    if theme == _NEW:
        suggested = op.free_name(p, "Theme")
        name = st.text_input("Name of the theme", value=suggested, max_chars=NAME_LIMIT, key=f"{THEME}_name") or ""
    st.caption(
        "The clusters become sub-themes and keep their sentences. A theme among them takes its sub-themes along, "
        "because there are two levels."
    )
    if not st.button("Group clusters", type="primary", icon=":material/account_tree:", disabled=not chosen):
        return False
    if theme == _NEW:
        groups = [ClusterGroup(name, tuple(chosen))]
        state.apply(lambda p: hierarchy.group(p, groups, state.session.next_number), keep_selection=True)
    else:
        state.apply(lambda p: hierarchy.put_under(p, chosen, theme), keep_selection=True)
    return True


def _suggested_groups(state: RelabelState) -> bool:
    found = queries.ungrouped(state)
    if found is None:
        st.info(NEEDS_MODEL, icon=":material/info:")
        return False
    k = len(found.numbers)
    if k < _FEWEST:
        st.caption(f"Groups are suggested where {_FEWEST} clusters or more are in no theme.")
        return False
    usual = max(round(k / _IN_A_THEME), 2)
    number = int(st.slider("Number of themes", 2, k - 1, usual, key=f"{GROUPS}_{k}")) if k > _FEWEST else 2
    groups = queries.suggested_groups(state, number)
    st.caption(
        "Ward’s criterion on the centres of the clusters that are in no theme. Single clusters stay as they are."
    )
    names = [_group_name(state, place, group, number) for place, group in enumerate(groups)]
    if not st.button(f"Create {count(len(groups), 'theme')}", type="primary", icon=":material/account_tree:"):
        return False
    named = [ClusterGroup(name, group.numbers) for name, group in zip(names, groups, strict=True)]
    state.apply(lambda p: hierarchy.group(p, named, state.session.next_number), keep_selection=True)
    return True


def _group_name(state: RelabelState, place: int, group: ClusterGroup, number: int) -> str:
    sizes, known = state.partition.sizes(), state.partition.clusters
    with st.container(border=True):
        title = f"Theme {place + 1} · {count(len(group.numbers), 'cluster')}"
        key = f"{GROUPS}_{state.session.snapshot.step}_{number}_{place}"
        name = st.text_input(title, value=group.name, max_chars=NAME_LIMIT, key=key) or group.name
        with st.container(gap="xxsmall"):
            for n in group.numbers:
                st.text(f"· {shorten(known[n].name, _MAX_NAME)} ({count(sizes[n], 'sentence')})")
    return name


_DIALOGS: dict[str, tuple[str, Literal["small", "large"], Callable[[RelabelState], None]]] = {
    "note": ("Note", "small", _note),
    "error_case": (error_notebook.LABEL, "small", _error_case),
    "merge": ("Merge clusters", "small", _merge),
    "delete": ("Delete a cluster", "small", _delete),
    "codebook": ("Codebook entry", "large", edit_entry),
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
