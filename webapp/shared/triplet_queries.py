"""Evaluations of models on triplet sets and the triplets of a set as arrays, for every page that shows them.

Sets, runs and artifacts never change; every cache key has a time of creation. Arrays may have half a million rows, are
shared between sessions and are never written to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.models import REGISTRY
from core.types import Ids, Split, TripletRows
from db.records import ModelRecord, RunRecord, TripletSetRecord
from webapp.shared import queries

Margins = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The margins of one model on one split of a triplet set."""

    run: RunRecord
    model: ModelRecord
    alone: bool
    """Whether it is the only evaluation of this model on the set."""

    @property
    def split(self) -> Split:
        """Split that the model was evaluated on."""
        return Split(self.run.config["split"])

    @property
    def name(self) -> str:
        """Return the model's name, with the split if the model has several evaluations."""
        if self.alone:
            return self.model.name
        return f"{self.model.name} ({self.split}{', by relatedness' if _by_relatedness(self.run) else ''})"

    @property
    def model_name(self) -> str:
        """Return the model's name, the same for all splits."""
        return f"{self.model.name}{' (by relatedness)' if _by_relatedness(self.run) else ''}"

    @property
    def unit(self) -> str:
        """Return the distance by which the margins were computed."""
        if _by_relatedness(self.run):
            return "predicted relatedness"
        measured = getattr(REGISTRY.configure(self.model.method, self.model.config), "measured", "")
        return f"{_DISTANCES[measured]} distance" if measured in _DISTANCES else "the model's own distance"


_DISTANCES = {"l1": "L1", "l2": "L2", "cosine": "cosine", "mean-l1": "mean L1"}


def _by_relatedness(run: RunRecord) -> bool:
    return "relatedness" in run.config


def evaluations(chosen: TripletSetRecord) -> list[Evaluation]:
    """Return the newest evaluation of every model on every split of a set, newest first."""
    models = {model.id: model for model in queries.models()}
    newest: dict[tuple[int, str, bool], RunRecord] = {}
    for run in queries.triplet_runs(chosen.id):
        if run.model_id in models:
            newest.setdefault((run.model_id, run.config["split"], _by_relatedness(run)), run)
    of_model = [model for model, _, _ in newest]
    return [Evaluation(run, models[key[0]], of_model.count(key[0]) == 1) for key, run in newest.items()]


@st.cache_resource(show_spinner=False, max_entries=32)
def _margins(run_id: int, split: Split, created: datetime) -> tuple[Ids, Margins]:
    with queries.store().reading() as r:
        ids, values = r.runs.margins(run_id, split)
    order = np.argsort(ids, kind="stable")
    return ids[order], values[order]


def margins(evaluation: Evaluation) -> tuple[Ids, Margins]:
    """Return (n,) triplet ids in ascending order and (n,) margins."""
    return _margins(evaluation.run.id, evaluation.split, evaluation.run.created)


# ---------------------------------------------------------------- all triplets of a set, column by column


@st.cache_resource(show_spinner="Reading triplets …", max_entries=12)
def _rows(set_id: int, split: Split, created: datetime) -> TripletRows:
    return queries.read(lambda r: r.triplets.rows(set_id, split))


def rows(chosen: TripletSetRecord, split: Split | None) -> TripletRows:
    """Return the triplets of a split (None: of all splits) as arrays of ids."""
    parts = [_rows(chosen.id, one, chosen.created) for one in splits_of(split)]
    if len(parts) == 1:
        return parts[0]
    return TripletRows(*(np.concatenate([getattr(part, name) for part in parts]) for name in TripletRows.__slots__))


@st.cache_resource(show_spinner="Reading triplets …", max_entries=12)
def _ids(set_id: int, split: Split | None, created: datetime) -> Ids:
    return queries.read(lambda r: r.triplets.ids(set_id, split))


def ids(chosen: TripletSetRecord, split: Split | None) -> Ids:
    """Return the ids of :func:`rows` alone, which is faster."""
    return _ids(chosen.id, split, chosen.created)


def splits_of(split: Split | None) -> Sequence[Split]:
    """Return one split, or all of them for None."""
    return [*Split] if split is None else [split]


def on_same_triplets(first: Evaluation, second: Evaluation, chosen: TripletSetRecord) -> tuple[Margins, Margins, Ids]:
    """Return the margins of two evaluations on their common triplets, and the article of each triplet."""
    (a_ids, a), (b_ids, b) = margins(first), margins(second)
    shared, at_a, at_b = np.intersect1d(a_ids, b_ids, assume_unique=True, return_indices=True)
    known = rows(chosen, first.split)
    order = np.argsort(known.ids)
    return a[at_a], b[at_b], known.articles[order[np.searchsorted(known.ids, shared, sorter=order)]]


def split_count(record: TripletSetRecord, split: Split) -> int:
    """Return the number of triplets of a set in a split."""
    value = record.counts.get(split.value, record.counts.get("triplets", {}))
    if isinstance(value, Mapping):
        value = value.get("triplets", value.get(split.value, 0))
    return int(value)
