"""What the Summaries page reads; like :mod:`webapp.queries`, through the store's read-only repositories."""

from __future__ import annotations

from dataclasses import dataclass

from core.records import ArticleRecord, ModelRecord, RunRecord
from core.types import Matrix
from webapp import queries


@dataclass(frozen=True, slots=True)
class Measured:
    """A method on a collection of documents with people's summaries."""

    run: RunRecord
    model: str
    """Name of the model; "" for methods that look at no vectors."""


def vectors_by_model(article: ArticleRecord) -> list[tuple[ModelRecord, Matrix]]:
    """Every model that has embedded the article, with the (n, dim) vectors of its sentences."""
    with queries.store().reading() as r:
        found = [(model, r.embeddings.get(model.id, [article.id]).get(article.id)) for model in r.models.list()]
    return [(model, vectors) for model, vectors in found if vectors is not None]


def measured() -> list[Measured]:
    """Every evaluation on summaries, newest first."""
    with queries.store().reading() as r:
        models = {model.id: model.name for model in r.models.list()}
        return [Measured(run, models.get(run.model_id or 0, "")) for run in reversed(r.runs.list(kind="summaries"))]
