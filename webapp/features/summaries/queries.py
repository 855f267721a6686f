"""Queries of the page Summaries, through the read-only repositories of the store."""

from __future__ import annotations

from dataclasses import dataclass

from core.types import Matrix
from db.records import ArticleRecord, ModelRecord, RunRecord
from webapp.shared import queries


@dataclass(frozen=True, slots=True)
class Measured:
    """Evaluation of a method on documents with reference summaries."""

    run: RunRecord
    model: str
    """Model name; "" for methods without vectors."""


def models_of(article: ArticleRecord) -> list[ModelRecord]:
    """Return the models that have embedded the article."""
    with queries.store().reading() as r:
        have = r.embeddings.models(article.id)
        return [model for model in r.models.list() if model.id in have]


def vectors_of(article: ArticleRecord, model: ModelRecord) -> Matrix:
    """Return the (n, dim) vectors of the sentences of an article."""
    with queries.store().reading() as r:
        return r.embeddings.get(model.id, [article.id])[article.id]


def measured() -> list[Measured]:
    """Return the evaluations of summaries, newest first."""
    with queries.store().reading() as r:
        models = {model.id: model.name for model in r.models.list()}
        return [Measured(run, models.get(run.model_id or 0, "")) for run in reversed(r.runs.list(kind="summaries"))]
