"""Making a task: articles are cut into items, which are distributed to people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from themescope.core.errors import DataError, StoreError, UnknownNameError
from themescope.core.labelling.codebook import entries
from themescope.core.labelling.partition import UNASSIGNED, Partition, start
from themescope.core.labelling.task_items import DistributionPlan, Order, distribute
from themescope.core.records.stored import ArticleRecord
from themescope.core.types import Ids, Sentence, Split
from themescope.db.label_records import NewItem, NewLabelling, NewTask, Reason, TaskRecord
from themescope.db.store import Store, Unit
from themescope.jobs.common.labelled import gold_labels, joint_provenance, run_origin
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.tasks.samples import SAMPLE, DrawnSample, Range, SampleForm, drawn, places_of

START_NOTHING, START_SECTIONS, START_CLUSTERS, START_LABELLING, START_RUN = (
    "nothing", "sections", "clusters", "labelling", "run",
)  # fmt: skip
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
    quotas = {person: (form.plan.quotas or {}).get(person) for person in form.plan.people}
    new = NewTask(
        form.corpus_id, form.name, form.person, form.due, form.instructions, form.blind, _settings(form, sample),
        form.gold_id,
    )  # fmt: skip
    with store.writing() as w:
        return w.tasks.create(new, quotas, items)


def _settings(form: TaskForm, sample: DrawnSample | None) -> Mapping[str, Any]:
    plan = form.plan
    drawn = {} if sample is None else {SAMPLE: sample.to_json()}
    return drawn | {
        "share": plan.share, "several": plan.several, "order": plan.order.value, "seed": plan.seed,
        "longest": form.longest, "start": form.start, "start_id": form.start_id, "gold_share": form.gold_share,
        "tell": form.tell,
    }  # fmt: skip


def _ranges_of_articles(r: Unit, ids: Sequence[int], longest: int) -> list[Range]:
    articles = r.corpora.articles_by_id(ids)
    return ranges_of([articles[id] for id in ids if id in articles], longest)


def ranges_of(articles: Sequence[ArticleRecord], longest: int) -> list[Range]:
    """Return the items of articles, each with at most ``longest`` sentences (0: any number)."""
    found: list[Range] = []
    for article in articles:
        if not article.sentences:
            continue
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
    with_gold = [
        place
        for place, (article, first, last) in enumerate(ranges)
        if any((article, position) in known for position in range(first, last + 1))
    ]
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


# --- the labelling of a person ----------------------------------------------------------------------------------------


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
            hidden = gold_labels(r, int(id)) if task.gold_id == id else {}
            first = _of_labelling(state, ids, kind == START_LABELLING, [*hidden])
            return starts.Beginning(first, origin, joint_provenance(r, [source], first.ids))
    return starts.Beginning(start(ids), origin)


def _of_labelling(state: Partition, ids: Ids, assigned: bool, hidden: Sequence[int]) -> Partition:
    """Return the clusters and the codebook of a labelling for other sentences; ``hidden`` ones begin unassigned."""
    numbers = starts.labels_on(state, ids).astype(np.int64)
    numbers[np.isin(ids, hidden) | (not assigned)] = UNASSIGNED
    found = start(ids, numbers, state.clusters.values())
    return replace(found, entries=entries.entries_with(state, {*ids.tolist()}))


def sentences_of_item(r: Unit, range_of: Range) -> list[Sentence]:
    """Return the sentences of an item in reading order."""
    return r.corpora.sentences_at(places_of([range_of]))
