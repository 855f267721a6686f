"""Dialogs of the page Code.

That of re-clustering divides one cluster, the selection or the unassigned sentences, or moves all sentences that nobody
placed; everything else stays as it is. Its preview shows what would be done, in one step that can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.codebook.entries import Code, CodebookEntry, entry_of
from themescope.core.labelling.coding import ClusterGroup
from themescope.core.labelling.learning import ClusterPart, clusterers
from themescope.core.labelling.operations import NOTE_LIMIT
from themescope.core.labelling.partition import NAME_LIMIT, UNASSIGNED, code_clusters, code_sizes, free_name
from themescope.core.types import Ids
from themescope.jobs.services.labelling import session
from themescope.jobs.services.search import MOST_WITH_VECTORS
from themescope.webapp.features.coding import CODEBOOK, DIALOG_CLUSTER, NEEDS_MODEL, NO_CODE, queries
from themescope.webapp.features.coding.actions import actions_of, clusters_of_selection
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import queries as records
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.labelling import editor
from themescope.webapp.shared.text import count, plain, shorten


def edit_entry(state: RelabelState) -> bool:
    """Draw the form of the entry of a cluster; return whether the dialog is done, as the others."""
    number = choose_cluster(state, "codebook")
    code = Code(state.partition.clusters[number], entry_of(state.partition, number))
    texts = state.session.texts

    def save(name: str, entry: CodebookEntry) -> bool:
        if name != code.cluster.name:
            state.apply(lambda p: op.rename(p, number, name), keep_selection=True)
        if entry != code.entry:
            state.apply(lambda p: codebook.write(p, number, entry), keep_selection=True)
        return True  # what was refused is kept by the state, which shows it above the sentences

    return editor(CODEBOOK, code, state.partition, lambda ids: {id: texts[id] for id in ids}, save)


# --- dialogs ----------------------------------------------------------------------------------------------------------


CHOSEN, SIMILAR = "Chosen codes", "Suggested groups"
_NEW = 0
_IN_A_THEME, _FEWEST = 3, 3
"""Mean number of clusters of a theme at first, and number of clusters from which groups are suggested."""


def _note(state: RelabelState) -> bool:
    known = {state.partition.notes.get(int(i), "") for i in state.selected}
    text = st.text_area(
        f"Note on {count(len(state.selected), 'unit')}",
        value=known.pop() if len(known) == 1 else "",
        max_chars=NOTE_LIMIT,
        placeholder="Why it belongs there, or why that is hard to decide. Leave empty to remove the note.",
    )
    done = st.button("Save note", type="primary", icon=":material/save:")
    if done:
        state.apply_to_selection(lambda p, ids: op.note(p, ids, text or ""), keep_selection=True)
    return done


def _merge(state: RelabelState) -> bool:
    clusters, sizes = code_clusters(state.partition), code_sizes(state.partition)

    def label(number: int) -> str:
        return f"{clusters[number].name} ({sizes[number]:,})"

    key, own = f"{DIALOG_CLUSTER}_merge", sorted(clusters_of_selection(state))
    chosen = st.multiselect("Codes to merge", sorted(clusters), default=own, format_func=label, key=key)
    if len(chosen) < 2:
        st.caption("Choose two or more. All other codes keep their names and colours.")
        return False
    largest = max(chosen, key=lambda n: sizes[n])
    target = st.selectbox("Keep name and colour of", chosen, index=chosen.index(largest), format_func=label)
    reason = st.text_input("Reason (optional)", max_chars=500, key="code_dialog_reason")
    done = st.button("Merge codes", type="primary", icon=":material/merge:")
    if done:
        state.apply(lambda p: op.merge(p, chosen, target), reason or "")
    return done


def _delete(state: RelabelState) -> bool:
    number = choose_cluster(state, "delete")
    size = len(state.partition.members(number))
    kept = code_sizes(state.partition)[number] - size
    others = f" {count(kept, 'unit')} will keep other codes." if kept else ""
    st.markdown(f"{count(size, 'unit')} will be unassigned.{others} Undo (`U`) restores the code.")
    done = st.button("Delete code", type="primary", icon=":material/delete:")
    if done:
        state.apply(lambda p: op.delete(p, number))
    return done


def _keys(state: RelabelState) -> bool:
    listed = [one for one in actions_of(state, state.surface) if one.key and one.help]
    rows = {"Key": [one.key for one in listed], "Action": [one.help for one in listed]}
    draw_table(rows, height="content", column_config={"Key": st.column_config.TextColumn(width=110)})
    st.caption("Keys are off while you type in a field.")
    return False


def _group(state: RelabelState) -> bool:
    how = st.segmented_control("Group", [CHOSEN, SIMILAR], default=CHOSEN, key="code_grouping", required=True)
    return _suggested_groups(state) if how == SIMILAR else _chosen_group(state)


def _chosen_group(state: RelabelState) -> bool:
    p, totals = state.partition, coding.total_sizes(state.partition)

    def label(number: int) -> str:
        return f"{p.clusters[number].name} ({totals[number]:,})"

    own = sorted(clusters_of_selection(state))
    ordered = [cluster.number for cluster in coding.in_order(p)]
    chosen = st.multiselect("Codes", ordered, default=own, format_func=label, key=f"code_grouping_clusters_{own}")
    themes = [number for number in ordered if p.clusters[number].parent is None and number not in chosen]
    titles = {_NEW: "A new theme"} | {number: label(number) for number in themes}
    theme = st.selectbox("Theme", list(titles), format_func=titles.__getitem__, key="code_theme")
    name = ""
    if theme == _NEW:
        suggested = free_name(p, "Theme")
        name = st.text_input("Name of the theme", value=suggested, max_chars=NAME_LIMIT, key="code_theme_name") or ""
    st.caption(
        "The codes become sub-codes and keep their units. A theme among them takes its sub-codes along, "
        "because there are two levels."
    )
    if not st.button("Group codes", type="primary", icon=":material/account_tree:", disabled=not chosen):
        return False
    if theme == _NEW:
        groups = [ClusterGroup(name, tuple(chosen))]
        state.apply(lambda p: coding.group(p, groups, state.session.next_number), keep_selection=True)
    else:
        state.apply(lambda p: coding.put_under(p, chosen, theme), keep_selection=True)
    return True


def _suggested_groups(state: RelabelState) -> bool:
    found = queries.ungrouped(state)
    if found is None:
        st.info(NEEDS_MODEL, icon=":material/info:")
        return False
    k = len(found.numbers)
    if k < _FEWEST:
        st.caption(f"Groups are suggested where {_FEWEST} codes or more are in no theme.")
        return False
    usual = max(round(k / _IN_A_THEME), 2)
    number = int(st.slider("Number of themes", 2, k - 1, usual, key=f"code_groups_{k}")) if k > _FEWEST else 2
    groups = queries.suggested_groups(state, number)
    st.caption("Ward’s criterion on the centres of the codes that are in no theme. Single codes stay as they are.")
    named, sizes, known = list[ClusterGroup](), state.partition.sizes(), state.partition.clusters
    for place, group in enumerate(groups):
        with st.container(border=True):
            title = f"Theme {place + 1} · {count(len(group.numbers), 'code')}"
            key = f"code_groups_{state.session.snapshot.step}_{number}_{place}"
            name = st.text_input(title, value=group.name, max_chars=NAME_LIMIT, key=key) or group.name
            named.append(ClusterGroup(name, group.numbers))
            with st.container(gap="xxsmall"):
                for n in group.numbers:
                    st.text(f"· {shorten(known[n].name, 60)} ({count(sizes[n], 'unit')})")
    done = st.button(f"Create {count(len(groups), 'theme')}", type="primary", icon=":material/account_tree:")
    if done:
        state.apply(lambda p: coding.group(p, named, state.session.next_number), keep_selection=True)
    return done


# --- re-clustering ----------------------------------------------------------------------------------------------------

ONE_CLUSTER, SELECTION, AROUND = "One code", "Selection", "All others"
AUTOMATIC, GIVEN = "Suggested", "Given"
_EXAMPLES, _MAX_TEXT, _MOST_PARTS = 4, 160, 60


def choose_cluster(state: RelabelState, dialog: str) -> int:
    """Draw the choice of one cluster, by default that of the selection; return its number."""
    known, sizes = code_clusters(state.partition), code_sizes(state.partition)
    titles = {number: f"{known[number].name} ({count(sizes[number], 'unit')})" for number in sorted(known)}
    own = clusters_of_selection(state)
    at = [*titles].index(own[0]) if own else 0
    return st.selectbox("Code", list(titles), at, titles.__getitem__, key=f"{DIALOG_CLUSTER}_{dialog}")


def _recluster(state: RelabelState) -> bool:
    if queries.model_of(state) is None:
        st.info(
            "The preview needs vectors. Choose a model under Settings, or make a new code of some units (N).",
            icon=":material/info:",
        )
        return False
    default = ONE_CLUSTER if state.partition.clusters else NO_CODE
    if len(state.selected) > 1:
        default = SELECTION
    options = [ONE_CLUSTER, SELECTION, NO_CODE, AROUND]
    name = st.segmented_control("Split", options, default=default, key="code_scope", required=True)
    if name == AROUND:
        return _around(state)
    if name == NO_CODE:
        return _parts(state, state.partition.members(UNASSIGNED))
    if name == ONE_CLUSTER:
        if not state.partition.clusters:
            st.caption("There are no codes yet. Split the units without a code instead.")
            return False
        number = choose_cluster(state, "recluster")
        return _parts(state, state.partition.members(number), (number,))
    if not len(state.selected):
        st.caption("Select units first. Codes keep their units that are not selected.")
        return False
    return _parts(state, state.selected)


def _parts(state: RelabelState, ids: Ids, whole: tuple[int, ...] = ()) -> bool:
    """Draw the parts of the sentences ``ids``, which are all of the clusters ``whole``."""
    if len(ids) < 2:
        st.caption(f"{count(len(ids), 'unit')} cannot be divided. Choose others.")
        return False
    k, clusterer = _settings(len(ids))
    found = attempt(lambda: queries.reclustered(state, ids, k, clusterer))
    if found is None:
        return False
    if found.reason:
        st.caption(plain(found.reason))
    names = _names(state, whole, found.parts)
    number = len(found.parts)
    if not st.button(f"Divide into {count(number, 'code')}", type="primary", icon=":material/call_split:"):
        return False
    named = [(name, part.ids) for name, part in zip(names, found.parts, strict=True)]
    state.apply(lambda p: op.recluster(p, named, state.session.next_number, whole, clusterer))
    return True


def _settings(sentences: int) -> tuple[int | None, str]:
    left, middle, right = st.columns([3, 3, 4], vertical_alignment="bottom")
    how = left.segmented_control(
        "Number of codes", [GIVEN, AUTOMATIC], default=GIVEN, key="code_number_of_parts", required=True
    )
    most = min(_MOST_PARTS, sentences)
    k = None if how == AUTOMATIC else int(middle.number_input("Codes", 2, most, 2, key="code_parts"))
    titles = {card.id: card.title for card in clusterers()}
    usual = [*titles].index("iclust")
    return k, right.selectbox("Clusterer", [*titles], usual, format_func=titles.__getitem__, key="code_clusterer")


def _names(state: RelabelState, whole: tuple[int, ...], parts: Sequence[ClusterPart]) -> list[str]:
    known, names = state.partition, list[str]()
    if whole:  # the largest part continues the cluster
        own = known.clusters[whole[0]]
    for place, part in enumerate(parts):
        with st.container(border=True):
            default = own.name if whole and place == 0 else free_name(known, part.name)
            key = f"code_part_name_{state.session.snapshot.step}_{whole}_{len(parts)}_{place}_{part.ids[:3].tolist()}"
            title = f"Code {place + 1} · {count(len(part.ids), 'unit')} · {part.name}"
            names.append(st.text_input(title, value=default, max_chars=NAME_LIMIT, key=key) or default)
            with st.container(gap="xxsmall"):
                for i in part.ids[:_EXAMPLES].tolist():
                    st.text(f"· {shorten(state.session.texts[i], _MAX_TEXT)}")
    return names


def _around(state: RelabelState) -> bool:
    x = state.vectors
    if x is None:
        st.info(f"This works with at most {MOST_WITH_VECTORS:,} units.", icon=":material/info:")
        return False
    with st.spinner("Splitting …"):
        model = queries.model_of(state)
        name = model.name if model is not None else ""
        placed, after, made = session.preview_reclustering(records.store(), state.record, state.partition, x, name)
    if not placed:
        st.info("Nobody has placed a unit yet. Assign a few units first; the others are clustered around them.")
        return False
    moved = made.change_set.sentences()
    st.markdown(
        f"{count(placed, 'unit')} placed by people, and those marked as uncertain, stay where they are. "
        f"**{count(len(moved), 'other')}** would move."
    )
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()} | {UNASSIGNED: "unassigned"}
    for i in moved[:_EXAMPLES].tolist():
        row = int(after.rows([i])[0])
        old, new = names[int(state.partition.numbers[row])], names[int(after.numbers[row])]
        st.text(f"{old} → {new}:  {shorten(state.session.texts[i], _MAX_TEXT)}")
    if not st.button("Move units", type="primary", icon=":material/auto_fix_high:", disabled=not len(moved)):
        return False
    state.apply(lambda p: made)
    return True


_DIALOGS: dict[str, tuple[str, Literal["small", "large"], Callable[[RelabelState], bool]]] = {
    "keys": ("Keys", "small", _keys),
    "note": ("Note", "small", _note),
    "merge": ("Merge codes", "small", _merge),
    "delete": ("Delete a code", "small", _delete),
    "codebook": ("Codebook entry", "large", edit_entry),
    "recluster": ("Split a part", "large", _recluster),
    "group": ("Group codes", "large", _group),
}


def show_open(state: RelabelState) -> None:
    """Draw the open dialog, if there is one; it stays open when the page behind it is redrawn."""
    if not state.dialog:
        return
    title, width, body = _DIALOGS[state.dialog]

    def draw() -> None:
        if body(state):
            state.dialog = ""
            st.rerun()

    st.dialog(title, width=width, on_dismiss=lambda: setattr(state, "dialog", ""))(draw)()
