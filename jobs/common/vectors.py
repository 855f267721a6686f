"""Vectors of stored sentences, computed once per article and model and stored as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from core.protocols import Model, Report
from core.registry import Card
from core.types import Ids, Matrix, Sentence
from db.records import ArticleRecord, ModelRecord, VectorBlock
from db.sql import batches
from db.store import Store
from jobs.common.job import JobContext

BATCH_SENTENCES = 4_096
"""Sentences per batch: enough for batches of similar length, few enough to cancel within seconds."""


def load_model(store: Store, model: ModelRecord) -> tuple[Model, dict[str, Any]]:
    """Load a stored model; return it with its metadata."""
    from core.models import artifact

    return artifact.load_model(store.artifacts.path(model.artifact))


def fitted_model(context: JobContext, model: ModelRecord) -> Model:
    """Return a model for embedding: the one that evaluations share, or else a stored model loaded anew."""
    return context.models.get(model) if context.models is not None else load_model(context.store, model)[0]


def method_of(model: ModelRecord) -> Card:
    """Return the card of a model's method."""
    from core.models import REGISTRY as METHODS

    return METHODS.get(model.method)


def seen_in_training(store: Store, model: ModelRecord, titles: Iterable[str]) -> list[str]:
    """Return those of ``titles`` that the model was trained on."""
    from core.models.artifact import read_info, saw_title

    info = read_info(store.artifacts.path(model.artifact))
    return [title for title in titles if saw_title(info, title)]


def embed_articles(context: JobContext, model: ModelRecord, articles: Sequence[ArticleRecord], report: Report) -> int:
    """Embed and store those of ``articles`` that have no block yet; return their number."""
    store = context.store
    _forget_outdated(context, model)
    missing = _missing(store, model, articles)
    if not missing:
        return 0
    report.progress(0, 1, f"Loading {model.name}")
    fitted = fitted_model(context, model)
    dtype = "float32" if "sparse" in method_of(model).tags else "float16"
    total, done = sum(a.sentences for a in missing), 0
    for group in article_groups(missing):
        with store.reading() as r:
            sentences = r.corpora.sentences_of([a.id for a in group])
        blocks = _blocks(fitted, group, sentences)
        with context.writing() as w:
            w.embeddings.add(model.id, blocks, dtype)
        done += sum(a.sentences for a in group)
        report.progress(done, total, f"{done:,} of {total:,} sentences embedded")
    return len(missing)


def rows_of(store: Store, model: ModelRecord, wanted: Mapping[int, Ids]) -> Matrix:
    """Return (n, dim) vectors of sentences, given as article id → positions, in the order of ``wanted``."""
    parts: list[Any] = []
    for ids in batches(wanted, 100):
        with store.reading() as r:
            blocks = r.embeddings.get(model.id, ids)
        parts += [blocks[i][wanted[i]] for i in ids]
    return stacked(parts)


def stacked(parts: Sequence[Any]) -> Any:
    """Concatenate matrices with the same number of columns, dense or CSR."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _forget_outdated(context: JobContext, model: ModelRecord) -> None:
    """Delete the vectors of a model, in every corpus, that an older revision of its method computed."""
    revision = method_of(model).revision
    if model.revision == revision:
        return
    with context.writing() as w:
        if w.models.get(model.id).revision != revision:  # else another step has done it since `model` was read
            w.embeddings.delete(model.id)
            w.models.set_revision(model.id, revision)


def _missing(store: Store, model: ModelRecord, articles: Sequence[ArticleRecord]) -> list[ArticleRecord]:
    with store.reading() as r:
        have: set[int] = set()
        for corpus_id in {a.corpus_id for a in articles}:
            have |= r.embeddings.have(model.id, corpus_id)
    return [a for a in articles if a.id not in have]


def _blocks(
    fitted: Model, group: Sequence[ArticleRecord], sentences: Mapping[int, list[Sentence]]
) -> list[VectorBlock]:
    """Embed whole articles, because a method may use the other sentences of an article."""
    flat = [sentence for article in group for sentence in sentences.get(article.id, [])]
    vectors = fitted.embed(flat)
    blocks, start = [], 0
    for article in group:
        end = start + len(sentences.get(article.id, []))
        blocks.append(VectorBlock(article.id, vectors[start:end]))
        start = end
    return blocks


def article_groups(articles: Sequence[ArticleRecord]) -> Iterator[list[ArticleRecord]]:
    """Yield groups of whole articles with about ``BATCH_SENTENCES`` sentences."""
    group: list[ArticleRecord] = []
    for article in articles:
        group.append(article)
        if sum(a.sentences for a in group) >= BATCH_SENTENCES:
            yield group
            group = []
    if group:
        yield group
