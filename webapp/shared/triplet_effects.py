"""What leaving out reviewed triplets, or learning from labels, changed: two models on the same test triplets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import streamlit as st

from core.metrics.statistics.paired_tests import PairedTest, paired_test
from core.metrics.triplets import correctness
from core.models import REGISTRY
from core.types import Ids, Split
from db.records import ModelRecord, TripletSetRecord
from jobs.kinds.clean_triplets import ORIGIN
from webapp.shared import queries, triplet_queries
from webapp.shared.triplet_queries import Evaluation, Margins


@dataclass(frozen=True, slots=True)
class Measured:
    """Both models on the test triplets of the set that was reviewed, which stayed as it was."""

    before: Evaluation
    after: Evaluation
    accuracy_before: float
    accuracy_after: float
    test: PairedTest
    """Of after - before."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A model before and after: trained again without the bad triplets, or further with triplets from labels."""

    before: ModelRecord
    after: ModelRecord
    measured: Measured | None
    """None until both were evaluated."""


def cleaned(source: TripletSetRecord, sets: Sequence[TripletSetRecord]) -> list[TripletSetRecord]:
    """The sets that were made from ``source`` by leaving triplets out, the newest first."""
    found = [s for s in sets if s.corpus_id == source.corpus_id and s.config.get(ORIGIN, {}).get("from") == source.name]
    return [s for s in found if s.config[ORIGIN]["from_digest"] == source.digest][::-1]


def repeatable(source: TripletSetRecord) -> list[ModelRecord]:
    """Models that learned from the triplets of a set, the newest first."""
    return [
        m
        for m in queries.models()
        if m.triplet_set_id == source.id and m.method in REGISTRY and "needs-triplets" in REGISTRY.get(m.method).tags
    ][::-1]


def effects(source: TripletSetRecord, without: TripletSetRecord) -> list[Effect]:
    """Every model that was repeated on the set ``without`` some triplets, beside what it was before."""
    before = {_recipe(m): m for m in reversed(repeatable(source))}
    twins = [(before[_recipe(after)], after) for after in repeatable(without) if _recipe(after) in before]
    return [effect(source, twin, after) for twin, after in twins]


def effect(source: TripletSetRecord, before: ModelRecord, after: ModelRecord) -> Effect:
    """Two models on the test triplets of a set, where both were evaluated on them."""
    on_test = {e.model.id: e for e in triplet_queries.evaluations(source) if e.split is Split.TEST}
    known = on_test.get(before.id), on_test.get(after.id)
    return Effect(before, after, _measured(source, known[0], known[1]) if all(known) else None)


def _recipe(model: ModelRecord) -> tuple[str, str, int]:
    return model.method, repr(sorted(model.config.items())), model.seed


def _measured(source: TripletSetRecord, before: Evaluation | None, after: Evaluation | None) -> Measured:
    assert before is not None and after is not None  # the caller looked
    a, b, articles = triplet_queries.on_same_triplets(after, before, source)
    runs = (after.run.id, after.run.created), (before.run.id, before.run.created)
    means = float(correctness(b).mean()), float(correctness(a).mean())
    return Measured(before, after, *means, _tested(*runs, a, b, articles))


@st.cache_data(show_spinner="Comparing the two models …", max_entries=32)
def _tested(
    after: tuple[int, datetime], before: tuple[int, datetime], _a: Margins, _b: Margins, _articles: Ids
) -> PairedTest:
    return paired_test(correctness(_a), correctness(_b), _articles)


def of_split(source: TripletSetRecord, triplets: Ids) -> dict[Split, int]:
    """How many of some triplets are in each split."""
    return {split: int(np.isin(triplets, triplet_queries.ids(source, split)).sum()) for split in Split}
