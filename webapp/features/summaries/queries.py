"""What the Summaries page reads; like :mod:`webapp.shared.queries`, through the store's read-only repositories."""

from __future__ import annotations

from dataclasses import dataclass

from core.types import Matrix
from db.records import ArticleRecord, ModelRecord, RunRecord
from webapp.shared import queries


@dataclass(frozen=True, slots=True)
class Measured:
    """A method on a collection of documents with people's summaries."""

    run: RunRecord
    model: str
    """Model name; "" for methods that look at no vectors."""


def models_of(article: ArticleRecord) -> list[ModelRecord]:
    """Every model that has embedded the article."""
    with queries.store().reading() as r:
        have = r.embeddings.models(article.id)
        return [model for model in r.models.list() if model.id in have]


def vectors_of(article: ArticleRecord, model: ModelRecord) -> Matrix:
    """The (n, dim) vectors of the article's sentences."""
    with queries.store().reading() as r:
        return r.embeddings.get(model.id, [article.id])[article.id]


def measured() -> list[Measured]:
    """Every evaluation on summaries, newest first."""
    with queries.store().reading() as r:
        models = {model.id: model.name for model in r.models.list()}
        return [Measured(run, models.get(run.model_id or 0, "")) for run in reversed(r.runs.list(kind="summaries"))]
