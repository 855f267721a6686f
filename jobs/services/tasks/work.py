"""Working on a task: the next item, its sentences as a selection, and the progress of every person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Origin, selected
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Ids
from themescope.db.access import Actor
from themescope.db.label_records import ItemRecord, ItemState, Reason, TaskRecord
from themescope.db.store import Store, Unit
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.tasks.making import begin_labelling, sentences_of_item
from themescope.jobs.services.tasks.samples import places_of

_IDLE = timedelta(minutes=30)
"""An item that was open for longer says nothing about the speed of the person."""


@dataclass(frozen=True, slots=True)
class OpenItem:
    """Item that a person works on: the labelling, and the stored selection of the item's sentences."""

    item: ItemRecord
    labelling: LabellingRecord
    selection_id: int


def uncoded(partition: Partition) -> Ids:
    """Return the sentences without a code and without a note why they have none."""
    found: Ids = partition.ids[(partition.numbers == UNASSIGNED) & ~np.isin(partition.ids, [*partition.notes])]
    return found


def items_of(r: Unit, task_id: int, person: str | None = None) -> list[ItemRecord]:
    """Return the items of a task (of one person), by person and place.

    An item is done only as long as each of its sentences has a code or a note why it has none.
    """
    found = r.tasks.items(task_id, person)
    done = [item for item in found if item.done is not None]
    at = {(s.article_id, s.position): s.id for s in r.corpora.sentences_at(places_of(item.range for item in done))}
    people, left = {item.person for item in done}, dict[str, set[int]]()
    with r.seeing_all():  # the state of an item is the same for all who ask
        for member in r.tasks.members(task_id):
            if member.person in people and member.labelling_id is not None:
                left[member.person] = {*uncoded(r.labellings.snapshot(member.labelling_id).partition).tolist()}
    still = {
        item.id for item in done if any(at.get(place) in left.get(item.person, ()) for place in places_of([item.range]))
    }
    return [replace(item, done=None) if item.id in still else item for item in found]


def shown_task(task: TaskRecord, actor: Actor) -> TaskRecord:
    """Return a task as a person may see it: what is known to be right is known to its maker and to admins."""
    if actor.owns(task.person):
        return task
    settings = {name: value for name, value in task.settings.items() if name != "gold_share"}
    return replace(task, gold_id=None, settings=settings)


def shown_item(r: Unit, item: ItemRecord, actor: Actor) -> ItemRecord:
    """Return an item as a person may see it: others than the maker and admins do not know gold items before the end."""
    hidden = item.reason is Reason.GOLD and not actor.owns(r.tasks.get(item.task_id).person)
    return replace(item, reason=Reason.DISTRIBUTION) if hidden and item.done is None else item


def next_item(items: Sequence[ItemRecord]) -> ItemRecord | None:
    """Return the item of a person that is in progress, or else the first open one; None if all are done."""
    left = [item for item in items if item.state is not ItemState.DONE]
    return min(left, key=lambda item: (item.state is not ItemState.STARTED, item.place), default=None)


def open_item(store: Store, item_id: int) -> OpenItem:
    """Begin with an item of the person who opens it, and make the person's labelling if there is none."""
    with store.reading() as r:
        item = r.tasks.item(item_id)
        task = r.tasks.get(item.task_id)
        ids = [sentence.id for sentence in sentences_of_item(r, item.range)]
        title = r.corpora.article(item.article_id).title
    labelling = begin_labelling(store, task.id, item.person)
    selection = selected(task.corpus_id, ids, Origin("article", (f"{task.name}: {title}",)))
    with store.writing() as w:
        if task.closed is None:
            w.tasks.start(item_id)
        stored = w.selections.add(selection, person=item.person)
        return OpenItem(w.tasks.item(item_id), w.labellings.get(labelling), stored.id)


def finish_item(store: Store, item_id: int, reason: str = "") -> ItemRecord | None:
    """Record that an item is done and return the next one of its person.

    ``reason`` becomes the note of the sentences that have no code. Raises ``DataError`` before the item was opened, and
    where sentences have neither a code nor a note why.
    """
    with store.reading() as r:
        item = r.tasks.item(item_id)
        if item.state is ItemState.OPEN:
            raise DataError("This item has not been opened yet. Open it, label its sentences, then mark it as done.")
        members = {member.person: member.labelling_id for member in r.tasks.members(item.task_id)}
    labelling = members[item.person] or 0
    if reason.strip():
        session = LabellingSession(store, labelling, item.person)
        with store.reading() as r:
            left = _left(r, session.partition, item)
        session.do(op.note(session.partition, left, reason))
    with store.writing() as w:
        left = _left(w, w.labellings.snapshot(labelling).partition, item)
        if len(left):
            have = "has" if len(left) == 1 else "have"
            why = f"{counted(len(left), 'sentence')} of this item {have} no code."
            raise DataError(f"{why} Give each one a code, or say why none fits.")
        w.tasks.finish(item_id)
        return next_item(items_of(w, item.task_id, item.person))


def record_progress(store: Store, done: Sequence[int], begun: int | None) -> None:
    """Record items whose sentences have got their codes as done, and the one that is shown as begun."""
    with store.writing() as w:
        for id in done:
            w.tasks.start(id)
            w.tasks.finish(id)
        if begun is not None:
            w.tasks.start(begun)


def _left(r: Unit, partition: Partition, item: ItemRecord) -> Ids:
    ids = [sentence.id for sentence in sentences_of_item(r, item.range)]
    return np.intersect1d(uncoded(partition), ids)


# --- progress ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """Progress of one person in a task."""

    person: str
    items: int
    done: int
    sentences: int
    sentences_done: int
    seconds_per_sentence: float | None
    """Median over the items that are done; None before the first one."""
    last: datetime | None
    """When the last item was done."""

    @property
    def remaining_s(self) -> float | None:
        """Estimated seconds of work that is left; None without a rate."""
        if self.seconds_per_sentence is None:
            return 0.0 if self.items == self.done else None
        return self.seconds_per_sentence * (self.sentences - self.sentences_done)


def progress(people: Sequence[str], items: Sequence[ItemRecord]) -> list[TaskProgress]:
    """Return the progress of each person, in the order of ``people``."""
    return [_progress(person, [item for item in items if item.person == person]) for person in people]


def _progress(person: str, items: Sequence[ItemRecord]) -> TaskProgress:
    done = [item for item in items if item.done is not None]
    rates = [rate for item in done if (rate := _rate(item)) is not None]
    return TaskProgress(
        person, len(items), len(done), sum(item.sentences for item in items), sum(item.sentences for item in done),
        median(rates) if rates else None, max((item.done for item in done if item.done), default=None),
    )  # fmt: skip


def _rate(item: ItemRecord) -> float | None:
    if item.done is None or item.opened is None or not timedelta(0) < item.done - item.opened <= _IDLE:
        return None
    return (item.done - item.opened).total_seconds() / item.sentences


def due_state(task: TaskRecord, items: Sequence[ItemRecord], now: datetime) -> str:
    """Return "closed", "done", "overdue", "due today", "due in 3 days" or "" without a date."""
    if task.closed is not None:
        return "closed"
    if items and all(item.done is not None for item in items):
        return "done"
    if task.due is None:
        return ""
    days = (task.due.date() - now.date()).days
    if days < 0:
        return "overdue"
    return "due today" if days == 0 else f"due in {days} {'day' if days == 1 else 'days'}"
