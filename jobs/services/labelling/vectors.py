"""Stored vectors of the sentences of a labelling."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from core.types import Ids, Matrix
from db.records import ModelRecord
from db.store import Store
from jobs.services.search import stored_blocks

MOST = 30_000
"""Maximum number of sentences with suggestions, which limits the memory of a page."""


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
    joined: Any = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    found: Matrix = joined[order]
    return found
