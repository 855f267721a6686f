"""Job kind: embed a corpus. Articles that have vectors already are skipped, so a repeated job resumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from themescope.core.compute.neighbours import INDEX_FROM
from themescope.core.config import option
from themescope.jobs.common.articles import ready_corpus, sampled_articles
from themescope.jobs.common.indexes import ensure_index
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import embed_articles


@dataclass(frozen=True)
class EmbedConfig(JobConfig):
    """Arguments of embedding a corpus."""

    corpus: str = option("", "Name of the corpus.")
    model: str = option("", "Name of the model.")
    limit: int = option(0, "Maximum number of sentences; of more, articles drawn at random; 0: all.", low=0)
    index: bool = option(True, "Build the index for search by meaning, if the corpus is large.")

    def validate(self) -> None:
        """Check that corpus and model are given."""
        self.require("corpus", "model")

    def title(self) -> str:
        """Return a title with corpus and model."""
        return f"Embed “{self.corpus}” by “{self.model}”"


def run(args: EmbedConfig, context: JobContext) -> dict[str, Any]:
    """Embed articles that have no vectors; build the index of a large corpus."""
    corpus, model = ready_corpus(context.store, args.corpus), find_model(context.store, args.model)
    with context.store.reading() as r:
        articles = sampled_articles(r.corpora.articles(corpus.id, limit=corpus.articles), args.limit)
    sentences = sum(article.sentences for article in articles)
    indexed = args.index and sentences >= INDEX_FROM
    new = embed_articles(context, model, articles, context.part(0.0, 0.5 if indexed else 1.0))
    index = ensure_index(context, model, corpus, context.part(0.5, 1.0)) if indexed else None
    return {
        "corpus": corpus.name,
        "model": model.name,
        "articles": len(articles),
        "embedded": new,
        "sentences": sentences,
        "cached": new == 0,
        **({} if index is None else {"indexed": index.vectors, "recall": round(index.recall, 4)}),
    }
