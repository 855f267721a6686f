"""What is known about many triplets at once: margins of evaluations, section titles, and how a network reads one.

A set, a run and an artifact never change once they are there; every key carries a time of creation or a digest. Arrays
are kept as they are (nobody writes into them) and not copied for each visit, because they may hold half a million rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.metrics.section_pairs import SectionPairs, section_pairs
from core.models import REGISTRY
from core.models.triplet_network.word_attention import Attending, TripletReading, read_triplet
from core.types import Ids, Split, TripletRows
from db.records import (
    ModelRecord,
    RunRecord,
    TripletCard,
    TripletMeasures,
    TripletReview,
    TripletSections,
    TripletSetRecord,
    Verdict,
)
from webapp.shared import queries

Margins = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The margins of one model over one split of a set."""

    run: RunRecord
    model: ModelRecord
    alone: bool
    """The only evaluation of this model on the set."""

    @property
    def split(self) -> Split:
        """Where it was evaluated."""
        return Split(self.run.config["split"])

    @property
    def name(self) -> str:
        """The model, with what is needed to tell its evaluations apart."""
        if self.alone:
            return self.model.name
        return f"{self.model.name} ({self.split}{', by relatedness' if _by_relatedness(self.run) else ''})"

    @property
    def judge(self) -> str:
        """The model, the same on every split."""
        return f"{self.model.name}{' (by relatedness)' if _by_relatedness(self.run) else ''}"

    @property
    def unit(self) -> str:
        """The distance that the margins are differences of."""
        if _by_relatedness(self.run):
            return "predicted relatedness"
        measured = getattr(REGISTRY.configure(self.model.method, self.model.config), "measured", "")
        return f"{_DISTANCES[measured]} distance" if measured in _DISTANCES else "the model's own distance"


_DISTANCES = {"l1": "L1", "l2": "L2", "cosine": "cosine", "mean-l1": "mean L1"}


def _by_relatedness(run: RunRecord) -> bool:
    return "relatedness" in run.config


def evaluations(chosen: TripletSetRecord) -> list[Evaluation]:
    """The newest evaluation of every model on every split of a set, the newest first."""
    models = {model.id: model for model in queries.models()}
    newest: dict[tuple[int, str, bool], RunRecord] = {}
    for run in queries.triplet_runs(chosen.id):
        if run.model_id in models:
            newest.setdefault((run.model_id, run.config["split"], _by_relatedness(run)), run)
    of_model = [model for model, _, _ in newest]
    return [Evaluation(run, models[key[0]], of_model.count(key[0]) == 1) for key, run in newest.items()]


@dataclass(frozen=True, slots=True)
class Judge:
    """A model with all its evaluations on a set, at most one a split."""

    name: str
    evaluations: tuple[Evaluation, ...]


def judges(found: Sequence[Evaluation]) -> list[Judge]:
    """The models that were evaluated, each once, in alphabetical order."""
    by_name: dict[str, list[Evaluation]] = {}
    for evaluation in found:
        by_name.setdefault(evaluation.judge, []).append(evaluation)
    return [Judge(name, tuple(by_name[name])) for name in sorted(by_name, key=str.casefold)]


@st.cache_resource(show_spinner=False, max_entries=32)
def _margins(run_id: int, split: Split, created: datetime) -> tuple[Ids, Margins]:
    with queries.store().reading() as r:
        ids, values = r.runs.margins(run_id, split)
    order = np.argsort(ids, kind="stable")
    return ids[order], values[order]


def margins(evaluation: Evaluation) -> tuple[Ids, Margins]:
    """(n,) ascending triplet ids, and their margins."""
    return _margins(evaluation.run.id, evaluation.split, evaluation.run.created)


def margins_at(judge: Judge, ids: Ids) -> Margins:
    """(n,) margins of the triplets ``ids``, in whatever split they are; not a number where there is none."""
    found = np.full(len(ids), np.nan, np.float32)
    for evaluation in judge.evaluations:
        known, values = margins(evaluation)
        if len(known):
            at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
            hit = known[at] == ids
            found[hit] = values[at[hit]]
    return found


# ---------------------------------------------------------------- all triplets of a set, column by column


@st.cache_resource(show_spinner="Reading the triplets …", max_entries=12)
def _rows(set_id: int, split: Split, created: datetime) -> TripletRows:
    with queries.store().reading() as r:
        return r.triplets.rows(set_id, split)


def rows(chosen: TripletSetRecord, split: Split | None) -> TripletRows:
    """The triplets of a split (None: of all, split by split) as ids, in their order."""
    parts = [_rows(chosen.id, one, chosen.created) for one in _splits(split)]
    if len(parts) == 1:
        return parts[0]
    return TripletRows(*(np.concatenate([getattr(part, name) for part in parts]) for name in TripletRows.__slots__))


@st.cache_resource(show_spinner="Reading the triplets …", max_entries=12)
def _ids(set_id: int, split: Split | None, created: datetime) -> Ids:
    with queries.store().reading() as r:
        return r.triplets.ids(set_id, split)


def ids(chosen: TripletSetRecord, split: Split | None) -> Ids:
    """The ids of :func:`rows` alone, which are read sooner."""
    return _ids(chosen.id, split, chosen.created)


@st.cache_resource(show_spinner="Looking up the sections of the triplets …", max_entries=8)
def _sections(set_id: int, split: Split, created: datetime) -> TripletSections:
    with queries.store().reading() as r:
        return r.triplets.sections(set_id, split)


