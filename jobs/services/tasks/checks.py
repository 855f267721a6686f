"""Checks of the people of a task: gold items, and agreement with the others over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from themescope.core.labelling.partition import Partition
from themescope.core.labelling.task_items import Drift, drifts, items_of, share_right
from themescope.core.metrics.partition import match_clusters
from themescope.core.types import Estimate, Ids, Labels
from themescope.db.records import ItemRecord, TaskRecord
from themescope.db.store import Store, Unit
from themescope.jobs.services.labelling.agreement import coded_text, gold_on
from themescope.jobs.services.tasks import work

MOST_PAIRED = 1_000
"""Maximum number of sentences of an item whose pairs are compared; memory grows with its square."""


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

    @property
    def raters(self) -> tuple[list[Labels], list[int]]:
        """Return the labels of the people and, if there are any, the gold labels, with the place of these."""
        if (self.gold < 0).all():
            return [*self.labels], []
        return [*self.labels, self.gold], [len(self.labels)]


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


# --- gold items and drift ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """Checks of one person."""

    person: str
    gold: Estimate | None
    """Share of right labels of gold sentences with its interval; None without any."""
    gold_items: tuple[tuple[datetime, float], ...]
    """When each gold item was done, and its share of right labels."""
    gold_drift: Drift
    consensus_items: tuple[tuple[datetime, float], ...]
    """When each item with other people's labels was done, and the probability that these judgements are right."""
    consensus_drift: Drift


def checks(store: Store, task_id: int) -> list[TaskCheck]:
    """Return the checks of every person who has begun; the drift tests of all people are corrected together."""
    with store.reading() as r, r.seeing_all():
        task = r.tasks.get(task_id)
        found, items = judged(r, task), work.items_of(r, task_id)
    right = {person: right_of(found, place) for place, person in enumerate(found.people)}
    gold = {p: _gold_series(found, items, p, right[p]) for p in found.people}
    agreed = _consensus_series(found, items)
    scores = {("gold", p): [score for _, score in gold[p]] for p in found.people}
    scores |= {("consensus", p): [score for _, score in agreed[p]] for p in found.people}
    tests = drifts({f"{kind} {person}": series for (kind, person), series in scores.items()})
    return [
        TaskCheck(
            p, share_right([bool(x) for x in right[p][right[p] >= 0]]), tuple(gold[p]), tests[f"gold {p}"],
            tuple(agreed[p]), tests[f"consensus {p}"],
        )
        for p in found.people
    ]  # fmt: skip


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


def _drawn(rows: Ids) -> Ids:
    """Return the rows of the sentences of an item whose pairs are compared, all or a random sample, ascending."""
    if len(rows) <= MOST_PAIRED:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MOST_PAIRED, replace=False))


def _finished(items: Sequence[ItemRecord], person: str) -> list[tuple[datetime, ItemRecord]]:
    done = [(item.done, item) for item in items if item.person == person and item.done is not None]
    return sorted(done, key=lambda pair: pair[0])


def _gold_series(
    found: JudgedItems, items: Sequence[ItemRecord], person: str, right: Labels
) -> list[tuple[datetime, float]]:
    series = []
    for when, item in _finished(items, person):
        own = right[_rows(found, item)]
        if (own >= 0).any():
            series.append((when, float(own[own >= 0].mean())))
    return series


def _consensus_series(found: JudgedItems, items: Sequence[ItemRecord]) -> dict[str, list[tuple[datetime, float]]]:
    """Return, for each done item, the mean probability that a person's judgements of its pairs are right by others."""
    from themescope.core.labelling.consensus import co_assignment, fit

    series: dict[str, list[tuple[datetime, float]]] = {person: [] for person in found.people}
    raters, gold = found.raters
    if len(found.people) < 2:
        return series
    model = fit(raters, found.articles, gold)
    for place, person in enumerate(found.people):
        for when, item in _finished(items, person):
            rows = _rows(found, item)
            others = [np.full(len(rows), -1, np.int32) if p == place else x[rows] for p, x in enumerate(raters)]
            seen = np.any([x >= 0 for x in others], axis=0) & (raters[place][rows] >= 0)
            if seen.sum() < 2 or model.undefined:
                continue
            kept = _drawn(np.flatnonzero(seen))
            own, others = raters[place][rows][kept], [x[kept] for x in others]
            i, j = np.triu_indices(len(own), 1)
            p = co_assignment(model, others).pairs(i, j)
            series[person].append((when, float(np.where(own[i] == own[j], p, 1 - p).mean())))
    return series
