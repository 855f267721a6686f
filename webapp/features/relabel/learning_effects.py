"""Models fine-tuned on the labels of a labelling, and how they differ from the models they started from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.labelling.learning import nearer_shares
from core.metrics.statistics.paired_tests import PairedTest, paired_test
from core.types import Split
from db.label_records import LabellingRecord
from db.records import ModelRecord, TripletSetRecord
from jobs.common.vectors import built_on
from jobs.kinds import learn_labels
from jobs.services.labelling.vectors import MOST, models_for, vectors_of
from webapp.shared import queries
from webapp.shared.triplet_queries import split_count


def sets_from_labels(record: LabellingRecord, sets: Sequence[TripletSetRecord]) -> list[TripletSetRecord]:
    """Return the triplet sets made from a labelling, alone or with others, newest first."""
    return [s for s in sets if s.config.get("from") == "labels" and record.name in s.config.get("labellings", {})][::-1]


def evaluation_sets(corpus_id: int, sets: Sequence[TripletSetRecord]) -> list[TripletSetRecord]:
    """Return the sets of sentences with validation and test triplets, those of the corpus first.

    Sets of other corpora are safe too, because the split of an article depends on its title alone.
    """
    splits = (Split.VALIDATION, Split.TEST)
    usable = [s for s in sets if s.kind == "sentences" and all(split_count(s, p) for p in splits)]
    return sorted(usable, key=lambda s: s.corpus_id != corpus_id)


@dataclass(frozen=True, slots=True)
class UnplacedEffect:
    """Two models on the sentences that nobody placed, judged by the sections of these sentences."""

    before: float
    after: float
    """Mean shares of pairs in which a sentence of the same section is nearer than one of another section."""
    test: PairedTest
    """Of after - before, over sentences."""


def effect_on_unplaced(record: LabellingRecord, before: ModelRecord, after: ModelRecord) -> UnplacedEffect | None:
    """Compare two models on the sentences that nobody placed; None where these are too few or too many.

    Raises
    ------
    LookupError
        If one of the models has no vectors of the sentences yet.
    """
    store = queries.store()
    (placed,) = learn_labels.lessons(store, (record.name,)).placed
    ids = np.setdiff1d(placed.partition.ids, placed.ids)
    if not 1 < len(ids) <= MOST:
        return None
    with store.reading() as r:
        known = r.corpora.sentences_by_id(ids)
    articles, sections = (np.array([getattr(known[int(i)], n) for i in ids]) for n in ("article_id", "section"))
    with_vectors = {m.id for m in models_for(store, record.corpus_id, set(articles.tolist()))}
    if not {before.id, after.id} <= with_vectors:
        raise LookupError(record.name)
    shares = [nearer_shares(vectors_of(store, m.id, ids), articles, sections) for m in (before, after)]
    usable = ~np.isnan(shares[0])
    if usable.sum() < 2:
        return None
    first, second = (s[usable] for s in shares)
    return UnplacedEffect(float(first.mean()), float(second.mean()), paired_test(second, first))


def fine_tuned_models(triplets: TripletSetRecord) -> list[tuple[ModelRecord, ModelRecord]]:
    """Return (base model, fine-tuned model) of every model trained on a set whose base model still exists."""
    after = [m for m in queries.models() if m.triplet_set_id == triplets.id]
    return [(before, m) for m in after[::-1] for before in built_on(queries.store(), m)]
