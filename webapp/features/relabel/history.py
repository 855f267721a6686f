"""What was done in a labelling, by whom, why and how; and the way back to any point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.labelling.changes import Batch, ClusterChange, Field, SentenceChanges
from core.labelling.history import Kind, Step
from core.labelling.partition import UNASSIGNED
from webapp.features.relabel.state import Bench, told
from webapp.features.relabel.toolbar import status_words
from webapp.shared import label_queries, people
from webapp.shared.choose import nothing
from webapp.shared.text import ago, count, plain, shorten

_ROWS = 1_000
_ANY = "anything"
_EVERYBODY = "everybody"
_EXAMPLES = 8
_WIDTHS = {"When": 120, "Who": 75, "What": 385, "Sentences": 85, "Chosen": 145, "Why": 125}


def show(bench: Bench) -> None:
    """Filters, the steps, and what can be done with the one that is chosen."""
    bench.desk.sync()
    steps = bench.desk.steps
    if not steps:
        nothing("Nothing has been done yet.", "Every change will stand here, with who made it and when.")
        return
    st.caption(plain(status_words(bench)))
    if bench.notice:
        st.info(plain(bench.notice), icon=":material/info:")
        bench.notice = ""
    listed = _filtered(bench, steps)[::-1][:_ROWS]
    key = f"history-{bench.record.id}-{len(steps)}-{len(listed)}"
    event = st.dataframe(
        _frame(listed),
        hide_index=True,
        height="content" if len(listed) < 10 else 380,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        column_config={name: st.column_config.Column(width=width) for name, width in _WIDTHS.items()},
        placeholder="",
    )
    rows = event["selection"]["rows"]
    st.caption(f"{count(len(listed), 'step')} shown of {len(steps):,}; click one to see it, and to go back.")
    if rows:
        _details(bench, listed[rows[0]])
    st.button(
        "Back to the start",
        icon=":material/first_page:",
        on_click=bench.travel,
        args=(lambda desk: desk.back_to(0), "It is as it was at the start."),
        help="One more step, which can be undone like any other.",
    )


def _filtered(bench: Bench, steps: Sequence[Step]) -> list[Step]:
    left, middle, right = st.columns(3)
    names = sorted({step.person for step in steps})
    person = left.selectbox("By", [_EVERYBODY, *(name or people.UNNAMED for name in names)])
    what = middle.selectbox("Kind", [_ANY, *sorted({step.what for step in steps})])
    search = (right.text_input("Containing", key="history-find", icon=":material/search:") or "").casefold()
    return [
        step
        for step in steps
        if person in (_EVERYBODY, step.person or people.UNNAMED)
        and what in (_ANY, step.what)
        and search in f"{step.said} {step.why} {step.how}".casefold()
    ]


def _frame(steps: Sequence[Step]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "When": [ago(step.when) for step in steps],
            "Who": [step.person or people.UNNAMED for step in steps],
            "What": [told(step) for step in steps],
            "Sentences": [step.size for step in steps],
            "Chosen": [step.how for step in steps],
            "Why": [step.why for step in steps],
        }
    )


def _details(bench: Bench, step: Step) -> None:
    """What one step changed, and the ways back."""
    batch = label_queries.batch(step.id)
    with st.container(border=True):
        st.markdown(f"**{plain(told(step))}** · {people.shown(step.person)} · {step.when:%d %b %Y, %H:%M:%S} UTC")
        for line in _lines(bench, batch):
            st.text(line)
        with st.container(horizontal=True):
            mine = step.kind is Kind.DO and step.id in bench.desk.standing.undoable
            st.button(
                "Undo this step",
                icon=":material/undo:",
                disabled=not mine,
                help="Takes back this one only, where nobody has built on it." if mine else "Only your own steps.",
                on_click=bench.travel,
                args=(lambda desk: desk.undo(step.id), "That step does not stand any more."),
            )
            st.button(
                "Back to here",
                icon=":material/history:",
                on_click=bench.travel,
                args=(lambda desk: desk.back_to(step.id), "It is as it was then."),
                help="Everything becomes as it was right after this step. One more step, which can be undone.",
            )


def _lines(bench: Bench, batch: Batch) -> list[str]:
    names = {number: cluster.name for number, cluster in bench.partition.clusters.items()} | {UNASSIGNED: "unassigned"}
    lines: list[str] = []
    for change in batch:
        if isinstance(change, ClusterChange):
            known = change.old or change.new
            assert known is not None
            names.setdefault(known.number, known.name)
    for change in batch:
        if isinstance(change, ClusterChange):
            lines.append(_cluster_line(change))
        else:
            lines += _sentence_lines(bench, change, names)
    return lines


def _cluster_line(change: ClusterChange) -> str:
    if change.old is None or change.new is None:
        known, done = (change.new, "new") if change.old is None else (change.old, "deleted")
        assert known is not None
        return f"{done}: {known.name}"
    if change.old.name != change.new.name:
        return f"renamed: {change.old.name} → {change.new.name}"
    return f"recoloured: {change.new.name}"


def _sentence_lines(bench: Bench, change: SentenceChanges, names: dict[int, str]) -> list[str]:
    def told(value: object) -> str:
        if change.field is Field.CLUSTER:
            return names.get(int(value), "a cluster that is gone")  # type: ignore[call-overload]
        if change.field is Field.UNCERTAIN:
            return "uncertain" if value else "certain"
        return f"“{shorten(str(value), 60)}”" if value else "no note"

    shown = zip(change.ids[:_EXAMPLES], np.asarray(change.old), np.asarray(change.new), strict=False)
    lines = [f"{told(old)} → {told(new)}   {shorten(bench.desk.texts[int(i)], 110)}" for i, old, new in shown]
    more = len(change.ids) - _EXAMPLES
    return [*lines, f"and {count(more, 'more sentence')}"] if more > 0 else lines
