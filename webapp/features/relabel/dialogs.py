"""What needs a second look before it is done: notes, merging, splitting with a preview, deleting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import streamlit as st

from core.errors import ThemescopeError
from core.labelling import operations as op
from core.labelling import reclustering
from core.labelling.learning import placed_by_people
from core.labelling.operations import NAME_LIMIT, NOTE_LIMIT
from core.labelling.partition import UNASSIGNED, Cluster
from core.labelling.splitting import Part, propose
from webapp.features.relabel.state import Bench
from webapp.shared import label_queries
from webapp.shared.text import count, plain, shorten

_SHOWN, _LETTERS = 4, 160


def _cluster(bench: Bench, label: str, key: str) -> Cluster:
    """One of the clusters; that of the selection, where there is one, stands first."""
    numbers = sorted(bench.partition.clusters)
    own = [int(n) for n in bench.partition.numbers[bench.partition.rows(bench.selected)] if n != UNASSIGNED]
    sizes = bench.partition.sizes()
    number = st.selectbox(
        label,
        numbers,
        index=numbers.index(own[0]) if own else 0,
        format_func=lambda n: f"{bench.partition.clusters[n].name} ({count(sizes[n], 'sentence')})",
        key=key,
    )
    return bench.partition.clusters[number]


def _note(bench: Bench) -> None:
    """Write one on the selection."""
    rows = bench.partition.rows(bench.selected)
    old = {bench.partition.notes.get(int(i), "") for i in bench.partition.ids[rows]}
    text = st.text_area(
        f"On {count(len(bench.selected), 'sentence')}",
        value=old.pop() if len(old) == 1 else "",
        max_chars=NOTE_LIMIT,
        placeholder="Why it belongs there, or why that is hard to say. Leave empty to remove the note.",
    )
    if st.button("Save the note", type="primary", icon=":material/save:"):
        bench.act_on_chosen(lambda p, ids: op.note(p, ids, text or ""), keep=True)
        _done(bench)


def _merge(bench: Bench) -> None:
    """Choose which, and into which; nothing else is touched."""
    numbers, sizes = sorted(bench.partition.clusters), bench.partition.sizes()

    def named(number: int) -> str:
        return f"{bench.partition.clusters[number].name} ({sizes[number]:,})"

    own = {int(n) for n in bench.partition.numbers[bench.partition.rows(bench.selected)]} - {UNASSIGNED}
    chosen = st.multiselect("Clusters to merge", numbers, default=sorted(own), format_func=named, key="merge-which")
    if len(chosen) < 2:
        st.caption("Choose two or more. The others, their names and their colours stay as they are.")
        return
    largest = max(chosen, key=lambda n: sizes[n])
    into = st.selectbox("Keep name and colour of", chosen, index=chosen.index(largest), format_func=named)
    why = st.text_input("Why (optional)", max_chars=500, key="merge-why")
    if st.button("Merge", type="primary", icon=":material/merge:"):
        bench.act(lambda p: op.merge(p, chosen, into), why or "")
        _done(bench)


def _delete(bench: Bench) -> None:
    """Ask first; its sentences become unassigned, and undo brings all of it back."""
    cluster = _cluster(bench, "Cluster", "delete-which")
    size = bench.partition.sizes()[cluster.number]
    st.markdown(f"{count(size, 'sentence')} will be unassigned. Undo (`U`) brings everything back.")
    if st.button("Delete", type="primary", icon=":material/delete:"):
        bench.act(lambda p: op.delete(p, cluster.number))
        _done(bench)


def _recluster(bench: Bench) -> None:
    """Everything that somebody placed stays; the rest is put where the model says, and seen before it is done."""
    x = bench.vectors
    if x is None:
        st.info("This needs vectors: choose a model for suggestions first.", icon=":material/info:")
        return
    placed = placed_by_people(bench.partition, label_queries.log(bench.record.id)).ids
    sure = bench.partition.ids[bench.partition.uncertain]
    fixed = np.union1d(placed, sure)
    if not len(placed):
        st.info("Nobody has placed a sentence yet. Correct a few first: the rest then follows them.")
        return
    after = reclustering.recluster(bench.partition, x, fixed)
    operation = op.around(bench.partition, after, len(placed))
    moved = operation.batch.sentences()
    st.markdown(
        f"{count(len(placed), 'sentence')} placed by people (and those marked uncertain) stay where they are; "
        f"**{count(len(moved), 'other')}** would move."
    )
    names = {number: cluster.name for number, cluster in bench.partition.clusters.items()} | {UNASSIGNED: "unassigned"}
    for i in moved[:_SHOWN].tolist():
        row = int(after.rows([i])[0])
        old, new = names[int(bench.partition.numbers[row])], names[int(after.numbers[row])]
        st.text(f"{old} → {new}:  {shorten(bench.desk.texts[i], _LETTERS)}")
    if st.button("Move them", type="primary", icon=":material/auto_fix_high:", disabled=not len(moved)):
        bench.act(lambda p: operation)
        _done(bench)


def _split(bench: Bench) -> None:
    """Cluster again inside it: see the parts, name them, and only then do it."""
    cluster = _cluster(bench, "Cluster", "split-which")
    ids = bench.partition.members(cluster.number)
    if len(ids) < 2:
        st.caption("A cluster of one sentence cannot be split.")
        return
    x = bench.vectors
    if x is None:
        st.info(
            "A preview needs vectors: choose a model for suggestions beside the view. Without one, select sentences "
            "and make a new cluster of them (N).",
            icon=":material/info:",
        )
        return
    k = int(st.slider("Parts", 2, min(8, len(ids)), 2, key="split-k")) if len(ids) > 2 else 2
    try:
        with st.spinner("Dividing the cluster …"):
            parts = propose(ids, [bench.desk.texts[int(i)] for i in ids], x[bench.partition.rows(ids)], k)
    except ThemescopeError as error:
        st.error(plain(error))
        return
    names = _preview(bench, cluster, parts)
    if st.button(f"Split into {k}", type="primary", icon=":material/call_split:"):
        given = [(name, part.ids) for name, part in zip(names, parts, strict=True)]
        bench.act(lambda p: op.split(p, cluster.number, given, bench.desk.next_number))
        _done(bench)


def _preview(bench: Bench, cluster: Cluster, parts: list[Part]) -> list[str]:
    """The parts with their most central sentences; their names can be changed."""
    names = []
    for place, part in enumerate(parts):
        with st.container(border=True):
            wanted = cluster.name if place == 0 else op.free_name(bench.partition, part.name)
            field = st.text_input(
                f"Part {place + 1} · {count(len(part.ids), 'sentence')} · {part.name}",
                value=wanted,
                max_chars=NAME_LIMIT,
                key=f"split-{cluster.number}-{len(parts)}-{place}-{bench.desk.shown.step}",
            )
            names.append(field or wanted)
            with st.container(gap="xxsmall"):
                for i in part.ids[:_SHOWN]:
                    st.text(f"· {shorten(bench.desk.texts[int(i)], _LETTERS)}")
    return names


_DIALOGS: dict[str, tuple[str, Literal["small", "large"], Callable[[Bench], None]]] = {
    "note": ("Note", "small", _note),
    "merge": ("Merge clusters", "small", _merge),
    "split": ("Split a cluster", "large", _split),
    "delete": ("Delete a cluster", "small", _delete),
    "recluster": ("Cluster again around what people placed", "small", _recluster),
}


def open_asked(bench: Bench) -> None:
    """Open the dialog that was asked for by a key or a button; it stays open when the page is drawn anew behind it."""
    if bench.asked:
        title, width, body = _DIALOGS[bench.asked]
        st.dialog(title, width=width, on_dismiss=lambda: bench.ask(""))(body)(bench)


def _done(bench: Bench) -> None:
    bench.ask("")
    st.rerun()
