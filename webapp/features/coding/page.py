"""Code page: correct the clusters of sentences, with undo, history and conflict handling; its History tab."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.labelling.changes import ClusterChange, EntryChange, Field, Kind, SentenceChanges, Step
from themescope.core.labelling.partition import UNASSIGNED, EntryKind
from themescope.webapp.features.coding import (
    HISTORY,
    LABELLING,
    NEW,
    REST,
    SETTINGS,
    VIEW,
    queries,
    rest,
    settings,
    step_summary,
    workspace,
)
from themescope.webapp.features.coding.editing import RelabelState, relabel_state
from themescope.webapp.features.coding.toolbar import status_text
from themescope.webapp.shared import people, projects
from themescope.webapp.shared.choose import by_name, nothing, open_tab
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.results.compare_queries import EDIT
from themescope.webapp.shared.text import ago, count, plain, shorten

STYLE = Path(__file__).parent / "assets" / "layout.css"
_MAX_ROWS = 1_000
_ALL_OPERATIONS, _EVERYONE = "all", "everyone"
_EXAMPLES = 8
_MAX_NOTE, _MAX_TEXT = 60, 110
_WIDTHS = {"When": 120, "Who": 110, "Change": 350, "Sentences": 85, "Selected": 145, "Reason": 125}


def show_history(state: RelabelState) -> None:
    """Draw filters, the steps, and the details of the chosen one."""
    state.session.sync()
    steps = state.session.steps
    if not steps:
        nothing("No changes yet.", "Every change is listed here with its author and time.")
        return
    st.caption(plain(status_text(state)))
    if state.notice:
        st.info(plain(state.notice), icon=":material/info:")
        state.notice = ""
    listed = _filtered(steps)[::-1][:_MAX_ROWS]
    event = st.dataframe(
        pd.DataFrame(
            {
                "When": [ago(step.when) for step in listed],
                "Who": [_who(step) for step in listed],
                "Change": [step_summary(step) for step in listed],
                "Sentences": [step.size for step in listed],
                "Selected": [step.selection_method for step in listed],
                "Reason": [step.reason for step in listed],
            }
        ),
        hide_index=True,
        height="content" if len(listed) < 10 else 380,
        key=f"code_history_table_{state.record.id}_{len(steps)}_{len(listed)}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={name: st.column_config.Column(width=width) for name, width in _WIDTHS.items()},
        placeholder="",
    )
    rows = event["selection"]["rows"]
    st.caption(f"Showing {len(listed):,} of {count(len(steps), 'step')}. Click a step to inspect or restore it.")
    if rows:
        _details(state, listed[rows[0]])
    st.button(
        "Restore initial state",
        icon=":material/first_page:",
        on_click=state.travel,
        args=(lambda session: session.back_to(0), "The labelling is already as it was at the start."),
        help="Adds a step, which can be undone like any other.",
    )


def _filtered(steps: Sequence[Step]) -> list[Step]:
    left, middle, right = st.columns(3)
    names = sorted({step.person for step in steps})
    person = left.selectbox("Who", [_EVERYONE, *(name or people.UNNAMED for name in names)])
    operation = middle.selectbox("Operation", [_ALL_OPERATIONS, *sorted({step.operation for step in steps})])
    search = (right.text_input("Search", key="code_history_search", icon=":material/search:") or "").casefold()
    return [
        step
        for step in steps
        if person in (_EVERYONE, step.person or people.UNNAMED)
        and operation in (_ALL_OPERATIONS, step.operation)
        and search in f"{step.summary} {step.reason} {step.selection_method}".casefold()
    ]


def _who(step: Step) -> str:
    person = step.person or people.UNNAMED
    return f"{step.coder} ({person})" if step.coder else person


def _details(state: RelabelState, step: Step) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(step_summary(step))}** · {plain(_who(step))} · {step.when:%d %b %Y, %H:%M:%S} UTC")
        changes = queries.changes_of(step.id)
        names = {number: cluster.name for number, cluster in state.partition.clusters.items()} | {
            UNASSIGNED: "unassigned"
        }
        lines: list[str] = []
        for change in changes:
            if isinstance(change, ClusterChange):
                known = change.old or change.new
                assert known is not None
                names.setdefault(known.number, known.name)
        for change in changes:
            if isinstance(change, ClusterChange):
                lines.append(_cluster_line(change, names))
            elif isinstance(change, EntryChange):
                verb = "added" if change.old is None else "removed" if change.new is None else "changed"
                entry_line = f"{verb}: {_ENTRY_NAMES[change.kind]}"
                lines.append(entry_line)
            else:
                lines += _sentence_lines(state, change, names)
        for line in lines:
            st.text(line)
        with st.container(horizontal=True):
            mine = step.kind is Kind.DO and step.id in state.session.undo_state.undoable
            st.button(
                "Undo this step",
                icon=":material/undo:",
                disabled=not mine,
                help="Undoes only this step, unless later changes build on it." if mine else "Only your own steps.",
                on_click=state.travel,
                args=(lambda session: session.undo(step.id), "This step has been undone already."),
            )
            st.button(
                "Restore this state",
                icon=":material/history:",
                on_click=state.travel,
                args=(lambda session: session.back_to(step.id), "The labelling is already in this state."),
                help="Restores the labelling as it was right after this step. Adds a step, which can be undone.",
            )


def _cluster_line(change: ClusterChange, names: dict[int, str]) -> str:
    if change.old is None or change.new is None:
        known, verb = (change.new, "created") if change.old is None else (change.old, "deleted")
        assert known is not None
        return f"{verb}: {known.name}"
    if change.old.name != change.new.name:
        return f"renamed: {change.old.name} → {change.new.name}"
    if change.old.parent != change.new.parent:
        theme = "" if change.new.parent is None else names.get(change.new.parent, "a deleted theme")
        return f"{change.new.name}: now {f'a sub-theme of {theme}' if theme else 'a theme'}"
    return f"recoloured: {change.new.name}"


_ENTRY_NAMES = {
    EntryKind.ANSWER: "answer to a question",
    EntryKind.CODE: "codebook entry",
    EntryKind.TRAINING: "gold item",
    EntryKind.DISMISSED: "dismissed suggestion",
}


def _sentence_lines(state: RelabelState, change: SentenceChanges, names: dict[int, str]) -> list[str]:
    pairs = zip(change.ids[:_EXAMPLES], np.asarray(change.old), np.asarray(change.new), strict=False)
    lines = [
        f"{_value(change.field, old, names)} → {_value(change.field, new, names)}   "
        f"{shorten(state.session.texts[int(i)], _MAX_TEXT)}"
        for i, old, new in pairs
    ]
    more = len(change.ids) - _EXAMPLES
    return [*lines, f"and {count(more, 'more sentence')}"] if more > 0 else lines


def _value(field: Field, value: object, names: dict[int, str]) -> str:
    if field is Field.CLUSTER:
        return names.get(int(value), "a deleted cluster")  # type: ignore[call-overload]
    if field is Field.UNCERTAIN:
        return "uncertain" if value else "certain"
    if field is Field.MEMBER:
        return "part of the labelling" if value else "not part of it"
    return f"“{shorten(str(value), _MAX_NOTE)}”" if value else "no note"


def show_rest(state: RelabelState) -> None:
    """Draw what predicts the rest: a classifier, and a language model."""
    rest.show(state)
    settings.show_model_coding(state)


# --- page -------------------------------------------------------------------------------------------------------------

labellings = sorted(compare_queries.labellings(projects.current_id()), key=compare_queries.precedence)
st.html(STYLE)
chosen = None
if labellings:
    with st.container(key="code_labelling"):
        chosen = by_name("Labelling", labellings, LABELLING, lambda record: record.name, label_visibility="collapsed")
views = {EDIT: workspace.show, REST: show_rest, HISTORY: show_history, SETTINGS: settings.show}
view, tab = open_tab([*views, NEW], VIEW)
with tab:
    if view == NEW:
        settings.form()
        settings.whole_labelling()
        settings.labels()
        settings.scheme()
        settings.deleted_labellings()
    elif chosen is not None:
        views[view](relabel_state(chosen))
    else:
        nothing(
            "No labellings yet.",
            "Start from a clustering, from sections or from unassigned sentences.",
            "code",
            NEW,
            {"view": NEW},
        )
