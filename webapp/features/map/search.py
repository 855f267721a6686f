"""Search in the sentences of a map by substring, whole words or meaning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st
from scipy import sparse

from themescope.core.compute.neighbours import INDEX_FROM, cosines, nearest_neighbours
from themescope.core.errors import ThemescopeError
from themescope.core.records.stored import CorpusRecord, MapRecord, ModelRecord
from themescope.core.types import Ids, Matrix
from themescope.jobs.common.vectors import keys_of
from themescope.jobs.services import search
from themescope.webapp.features.map.state import WHOLE_WORDS
from themescope.webapp.map_view.geometry import Rows, rows_of
from themescope.webapp.map_view.scene import Scene
from themescope.webapp.shared import queries

_KEPT_BYTES = 1_000_000_000
"""Vectors of a map that need more memory than this are read again for each search."""


@dataclass(frozen=True, slots=True)
class MapHits:
    """Result of a search among the sentences in view, best first."""

    rows: Rows
    cosines: npt.NDArray[np.float32] | None
    """(n,) cosine similarity for a search by meaning, else None."""
    searched: bool = True
    note: str = ""
    """Sentence that says that the search was approximate; empty if it was exact."""


NOTHING_FOUND = MapHits(np.empty(0, dtype=np.intp), None)
NO_SEARCH = MapHits(np.empty(0, dtype=np.intp), None, searched=False)


# ---------------------------------------------------------------- by text


def by_text(scene: Scene, corpus: CorpusRecord, text: str, match: str) -> MapHits:
    """Return the sentences that contain ``text``, or all its words; case is ignored."""
    wanted = " ".join(text.split())
    if not wanted:
        return NOTHING_FOUND
    ids = (
        _with_words(corpus.id, wanted, corpus.created)
        if match == WHOLE_WORDS
        else _with_substring(corpus.id, wanted, corpus.created)
    )
    return MapHits(np.flatnonzero(np.isin(scene.ids, ids)), None)


@st.cache_data(show_spinner="Searching …", max_entries=32)
def _with_substring(corpus_id: int, text: str, created: Any) -> Ids:
    return queries.sentence_ids_with(corpus_id, text)


@st.cache_data(show_spinner="Searching …", max_entries=32)
def _with_words(corpus_id: int, text: str, created: Any) -> Ids:
    return search.sentences_with_words(queries.store(), corpus_id, text)


# ---------------------------------------------------------------- by meaning


def by_meaning(record: MapRecord, whole: Scene, scene: Scene, query: str | int, most: int) -> MapHits:
    """Return the ``most`` sentences in view with the largest cosine similarity to a text (str) or a sentence (id).

    Raises ``ThemescopeError`` if the model cannot embed the text.
    """
    model = queries.model_by_id(record.model_id)
    if model is None:
        raise ThemescopeError("The model of this map was deleted, so search by meaning is not possible.")
    if (through := _through_index(record, model, whole, scene, query, most)) is not None:
        return through
    if len(whole.ids) * _bytes_of(whole, model) > _KEPT_BYTES:
        blocks = ((scene.ids[rows], vectors) for rows, vectors in _blocks(model, scene))
        best = nearest_neighbours(_query(model, whole, query), blocks, most + 1)
        found = MapHits(
            rows_of(scene.ids, np.array([i for i, _ in best], np.int64)), np.array([c for _, c in best], np.float32)
        )
    else:
        similarity = _all_cosines(record.digest, query, partial(_compared, record, model, whole, query))
        here = similarity[rows_of(whole.ids, scene.ids)]
        best_rows = np.argsort(-here, kind="stable")[: most + 1]
        found = MapHits(best_rows, here[best_rows])
    keep = scene.ids[found.rows] != query if isinstance(query, int) else np.ones(len(found.rows), bool)
    return MapHits(found.rows[keep][:most], found.cosines[keep][:most] if found.cosines is not None else None)


def _through_index(
    record: MapRecord, model: ModelRecord, whole: Scene, scene: Scene, query: str | int, most: int
) -> MapHits | None:
    """Search through the index; None if there is none, few sentences are in view, or most candidates are hidden."""
    if len(scene.ids) < INDEX_FROM:
        return None
    index = search.index_of(queries.store(), model.id, record.corpus_id)
    if index is None:
        return None
    wanted = most + 1
    asked = 2 * wanted * max(index.vectors // len(scene.ids), 1)
    if asked > search.MOST_CANDIDATES:
        return None
    near = search.near(queries.store(), model, index, _query(model, whole, query), asked)
    rows = np.flatnonzero(np.isin(scene.articles, near.articles, kind="table"))
    keys = keys_of(scene.articles[rows], scene.positions[rows])
    row_of = dict(zip(keys.tolist(), rows.tolist(), strict=True))
    found = [
        (row_of[key], cosine)
        for key, cosine in zip(keys_of(near.articles, near.positions).tolist(), near.cosines.tolist(), strict=True)
        if key in row_of and scene.ids[row_of[key]] != query
    ][:most]
    if len(found) < most:
        return None
    chosen, similarity = zip(*found, strict=True)
    return MapHits(np.array(chosen, np.intp), np.array(similarity, np.float32), note=search.recall_note(index))


@st.cache_data(show_spinner="Searching …", max_entries=32)
def _all_cosines(digest: str, query: str | int, _compare: Any) -> npt.NDArray[np.float32]:
    found: npt.NDArray[np.float32] = _compare()
    return found


def _compared(record: MapRecord, model: ModelRecord, whole: Scene, query: str | int) -> npt.NDArray[np.float32]:
    return cosines(_query(model, whole, query), _vectors(record.digest, model, whole))


def _query(model: ModelRecord, whole: Scene, query: str | int) -> Matrix:
    if isinstance(query, str):
        return search.query_vector(queries.store(), model, query)
    return next(vectors for _, vectors in _blocks(model, whole.only(whole.rows_of(np.array([query])))))


def _blocks(model: ModelRecord, scene: Scene) -> Any:
    from themescope.jobs.services.search import stored_blocks

    return stored_blocks(queries.store(), model, scene.articles, scene.positions)


def _bytes_of(whole: Scene, model: ModelRecord) -> int:
    """Return the size of the vector of one sentence in bytes."""
    first: Any = next(vectors for _, vectors in _blocks(model, whole.only(np.arange(1))))
    return 8 * 40 if sparse.issparse(first) else 2 * int(first.shape[1])


@st.cache_resource(show_spinner="Reading the vectors …", max_entries=2)
def _vectors(digest: str, _model: ModelRecord, _whole: Scene) -> Matrix:
    """Return the vectors of a map in the order of its rows; dense ones as float16, as they are stored."""
    parts = list(_blocks(_model, _whole))
    rows = np.concatenate([rows for rows, _ in parts])
    back = np.argsort(rows, kind="stable")
    if sparse.issparse(parts[0][1]):
        return sparse.vstack([vectors for _, vectors in parts], format="csr")[back]
    return np.concatenate([vectors.astype(np.float16) for _, vectors in parts])[back]
