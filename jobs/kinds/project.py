"""Job kinds: embed a corpus, and compute a map by projecting the vectors of sentences to two dimensions.

Articles that have vectors already are skipped, so a repeated job resumes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from themescope.core.config import config_from_dict, option
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.records.stored import ArticleRecord, CorpusRecord, MapRecord, ModelRecord
from themescope.core.types import Ids, Matrix, Points, Shard
from themescope.db.records import MapPoints
from themescope.db.sql import batches
from themescope.db.store import Store
from themescope.jobs.common.articles import ready_corpus, sampled_articles, work_digest
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model, same_for_same_text
from themescope.jobs.common.vectors import embed_articles, method_of, rows_of
from themescope.jobs.executors import ArrayRecords
from themescope.jobs.kinds import REGISTRY as KINDS

if TYPE_CHECKING:
    from themescope.core.projection import FittedMap, UmapConfig

FEWEST = 5
"""Minimum number of sentences of a map."""
MOST = 20_000_000
"""Maximum number of sentences of a map."""
_SHARD_ARTICLES = 100
_MEASURED = 100_000
"""Number of sentences among which the neighbours are compared; of more sentences, a sample."""


@dataclass(frozen=True)
class ProjectConfig(JobConfig):
    """Arguments of a map."""

    corpus: str = option("", "Name of the corpus.", required=True)
    model: str = option("", "Name of the model with the vectors to project.", required=True)
    articles: tuple[int, ...] = option(
        (), "Ids of articles to include; without ids and titles, the whole corpus is included."
    )
    titles: tuple[str, ...] = option((), "Titles of articles to include, for jobs that are queued before the import.")
    limit: int = option(
        20_000, "Maximum number of sentences on the map; larger sets are sampled.", low=FEWEST, high=MOST
    )
    within: int = option(
        0, "Sample from articles drawn at random with at most so many sentences, as embed does; 0: from all.", low=0
    )
    settings: Mapping[str, Any] = option({}, "Settings of the projection.")
    seed: int = option(0, "Seed of the sample and the layout.", low=0)
    name: str = option("", "Name of the map; empty: named after its content.")

    def validate(self) -> None:
        """Check the settings."""
        from themescope.core.projection import UmapConfig

        config_from_dict(UmapConfig, self.settings)

    def title(self) -> str:
        """Return a title with corpus and model."""
        if self.name:
            return f"Draw the map “{self.name}”"
        count = len(self.articles) + len(self.titles)
        what = f"{count} article{'s' * (count > 1)} of “{self.corpus}”" if count else f"“{self.corpus}”"
        if len(self.titles) == 1 and not self.articles:
            what = f"“{self.titles[0]}”"
        return f"Draw the map of {what} by “{self.model}”"


def project(args: ProjectConfig, context: JobContext) -> dict[str, Any]:
    """Compute and store the map. A stored map with the same digest is returned."""
    from themescope.core.projection import UmapConfig

    store = context.store
    corpus = ready_corpus(store, args.corpus)
    model = find_model(store, args.model, corpus)
    config = config_from_dict(UmapConfig, args.settings)
    articles = _articles(store, corpus, args)
    chosen_ids = [a.id for a in articles] if args.articles or args.titles else []
    sampled = {"within": args.within} if 0 < args.within < corpus.sentences else {}
    inputs = {"corpus": [corpus.id, corpus.digest], "model": model.digest, "articles": chosen_ids, **sampled}
    inputs |= {"limit": args.limit, "config": config.to_dict(), "seed": args.seed}
    digest = work_digest(KINDS.get("project"), method_of(model), **inputs)
    with store.reading() as r:
        existing = r.maps.by_digest(digest)
    if existing is not None:
        return _result(store, existing, cached=True)
    chosen = _sample(sampled_articles(articles, args.within), args.limit, args.seed)
    embed_articles(context, model, [a for a in articles if a.id in chosen], context.part(0.0, 0.5))
    context.progress(0.5, 1, "Reading vectors")
    ids, texts = _sentences(store, chosen)
    # A text counts once: many copies would have only each other as neighbours, and be scattered apart from all others.
    different, place = _different(texts) if same_for_same_text(model) else (np.arange(len(ids)), np.arange(len(ids)))
    placed = _of_rows(chosen, different)
    projection = _Projection(context, model, config, args.seed, digest)
    points = projection.points(placed)
    context.progress(0.95, 1, "Measuring faithfulness")
    kept = projection.faithfulness(placed, points)
    with context.writing() as w:
        record = w.maps.add(
            corpus_id=corpus.id,
            model_id=model.id,
            name=args.name or _name(corpus, model, articles if chosen_ids else []),
            config=config.to_dict() | {"articles": chosen_ids, "limit": args.limit},
            seed=args.seed,
            digest=digest,
            faithfulness=kept,
            sampled_from=sum(article.sentences for article in articles),
            points=MapPoints(ids, points[place]),
        )
    return _result(store, record, cached=False)


@dataclass(frozen=True)
class _Projection:
    """Projection of stored vectors. Of many sentences only the sample and a few shards are in memory at a time."""

    context: JobContext
    model: ModelRecord
    config: UmapConfig
    seed: int
    digest: str

    def points(self, chosen: Mapping[int, Ids]) -> Points:
        """Return (n, 2) positions of sentences, given as article id → positions, in that order."""
        from themescope.core.projection import fit, sample

        n = sum(map(len, chosen.values()))
        marks = sample(n, self.config.landmarks, self.seed)
        whole = len(marks) == n
        vectors = self._vectors(chosen, marks)
        fitted = fit(vectors, self.config, self.seed, self.context.part(0.5, 0.95 if whole else 0.6, "Projecting"))
        if whole:
            return fitted.at
        others = np.setdiff1d(np.arange(n), marks)
        # Vectors and positions of the same digest are the same, also in another attempt of the job.
        records = ArrayRecords(self.context.checkpoint_folder() / "shards" / self.digest)
        report = self.context.part(0.6, 0.95, "Placing")
        placed = self.context.executor.map(
            _Placing(fitted),
            self._shards(chosen, others),
            report=report,
            total=len(others),
            unit="sentences",
            records=records,
        )
        points = np.empty((n, 2), dtype=np.float32)
        points[marks] = fitted.at
        points[others] = np.concatenate([part for (part,) in placed])
        return points

    def faithfulness(self, chosen: Mapping[int, Ids], points: Points) -> float:
        """Return the share of neighbours that are kept on the map, measured among a sample of many sentences."""
        from themescope.core.projection import faithfulness, sample

        measured = sample(len(points), _MEASURED, self.seed + 1)
        return faithfulness(self._vectors(chosen, measured), points[measured], seed=self.seed)

    def _shards(self, chosen: Mapping[int, Ids], others: Ids) -> Iterator[Shard]:
        """Yield numbers and vectors of the sentences outside the sample, by groups of articles."""
        kept = _of_rows(chosen, others)
        for number, articles in enumerate(batches(kept, _SHARD_ARTICLES)):
            group = {article: kept[article] for article in articles}
            vectors = rows_of(self.context.store, self.model, group)
            name = f"articles with ids {articles[0]} to {articles[-1]}"
            yield Shard(name, (number, vectors), vectors.shape[0])

    def _vectors(self, chosen: Mapping[int, Ids], rows: Ids) -> Matrix:
        return rows_of(self.context.store, self.model, _of_rows(chosen, rows))


@dataclass(frozen=True)
class _Placing:
    """Function that places the sentences of a shard, as a list of arrays for the completion records."""

    fitted: FittedMap

    def __call__(self, shard: tuple[int, Matrix]) -> list[Points]:
        return [self.fitted(shard)]


def _of_rows(chosen: Mapping[int, Ids], rows: Ids) -> dict[int, Ids]:
    """Return article id → positions of ascending rows of the chosen sentences; articles without any are left out."""
    ends = np.cumsum([len(positions) for positions in chosen.values()])
    parts = np.split(rows, np.searchsorted(rows, ends)[:-1])
    starts = ends - [len(positions) for positions in chosen.values()]
    found = zip(chosen.items(), parts, starts, strict=True)
    return {article: positions[part - start] for (article, positions), part, start in found if len(part)}


def _articles(store: Store, corpus: CorpusRecord, args: ProjectConfig) -> list[ArticleRecord]:
    """Return the chosen articles in store order; all of them if none is chosen."""
    with store.reading() as r:
        if not (args.articles or args.titles):
            return r.corpora.articles(corpus.id, limit=max(corpus.articles, 1))
        found = r.corpora.articles_by_id(args.articles)
        foreign = [i for i in args.articles if i not in found or found[i].corpus_id != corpus.id]
        if foreign:
            raise DataError(f"Project {corpus.name!r} has no article with id {foreign[0]}.")
        for title in args.titles:
            same = r.corpora.articles_by_title(corpus.id, title)
            if not same:
                near = [a.title for a in r.corpora.articles(corpus.id, search=title, limit=3)]
                near = near or [a.title for a in r.corpora.articles(corpus.id, limit=3)]
                raise UnknownNameError("article", title, near)
            found |= {article.id: article for article in same}
    return sorted(found.values(), key=lambda a: a.position)


def _sample(articles: Sequence[ArticleRecord], limit: int, seed: int) -> dict[int, Ids]:
    """Return article id → sampled positions; sampling is uniform over sentences."""
    available = sum(article.sentences for article in articles)
    if available < FEWEST:
        raise DataError(f"A map needs at least {FEWEST} sentences; there are {available}.")
    chosen = np.arange(available)
    if available > limit:
        chosen = np.sort(np.random.default_rng(seed).choice(available, size=limit, replace=False))
    return _of_rows({article.id: np.arange(article.sentences) for article in articles}, chosen)


def _sentences(store: Store, chosen: Mapping[int, Ids]) -> tuple[Ids, Ids]:
    """Return the ids of sentences, and a hash of the text of each."""
    ids, texts = list[int](), list[int]()
    for part in batches(chosen, 100):
        with store.reading() as r:
            sentences = r.corpora.sentences_of(part)
        found = [sentences[article][int(position)] for article in part for position in chosen[article]]
        ids += [sentence.id for sentence in found]
        texts += [hash(sentence.text) for sentence in found]
    return np.array(ids, dtype=np.int64), np.array(texts, dtype=np.int64)


def _different(values: Ids) -> tuple[Ids, Ids]:
    """Return the (m,) ascending rows at which (n,) values occur first, and for each row the number of its value."""
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[place]


def _name(corpus: CorpusRecord, model: ModelRecord, articles: Sequence[ArticleRecord]) -> str:
    """Return a default name from the corpus or the articles that the map shows."""
    what = corpus.name
    if articles:
        what = articles[0].title + (f" and {len(articles) - 1} more" if len(articles) > 1 else "")
    return f"{what} · {model.name}"


def _result(store: Store, record: MapRecord, cached: bool) -> dict[str, Any]:
    with store.reading() as r:
        points = len(r.maps.points(record.id).sentence_ids)
    about = {"map": record.name, "map_id": record.id, "digest": record.digest, "cached": cached, "points": points}
    return about | {"sampled_from": record.sampled_from, "faithfulness": record.faithfulness}


@dataclass(frozen=True)
class EmbedConfig(JobConfig):
    """Arguments of embedding a corpus."""

    TITLE = "Embed “{corpus}” by “{model}”"
    removed: ClassVar[frozenset[str]] = frozenset({"index"})

    corpus: str = option("", "Name of the corpus.", required=True)
    model: str = option("", "Name of the model.", required=True)
    limit: int = option(0, "Maximum number of sentences; of more, articles drawn at random; 0: all.", low=0)


def embed(args: EmbedConfig, context: JobContext) -> dict[str, Any]:
    """Embed articles that have no vectors."""
    corpus = ready_corpus(context.store, args.corpus)
    model = find_model(context.store, args.model, corpus)
    with context.store.reading() as r:
        articles = sampled_articles(r.corpora.articles(corpus.id, limit=corpus.articles), args.limit)
    sentences = sum(article.sentences for article in articles)
    new = embed_articles(context, model, articles, context)
    about = {"corpus": corpus.name, "model": model.name, "articles": len(articles), "embedded": new.articles}
    return about | {"cut_off": new.cut_off, "sentences": sentences, "cached": new.articles == 0}
