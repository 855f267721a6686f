"""Operations on labelling tasks, and the people of the store."""

from __future__ import annotations

from fastapi import APIRouter

from themescope.core.records.answers import ItemRecord, PersonRecord, TaskRecord
from themescope.db.access import Right
from themescope.jobs.api.problems import WRITING, CallerNow, Id, SomeId, responses
from themescope.jobs.services.search import check_corpus
from themescope.jobs.services.tasks import work

router = APIRouter(tags=["tasks"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)


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
