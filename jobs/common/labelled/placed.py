"""Which sentences of a labelling people judged, as opposed to those that it began with and nobody looked at."""

from __future__ import annotations

import numpy as np

from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.types import Ids
from themescope.db.label_records import LabellingRecord
from themescope.db.store import Unit

_BY_PEOPLE = "table"
"""Origin of a labelling whose initial clusters are labels that somebody imported."""


def placed_sentences(r: Unit, record: LabellingRecord, partition: Partition) -> Ids:
    """Return the ascending ids of the assigned sentences that people placed; all of those imported from a table.

    Of a labelling for a task, the assigned sentences of the items that are done count, too: their place was approved.
    """
    from themescope.core.labelling.learning import moved_by_people

    assigned = partition.ids[partition.numbers != UNASSIGNED]
    if record.origin.get("from") == _BY_PEOPLE:
        return assigned
    moved = moved_by_people(r.label_steps.since(record.id, 0))
    found: Ids = np.intersect1d(assigned, np.union1d(moved, _done(r, record)), assume_unique=True)
    return found


def _done(r: Unit, record: LabellingRecord) -> Ids:
    """Return the ids of the sentences of the done items of the task that a labelling was made for."""
    known = r.tasks.of_labelling(record.id)
    if known is None:
        return np.empty(0, dtype=np.int64)
    task, person = known
    done = [item for item in r.tasks.items(task.id, person) if item.done is not None]
    sentences = r.corpora.sentences_of({item.article_id for item in done})
    inside = (s.id for item in done for s in sentences[item.article_id][item.first : item.last + 1])
    return np.unique(np.fromiter(inside, dtype=np.int64))


def gold_labels(r: Unit, labelling_id: int) -> dict[int, int]:
    """Return sentence → cluster of the gold sentences of a labelling: its training items, or all assigned ones."""
    from themescope.core.labelling.training import items_of

    items = items_of(r.labellings.entries(labelling_id), r.labellings.clusters(labelling_id))
    if items:
        return {item.sentence: item.cluster for item in items}
    state = r.labellings.snapshot(labelling_id).partition
    assigned = state.numbers != UNASSIGNED
    return dict(zip(state.ids[assigned].tolist(), state.numbers[assigned].tolist(), strict=True))
