"""The sentences of a labelling with their stored vectors, and the models that have these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from themescope.core.errors import DataError
from themescope.core.records.stored import LabellingRecord, ModelRecord
from themescope.core.types import Ids, Matrix
from themescope.db.store import Store
from themescope.jobs.common.model_choice import best_first, corpus_shares
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import rows_of

_MOST_MODELS = 3


class LabelledText:
    """The sentences of a labelling with their vectors."""

    def __init__(self, store: Store, ids: Ids) -> None:
        self._store, self.ids = store, ids
        with store.reading() as r:
            known = r.corpora.sentences_by_id(ids)
        found = [known[int(i)] for i in ids]
        self.texts = [sentence.text for sentence in found]
        self.articles = np.array([sentence.article_id for sentence in found], dtype=np.int64)
        self.positions = np.array([sentence.position for sentence in found], dtype=np.int64)

    def vectors(self, model: str) -> Matrix:
        """Return the (n, dim) stored vectors of the sentences by a model."""
        order = np.argsort(self.articles, kind="stable")
        owners, starts = np.unique(self.articles[order], return_index=True)
        wanted = dict(zip(owners.tolist(), np.split(self.positions[order], starts[1:]), strict=True))
        found: Matrix = rows_of(self._store, find_model(self._store, model), wanted)[np.argsort(order)]
        return found


def models_to_compare(store: Store, record: LabellingRecord, names: Sequence[str]) -> list[ModelRecord]:
    """Return the models that were named, else the best three with vectors of all articles of a labelling.

    Raises :class:`DataError` if there is none, or one that was named has no vectors.
    """
    with store.reading() as r:
        corpus = r.corpora.get(record.corpus_id)
        ids = r.labellings.snapshot(record.id).partition.ids
        articles = {s.article_id for s in r.corpora.sentences_by_id(ids).values()}
        able = [m for m in r.models.list() if articles <= r.embeddings.have(m.id, corpus.id)]
    wanted = [find_model(store, name) for name in names]
    for model in wanted:
        if model not in able:
            raise DataError(f"“{model.name}” has no vectors of these sentences. Embed the corpus first.")
    if not able:
        raise DataError("No model has vectors of these sentences. Compute a map, or embed the corpus, first.")
    across = record.article_id is None and corpus.articles > 1
    return wanted or best_first(store, corpus_shares(corpus), corpus.id, models=able, across=across)[:_MOST_MODELS]
