"""Cached computations on the clusters of a labelling.

What depends on the partition has the last step of the labelling in its key.
"""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.labelling import hierarchy
from core.labelling.cluster_changes import ClusterChanges
from core.labelling.hierarchy import Group
from core.types import Ids
from db.label_records import LabellingRecord
from jobs.services.labelling import clusters
from jobs.services.labelling.clusters import Reclustered
from webapp.features.relabel.editing import RelabelState
from webapp.shared import queries

if TYPE_CHECKING:
    from core.labelling.similar_clusters import Centres, Pair


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


def suggested_pairs(state: RelabelState) -> list[Pair]:
    """Return pairs of clusters that could be one, without those that a person dismissed; needs a model."""
    found = centres(state)
    if found is None:
        return []
    changes, lock = _changes(state.record.id, state.record.created)
    with lock:
        known = _updated(state.record, changes)
        pairs = clusters.similar_pairs(found)
        return [pair for pair in pairs if not known.are_apart(state.partition, pair.first, pair.second)]


def _key(state: RelabelState) -> tuple[str, int, datetime, int] | None:
    model = state.model
    if model is None:
        return None
    return model.digest, state.record.id, state.record.created, state.session.snapshot.step


def centres(state: RelabelState) -> Centres | None:
    """Return the centres of the clusters by the chosen model; None without one."""
    key = _key(state)
    return None if key is None else _centres(*key, state)


@st.cache_resource(show_spinner="Comparing clusters …", max_entries=6)
def _centres(digest: str, labelling: int, created: datetime, step: int, _state: RelabelState) -> Centres:
    assert _state.vectors is not None
    return clusters.centres(_state.partition, _state.vectors)


def nearest(state: RelabelState, number: int) -> list[tuple[int, float]]:
    """Return the other clusters with their similarity to one, most similar first; none without a model."""
    found = centres(state)
    return [] if found is None else clusters.nearest(found, number)


def between(state: RelabelState, pair: Pair) -> tuple[Ids, int]:
    """Return the sentences between two clusters, and how many are nearer to the other one than to their own."""
    found, x = centres(state), state.vectors
    assert found is not None and x is not None
    return clusters.between(state.partition, x, found, pair)


def central(state: RelabelState, number: int) -> Ids:
    """Return the sentences of a cluster, most central first; without a model in reading order."""
    ids, x = state.partition.members(number), state.vectors
    return ids if x is None else clusters.by_centrality(ids, x[state.partition.rows(ids)])


def densities(state: RelabelState) -> npt.NDArray[np.float64] | None:
    """Return the (n,) mean cosines of the sentences to their nearest neighbours; None without a model."""
    model = state.model
    return None if model is None else _densities(model.digest, state.record.id, state.record.created, state)


@st.cache_resource(show_spinner="Comparing sentences …", max_entries=6)
def _densities(digest: str, labelling: int, created: datetime, _state: RelabelState) -> npt.NDArray[np.float64]:
    assert _state.vectors is not None
    return clusters.densities(_state.vectors)


def ungrouped(state: RelabelState) -> Centres | None:
    """Return the centres of the clusters that are in no theme and have no sub-themes; None without a model."""
    found = centres(state)
    return None if found is None else found.only(hierarchy.ungrouped(state.partition))


def suggested_groups(state: RelabelState, groups: int) -> list[Group]:
    """Return groups of clusters for as many themes as given or as suggested; needs a model."""
    key = _key(state)
    return [] if key is None else _groups(*key, groups, state)


@st.cache_data(show_spinner="Grouping clusters …", max_entries=16)
def _groups(
    digest: str, labelling: int, created: datetime, step: int, groups: int, _state: RelabelState
) -> list[Group]:
    found = ungrouped(_state)
    assert found is not None
    return clusters.suggested_groups(_state.partition, _state.session.texts, found, groups)


def reclustered(state: RelabelState, ids: Ids, k: int | None, clusterer: str) -> Reclustered:
    """Return the preview of re-clustering sentences by the chosen model.

    Raises
    ------
    ThemescopeError
        If there are fewer sentences than parts.
    """
    assert state.model is not None
    return _reclustered(state.model.digest, state.record.id, state.record.created, ids, k, clusterer, state)


@st.cache_resource(show_spinner="Re-clustering …", max_entries=8)
def _reclustered(
    digest: str, labelling: int, created: datetime, ids: Ids, k: int | None, clusterer: str, _state: RelabelState
) -> Reclustered:
    model, x = _state.model, _state.vectors
    assert model is not None and x is not None
    texts = [_state.session.texts[int(i)] for i in ids]
    return clusters.preview_parts(queries.store(), model, texts, ids, x[_state.partition.rows(ids)], k, clusterer)


@st.cache_data(show_spinner="Comparing words …", max_entries=16)
def _keyword_names(
    labelling: int, created: datetime, step: int, numbers: tuple[int, ...], _state: RelabelState
) -> dict[int, str]:
    return clusters.keyword_names(_state.partition, _state.session.texts, numbers)


def keyword_names(state: RelabelState, numbers: tuple[int, ...]) -> dict[int, str]:
    """Return new names of clusters from their distinctive words."""
    return _keyword_names(state.record.id, state.record.created, state.session.snapshot.step, numbers, state)
