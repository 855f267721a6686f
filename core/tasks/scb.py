"""Sentence clustering benchmarks: articles whose sections are the true themes of their sentences.

They are built like the Sentence Clustering Benchmark of Ein Dor et al. 2018, section 3.3, whose rules are inferred from
its published numbers, or read from the published file without changes.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.config import option
from themescope.core.errors import ConfigError
from themescope.core.protocols import SILENT, Report
from themescope.core.triplets.rules import (
    ArticleSentences,
    SectionRules,
    article_key,
    eligible,
    kept_sections,
    length_rule,
    token_count,
)
from themescope.core.types import BenchmarkItem, Sentence, Split

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
    min_section_sentences: int = option(3, "Minimum size of a section; smaller ones are removed.", low=1,
                                        unit="sentences")  # fmt: skip
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
    report: Report | None = None,
) -> tuple[list[BenchmarkItem], dict[str, Any]]:
    """Return items ordered by title, and counts: dropped articles by reason, and our numbers with the published ones.

    Articles are sampled by a hash of seed and title, so that file order does not matter. Only articles of ``splits``
    are used; for the published file give all splits.
    """
    report = report or SILENT
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
    reason = _reason_to_drop(clusters, rules)
    if reason:
        dropped[reason] += 1
        return None
    pairs = sorted(
        ((sentence, position) for position, sentences in clusters for sentence in sentences),
        key=lambda pair: pair[0].position,
    )
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


def _reason_to_drop(clusters: list[tuple[int, list[Sentence]]], rules: ScbRules) -> str:
    if rules.as_given:
        return "" if len(clusters) > 1 else "fewer_than_two_sections"
    if len(clusters) < rules.min_sections:
        return "too_few_sections"
    if len(clusters) > rules.max_sections:
        return "too_many_sections"
    enough = sum(len(own) for _, own in clusters) >= rules.min_sentences
    return "" if enough else "too_few_sentences"


def _table(found: list[_Candidate]) -> dict[str, float]:
    """Return our numbers under the names of :data:`PUBLISHED`; empty if no article is eligible."""
    if not found:
        return {}
    sizes = [np.unique(c.item.truth, return_counts=True)[1] for c in found]
    clusters = np.array([len(s) for s in sizes])
    sentences = np.array([len(c.item.truth) for c in found])
    size, tokens = np.concatenate(sizes), np.concatenate([c.tokens for c in found])
    table: dict[str, float] = {
        "articles": len(found), "clusters": int(clusters.sum()), "sentences": int(sentences.sum()),
        "tokens_median": float(np.median(tokens)),
    }  # fmt: skip
    for name, share in (("quartile_1", 0.25), ("median", 0.5), ("quartile_3", 0.75)):
        table[f"cluster_size_{name}"] = float(np.quantile(size, share))
    measured = {"clusters_per_article": clusters, "sentences_per_article": sentences, "cluster_size": size}
    for name, values in (measured | {"tokens": tokens}).items():
        table |= {f"{name}_min": int(values.min()), f"{name}_max": int(values.max())}
        table[f"{name}_mean"] = round(float(values.mean()), 2)
    return {name: table[name] for name in PUBLISHED}
