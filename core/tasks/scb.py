"""Sentence clustering benchmarks: articles whose sections are the true themes of their sentences.

They are built like the Sentence Clustering Benchmark of Ein Dor et al. 2018, section 3.3, whose rules are inferred from
its published numbers, or read from the published file without changes.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import Config, option
from themescope.core.errors import ConfigError, DataError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.triplets.rules import (
    ArticleSentences,
    SectionRules,
    article_key,
    eligible,
    kept_sections,
    length_rule,
    token_count,
)
from themescope.core.types import (
    SILENT,
    BenchmarkItem,
    Clusterer,
    Estimate,
    Executor,
    Labels,
    Matrix,
    Records,
    Report,
    Sentence,
    Shard,
    Split,
)

PUBLISHED: dict[str, float] = {
    "articles": 692,
    "clusters": 5_555,
    "sentences": 46_117,
    "clusters_per_article_min": 5,
    "clusters_per_article_mean": 8.03,
    "clusters_per_article_max": 12,
    "sentences_per_article_min": 17,
    "sentences_per_article_mean": 66.6,
    "sentences_per_article_max": 1_614,
    "cluster_size_min": 3,
    "cluster_size_quartile_1": 4,
    "cluster_size_median": 5,
    "cluster_size_quartile_3": 9,
    "cluster_size_mean": 8.3,
    "cluster_size_max": 1_308,
    "tokens_min": 5,
    "tokens_median": 20,
    "tokens_mean": 21.8,
    "tokens_max": 50,
}
"""Numbers of the published benchmark, version 1.0.2."""

REPORT_EVERY = 200


@dataclass(frozen=True)
class ScbRules(SectionRules):
    """Settings of a clustering benchmark; the defaults resemble the published one."""

    as_given: bool = option(
        False,
        "Use every article with all its sentences and sections, as for the published benchmark file; the other "
        "settings are ignored.",
    )
    openers_only: bool = option(False, "Use only the first sentence of each paragraph, as for triplets.")
    min_section_sentences: int = option(
        3, "Minimum size of a section; smaller ones are removed.", low=1, unit="sentences"
    )
    max_sections: int = option(12, "Maximum number of clusters of an article.", low=2)
    min_sentences: int = option(17, "Minimum number of sentences of an article.", low=2, unit="sentences")
    max_articles: int = option(692, "Number of articles sampled from the eligible ones.", low=1, unit="articles")

    def validate(self) -> None:
        """Reject bounds that no article can satisfy."""
        super().validate()
        if self.max_sections < self.min_sections:
            raise ConfigError(
                f"{self.named('max_sections')} is {self.max_sections} and {self.named('min_sections')} is "
                f"{self.min_sections}: no article would remain."
            )


@dataclass(frozen=True, slots=True)
class _Candidate:
    key: int
    title: str
    item: BenchmarkItem
    tokens: npt.NDArray[np.int64]


def build_scb(
    articles: Iterable[ArticleSentences],
    rules: ScbRules,
    seed: int,
    splits: Collection[Split] = (Split.TEST,),
    report: Report = SILENT,
) -> tuple[list[BenchmarkItem], dict[str, Any]]:
    """Return items ordered by title, and counts: dropped articles by reason, and our numbers with the published ones.

    Articles are sampled by a hash of seed and title, so that file order does not matter. Only articles of ``splits``
    are used; for the published file give all splits.
    """
    dropped: Counter[str] = Counter()
    found: list[_Candidate] = []
    seen, expected = 0, operator.length_hint(articles)
    for seen, article in enumerate(articles, start=1):
        candidate = _candidate(article, rules, seed, splits, dropped)
        if candidate is not None:
            found.append(candidate)
        if seen % REPORT_EVERY == 0:
            report.progress(seen, max(expected, seen), "articles")
    qualifying = len(found)
    if not rules.as_given:
        found = sorted(found, key=lambda c: (c.key, c.title))[: rules.max_articles]
    found.sort(key=lambda c: (c.title, c.key))
    counts: dict[str, Any] = {
        "articles": {"seen": seen, "qualifying": qualifying, "taken": len(found), "dropped": dict(dropped)},
        "table": {"ours": _table(found), "published": dict(PUBLISHED)},
    }
    return [c.item for c in found], counts


def _candidate(
    article: ArticleSentences, rules: ScbRules, seed: int, splits: Collection[Split], dropped: Counter[str]
) -> _Candidate | None:
    if article.split not in splits:
        dropped["other_split"] += 1
        return None
    clusters = _clusters(article, rules)
    reason = ""
    if rules.as_given:
        reason = "" if len(clusters) > 1 else "fewer_than_two_sections"
    elif not rules.min_sections <= len(clusters) <= rules.max_sections:
        reason = "too_few_sections" if len(clusters) < rules.min_sections else "too_many_sections"
    elif sum(len(own) for _, own in clusters) < rules.min_sentences:
        reason = "too_few_sentences"
    if reason:
        dropped[reason] += 1
        return None
    pairs = [(sentence, position) for position, sentences in clusters for sentence in sentences]
    pairs.sort(key=lambda pair: pair[0].position)
    item = BenchmarkItem(
        article.article_id,
        np.array([sentence.id for sentence, _ in pairs], dtype=np.int64),
        np.array([position for _, position in pairs], dtype=np.int32),
    )
    tokens = np.array([token_count(sentence.text) for sentence, _ in pairs], dtype=np.int64)
    return _Candidate(article_key(article.title, seed), article.title, item, tokens)


def _clusters(article: ArticleSentences, rules: ScbRules) -> list[tuple[int, list[Sentence]]]:
    """Return (position, sentences) of every section, or of those that pass rules (ii)–(v) and are large enough."""
    if rules.as_given:
        own: dict[int, list[Sentence]] = {}
        for sentence in article.sentences:
            own.setdefault(sentence.section, []).append(sentence)
        return list(own.items())
    kept = kept_sections(article, rules, Counter())
    if len(kept) < rules.min_sections:
        return []
    found = []
    for section in kept:
        sentences = [sentence for sentence in section.sentences if not length_rule(sentence, rules)]
        if rules.openers_only:
            sentences = [sentence for sentence, _ in eligible(section, rules, Counter())]
        if len(sentences) >= rules.min_section_sentences:
            found.append((section.record.position, sentences))
    return found


def _table(found: list[_Candidate]) -> dict[str, float]:
    """Return our numbers under the names of :data:`PUBLISHED`; empty if no article is eligible."""
    if not found:
        return {}
    sizes = [np.unique(c.item.truth, return_counts=True)[1] for c in found]
    clusters = np.array([len(s) for s in sizes])
    sentences = np.array([len(c.item.truth) for c in found])
    size, tokens = np.concatenate(sizes), np.concatenate([c.tokens for c in found])
    table: dict[str, float] = {
        "articles": len(found),
        "clusters": int(clusters.sum()),
        "sentences": int(sentences.sum()),
        "tokens_median": float(np.median(tokens)),
    }
    for name, share in (("quartile_1", 0.25), ("median", 0.5), ("quartile_3", 0.75)):
        table[f"cluster_size_{name}"] = float(np.quantile(size, share))
    measured = {"clusters_per_article": clusters, "sentences_per_article": sentences, "cluster_size": size}
    for name, values in (measured | {"tokens": tokens}).items():
        table |= {f"{name}_min": int(values.min()), f"{name}_max": int(values.max())}
        table[f"{name}_mean"] = round(float(values.mean()), 2)
    return {name: table[name] for name in PUBLISHED}


# Clustering and scoring of the articles of a benchmark


CHUNK = 16
Item: TypeAlias = "tuple[Labels, Matrix | None]"
Scores = dict[str, tuple[npt.NDArray[np.float64], Estimate]]


def cluster_items(
    items: Iterable[Item],
    clusterer_id: str,
    settings: Mapping[str, Any] | Config | None,
    seed: int,
    executor: Executor | None,
    report: Report,
    total: int = 0,
    records: Records | None = None,
) -> list[Labels]:
    """Return the labels of every item (truth (n,), vectors (n, dim) or None); k is its number of true clusters.

    Articles are clustered independently with the seeds seed, seed + 1, …, in shards of ``CHUNK`` articles. ``executor``
    computes the shards with one BLAS thread per process, because threads are slower than one process; without it, and
    for a clusterer tagged ``compiled`` if the workers are on this machine, this process does. ``items`` is read once
    and a few chunks ahead. A shard with an entry in ``records`` is not computed again. The result does not depend on
    the executor. Raises ``DataError`` for an article without vectors.
    """
    card = CLUSTERERS.get(clusterer_id)
    clusterer = CLUSTERERS.build(clusterer_id, settings)
    total = total or (len(items) if isinstance(items, Sequence) else 0)
    shards = _shards(_tasks(items, "no-vectors" not in card.tags, seed))
    if executor is None or ("compiled" in card.tags and not executor.remote):
        clustered_here: list[Labels] = []
        for shard in shards:
            clustered_here.extend(_cluster_chunk(clusterer, shard.data))
            report.progress(len(clustered_here), max(total, len(clustered_here)), "articles clustered")
        return clustered_here
    fn = partial(_cluster_chunk, clusterer)
    found = executor.map(fn, shards, report=report, total=total, unit="articles clustered", records=records)
    return [labels for chunk in found for labels in chunk]


def score_labels(truths: Sequence[Labels], labels: Sequence[Labels], seed: int = 0) -> Scores:
    """Return for every metric the values of the articles (m,), and their unweighted mean with its interval."""
    if len(truths) != len(labels):
        raise DataError(f"There are {len(truths)} true partitions but {len(labels)} computed ones.")
    scores: Scores = {}
    for card in METRICS:
        metric = METRICS.build(card.id)
        values = np.array([metric.score(*pair) for pair in zip(truths, labels, strict=True)], dtype=np.float64)
        scores[card.id] = (values, bootstrap_mean(values, seed=seed))
    return scores


_Task: TypeAlias = "tuple[Matrix, int, int]"  # vectors, k, seed


def _tasks(items: Iterable[Item], needs_vectors: bool, seed: int) -> Iterator[_Task]:
    for number, (truth, vectors) in enumerate(items):
        if vectors is None:
            if needs_vectors:
                raise DataError(f"Article {number + 1} of the benchmark has no vectors. Embed the corpus first.")
            vectors = np.zeros((len(truth), 0), dtype=np.float32)
        if vectors.shape[0] != len(truth):
            raise DataError(
                f"Article {number + 1} of the benchmark has {len(truth)} sentences but {vectors.shape[0]} vectors. "
                "Embed the corpus again."
            )
        yield vectors, len(np.unique(truth)), seed + number


def _cluster_chunk(clusterer: Clusterer, chunk: Sequence[_Task]) -> list[Labels]:
    """Cluster the items of a chunk, in this process or in a worker, without further threads of BLAS."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        return [clusterer.fit_predict(vectors, k, seed) for vectors, k, seed in chunk]


def _shards(tasks: Iterator[_Task]) -> Iterator[Shard]:
    first = 1
    while chunk := list(islice(tasks, CHUNK)):
        yield Shard(f"articles {first:,} to {first + len(chunk) - 1:,}", chunk, len(chunk))
        first += len(chunk)
