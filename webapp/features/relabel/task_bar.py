"""Bar above a labelling that was made for a task: the present item, and the button for the next one."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.db.records import ItemRecord, ItemState
from themescope.jobs.services.tasks import making, work
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import KEYS, SELECTION, TASK_BAR, TASK_BAR_END, TASK_BAR_ERROR
from themescope.webapp.shared import queries
from themescope.webapp.shared.labelling import task_queries
from themescope.webapp.shared.labelling.task_queries import Task
from themescope.webapp.shared.navigation import open_address, switch_page
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.selections import selections
from themescope.webapp.shared.text import count, plain

DONE_KEY = "Ctrl+Enter"


def show(state: RelabelState) -> None:
    """Draw the bar for a labelling of a task of this person."""
    if st.session_state.pop(TASK_BAR_END, ""):
        switch_page("tasks")
    task = task_queries.of_labelling(state.record)
    if task is None:
        return
    if error := st.session_state.pop(TASK_BAR_ERROR, ""):
        st.error(plain(error), icon=":material/error:")
    own = task.of(state.session.person)
    started = [item for item in own if item.state is ItemState.STARTED]
    selection = selections.from_address(SELECTION) if len(started) > 1 else None
    wanted = set() if selection is None else {*selection.ids.tolist()}
    item = next((item for item in started if {*_sentences(item)} == wanted), next(iter(started), None))
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=TASK_BAR):
        st.markdown(f":material/assignment: **{plain(task.record.name)}** · {_where(own, item)}", width="stretch")
        if task.record.closed is not None:
            st.caption("This task is closed.", width="content")
        elif item is not None:
            left = int((state.partition.numbers[state.partition.rows(_sentences(item))] == UNASSIGNED).sum())
            if left:
                st.caption(f"{count(left, 'sentence')} unassigned", width="content")
            st.button(
                "Done, next", type="primary", icon=":material/task_alt:", shortcut=DONE_KEY, key=f"{TASK_BAR}_done",
                on_click=_next, args=(state, task, item),
            )  # fmt: skip
        elif st.button("My tasks", icon=":material/list:", key=f"{TASK_BAR}_tasks"):
            switch_page("tasks")


def _sentences(item: ItemRecord) -> list[int]:
    return queries.read(lambda r: [sentence.id for sentence in making.sentences_of_item(r, item.range)])


def _where(own: list[ItemRecord], item: ItemRecord | None) -> str:
    if item is None:
        return task_queries.counted(own)
    title = task_queries.titles([item])[item.id]
    return f"item {own.index(item) + 1:,} of {len(own):,} · {plain(title)}"


def _next(state: RelabelState, task: Task, item: ItemRecord) -> None:
    """Mark the item as done and show the next one; for callbacks. After the last one, the tasks are shown."""
    if state.unsaved is not None or state.conflict is not None:
        st.session_state[TASK_BAR_ERROR] = "Your last change is not saved. Save or discard it first."
        return
    try:
        following = work.finish_item(queries.store(), item.id)
        if following is None:
            st.session_state[TASK_BAR_END] = task.record.name
        else:
            view = task_queries.item_view(work.open_item(queries.store(), following.id))
            open_address(urlencode(KEYS.address({**view, CORPUS: str(st.session_state[CORPUS])})))
    except ThemescopeError as error:
        st.session_state[TASK_BAR_ERROR] = str(error)
