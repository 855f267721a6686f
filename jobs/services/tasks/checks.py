"""Checks of the people of a task by its gold items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from themescope.core.labelling.partition import Partition
from themescope.core.labelling.task_items import items_of, share_right
from themescope.core.metrics.partition import match_clusters
from themescope.core.types import Estimate, Ids, Labels
from themescope.db.records import ItemRecord, TaskRecord
from themescope.db.store import Store, Unit
from themescope.jobs.services.labelling.agreement import coded_text, gold_on


@dataclass(frozen=True, slots=True, eq=False)
class JudgedItems:
    """What the people of a task have judged so far; row i of every array is sentence ``ids[i]``."""

    task: TaskRecord
    people: tuple[str, ...]
    """Those who have a labelling."""
    ids: Ids
    articles: Ids
    positions: Ids
    labels: tuple[Labels, ...]
    """(n,) cluster numbers of each person; -1 for sentences that the person has not judged."""
    gold: Labels
    """(n,) right clusters by the gold labelling; -1 where there is none."""
    partitions: tuple[Partition, ...]
    gold_names: Mapping[int, str]


def judged(r: Unit, task: TaskRecord) -> JudgedItems:
    """Return the labels of all people of a task, of the sentences that they placed or have marked as done."""
    members = [(m.person, m.labelling_id) for m in r.tasks.members(task.id) if m.labelling_id is not None]
    # The labellings have the sentences of the items; articles can have many more, of which a sample was drawn.
    text = coded_text(r, [r.labellings.get(labelling) for _, labelling in members], None if members else ())
    gold, names = gold_on(r, task.gold_id, text.ids)
    positions = np.array([s.position for s in text.sentences], dtype=np.int64)
    labels, partitions = tuple(c.judged for c in text.coders), tuple(c.state for c in text.coders)
    people = tuple(person for person, _ in members)
    return JudgedItems(task, people, text.ids, text.articles, positions, labels, gold, partitions, names)


# --- gold items ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """Checks of one person."""

    person: str
    gold: Estimate | None
    """Share of right labels of gold sentences with its interval; None without any."""


def checks(store: Store, task_id: int) -> list[TaskCheck]:
    """Return the checks of every person who has begun."""
    with store.reading() as r, r.seeing_all():
        found = judged(r, r.tasks.get(task_id))
    right = (right_of(found, place) for place in range(len(found.people)))
    shares = (share_right([bool(x) for x in own[own >= 0]]) for own in right)
    return [TaskCheck(person, share) for person, share in zip(found.people, shares, strict=True)]


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """What a person said about a gold sentence, beside the right cluster."""

    sentence: int
    given: str
    right: str
    correct: bool
    explanation: str
    """Why it belongs there."""


def gold_answers(store: Store, task_id: int, person: str) -> list[GoldAnswer]:
    """Return the answers of a person to the gold sentences of the items that they have done, if the task tells them."""
    with store.reading() as r, r.seeing_all():
        task = r.tasks.get(task_id)
        if task.gold_id is None or not task.settings.get("tell"):
            return []
        found, items = judged(r, task), r.tasks.items(task_id)
        chosen = items_of(r.labellings.entries(task.gold_id), r.labellings.clusters(task.gold_id))
    if person not in found.people:
        return []
    place, why = found.people.index(person), {item.sentence: item.explanation for item in chosen}
    right, names = right_of(found, place), found.partitions[place].clusters
    done = [_rows(found, item) for _, item in _finished(items, person)]
    return (
        [
            GoldAnswer(
                int(found.ids[row]),
                names[int(found.labels[place][row])].name,
                found.gold_names[int(found.gold[row])],
                bool(right[row]),
                why.get(int(found.ids[row]), ""),
            )
            for row in np.unique(np.concatenate(done)).tolist()
            if right[row] >= 0
        ]
        if done
        else []
    )


def right_of(found: JudgedItems, place: int) -> Labels:
    """Return (n,) 1 where a person's label is the gold one, 0 where it is another, -1 where one is missing.

    Clusters with the name of a gold cluster are that cluster. If no name is the same, clusters are matched one-to-one.
    """
    labels, names = found.labels[place], {c.number: c.name for c in found.partitions[place].clusters.values()}
    both = (labels >= 0) & (found.gold >= 0)
    result = np.full(len(labels), -1, dtype=np.int32)
    if not both.any():
        return result
    number_of = {name: number for number, name in found.gold_names.items()}
    if number_of.keys() & {*names.values()}:
        mapped = np.array([number_of.get(names.get(int(n), ""), -2) for n in labels[both]], dtype=np.int32)
    else:
        mapped = match_clusters(found.gold[both], labels[both]).aligned
    result[both] = mapped == found.gold[both]
    return result


def _rows(found: JudgedItems, item: ItemRecord) -> np.ndarray:
    inside = (found.positions >= item.first) & (found.positions <= item.last)
    return np.flatnonzero((found.articles == item.article_id) & inside)


def _finished(items: Sequence[ItemRecord], person: str) -> list[tuple[datetime, ItemRecord]]:
    done = [(item.done, item) for item in items if item.person == person and item.done is not None]
    return sorted(done, key=lambda pair: pair[0])
