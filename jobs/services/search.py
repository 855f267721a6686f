"""Semantic search over stored vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.errors import DataError
from core.protocols import Model
from core.types import Ids, Matrix, Sentence
from db.records import ModelRecord
from db.store import Store

_ARTICLES = 100
"""Number of blocks read at once."""


def stored_blocks(store: Store, model: ModelRecord, articles: Ids, positions: Ids) -> Iterator[tuple[Ids, Matrix]]:
    """Yield (rows, vectors) in any order; row i is the sentence at ``positions[i]`` of ``articles[i]``.

    Dense vectors come as they are kept, float16 as a rule. Raises :class:`DataError` where an article has no vectors.
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
                raise DataError(
                    f"The vectors of {model.name} for these sentences are gone. Draw a map by it: that embeds them."
                )
            rows = order[start:end]
            yield rows, blocks[owner][positions[rows]]


def vector_of(fitted: Model, text: str) -> Matrix:
    """Return the (1, dim) vector of a typed text.

    Raises :class:`DataError` where the model knows none of the words, so that nothing could be near.
    """
    vector = fitted.embed([Sentence(text)])
    values = vector.data if hasattr(vector, "indptr") else vector
    if not np.any(values):
        raise DataError("The model knows none of these words. Try others.")
    return vector
