"""What is known about many triplets at once: margins of evaluations, section titles, and how a network reads one.

A set, a run and an artifact never change once they are there; every key carries a time of creation or a digest. Arrays
are kept as they are (nobody writes into them) and not copied for each visit, because they may hold half a million rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.embedders import REGISTRY
from core.embedders.attention import Attending, TripletReading, read_triplet
from core.evaluation.section_pairs import SectionPairs, section_pairs
from core.records import ModelRecord, RunRecord, TripletCard, TripletSections, TripletSetRecord
from core.types import Ids, Split
from webapp import queries

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


@st.cache_resource(show_spinner=False, max_entries=16)
def _margins(run_id: int, split: Split, created: datetime) -> tuple[Ids, Margins]:
    with queries.store().reading() as r:
        return r.runs.margins(run_id, split)


def margins(evaluation: Evaluation) -> tuple[Ids, Margins]:
    """(n,) triplet ids, and their margins."""
    return _margins(evaluation.run.id, evaluation.split, evaluation.run.created)


@st.cache_resource(show_spinner="Looking up the sections of the triplets …", max_entries=4)
def _sections(set_id: int, split: Split, created: datetime) -> TripletSections:
    with queries.store().reading() as r:
        return r.triplets.sections(set_id, split)


def on_same_triplets(first: Evaluation, second: Evaluation) -> tuple[Margins, Margins, Ids]:
    """Margins of two evaluations over the triplets that both have, and the article of each."""
    (a_ids, a), (b_ids, b) = margins(first), margins(second)
    shared, at_a, at_b = np.intersect1d(a_ids, b_ids, assume_unique=True, return_indices=True)
    with queries.store().reading() as r:
        rows = r.triplets.rows(_set_of(first), first.split)
    order = np.argsort(rows.ids)
    return a[at_a], b[at_b], rows.articles[order[np.searchsorted(rows.ids, shared, sorter=order)]]


def _set_of(evaluation: Evaluation) -> int:
    assert evaluation.run.triplet_set_id is not None  # evaluations are those of a set
    return evaluation.run.triplet_set_id


@dataclass(frozen=True, slots=True)
class PairView:
    """Pairs of sections, and the triplet that each of their (n,) rows is."""

    pairs: SectionPairs
    ids: Ids
    margins: Margins


@st.cache_resource(show_spinner="Counting pairs of sections …", max_entries=8)
def _pair_view(run_id: int, created: datetime, _evaluation: Evaluation, _set: TripletSetRecord) -> PairView:
    sections = _sections(_set.id, _evaluation.split, _set.created)
    ids, values = margins(_evaluation)
    shared, at, row = np.intersect1d(ids, sections.ids, assume_unique=True, return_indices=True)
    found = section_pairs(sections.own[row], sections.other[row], sections.titles, values[at], sections.articles[row])
    return PairView(found, shared, values[at])


def pair_view(evaluation: Evaluation, chosen: TripletSetRecord) -> PairView:
    """Accuracy by pair of section titles of an evaluation on a set."""
    return _pair_view(evaluation.run.id, evaluation.run.created, evaluation, chosen)


def cards(ids: Ids) -> list[TripletCard]:
    """Triplets in the order of their ``ids``."""
    with queries.store().reading() as r:
        return r.triplets.cards(ids)


@st.cache_data(show_spinner="Looking through the triplets …", max_entries=16)
def matching(set_id: int, split: Split, search: str, created: datetime) -> Ids:
    """Ids of the triplets of a split that a search finds."""
    with queries.store().reading() as r:
        return r.triplets.ids(set_id, split, search)


# ---------------------------------------------------------------- how a network reads one triplet


def attending_models() -> list[ModelRecord]:
    """Models whose networks have attention weights."""
    return [m for m in queries.models() if m.method in REGISTRY and "attention" in REGISTRY.get(m.method).tags]


@st.cache_resource(show_spinner="Loading the model …", max_entries=2)
def _embedder(artifact: str) -> Attending:
    from core.embedders.artifact import load_embedder

    embedder, _ = load_embedder(queries.store().artifacts.path(artifact))
    assert isinstance(embedder, Attending)  # its card is tagged so
    return embedder


@st.cache_data(show_spinner=False, max_entries=64)
def reading(artifact: str, texts: tuple[str, str, str]) -> TripletReading:
    """Attention and deletion check of (pivot, same theme, other theme) by the model of that artifact."""
    return read_triplet(_embedder(artifact), texts)
