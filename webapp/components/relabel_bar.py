"""What one can do to the selection, a key for each thing; whether all is saved; who else is here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.labelling import operations as op
from core.labelling.partition import Cluster
from webapp import label_queries, people, queries
from webapp.components import relabel_dialogs as dialogs
from webapp.components.text import ago, count, plain, shorten
from webapp.relabelling import Bench

_STYLE = Path(__file__).parents[1] / "assets" / "relabel.css"
_POLL_S = 5.0
NINE = 9
SELECT_FIRST = "Select sentences first: click them, draw around them on the map, or press J."


def show(bench: Bench) -> None:
    """Status, then the selection and what to do with it."""
    st.html(_STYLE)
    _status(bench)
    with st.container(border=True, gap="xsmall", key="label-bar"):
        _clusters(bench)
        _actions(bench)


def _status(bench: Bench) -> None:
    standing = bench.desk.standing
    with st.container(gap=None, key="label-state"):
        with st.container(key="label-saving"):
            st.markdown(":gray[:material/sync: saving …]")
        with st.container(key="label-saved"):
            st.markdown(saved_words(bench))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="label-status"):
        st.button(
            "Undo",
            shortcut="U",
            icon=":material/undo:",
            disabled=not standing.undoable,
            on_click=bench.travel,
            args=(lambda desk: desk.undo(), "There is nothing of yours to undo."),
        )
        st.button(
            "Redo",
            shortcut="Y",
            icon=":material/redo:",
            disabled=not standing.redoable,
            on_click=bench.travel,
            args=(lambda desk: desk.redo(), "There is nothing to redo."),
        )
        with st.popover("Keys", icon=":material/keyboard:"):
            dialogs.key_map()
    _people(bench)


def saved_words(bench: Bench) -> str:
    """Whether everything that was done is in the store."""
    if bench.unsaved is not None:
        return ":red[:material/error: **not saved**]"
    if bench.saved is None:
        steps = bench.desk.steps
        last = f" · last change {ago(steps[-1].when)}" if steps else ""
        return f":green[:material/check_circle:] all saved{last}"
    return f":green[:material/check_circle:] saved · {plain(shorten(bench.said, 60))}"


@st.fragment(run_every=_POLL_S)
def _people(bench: Bench) -> None:
    """Says every few seconds that this person is here, and who else is; offers what others did."""
    with queries.store().writing() as w:
        w.people.beat(bench.record.id, bench.desk.person, bench.session)
    others = [p.person for p in label_queries.here(bench.record.id) if p.person != bench.desk.person]
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        if others and not bench.record.blind:
            st.markdown(f":material/group: {' · '.join(people.shown(name) for name in others)} also here")
        waiting = label_queries.steps_after(bench.record.id, bench.desk.shown.step)
        if waiting and st.button(f"Show {count(waiting, 'new change')}", icon=":material/refresh:", type="tertiary"):
            st.rerun()


def messages(bench: Bench) -> None:
    """What could not be done or saved, with what to do about it."""
    if bench.conflict is not None:
        conflict(bench)
    if bench.unsaved is not None:
        with st.container(border=True):
            st.error(f"**Not saved.** {plain(bench.unsaved.told)}", icon=":material/error:")
            st.button("Try again", icon=":material/refresh:", on_click=bench.again)
    if bench.notice:
        st.info(plain(bench.notice), icon=":material/info:")
        bench.notice = ""


def conflict(bench: Bench) -> None:
    """Both versions of what two people changed; the person decides."""
    found = bench.conflict
    assert found is not None
    with st.container(border=True, key="conflict"):
        st.warning(f"**Somebody was first.** {plain(found.told)}", icon=":material/merge:")
        for clash in found.clashes[:5]:
            st.text(shorten(bench.desk.texts.get(clash.sentence, ""), 220))
            who = people.shown(clash.person) if clash.when else "somebody"
            st.markdown(
                f"You saw **{plain(clash.seen)}** and wanted **{plain(clash.mine)}** · {who} made it "
                f"**{plain(clash.theirs)}** {ago(clash.when) if clash.when else ''}"
            )
        if len(found.clashes) > 5:
            st.caption(f"and {count(len(found.clashes) - 5, 'more sentence')}")
        with st.container(horizontal=True):
            st.button("Keep theirs", type="primary", icon=":material/check:", on_click=bench.settle, args=(False,))
            st.button("Use mine", icon=":material/edit:", on_click=bench.settle, args=(True,))
        st.caption("Either way nothing is lost: both changes stand in the history.")


def window(bench: Bench) -> list[Cluster]:
    """The clusters that the number keys stand for now."""
    clusters = [bench.partition.clusters[n] for n in sorted(bench.partition.clusters)]
    start = bench.digits * NINE if bench.digits * NINE < len(clusters) else 0
    return clusters[start : start + NINE]


def _clusters(bench: Bench) -> None:
    sizes = bench.partition.sizes()
    st.markdown(f"**{bench.describe()}** → put into" if len(bench.selected) else ":gray[Nothing selected]")
    for digit, cluster in enumerate(window(bench), 1):
        st.button(
            f"{plain(shorten(cluster.name, 24))} :gray[{sizes[cluster.number]:,}]",
            shortcut=str(digit),
            key=f"assign-{bench.record.id}-{digit}",
            on_click=assign,
            args=(bench, cluster.number),
            width="stretch",
        )
    with st.container(horizontal=True, gap="xsmall"):
        st.button("Unassigned", shortcut="0", key="unassign", on_click=_unassign, args=(bench,))
        if len(bench.partition.clusters) > NINE:
            st.button("Next nine", shortcut="B", on_click=_turn, args=(bench,))


def assign(bench: Bench, number: int) -> None:
    """Put the selection into a cluster."""
    _on_selection(bench, lambda: bench.act(lambda p: op.assign(p, bench.chosen, number)))


def _unassign(bench: Bench) -> None:
    _on_selection(bench, lambda: bench.act(lambda p: op.unassign(p, bench.chosen)))


def _turn(bench: Bench) -> None:
    pages = -(-len(bench.partition.clusters) // NINE)
    bench.digits = (bench.digits + 1) % pages


def _on_selection(bench: Bench, go: Callable[[], object]) -> None:
    if not len(bench.selected):
        bench.notice = SELECT_FIRST
        return
    go()


def _toggle_uncertain(bench: Bench) -> None:
    def mark() -> None:
        rows = bench.partition.rows(bench.chosen)
        wanted = not bench.partition.uncertain[rows].all()
        bench.act(lambda p: op.mark(p, bench.chosen, wanted), keep=True)

    _on_selection(bench, mark)


def _create(bench: Bench) -> None:
    """Make a cluster of the selection at once, named by its words; its name can be changed where it stands."""

    def make() -> None:
        wanted = dialogs.telling_name(bench, bench.chosen)
        bench.act(lambda p: op.create(p, bench.desk.next_number, op.free_name(p, wanted), bench.chosen))

    if len(bench.selected):
        make()
    else:
        bench.act(lambda p: op.create(p, bench.desk.next_number, op.free_name(p, "New cluster"), bench.selected))


def _actions(bench: Bench) -> None:
    with st.container(horizontal=True, gap="xsmall"):
        st.button("New cluster", shortcut="N", icon=":material/add:", on_click=_create, args=(bench,))
        st.button("Uncertain", shortcut="X", icon=":material/question_mark:", on_click=_toggle_uncertain, args=(bench,))
        if st.button("Note", shortcut="T", icon=":material/sticky_note_2:"):
            if len(bench.selected):
                dialogs.note(bench)
            else:
                st.toast(SELECT_FIRST)
        if st.button("Merge", shortcut="M", icon=":material/merge:", disabled=len(bench.partition.clusters) < 2):
            dialogs.merge(bench)
        if st.button("Split", shortcut="S", icon=":material/call_split:", disabled=not bench.partition.clusters):
            dialogs.split(bench)
        if st.button("Delete", shortcut="E", icon=":material/delete:", disabled=not bench.partition.clusters):
            dialogs.delete(bench)
        if not bench.record.blind:
            if st.button("Re-cluster", shortcut="G", icon=":material/auto_fix_high:"):
                dialogs.recluster(bench)
            st.button("Accept", shortcut="A", icon=":material/check:", on_click=bench.accept)
            st.button("Next", shortcut="J", icon=":material/arrow_downward:", on_click=bench.next_uncertain)
            st.button(
                "Previous",
                shortcut="K",
                icon=":material/arrow_upward:",
                on_click=bench.next_uncertain,
                kwargs={"back": True},
            )
        st.button(
            "Identical too",
            shortcut="D",
            icon=":material/content_copy:",
            type="primary" if bench.twins else "secondary",
            help="Sentences that say the same, word for word, are labelled together.",
            on_click=_toggle_twins,
            args=(bench,),
        )
        st.button("Select none", shortcut="L", icon=":material/close:", on_click=bench.clear)


def _toggle_twins(bench: Bench) -> None:
    bench.twins = not bench.twins
