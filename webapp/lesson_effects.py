"""What a labelling taught: the triplet sets made of it, and the networks that went on with them."""

from __future__ import annotations

from collections.abc import Sequence

from core.embedders import REGISTRY
from core.labelling.records import LabellingRecord
from core.records import ModelRecord, TripletSetRecord
from core.types import Split
from jobs.vectors import built_on
from webapp import queries
from webapp.components.triplet_sets import split_count

GOES_ON = "goes-on"
"""Tag of methods whose models another training can go on from."""


def taught_by(record: LabellingRecord, sets: Sequence[TripletSetRecord]) -> list[TripletSetRecord]:
    """The sets of which a labelling taught at least a part, the newest first."""
    return [s for s in sets if s.config.get("from") == "labels" and record.name in s.config.get("labellings", {})][::-1]


def measuring(corpus_id: int, sets: Sequence[TripletSetRecord]) -> list[TripletSetRecord]:
    """Sets of sentences by which a training can stop, and on whose test triplets it can be measured.

    Those of the corpus come first; others do as well, since the split of an article depends on its title alone.
    """
    splits = (Split.VALIDATION, Split.TEST)
    able = [s for s in sets if s.kind == "sentences" and all(split_count(s, p) for p in splits)]
    return sorted(able, key=lambda s: s.corpus_id != corpus_id)


def beginnings() -> list[ModelRecord]:
    """Networks to go on from, the newest first."""
    return [m for m in queries.models() if m.method in REGISTRY and GOES_ON in REGISTRY.get(m.method).tags][::-1]


def learners(taught: TripletSetRecord) -> list[tuple[ModelRecord, ModelRecord]]:
    """(before, after) of every network that went on with a taught set and whose beginning is still there."""
    after = [m for m in queries.models() if m.triplet_set_id == taught.id]
    return [(before, m) for m in after[::-1] for before in built_on(queries.store(), m)]
