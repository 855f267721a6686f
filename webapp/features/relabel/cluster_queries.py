"""Cached computations on the clusters of a labelling."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from functools import wraps
from inspect import signature
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.errors import DataError
from themescope.core.labelling import hierarchy
from themescope.core.labelling.cluster_changes import ClusterChanges
from themescope.core.labelling.hierarchy import ClusterGroup
from themescope.core.labelling.partition import EntryKind, Partition
from themescope.core.records.stored import LabellingRecord, ModelRecord
from themescope.core.types import Ids, Matrix
from themescope.jobs.common.model_choice import corpus_shares
from themescope.jobs.services import search as inference
from themescope.jobs.services.labelling import session as clusters
from themescope.jobs.services.labelling.session import Reclustered
from themescope.jobs.services.search import MOST_WITH_VECTORS
from themescope.webapp.features.relabel import queries as page_queries
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.shared import queries

if TYPE_CHECKING:
    from themescope.core.labelling.suggestions import Centres, ClusterPair

_PAIRS = 10
"""Number of suggested merges that are listed at most, besides those that were dismissed."""


P = ParamSpec("P")
T = TypeVar("T")


def _cached(
    spinner: str, entries: int, *, of_step: bool = True
) -> Callable[[Callable[Concatenate[RelabelState, P], T]], Callable[Concatenate[RelabelState, P], T]]:
    """Cache a function of a state and hashable arguments, by the model and the labelling.

    ``of_step``: whether the result depends on the partition, so that each step of the labelling has its own.
    """

    def decorate(function: Callable[Concatenate[RelabelState, P], T]) -> Callable[Concatenate[RelabelState, P], T]:
        call: Callable[..., T] = function

        def compute(key: tuple[Any, ...], args: tuple[Any, ...], _state: RelabelState) -> T:
            return call(_state, *args)

        compute.__qualname__ = function.__qualname__  # Streamlit tells caches apart by the name of their function.
        stored = st.cache_resource(show_spinner=spinner, max_entries=entries)(compute)

        @wraps(function)
        def lookup(state: RelabelState, *args: P.args, **kwargs: P.kwargs) -> T:
            model, record = model_of(state), state.record
            step = state.session.snapshot.step if of_step else 0
            key = (model.digest if model else "", record.id, record.created, step)
            return stored(key, signature(function).bind(state, *args, **kwargs).args[1:], state)

        return lookup

    return decorate


@st.cache_resource(show_spinner=False, max_entries=8)
def _changes(labelling_id: int, created: datetime) -> tuple[ClusterChanges, Lock]:
    return ClusterChanges(), Lock()


def _updated(record: LabellingRecord, changes: ClusterChanges) -> ClusterChanges:
    with nullcontext() if changes.step else st.spinner("Reading the history …"):
        changes.add(queries.read(lambda r: r.label_steps.since(record.id, changes.step)))
    return changes


def stale_names(state: RelabelState) -> dict[int, float]:
    """Return the clusters whose names may be out of date, with the share of changed sentences."""
    changes, lock = _changes(state.record.id, state.record.created)
    with lock:
        return _updated(state.record, changes).stale_names(state.partition)


def suggested_pairs(state: RelabelState) -> list[ClusterPair]:
    """Return pairs of clusters that could be one, without those that a person dismissed; needs a model."""
    found = centres(state)
    if found is None:
        return []
    changes, lock = _changes(state.record.id, state.record.created)
    with lock:
        known = _updated(state.record, changes)
        dismissed = sum(kind is EntryKind.DISMISSED for kind, _ in state.partition.entries)
        pairs = clusters.similar_pairs(found, _PAIRS + dismissed)
        return [pair for pair in pairs if not known.are_apart(state.partition, pair.first, pair.second)]


def model_of(state: RelabelState) -> ModelRecord | None:
    """Return the chosen model; of a labelling that is too large for suggestions, the best one. None without vectors."""
    if state.record.blind or len(state.partition.ids) <= MOST_WITH_VECTORS:
        return state.model
    corpus = queries.read(lambda r: r.corpora.get(state.record.corpus_id))
    embedded = page_queries.models_for(state.record.id, state.record.created)
    return next(iter(queries.best_first(corpus_shares(corpus), corpus.id, embedded, corpus.articles > 1)), None)


def sample(state: RelabelState) -> tuple[Partition, Matrix] | None:
    """Return the sentences that suggestions are based on, and their vectors; None without a model.

    They are all sentences, or a random sample of :data:`MOST_WITH_VECTORS`, which limits the memory of a page.
    """
    model = model_of(state)
    if model is None:
        return None
    if state.vectors is not None:
        return state.partition, state.vectors
    ids, x = _sampled(state)
    return state.partition.only(ids), x


@_cached("Reading vectors …", 2, of_step=False)
def _sampled(state: RelabelState) -> tuple[Ids, Matrix]:
    model = model_of(state)
    assert model is not None
    ids = np.sort(np.random.default_rng(0).permutation(state.partition.ids)[:MOST_WITH_VECTORS])
    return ids, inference.vectors_of(queries.store(), model.id, ids)


def sample_note(state: RelabelState) -> str:
    """Return that suggestions are based on a sample; "" if they are based on all sentences."""
    total = len(state.partition.ids)
    return f"Based on a random sample of {MOST_WITH_VECTORS:,} sentences." if total > MOST_WITH_VECTORS else ""


@_cached("Comparing clusters …", 6)
def centres(state: RelabelState) -> Centres | None:
    """Return the centres of the clusters by the chosen model; None without one."""
    found = sample(state)
    return None if found is None else clusters.centres(*found)


def nearest(state: RelabelState, number: int) -> list[tuple[int, float]]:
    """Return the other clusters with their similarity to one, most similar first; none without a model."""
    found = centres(state)
    return [] if found is None else clusters.nearest(found, number)


def between(state: RelabelState, pair: ClusterPair) -> tuple[Ids, int]:
    """Return the sentences between two clusters, and how many are nearer to the other one than to their own."""
    found, known = centres(state), sample(state)
    assert found is not None and known is not None
    return clusters.between(*known, found, pair)


def central(state: RelabelState, number: int) -> Ids:
    """Return the sentences of a cluster, most central first; without a model in reading order."""
    known = sample(state)
    if known is None:
        return state.partition.members(number)
    partition, x = known
    ids = partition.members(number)
    return clusters.by_centrality(ids, x[partition.rows(ids)])


@_cached("Comparing sentences …", 6, of_step=False)
def densities(state: RelabelState) -> tuple[Ids, npt.NDArray[np.float64]] | None:
    """Return (n,) sentences and the mean cosines to their nearest neighbours; None without a model."""
    known = sample(state)
    return None if known is None else (known[0].ids, clusters.densities(known[1]))


def ungrouped(state: RelabelState) -> Centres | None:
    """Return the centres of the clusters that are in no theme and have no sub-themes; None without a model."""
    found = centres(state)
    return None if found is None else found.only(hierarchy.ungrouped(state.partition))


@_cached("Grouping clusters …", 16)
def suggested_groups(state: RelabelState, groups: int) -> list[ClusterGroup]:
    """Return groups of clusters for as many themes as given or as suggested; needs a model."""
    found = ungrouped(state)
    return [] if found is None else clusters.suggested_groups(state.partition, state.session.texts, found, groups)


@_cached("Re-clustering …", 8, of_step=False)
def reclustered(state: RelabelState, ids: Ids, k: int | None, clusterer: str) -> Reclustered:
    """Return the preview of re-clustering sentences by the chosen model.

    Raises
    ------
    ThemescopeError
        If there are fewer sentences than parts.
    """
    model, x = model_of(state), state.vectors
    assert model is not None
    if len(ids) > MOST_WITH_VECTORS:
        raise DataError(f"At most {MOST_WITH_VECTORS:,} sentences are re-clustered at once; these are {len(ids):,}.")
    part = inference.vectors_of(queries.store(), model.id, ids) if x is None else x[state.partition.rows(ids)]
    texts = [state.session.texts[int(i)] for i in ids]
    return clusters.preview_parts(queries.store(), model, texts, ids, part, k, clusterer)


@_cached("Comparing words …", 16)
def keyword_names(state: RelabelState, numbers: tuple[int, ...]) -> dict[int, str]:
    """Return new names of clusters from their distinctive words."""
    return clusters.keyword_names(state.partition, state.session.texts, numbers)
