"""Stored vectors, and inference with fitted models, without a background job.

The models used last are kept in memory for all sessions of a server process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.errors import DataError, ThemescopeError
from themescope.core.types import Ids, Matrix, Sentence
from themescope.db.records import ModelRecord
from themescope.db.store import Store
from themescope.jobs.common.vectors import stacked

if TYPE_CHECKING:
    from themescope.core.models.triplet_network.word_attention import TripletAttention

_LOADED_MODELS = 2
_loading = Lock()
_PRELOADED: set[str] = set()
_PRELOAD_AFTER_S = 1.0
"""Seconds until a model is preloaded: importing its packages would delay the page that asks for it."""
_ARTICLES = 100
"""Number of blocks read at once."""
MOST_WITH_VECTORS = 30_000
"""Maximum number of sentences with suggestions, which limits the memory of a page."""


def stored_blocks(store: Store, model: ModelRecord, articles: Ids, positions: Ids) -> Iterator[tuple[Ids, Matrix]]:
    """Yield (rows, vectors) in any order; row i is the sentence at ``positions[i]`` of ``articles[i]``.

    Raises :class:`DataError` if an article has no vectors.
    """
    order = np.argsort(articles, kind="stable")
    owners, starts = np.unique(articles[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    for first in range(0, len(owners), _ARTICLES):
        part = slice(first, first + _ARTICLES)
        with store.reading() as r:
            blocks = r.embeddings.get(model.id, owners[part])
        for owner, start, end in zip(owners[part].tolist(), starts[part], ends[part], strict=True):
            if owner not in blocks:
                raise DataError(f"{model.name} has no vectors of these sentences. Compute a map to embed them again.")
            rows = order[start:end]
            yield rows, blocks[owner][positions[rows]]


def loaded_model(store: Store, model: ModelRecord) -> Any:
    """Return the fitted model of a record, loaded at most once while it is among the last two used."""
    with _loading:
        return _load(store.artifacts.path(model.artifact))


def preload(store: Store, model: ModelRecord) -> None:
    """Load a model in the background, so that the first search by meaning need not wait for it."""
    if model.artifact not in _PRELOADED:
        _PRELOADED.add(model.artifact)
        timer = Timer(_PRELOAD_AFTER_S, _load_quietly, (store, model))
        timer.daemon = True
        timer.start()


def _load_quietly(store: Store, model: ModelRecord) -> None:
    """Load a model; a search reports what is wrong with it."""
    with suppress(ThemescopeError):
        loaded_model(store, model)


def query_vector(store: Store, model: ModelRecord, text: str) -> Matrix:
    """Return the (1, dim) vector of a query; raise :class:`DataError` if the model knows none of its words."""
    vector: Matrix = loaded_model(store, model).embed([Sentence(text)])
    values: Any = vector.data if hasattr(vector, "indptr") else vector
    if not np.any(values):
        raise DataError("The model knows none of these words. Try others.")
    return vector


def attention_of(store: Store, model: ModelRecord, texts: tuple[str, str, str]) -> TripletAttention:
    """Return attention weights and the deletion check for a triplet (pivot, positive, negative).

    The method's card must have the tag ``attention``. Raises :class:`DataError` if the triplet has too many words.
    """
    from themescope.core.models.triplet_network.word_attention import triplet_attention

    return triplet_attention(loaded_model(store, model), texts)


@lru_cache(maxsize=_LOADED_MODELS)
def _load(artifact: Path) -> Any:
    from themescope.core.models.artifact import load_model

    return load_model(artifact)[0]


def models_for(store: Store, corpus_id: int, articles: set[int]) -> list[ModelRecord]:
    """Return the models that have vectors of all these articles, newest first."""
    with store.reading() as r:
        return [m for m in reversed(r.models.list()) if articles <= r.embeddings.have(m.id, corpus_id)]


def vectors_of(store: Store, model_id: int, ids: Ids) -> Matrix:
    """Return (n, dim) vectors of these sentences in order; their articles must be embedded."""
    with store.reading() as r:
        known, model = r.corpora.sentences_by_id(ids), r.models.get(model_id)
    places = np.array([(known[int(i)].article_id, known[int(i)].position) for i in ids], dtype=np.int64)
    rows, parts = zip(*stored_blocks(store, model, places[:, 0], places[:, 1]), strict=True)
    order = np.argsort(np.concatenate(rows), kind="stable")
    vectors: Matrix = stacked(parts)[order]
    return vectors
