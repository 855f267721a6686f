"""Sets made by excluding reviewed triplets, and the models that were trained again on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.models import REGISTRY
from core.types import Ids, Split
from db.records import ModelRecord, TripletSetRecord
from jobs.kinds.clean_triplets import ORIGIN
from webapp.shared import queries, triplet_queries
from webapp.shared.model_effects import Effect, effect


def cleaned_sets(source: TripletSetRecord, sets: Sequence[TripletSetRecord]) -> list[TripletSetRecord]:
    """Return the sets made from ``source`` by excluding triplets, newest first."""
    found = [s for s in sets if s.corpus_id == source.corpus_id and s.config.get(ORIGIN, {}).get("from") == source.name]
    return [s for s in found if s.config[ORIGIN]["from_digest"] == source.digest][::-1]


def models_trained_on(source: TripletSetRecord) -> list[ModelRecord]:
    """Return the models trained on the triplets of a set, newest first."""
    return [
        m
        for m in queries.models()
        if m.triplet_set_id == source.id and m.method in REGISTRY and "needs-triplets" in REGISTRY.get(m.method).tags
    ][::-1]


def cleaning_effects(source: TripletSetRecord, cleaned: TripletSetRecord) -> list[Effect]:
    """Compare every model trained on ``cleaned`` with the one trained with the same settings on ``source``."""
    before = {_settings(m): m for m in reversed(models_trained_on(source))}
    pairs = [(before[_settings(m)], m) for m in models_trained_on(cleaned) if _settings(m) in before]
    return [effect(source, first, second) for first, second in pairs]


def _settings(model: ModelRecord) -> tuple[str, str, int]:
    return model.method, repr(sorted(model.config.items())), model.seed


def split_counts(source: TripletSetRecord, triplets: Ids) -> dict[Split, int]:
    """Return how many of some triplets are in each split."""
    return {split: int(np.isin(triplets, triplet_queries.ids(source, split)).sum()) for split in Split}
