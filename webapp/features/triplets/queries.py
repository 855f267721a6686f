"""Queries of the Triplets page: margins by triplet, section titles, cards, reviews, attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from themescope.core.metrics.triplet_analysis import SectionPairs, section_pairs
from themescope.core.models import REGISTRY
from themescope.core.records.stored import ModelRecord
from themescope.core.types import Ids, Split
from themescope.db.records import (
    TripletCard,
    TripletMeasures,
    TripletReview,
    TripletSections,
    TripletSetRecord,
    Verdict,
)
from themescope.jobs.services import search
from themescope.webapp.shared import queries
from themescope.webapp.shared.results.triplet_queries import Evaluation, Margins, margins, splits_of

if TYPE_CHECKING:
    from themescope.core.models.triplet_network.word_attention import TripletAttention


@dataclass(frozen=True, slots=True)
class EvaluatedModel:
    """A model with its evaluations on a set, at most one per split."""

    name: str
    evaluations: tuple[Evaluation, ...]


def evaluated_models(found: Sequence[Evaluation]) -> list[EvaluatedModel]:
    """Return the models of some evaluations, each once, in alphabetical order."""
    by_name: dict[str, list[Evaluation]] = {}
    for evaluation in found:
        by_name.setdefault(evaluation.model_name, []).append(evaluation)
    return [EvaluatedModel(name, tuple(by_name[name])) for name in sorted(by_name, key=str.casefold)]


def margins_at(model: EvaluatedModel, ids: Ids) -> Margins:
    """Return (n,) margins of the triplets ``ids`` of any split; NaN where the model was not evaluated."""
    found = np.full(len(ids), np.nan, np.float32)
    for evaluation in model.evaluations:
        known, values = margins(evaluation)
        if len(known):
            at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
            hit = known[at] == ids
            found[hit] = values[at[hit]]
    return found


@st.cache_resource(show_spinner="Reading section titles …", max_entries=8)
def _sections(set_id: int, split: Split, created: datetime) -> TripletSections:
    return queries.read(lambda r: r.triplets.sections(set_id, split))


def sections(chosen: TripletSetRecord, split: Split | None) -> TripletSections:
    """Return the section titles of the triplets of a split (None: of all splits), in the order of ``rows``."""
    parts = [_sections(chosen.id, one, chosen.created) for one in splits_of(split)]
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.titles) for part in parts)]).astype(np.int32)
    return TripletSections(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.articles for part in parts]),
        np.concatenate([part.own + start for part, start in zip(parts, starts, strict=False)]),
        np.concatenate([part.other + start for part, start in zip(parts, starts, strict=False)]),
        [title for part in parts for title in part.titles],
    )


@st.cache_resource(show_spinner="Measuring sentences …", max_entries=4)
def _measures(set_id: int, split: Split, created: datetime) -> TripletMeasures:
    return queries.read(lambda r: r.triplets.measures(set_id, split))


def measures(chosen: TripletSetRecord, split: Split) -> TripletMeasures:
    """Return lengths and paragraph distances of the sentences of the triplets of a split."""
    return _measures(chosen.id, split, chosen.created)


@st.cache_resource(show_spinner="Counting section pairs …", max_entries=8)
def _section_pairs(run_id: int, created: datetime, _evaluation: Evaluation, _set: TripletSetRecord) -> SectionPairs:
    known = sections(_set, _evaluation.split)
    ids, values = margins(_evaluation)
    _, at, row = np.intersect1d(ids, known.ids, assume_unique=True, return_indices=True)
    return section_pairs(known.own[row], known.other[row], known.titles, values[at], known.articles[row])


def pairs_of(evaluation: Evaluation, chosen: TripletSetRecord) -> SectionPairs:
    """Return the accuracy by pair of section titles of an evaluation on a set."""
    return _section_pairs(evaluation.run.id, evaluation.run.created, evaluation, chosen)


@st.cache_data(show_spinner=False, max_entries=256)
def _cards(set_id: int, triplet_ids: tuple[int, ...], created: datetime) -> list[TripletCard]:
    return queries.read(lambda r: r.triplets.cards(triplet_ids))


def cards(chosen: TripletSetRecord, triplet_ids: Ids) -> list[TripletCard]:
    """Return triplets with their texts, in the order of ``triplet_ids``."""
    return _cards(chosen.id, tuple(triplet_ids.tolist()), chosen.created)


@st.cache_resource(show_spinner="Searching …", max_entries=16)
def _containing(corpus_id: int, text: str, created: datetime) -> Ids:
    return queries.read(lambda r: r.corpora.sentences_with(corpus_id, text))


def sentences_containing(chosen: TripletSetRecord, text: str) -> Ids:
    """Return the ids of the sentences of the set's corpus that contain ``text``."""
    return _containing(chosen.corpus_id, text, chosen.created)  # a set is deleted with its corpus


def articles_titled(chosen: TripletSetRecord, text: str) -> Ids:
    """Return the ids of articles with ``text`` in their title; with ``"text"`` in quotation marks as their title."""
    whole = text.removeprefix('"').removesuffix('"')
    with queries.store().reading() as r:
        if len(text) == len(whole) + 2:
            return np.array([a.id for a in r.corpora.articles_by_title(chosen.corpus_id, whole)], dtype=np.int64)
        return r.corpora.articles_with(chosen.corpus_id, text)


@st.cache_resource(show_spinner=False, max_entries=16)
def _reviews(set_id: int, newest: int, created: datetime) -> dict[int, list[TripletReview]]:
    found: dict[int, list[TripletReview]] = {}
    with queries.store().reading() as r:
        for review in r.reviews.list(set_id):
            found.setdefault(review.triplet_id, []).append(review)
    return found


def reviews(chosen: TripletSetRecord) -> dict[int, list[TripletReview]]:
    """Return triplet id → the current review of every person; cached until there is a newer review."""
    newest = queries.read(lambda r: r.reviews.newest(chosen.id))
    return _reviews(chosen.id, newest, chosen.created)


def review(set_id: int, triplet_id: int, person: str, verdict: Verdict | None, note: str) -> None:
    """Store a verdict; None withdraws it."""
    with queries.store().writing() as w:
        w.reviews.add(set_id, triplet_id, person, verdict, note)


def models_with_attention() -> list[ModelRecord]:
    """Return the models whose networks have attention weights."""
    return [m for m in queries.models() if m.method in REGISTRY and "attention" in REGISTRY.get(m.method).tags]


@st.cache_data(show_spinner="Computing attention …", max_entries=64)
def attention(artifact: str, texts: tuple[str, str, str], _model: ModelRecord) -> TripletAttention:
    """Return attention and deletion check of (pivot, positive, negative) by the model of that artifact."""
    return search.attention_of(queries.store(), _model, texts)
