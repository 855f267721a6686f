"""Which sentences of a labelling people placed, as opposed to those that it began with and nobody touched."""

from __future__ import annotations

import numpy as np

from core.labelling.partition import UNASSIGNED, Partition
from core.types import Ids
from db.label_records import LabellingRecord
from db.store import Unit

_BY_PEOPLE = "table"
"""Origin of a labelling whose initial clusters are labels that somebody imported."""


def placed_sentences(r: Unit, record: LabellingRecord, partition: Partition) -> Ids:
    """Return the ascending ids of the assigned sentences that people placed; all of those imported from a table."""
    from core.labelling.learning import moved_by_people

    assigned = partition.ids[partition.numbers != UNASSIGNED]
    if record.origin.get("from") == _BY_PEOPLE:
        return assigned
    found: Ids = np.intersect1d(assigned, moved_by_people(r.label_steps.since(record.id, 0)), assume_unique=True)
    return found
