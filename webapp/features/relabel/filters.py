"""Filters, queues and search: the sentences of a labelling in view, in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from themescope.core.errors import DataError
from themescope.core.labelling.agreement import adjudicate
from themescope.core.labelling.hierarchy import with_sub_themes
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.metrics.matching import match_clusters
from themescope.core.types import Ids
from themescope.jobs.services.labelling.starts import labels_on
from themescope.webapp.features.relabel import queries
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import NEEDS_MODEL, NONE_SELECTED, Queue
from themescope.webapp.features.relabel.state import SELECTION as SELECTION_ID
from themescope.webapp.shared.results.partition_queries import DIFFERS_FROM_PEOPLE, SELECTION
from themescope.webapp.shared.selections import selections

ALL = "All sentences"
DIFFERS_FROM_MODEL = "Differs from model"
DIFFERS_FROM_SECTIONS = "Differs from sections"
CHOSEN = "Chosen clusters"
SUBSTRING, MEANING = "substring", "meaning"
MATCHES = (SUBSTRING, MEANING)
TOP_K = 50
"""Sentences that a search by meaning shows."""


def _in_reading_order(state: RelabelState, ids: Ids) -> Ids:
    found: Ids = state.texts.ids[np.isin(state.texts.ids, ids)]
    return found


def _differs_from_model(state: RelabelState) -> Ids:
    """Return the sentences that the model would assign elsewhere, the most confident suggestions first."""
    found = state.suggestions
    return NONE_SELECTED if found is None else found.against(state.partition)


def _differs_from_sections(state: RelabelState) -> Ids:
    """Return sentences outside the section that matches their cluster; with a model, its confident cases first."""
    texts = state.texts
    keys = texts.sections if texts.several_articles else [f"{s.article_id} {s.section}" for s in texts.sentences]
    sections = np.unique(keys, return_inverse=True)[1].astype(np.int32)
    labels = state.partition.numbers[state.partition.rows(texts.ids)].astype(np.int32)
    assigned = np.flatnonzero(labels != UNASSIGNED)
    moved = texts.ids[assigned[match_clusters(sections[assigned], labels[assigned]).moved]]
    found = state.suggestions
    if found is None:
        return moved
    pull = found.pull[state.partition.rows(moved)]
    ordered: Ids = moved[np.argsort(-pull, kind="stable")]
    return ordered


def _differs_from_people(state: RelabelState) -> Ids:
    """Return sentences that other labellings of the same text assign elsewhere, the most disputed first.

    Clusters are matched before they are compared; ties are in the order of the model's confidence.
    """
    ids = state.partition.ids
    votes = [
        labels_on(state.partition, ids),
        *(labels_on(partition, ids) for _, partition in queries.other_labellings(state.record)),
    ]
    if len(votes) < 2:
        return NONE_SELECTED
    dispute = adjudicate(votes).dispute
    found = state.suggestions
    pull = found.pull if found is not None else np.zeros(len(ids))
    order = np.lexsort((ids, -pull, -dispute))
    kept: Ids = ids[order[dispute[order] > 0]]
    return kept


def _in_selection(state: RelabelState) -> Ids:
    """Return the sentences of the stored selection in the address."""
    found = selections.from_address(SELECTION_ID)
    return NONE_SELECTED if found is None else _in_reading_order(state, found.ids)


def _chosen_clusters(state: RelabelState) -> Ids:
    """Return the sentences of the clusters chosen in the layout Clusters, and of their sub-themes."""
    numbers = with_sub_themes(state.partition, state.clusters.numbers)
    return _in_reading_order(state, state.partition.ids[np.isin(state.partition.numbers, numbers)])


FILTERS: dict[str, Callable[[RelabelState], Ids]] = {
    ALL: lambda state: state.texts.ids,
    "Unassigned": lambda state: _in_reading_order(state, state.partition.members(UNASSIGNED)),
    "Uncertain": lambda state: _in_reading_order(state, state.partition.ids[state.partition.uncertain]),
    "With a note": lambda state: _in_reading_order(state, np.array(sorted(state.partition.notes), dtype=np.int64)),
    CHOSEN: _chosen_clusters,
    DIFFERS_FROM_MODEL: _differs_from_model,
    DIFFERS_FROM_SECTIONS: _differs_from_sections,
    DIFFERS_FROM_PEOPLE: _differs_from_people,
    SELECTION: _in_selection,
}
_HIDDEN_WHEN_BLIND = {DIFFERS_FROM_MODEL, DIFFERS_FROM_SECTIONS, DIFFERS_FROM_PEOPLE}


def filters(state: RelabelState) -> list[str]:
    """Return the names of the filters; in blind mode only those that reveal nobody else's opinion.

    That of a selection is offered where the address names one.
    """
    hidden = set(_HIDDEN_WHEN_BLIND) if state.record.blind else set()
    if SELECTION_ID not in st.query_params:
        hidden.add(SELECTION)
    return [name for name in FILTERS if name not in hidden]


def in_view(state: RelabelState, name: str, search: str = "", match: str = SUBSTRING) -> Ids:
    """Return the ids of the sentences in view, in order; search by meaning and neighbours come nearest first.

    Also sets the queue that the keys for next and previous step through.

    Raises
    ------
    ThemescopeError
        If the model cannot search.
    """
    found = FILTERS[name](state)
    state.queue = None if name == ALL else Queue(f"queue “{name}”", found)
    if search.strip():
        found = _nearest(state, found, search.strip()) if match == MEANING else _with_substring(state, found, search)
    if state.similar_to is not None:
        found = _nearest(state, found, state.similar_to)
    return found


def _with_substring(state: RelabelState, ids: Ids, search: str) -> Ids:
    texts, wanted = state.texts, search.strip().casefold()
    hits = [wanted in texts.sentences[texts.row[int(i)]].text.casefold() for i in ids]
    kept: Ids = ids[np.array(hits, dtype=bool)]
    return kept


def _nearest(state: RelabelState, ids: Ids, query: str | int) -> Ids:
    cosines = state.similarities(query)
    if cosines is None:
        raise DataError(NEEDS_MODEL)
    here = cosines[state.partition.rows(ids)]
    kept: Ids = ids[np.argsort(-here, kind="stable")[:TOP_K]]
    return kept
