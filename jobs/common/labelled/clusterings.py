"""Clusterings of the sentences of a labelling: computed from stored vectors, or stored as runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.errors import DataError
from themescope.core.records.stored import LabellingRecord, ModelRecord, RunRecord
from themescope.core.types import Ids, Labels, Matrix
from themescope.db.store import Store, Unit
from themescope.jobs.common.model_choice import best_first, corpus_shares
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import rows_of

if TYPE_CHECKING:
    from themescope.core.labelling.method_choice import Configuration

_MOST_MODELS = 3


class LabelledText:
    """The sentences of a labelling with their vectors; the matrix that was clustered last is kept."""

    def __init__(self, store: Store, ids: Ids) -> None:
        self._store, self.ids = store, ids
        with store.reading() as r:
            known = r.corpora.sentences_by_id(ids)
        found = [known[int(i)] for i in ids]
        self.texts = [sentence.text for sentence in found]
        self.articles = np.array([sentence.article_id for sentence in found], dtype=np.int64)
        self.positions = np.array([sentence.position for sentence in found], dtype=np.int64)
        self._matrix: tuple[tuple[str, float], Matrix] | None = None

    def vectors(self, model: str) -> Matrix:
        """Return the (n, dim) stored vectors of the sentences by a model."""
        order = np.argsort(self.articles, kind="stable")
        owners, starts = np.unique(self.articles[order], return_index=True)
        wanted = dict(zip(owners.tolist(), np.split(self.positions[order], starts[1:]), strict=True))
        found: Matrix = rows_of(self._store, find_model(self._store, model), wanted)[np.argsort(order)]
        return found

    def clustered(self, one: Configuration, seed: int) -> Labels:
        """Return (n,) labels of the sentences by a configuration."""
        from themescope.core.labelling.method_choice import clustered, with_shared_words

        key = one.model, one.shared
        if self._matrix is None or self._matrix[0] != key:
            self._matrix = key, with_shared_words(self.texts, self.vectors(one.model), one.shared)
        return clustered(self._matrix[1], one.clusterer, one.k, seed)


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


def stored_clusterings(
    store: Store, record: LabellingRecord, text: LabelledText
) -> Iterator[tuple[dict[str, Any], Labels]]:
    """Yield the stored runs that have all sentences of a labelling, as JSON values, with their (n,) labels."""
    with store.reading() as r:
        runs = r.runs.of_article(record.article_id) if record.article_id is not None else r.runs.list(kind="themes")
        models = {model.id: model.name for model in r.models.list()}
    for run in runs:
        found = _labels_of_run(store, run, text)
        if found is not None:
            yield _described(run, models.get(run.model_id or -1, ""), found), found


def labels_of_run(store: Store, run_id: int, text: LabelledText) -> Labels:
    """Return the (n,) labels of a stored run. Raises :class:`DataError` if it lacks a sentence."""
    with store.reading() as r:
        run = r.runs.get(run_id)
    found = _labels_of_run(store, run, text)
    if found is None:
        raise DataError("This clustering does not have all sentences of the labelling. Rank the methods again.")
    return found


def _labels_of_run(store: Store, run: RunRecord, text: LabelledText) -> Labels | None:
    owners = np.unique(text.articles).tolist()
    with store.reading() as r:
        if run.benchmark_id is None and not _may_have(run, r, owners):
            return None
        labels = r.runs.labels(run.id, owners[0] if len(owners) == 1 else None)
        items = r.benchmarks.items_of(owners[0]) if run.benchmark_id is not None and len(owners) == 1 else {}
    if not set(owners) <= labels.keys():
        return None
    if run.benchmark_id is not None:
        if run.benchmark_id not in items:
            return None
        known = dict(zip(items[run.benchmark_id].sentence_ids.tolist(), labels[owners[0]].tolist(), strict=True))
        values = [known.get(int(i), -1) for i in text.ids]
    else:
        values = [int(labels[a][p]) for a, p in zip(text.articles.tolist(), text.positions.tolist(), strict=True)]
    found = np.array(values, dtype=np.int32)
    return None if (found < 0).any() else found


def _may_have(run: RunRecord, r: Unit, owners: Sequence[int]) -> bool:
    """Return whether a run of themes is of the corpus of these articles."""
    articles = r.corpora.articles_by_id(owners[:1])
    return {article.corpus_id for article in articles.values()} == {run.config.get("corpus_id")}


def _described(run: RunRecord, model: str, labels: Labels) -> dict[str, Any]:
    settings: Mapping[str, Any] = run.config.get("settings", {})
    return {
        "model": model,
        "clusterer": run.clusterer,
        "k": len(np.unique(labels)),
        "shared": float(settings.get("shared", 0.0)),
        "run": run.id,
    }
