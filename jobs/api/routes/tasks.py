"""Operations on labelling tasks, and the people of the store."""

from __future__ import annotations

from fastapi import APIRouter

from themescope.core.records.answers import ItemRecord, OpenedItem, PersonRecord, TaskRecord
from themescope.db.access import Right
from themescope.jobs.api.problems import WRITING, Body, CallerNow, Flag, Id, SomeId, responses
from themescope.jobs.services.sentences import check_corpus
from themescope.jobs.services.tasks import work

router = APIRouter(tags=["tasks"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)


class TaskState(Body):
    """Whether a task is closed."""

    closed: Flag


@router.get("/people", tags=["account"])
def list_people(caller: CallerNow) -> list[PersonRecord]:
    """List the people with their roles. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    with caller.store.reading() as r:
        return r.people.list()


@router.get("/tasks", responses=_FOUND)
def list_tasks(caller: CallerNow, corpus_id: SomeId = None) -> list[TaskRecord]:
    """List the labelling tasks (of one corpus)."""
    with caller.store.reading() as r:
        check_corpus(r, corpus_id)
        return [work.shown_task(task, caller.actor) for task in r.tasks.list(corpus_id)]


@router.get("/tasks/{task_id}/items", responses=_FOUND)
def list_task_items(caller: CallerNow, task_id: Id) -> list[ItemRecord]:
    """List your items of a task in their order; as its maker or an admin, those of all people."""
    with caller.store.reading() as r:
        person = None if caller.actor.owns(r.tasks.get(task_id).person) else caller.actor.name
        return [work.shown_item(r, item, caller.actor) for item in work.items_of(r, task_id, person)]


@router.patch("/tasks/{task_id}", responses=_CHANGED)
def close_task(caller: CallerNow, task_id: Id, state: TaskState) -> TaskRecord:
    """Close a task that you made, or open it again; as an admin, any."""
    with caller.store.writing() as w:
        w.tasks.get(task_id)
        w.tasks.close(task_id, state.closed)
        return w.tasks.get(task_id)


@router.delete("/tasks/{task_id}", status_code=204, responses=_CHANGED)
def delete_task(caller: CallerNow, task_id: Id) -> None:
    """Delete a task that you made, or, as an admin, any; the labellings of its people stay."""
    with caller.store.writing() as w:
        w.tasks.get(task_id)
        w.tasks.delete(task_id)


@router.post("/task-items/{item_id}/open", responses=_CHANGED)
def open_item(caller: CallerNow, item_id: Id) -> OpenedItem:
    """Begin with an item of yours; the answer has your labelling and the selection of its sentences."""
    opened = work.open_item(caller.store, item_id)
    with caller.store.reading() as r:
        item = work.shown_item(r, opened.item, caller.actor)
    return OpenedItem(item=item, labelling=opened.labelling, selection_id=opened.selection_id)


@router.post("/task-items/{item_id}/finish", responses=_CHANGED)
def finish_item(caller: CallerNow, item_id: Id, reason: str = "") -> ItemRecord | None:
    """Mark an item of yours as done; the answer is your next one, or null after the last.

    ``reason`` becomes the note of sentences that have no code; without one they must have a code or a note.
    """
    following = work.finish_item(caller.store, item_id, reason)
    with caller.store.reading() as r:
        return None if following is None else work.shown_item(r, following, caller.actor)


@router.post("/task-items/{item_id}/reopen", responses=_CHANGED)
def reopen_item(caller: CallerNow, item_id: Id) -> ItemRecord:
    """Mark an item of yours as not done."""
    with caller.store.writing() as w:
        w.tasks.item(item_id)
        w.tasks.reopen(item_id)
        return work.shown_item(w, w.tasks.item(item_id), caller.actor)
