"""Page Code: the surfaces Code, Sort and Table on one coding, and what the menu of the coding opens; its history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.labelling.changes import ClusterChange, EntryChange, Field, Kind, SentenceChanges, Step
from themescope.core.labelling.partition import UNASSIGNED, EntryKind
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.db.access import Right
from themescope.db.records import NewLabelling
from themescope.jobs.services.labelling import starts
from themescope.webapp.features.coding import (
    FILES,
    FILTER,
    HISTORY,
    LABELLING,
    LEARN,
    NEW,
    QUEUE,
    REST,
    SETTINGS,
    SURFACE,
    VIEW,
    dialogs,
    learning,
    queries,
    rest,
    sentences,
    settings,
    step_summary,
    toolbar,
    unit,
)
from themescope.webapp.features.coding.editing import RelabelState, relabel_state
from themescope.webapp.shared import compare_queries, people, projects
from themescope.webapp.shared import queries as records
from themescope.webapp.shared.choose import menu, nothing, project, segment, steps, study_steps
from themescope.webapp.shared.compare_queries import CODE, SORT, TABLE
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.navigation import page_link, set_parameter, switch_page
from themescope.webapp.shared.text import ago, count, distinct, plain, shorten

_ALL_OPERATIONS, _EVERYONE = "all", "everyone"
_EXAMPLES = 8
_MAX_NOTE, _MAX_TEXT = 60, 110
_WIDTHS = {"When": 120, "Who": 110, "Change": 350, "Units": 85, "Selected": 145, "Reason": 125}


def show_history(state: RelabelState) -> None:
    """Draw filters, the steps, and the details of the chosen one."""
    steps = state.session.steps
    if not steps:
        nothing("No changes yet.", "Every change is listed here with its author and time.")
        return
    listed = _filtered(steps)[::-1][:1_000]
    event = st.dataframe(
        pd.DataFrame(
            {
                "When": [ago(step.when) for step in listed],
                "Who": [_who(step) for step in listed],
                "Change": [step_summary(step) for step in listed],
                "Units": [step.size for step in listed],
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
        args=(lambda session: session.back_to(0), "The coding is already as it was at the start."),
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
        names = {number: cluster.name for number, cluster in state.partition.clusters.items()}
        names[UNASSIGNED] = "unassigned"
        lines: list[str] = []
        for change in changes:
            if isinstance(change, ClusterChange) and (known := change.old or change.new) is not None:
                names.setdefault(known.number, known.name)
        for change in changes:
            if isinstance(change, ClusterChange):
                lines.append(_cluster_line(change, names))
            elif isinstance(change, EntryChange):
                verb = "added" if change.old is None else "removed" if change.new is None else "changed"
                lines.append(f"{verb}: {_ENTRY_NAMES[change.kind]}")
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
                args=(lambda session: session.back_to(step.id), "The coding is already in this state."),
                help="Restores the coding as it was right after this step. Adds a step, which can be undone.",
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
        return f"{change.new.name}: now {f'a sub-code of {theme}' if theme else 'a theme'}"
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
    return [*lines, f"and {count(more, 'more unit')}"] if more > 0 else lines


def _value(field: Field, value: object, names: dict[int, str]) -> str:
    if field is Field.CLUSTER:
        return names.get(int(value), "a deleted code")  # type: ignore[call-overload]
    if field is Field.UNCERTAIN:
        return "uncertain" if value else "certain"
    if field is Field.MEMBER:
        return "part of the coding" if value else "not part of it"
    return f"“{shorten(str(value), _MAX_NOTE)}”" if value else "no note"


def show_rest(state: RelabelState) -> None:
    """Draw what predicts the rest: a classifier, and a language model."""
    rest.show(state)
    settings.show_model_coding(state)


def show_files(state: RelabelState | None) -> None:
    """Draw the links to the files of the coding, if there is one, and to the import of codes; import a scheme."""
    if state is not None:
        page_link("report", "Report and files", view={"coding": state.record.name})
    page_link("import", "Import codes")
    settings.scheme()


def show_new() -> None:
    """Draw the form of a new coding, and the deleted ones."""
    settings.form()
    settings.deleted_labellings()


SURFACES: dict[str, Callable[[RelabelState, str], None]] = {
    CODE: unit.show,
    SORT: sentences.show_sort,
    TABLE: sentences.show_table,
}
UNITS = {CODE: (QUEUE, unit.names), TABLE: (FILTER, sentences.filters)}
"""URL key of the units that a surface shows, and the choice of them."""
OF_A_CODING: dict[str, Callable[[RelabelState], None]] = {
    REST: show_rest,
    HISTORY: show_history,
    FILES: show_files,
    SETTINGS: settings.show,
    LEARN: lambda state: learning.show(state.record),
}
"""What the menu opens in place of a surface."""
KEYS_DIALOG = "Keys"


def first_surface(record: LabellingRecord) -> str:
    """Return the surface on which a coding opens: units are coded one by one, clusters are sorted."""
    begun = record.origin.get("from") in ("nothing", "scheme")
    return CODE if begun or "task" in record.origin or record.kind is Sharing.GOLD else SORT


@st.fragment
def draw() -> None:
    """Draw the page; every action of a surface draws it anew."""
    found = sorted(compare_queries.labellings(projects.current_id()), key=compare_queries.precedence)
    view = str(st.session_state.get(VIEW, ""))
    if not found:
        _without_coding(view)
        return
    view = view if view in OF_A_CODING or view == NEW else ""
    names = distinct([one.name for one in found])
    held = str(st.session_state.get(LABELLING, ""))
    record = found[names.index(held)] if held in names else found[0]
    state = relabel_state(record)
    state.sync()
    with st.container(key="code_bar", horizontal=True, vertical_alignment="center"):
        surfaces = {name: name for name in SURFACES}
        surface = segment("Surface", surfaces, SURFACE, first_surface(record), label_visibility="collapsed")
        state.surface = surface
        toolbar.use_model(state)
        shown = ""
        if view or surface not in UNITS:
            menu(names, LABELLING, "Coding")
        else:
            param, units = UNITS[surface]
            others = {f"Coding: {name}": {LABELLING: name} for name in names if name != names[found.index(record)]}
            shown = menu(units(state), param, "Coding and units", record.name, others)
        if surface == TABLE and not view:
            sentences.show_filters(state)
        st.space("stretch")
        if view:
            toolbar.draw(state, "coding_bar", toolbar.bar_data(state, TABLE))
        chosen = st.menu_button(
            "⋯", [*OF_A_CODING, NEW, KEYS_DIALOG], key=f"code_menu_{record.id}", help="More about this coding"
        )
    if chosen == KEYS_DIALOG:
        state.dialog = "keys"
    elif chosen is not None:
        set_parameter(VIEW, chosen)
        view = chosen
    # A container of its own, so that messages do not move the widgets below to other places in the page.
    with st.container(gap=None, key="code_messages"):
        _read_only(state)
        if view != REST:  # which has the same offer
            rest.offer_new(state)
        toolbar.messages(state)
        toolbar.show_presence(state)
    if view:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(view, anchor=False)
            st.space("stretch")
            st.button(f"Back to {surface}", icon=":material/arrow_back:", on_click=set_parameter, args=(VIEW, ""))
        show_new() if view == NEW else OF_A_CODING[view](state)
    else:
        SURFACES[surface](state, shown)
    dialogs.show_open(state)


def _read_only(state: RelabelState) -> None:
    """Say why the coding cannot be changed, if so, and offer a copy."""
    if not state.read_only:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        viewer = not people.may(Right.LABEL)
        why = "You may view, but not change codings." if viewer else "You can read it, but not change it."
        owner = f"This coding belongs to **{people.shown(state.record.owner)}**. " if not viewer else ""
        st.markdown(f":material/lock: {owner}{why}", width="stretch")
        if viewer or not st.button("Make my own copy", type="primary", icon=":material/content_copy:"):
            return
        record, person = state.record, people.current_person()
        name = f"{record.name} ({person or people.UNNAMED})"
        new = NewLabelling(record.corpus_id, name, person, Sharing.OWN, record.blind, record.article_id)
        made = attempt(lambda: starts.begin(records.store(), new, starts.from_labelling(record.id)))
        if made is not None:
            switch_page("code", compare_queries.edit_view(made.name))


def _without_coding(view: str) -> None:
    if view == NEW:
        show_new()
    elif view == FILES:
        show_files(None)
    else:
        steps(study_steps())
        st.button("New coding", icon=":material/add:", on_click=set_parameter, args=(VIEW, NEW))


st.html(Path(__file__).parent / "assets" / "page.css")
if project() is not None:
    draw()
