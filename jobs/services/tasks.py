"""Labelling tasks: making and distributing them, working on them, progress and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from themescope.core.errors import DataError, StoreError, UnknownNameError
from themescope.core.labelling.codebook import entries
from themescope.core.labelling.partition import UNASSIGNED, Partition, start
from themescope.core.labelling.task_items import DistributionPlan, Order, distribute
from themescope.core.types import Ids, Sentence, Split
from themescope.db.access import Actor
from themescope.db.records import ItemRecord, ItemState, NewItem, NewLabelling, NewTask, Reason, TaskRecord
from themescope.db.store import Store, Unit
from themescope.jobs.common.labelled import gold_labels, joint_provenance, run_origin
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.samples import SAMPLE, DrawnSample, Range, SampleForm, drawn, places_of

# Making a task and working on it: items, their sentences as a selection, and the progress of every person

_IDLE = timedelta(minutes=30)
"""An item that was open for longer says nothing about the speed of the person."""


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


def record_progress(store: Store, done: Sequence[int], begun: int | None) -> None:
    """Record items whose sentences have got their codes as done, and the one that is shown as begun."""
    with store.writing() as w:
        for id in done:
            w.tasks.start(id)
            w.tasks.finish(id)
        if begun is not None:
            w.tasks.start(begun)


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
    found = []
    for person in people:
        own = [item for item in items if item.person == person]
        done = [(item, item.done) for item in own if item.done is not None]
        times = [(item, end - item.opened) for item, end in done if item.opened is not None]
        rates = [t.total_seconds() / item.sentences for item, t in times if timedelta(0) < t <= _IDLE]
        sentences = sum(item.sentences for item in own), sum(item.sentences for item, _ in done)
        last = max((end for _, end in done), default=None)
        found.append(TaskProgress(person, len(own), len(done), *sentences, median(rates) if rates else None, last))
    return found


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


# Making a task: articles are cut into items, which are distributed to people

START_NOTHING, START_SECTIONS, START_CLUSTERS, START_LABELLING, START_RUN = (
    "nothing",
    "sections",
    "clusters",
    "labelling",
    "run",
)
"""What people begin with: unassigned sentences; sections; the clusters and the codebook of a labelling, without its
sentences; a labelling; found themes."""


@dataclass(frozen=True, slots=True)
class TaskForm:
    """What is entered to make a task."""

    corpus_id: int
    name: str
    person: str
    """Who makes it."""
    articles: tuple[int, ...]
    plan: DistributionPlan
    longest: int = 0
    """Maximum number of sentences of an item; longer articles are cut into equal parts. 0: whole articles."""
    due: datetime | None = None
    instructions: str = ""
    blind: bool = False
    start: str = START_NOTHING
    start_id: int | None = None
    """Labelling or theme analysis that people begin with."""
    gold_id: int | None = None
    gold_share: float = 0.1
    """Share of the items with gold labels that everybody gets."""
    tell: bool = False
    """Whether people see how their labels of gold items compare."""
    sample: SampleForm | None = None
    """Sample of the project that is distributed in place of ``articles``."""


def make(store: Store, form: TaskForm) -> TaskRecord:
    """Make a task and distribute its items; raise :class:`DataError` if the plan cannot be met.

    Requires the admin role.
    """
    with store.reading() as r:
        sample: DrawnSample | None = None
        if form.sample is None:
            ranges = _ranges_of_articles(r, form.articles, form.longest)
        else:
            sample, ranges = drawn(r, form.corpus_id, form.name, form.sample, form.plan.seed)
            if sample.whole_articles:
                ranges = _ranges_of_articles(r, [article for article, _, _ in ranges], form.longest)
        total = sum(last - first + 1 for _, first, last in ranges)
        if total > starts.MOST_SENTENCES:
            raise DataError(
                f"The articles have {total:,} sentences; the maximum of a task is {starts.MOST_SENTENCES:,}. "
                "Choose fewer articles."
            )
        gold = _gold_items(r, form, ranges)
        uncertainty = _uncertainty(r, form, ranges)
    lists = distribute(len(ranges), form.plan, uncertainty, gold)
    items = [
        NewItem(*ranges[item], person, Reason.GOLD if item in gold else Reason.DISTRIBUTION)
        for person, own in zip(form.plan.people, lists, strict=True)
        for item in own
    ]
    plan = form.plan
    quotas = {person: (plan.quotas or {}).get(person) for person in plan.people}
    settings: dict[str, Any] = {} if sample is None else {SAMPLE: sample.to_json()}
    settings |= {"share": plan.share, "several": plan.several, "order": plan.order.value, "seed": plan.seed}
    settings |= {name: getattr(form, name) for name in ("longest", "start", "start_id", "gold_share", "tell")}
    about = form.due, form.instructions, form.blind, settings, form.gold_id
    new = NewTask(form.corpus_id, form.name, form.person, *about)
    with store.writing() as w:
        return w.tasks.create(new, quotas, items)


def _ranges_of_articles(r: Unit, ids: Sequence[int], longest: int) -> list[Range]:
    """Return the items of articles, each with at most ``longest`` sentences (0: any number)."""
    known, found = r.corpora.articles_by_id(ids), list[Range]()
    for article in (known[id] for id in ids if id in known and known[id].sentences):
        parts = -(-article.sentences // longest) if longest else 1
        ends = np.linspace(0, article.sentences, parts + 1).round().astype(int).tolist()
        found += [(article.id, first, last - 1) for first, last in pairwise(ends)]
    return found


def _gold_items(r: Unit, form: TaskForm, ranges: Sequence[Range]) -> list[int]:
    """Return the items that everybody gets because their labels are known."""
    if form.gold_id is None:
        return []
    sentences = r.corpora.sentences_by_id(gold_labels(r, form.gold_id))
    known = {(s.article_id, s.position) for s in sentences.values()}
    with_gold = [place for place, one in enumerate(ranges) if not known.isdisjoint(places_of([one]))]
    if not with_gold:
        raise DataError(
            "None of the articles has sentences with gold labels. Choose other articles or other gold labels."
        )
    number = max(round(form.gold_share * len(with_gold)), 1)
    drawn = np.random.default_rng(form.plan.seed).permutation(len(with_gold))[:number]
    return sorted(with_gold[place] for place in drawn.tolist())


def _uncertainty(r: Unit, form: TaskForm, ranges: Sequence[Range]) -> np.ndarray | None:
    """Return the mean uncertainty of the sentences of each item by the theme analysis that people begin with."""
    if form.plan.order is not Order.UNCERTAIN or form.start != START_RUN or form.start_id is None:
        return None
    ids, margins = r.runs.margins(form.start_id, Split.TEST)
    known = dict(zip(ids.tolist(), margins.tolist(), strict=True))
    sentences = r.corpora.sentences_of({article for article, _, _ in ranges})
    means = []
    for article, first, last in ranges:
        own = [known[s.id] for s in sentences[article][first : last + 1] if s.id in known]
        means.append(-float(np.mean(own)) if own else -np.inf)
    return np.array(means)


def begin_labelling(store: Store, task_id: int, person: str) -> int:
    """Return the id of the person's labelling of a task, which is made when the person begins.

    Raises :class:`DataError` if the person is not a member, or if the labelling or what people begin with was deleted,
    and :class:`StoreError` if the task was closed before the person began.
    """
    with store.reading() as r:
        task = r.tasks.get(task_id)
        member = next((member for member in r.tasks.members(task_id) if member.person == person), None)
        if member is None:
            raise DataError("You are not a member of this task. Ask its maker to add you.")
        if member.labelling_id is not None:
            record = r.labellings.get(member.labelling_id)
            if record.deleted is not None:
                raise DataError(f"The coding {record.name!r} of this task was deleted. Restore it on the page Code.")
            return record.id
        if task.closed is not None:
            raise StoreError(f"The task {task.name!r} is closed. Its maker or an admin can open it again.")
        sentences = r.corpora.sentences_at(sorted(places_of(item.range for item in r.tasks.items(task_id))))
    articles = {sentence.article_id for sentence in sentences}
    only = min(articles) if len(articles) == 1 and SAMPLE not in task.settings else None
    try:
        partition, origin, labels = _initial(store, task, sentences)
    except UnknownNameError:
        problem = f"What people begin with in the task {task.name!r} was deleted. Ask its maker to make it again."
        raise DataError(problem) from None
    name = f"{task.name} · {person or 'me'}"
    with store.writing() as w:
        new = NewLabelling(
            task.corpus_id, w.labellings.usable_name(name), person, blind=task.blind, article_id=only, origin=origin
        )
        made = w.labellings.create(new, partition, labels)
        w.tasks.set_labelling(task_id, person, made.id)
    return made.id


def _initial(store: Store, task: TaskRecord, sentences: Sequence[Sentence]) -> starts.Beginning:
    """Return what people begin with, restricted to the sentences of the task."""
    kind, id = str(task.settings["start"]), task.settings.get("start_id")
    with store.reading() as r, r.seeing_all():  # the maker chose it for people from whom it is hidden
        ids = np.array([sentence.id for sentence in sentences], dtype=np.int64)
        origin = {"from": kind, "task": task.name}
        if SAMPLE in task.settings:
            origin[SAMPLE] = task.settings[SAMPLE]
        if kind == START_SECTIONS:
            return starts.Beginning(starts.by_sections(r, sentences), origin)
        if kind == START_RUN and id is not None:
            return starts.Beginning(starts.by_themes(r, int(id), sentences), origin | run_origin(r, int(id)))
        if kind in (START_CLUSTERS, START_LABELLING) and id is not None:
            state = r.labellings.snapshot(int(id)).partition
            source = r.labellings.get(int(id))
            origin["name"] = source.name
            hidden = gold_labels(r, int(id)) if task.gold_id == id else {}  # which begin unassigned
            numbers = starts.labels_on(state, ids).astype(np.int64)
            numbers[np.isin(ids, [*hidden]) | (kind == START_CLUSTERS)] = UNASSIGNED
            first = start(ids, numbers, state.clusters.values())
            first = replace(first, entries=entries.entries_with(state, {*ids.tolist()}))
            return starts.Beginning(first, origin, joint_provenance(r, [source], first.ids))
    return starts.Beginning(start(ids), origin)