def sections(chosen: TripletSetRecord, split: Split | None) -> TripletSections:
    """The section titles of the triplets of a split (None: of all), row for row as :func:`rows`."""
    parts = [_sections(chosen.id, one, chosen.created) for one in _splits(split)]
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


def _splits(split: Split | None) -> Sequence[Split]:
    return [*Split] if split is None else [split]


@st.cache_resource(show_spinner="Measuring the sentences …", max_entries=4)
def _measures(set_id: int, split: Split, created: datetime) -> TripletMeasures:
    with queries.store().reading() as r:
        return r.triplets.measures(set_id, split)


def measures(chosen: TripletSetRecord, split: Split) -> TripletMeasures:
    """How long and how far apart the sentences of the triplets of a split are."""
    return _measures(chosen.id, split, chosen.created)


def on_same_triplets(first: Evaluation, second: Evaluation, chosen: TripletSetRecord) -> tuple[Margins, Margins, Ids]:
    """Margins of two evaluations over the triplets that both have, and the article of each."""
    (a_ids, a), (b_ids, b) = margins(first), margins(second)
    shared, at_a, at_b = np.intersect1d(a_ids, b_ids, assume_unique=True, return_indices=True)
    known = rows(chosen, first.split)
    order = np.argsort(known.ids)
    return a[at_a], b[at_b], known.articles[order[np.searchsorted(known.ids, shared, sorter=order)]]


@dataclass(frozen=True, slots=True)
class PairView:
    """Pairs of sections, and the triplet that each of their (n,) rows is."""

    pairs: SectionPairs
    ids: Ids
    margins: Margins


@st.cache_resource(show_spinner="Counting pairs of sections …", max_entries=8)
def _pair_view(run_id: int, created: datetime, _evaluation: Evaluation, _set: TripletSetRecord) -> PairView:
    known = sections(_set, _evaluation.split)
    ids, values = margins(_evaluation)
    shared, at, row = np.intersect1d(ids, known.ids, assume_unique=True, return_indices=True)
    found = section_pairs(known.own[row], known.other[row], known.titles, values[at], known.articles[row])
    return PairView(found, shared, values[at])


def pair_view(evaluation: Evaluation, chosen: TripletSetRecord) -> PairView:
    """Accuracy by pair of section titles of an evaluation on a set."""
    return _pair_view(evaluation.run.id, evaluation.run.created, evaluation, chosen)


@st.cache_data(show_spinner=False, max_entries=256)
def _cards(set_id: int, triplet_ids: tuple[int, ...], created: datetime) -> list[TripletCard]:
    with queries.store().reading() as r:
        return r.triplets.cards(triplet_ids)


def cards(chosen: TripletSetRecord, triplet_ids: Ids) -> list[TripletCard]:
    """Triplets of a set in the order of their ids."""
    return _cards(chosen.id, tuple(triplet_ids.tolist()), chosen.created)


@st.cache_resource(show_spinner="Looking for these words …", max_entries=16)
def _holding(corpus_id: int, text: str, created: datetime) -> Ids:
    with queries.store().reading() as r:
        return r.triplets.holding(corpus_id, text)


def holding(chosen: TripletSetRecord, text: str) -> Ids:
    """Ids of the sentences of the set's corpus that hold ``text``."""
    return _holding(chosen.corpus_id, text, chosen.created)  # no corpus outlives its sets


def titled(chosen: TripletSetRecord, text: str) -> Ids:
    """Ids of the articles of the set's corpus with ``text`` in their title; in quotation marks, as their title."""
    whole = text.removeprefix('"').removesuffix('"')
    with queries.store().reading() as r:
        if len(text) == len(whole) + 2:
            return np.array([a.id for a in r.corpora.articles_by_title(chosen.corpus_id, whole)], dtype=np.int64)
        return r.triplets.titled(chosen.corpus_id, text)


# ---------------------------------------------------------------- what people think of triplets


@st.cache_resource(show_spinner=False, max_entries=16)
def _reviews(set_id: int, newest: int, created: datetime) -> dict[int, list[TripletReview]]:
    found: dict[int, list[TripletReview]] = {}
    with queries.store().reading() as r:
        for review in r.reviews.list(set_id):
            found.setdefault(review.triplet_id, []).append(review)
    return found


def reviews(chosen: TripletSetRecord) -> dict[int, list[TripletReview]]:
    """Triplet id → everybody's verdict as it stands now; read again only after somebody gave another."""
    with queries.store().reading() as r:
        newest = r.reviews.newest(chosen.id)
    return _reviews(chosen.id, newest, chosen.created)


def review(set_id: int, triplet_id: int, person: str, verdict: Verdict | None, note: str) -> None:
    """Keep a verdict; when this returns it is stored."""
    with queries.store().writing() as w:
        w.reviews.add(set_id, triplet_id, person, verdict, note)


# ---------------------------------------------------------------- how a network reads one triplet


def attending_models() -> list[ModelRecord]:
    """Models whose networks have attention weights."""
    return [m for m in queries.models() if m.method in REGISTRY and "attention" in REGISTRY.get(m.method).tags]


@st.cache_resource(show_spinner="Loading the model …", max_entries=2)
def _embedder(artifact: str) -> Attending:
    from core.models.artifact import load_model

    embedder, _ = load_model(queries.store().artifacts.path(artifact))
    assert isinstance(embedder, Attending)  # its card is tagged so
    return embedder


@st.cache_data(show_spinner=False, max_entries=64)
def reading(artifact: str, texts: tuple[str, str, str]) -> TripletReading:
    """Attention and deletion check of (pivot, same theme, other theme) by the model of that artifact."""
    return read_triplet(_embedder(artifact), texts)
