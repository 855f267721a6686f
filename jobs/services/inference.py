"""Inference with fitted models, without a background job: query vectors and attention weights.

The models that were used last stay in memory, for all sessions of a server process.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from db.records import ModelRecord
from db.store import Store

if TYPE_CHECKING:
    from core.models.triplet_network.word_attention import TripletAttention
    from core.types import Matrix

_LOADED_MODELS = 2
_loading = Lock()


def loaded_model(store: Store, model: ModelRecord) -> Any:
    """Return the fitted model of a record, loaded at most once while it is among the last two used."""
    with _loading:
        return _load(store.artifacts.path(model.artifact))


def query_vector(store: Store, model: ModelRecord, text: str) -> Matrix:
    """Return the (1, dim) vector of typed words.

    Raises
    ------
    DataError
        If the model knows none of the words.
    """
    from jobs.services.search import vector_of

    return vector_of(loaded_model(store, model), text)


def attention_of(store: Store, model: ModelRecord, texts: tuple[str, str, str]) -> TripletAttention:
    """Return attention weights and the deletion check for a triplet (pivot, positive, negative).

    The method's card must have the tag ``attention``.

    Raises
    ------
    DataError
        If the triplet has too many words.
    """
    from core.models.triplet_network.word_attention import triplet_attention

    return triplet_attention(loaded_model(store, model), texts)


@lru_cache(maxsize=_LOADED_MODELS)
def _load(artifact: Path) -> Any:
    from core.models.artifact import load_model

    return load_model(artifact)[0]
