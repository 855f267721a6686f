"""What a labelling taught: the triplet sets made of it, and the networks that went on with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.labelling.learning import nearer_shares
from core.metrics.statistics.paired_tests import PairedTest, paired_test
from core.models import REGISTRY
from core.types import Split
from db.label_records import LabellingRecord
from db.records import ModelRecord, TripletSetRecord
from jobs.common.vectors import built_on
from jobs.kinds import learn_labels
from jobs.services.labelling.vectors import MOST, models_for, vectors_of
from webapp.shared import queries
from webapp.shared.triplet_sets import split_count

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


@dataclass(frozen=True, slots=True)
class Rest:
    """Two models on the sentences of a labelling that nobody placed, by the sections that these stand in."""

    before: float
    after: float
    """Mean shares of pairs in which a sentence of the same section is nearer than one of another section."""
    test: PairedTest
    """Of after - before, over sentences."""


def on_the_rest(record: LabellingRecord, before: ModelRecord, after: ModelRecord) -> Rest | None:
    """What changed for the sentences that nobody placed; None where there are too few, or too many, of them.

    Raises ``LookupError`` where one of the models has no vectors of them yet.
    """
    store = queries.store()
    (placed,) = learn_labels.lessons(store, (record.name,)).placed
    ids = np.setdiff1d(placed.partition.ids, placed.ids)
    if not 1 < len(ids) <= MOST:
        return None
    with store.reading() as r:
        known = r.corpora.sentences_by_id(ids)
    articles, sections = (np.array([getattr(known[int(i)], n) for i in ids]) for n in ("article_id", "section"))
    able = {m.id for m in models_for(store, record.corpus_id, set(articles.tolist()))}
    if not {before.id, after.id} <= able:
        raise LookupError(record.name)
    shares = [nearer_shares(vectors_of(store, m.id, ids), articles, sections) for m in (before, after)]
    usable = ~np.isnan(shares[0])
    if usable.sum() < 2:
        return None
    first, second = (s[usable] for s in shares)
    return Rest(float(first.mean()), float(second.mean()), paired_test(second, first))


def learners(taught: TripletSetRecord) -> list[tuple[ModelRecord, ModelRecord]]:
    """(before, after) of every network that went on with a taught set and whose beginning is still there."""
    after = [m for m in queries.models() if m.triplet_set_id == taught.id]
    return [(before, m) for m in after[::-1] for before in built_on(queries.store(), m)]
