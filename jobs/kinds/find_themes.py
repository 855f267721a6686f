"""Job kind: find themes by clustering all sentences of a corpus and naming the clusters.

The result is a run of kind "themes" with the labels by article, the margin of every sentence, and in ``config`` the
names, curves and reason. The labels are deleted with the corpus. With the argument ``article`` they are the clusters of
one article.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from themescope.core.config import config_from_dict, option
from themescope.core.errors import DataError
from themescope.core.types import Sentence, Split
from themescope.db.records import ArticleRecord, CorpusRecord, ModelRecord, RunRecord
from themescope.db.store import Store
from themescope.jobs.common.articles import ready_corpus, sampled_articles
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.results import work_digest
from themescope.jobs.common.vectors import embed_articles, method_of, rows_of
from themescope.jobs.kinds import REGISTRY as KINDS

KIND = "themes"


@dataclass(frozen=True)
class FindThemesConfig(JobConfig):
    """Arguments of finding themes."""

    corpus: str = option("", "Name of the corpus.")
    model: str = option("", "Name of the model with the vectors to cluster.")
    article: int = option(0, "Id of the article to cluster; 0: the whole corpus.", low=0)
    limit: int = option(0, "Maximum number of sentences; of more, articles drawn at random; 0: all.", low=0)
    settings: Mapping[str, Any] = option({}, "Settings of finding themes.")
    seed: int = option(0, "Seed of samples and initialisation.", low=0)

    def validate(self) -> None:
        """Check that corpus and model are given and the settings are valid."""
        from themescope.core.tasks.themes import ThemesConfig

        self.require("corpus", "model")
        config_from_dict(ThemesConfig, self.settings)

    def title(self) -> str:
        """Return a title with the article or the corpus, and the model."""
        if self.article:
            return f"Cluster an article of “{self.corpus}” by “{self.model}”"
        return f"Find themes in “{self.corpus}” by “{self.model}”"


def run(args: FindThemesConfig, context: JobContext) -> dict[str, Any]:
    """Embed, find themes and store them. Stored themes with the same digest are returned."""
    from themescope.core.clustering import REGISTRY as CLUSTERERS
    from themescope.core.tasks.pair_calibration import load_calibration
    from themescope.core.tasks.themes import MOST, ThemesConfig, find_themes

    store = context.store
    corpus, model = ready_corpus(store, args.corpus), find_model(store, args.model)
    config = config_from_dict(ThemesConfig, args.settings)
    inputs: dict[str, Any] = {"corpus": corpus.id, "created": corpus.created.isoformat(), "model": model.digest}
    cards = KINDS.get("find-themes"), method_of(model), CLUSTERERS.get(config.clusterer)
    articles = _articles(store, corpus, args)
    if len(articles) < corpus.articles:
        inputs["articles"] = [article.id for article in articles]
    digest = work_digest(*cards, config=config.to_dict(), seed=args.seed, **inputs)
    with store.reading() as r:
        existing = r.runs.by_digest(digest)
    if existing is not None:
        return _result(existing, corpus, model, cached=True)
    if (asked := sum(article.sentences for article in articles)) > MOST:
        what = articles[0].title if args.article else corpus.name
        raise DataError(
            f"“{what}” has {asked:,} sentences; the maximum for finding themes is {MOST:,}. Import a list of the "
            "relevant sentences, or set a limit."
        )
    begun = time.monotonic()
    embed_articles(context, model, articles, context.part(0.0, 0.5))
    work = _Work(context, corpus, model, articles, digest, args.seed, args.article)
    sentences = work.sentences()
    context.progress(0.5, 1, "Reading vectors")
    vectors = rows_of(store, model, {a.id: np.arange(a.sentences) for a in articles if a.sentences})
    calibration = load_calibration(store.artifacts.path(model.artifact))
    themes = find_themes([s.text for s in sentences], vectors, config, args.seed, context.part(0.5, 0.98), calibration)
    context.progress(0.98, 1, "Storing the themes")
    record = work.keep(sentences, themes, config.to_dict(), time.monotonic() - begun)
    return _result(record, corpus, model, cached=False)


def _articles(store: Store, corpus: CorpusRecord, args: FindThemesConfig) -> list[ArticleRecord]:
    """Return the article that is named; else all articles, or a sample of them with at most ``limit`` sentences."""
    with store.reading() as r:
        if not args.article:
            return sampled_articles(r.corpora.articles(corpus.id, limit=max(corpus.articles, 1)), args.limit)
        found = r.corpora.articles_by_id([args.article])
    if args.article not in found or found[args.article].corpus_id != corpus.id:
        raise DataError(f"“{corpus.name}” has no article with id {args.article}.")
    return [found[args.article]]


@dataclass(frozen=True)
class _Work:
    context: JobContext
    corpus: CorpusRecord
    model: ModelRecord
    articles: Sequence[ArticleRecord]
    digest: str
    seed: int
    article: int

    def sentences(self) -> list[Sentence]:
        """Return every sentence in store order, which is the order of the vectors."""
        with self.context.store.reading() as r:
            found = r.corpora.sentences_of([a.id for a in self.articles])
        return [sentence for article in self.articles for sentence in found.get(article.id, [])]

    def keep(self, sentences: Sequence[Sentence], themes: Any, settings: dict[str, Any], seconds: float) -> RunRecord:
        """Store labels, margins and names of the themes."""
        ids = np.array([s.id for s in sentences], dtype=np.int64)
        owners = np.array([s.article_id for s in sentences], dtype=np.int64)
        described = [{**asdict(t), "central": ids[list(t.central)].tolist()} for t in themes.themes]
        config = {
            "corpus_id": self.corpus.id,
            "settings": settings,
            "themes": described,
            "curves": asdict(themes.curves),
            "reason": themes.reason,
            "interval": list(themes.interval),
            "sentences": len(sentences),
            "compared": themes.compared,
            "sampled_from": self.corpus.sentences,
        } | ({"article": self.article, "title": self.articles[0].title} if self.article else {})
        with self.context.writing() as w:
            return w.runs.add(
                kind=KIND,
                digest=self.digest,
                model_id=self.model.id,
                clusterer=settings["clusterer"],
                config=config,
                seed=self.seed,
                seconds=seconds,
                assignments={a.id: themes.labels[owners == a.id] for a in self.articles if a.sentences},
                margins={Split.TEST: (ids, themes.margins)},
            )


def _result(run: RunRecord, corpus: CorpusRecord, model: ModelRecord, cached: bool) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "corpus": corpus.name,
        "model": model.name,
        "digest": run.digest,
        "cached": cached,
        "seconds": round(run.seconds, 3),
        "sentences": run.config["sentences"],
        "k": len(run.config["themes"]),
        "reason": run.config["reason"],
        "interval": run.config.get("interval"),  # results of earlier versions have none
        "themes": [{"name": theme["name"], "size": theme["size"]} for theme in run.config["themes"]],
    }
