"""Themes of the sentences of an article: with their order, shuffled, in context, and as `find_themes` chooses.

``python -m benchmarks.order FILES… [--split test] [--count 150]`` on compressed JSON lines of articles: AMI (max) and
ARI with the sections, with the true and the suggested number of themes, and paired differences.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks._section_articles import SectionArticle, section_articles
from themescope.core.metrics.partition import AdjustedMutualInformation, AdjustedRandIndex, MetricConfig
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.paths import DEFAULT
from themescope.core.sentence_model import SentenceModel, load, vectors_of
from themescope.core.tasks.themes import FoundThemes, ThemesConfig, find_themes
from themescope.core.themes import suited
from themescope.core.types import SILENT, Split

PLAIN, ORDER, SHUFFLED, CONTEXT, CHOSEN = WAYS = "no order", "order", "shuffled", "in context", "as find_themes chooses"
_COMPARED = (ORDER, PLAIN), (CONTEXT, PLAIN), (CHOSEN, PLAIN)


def themes_by_way(article: SectionArticle, model: SentenceModel, k: int, seed: int) -> Iterator[FoundThemes]:
    """Yield the themes of an article in each way."""
    config, texts, n = ThemesConfig(k=k, sample=10, subsamples=1), list(article.texts), len(article.truth)
    inside = model.in_context(article.vectors)
    assert inside is not None
    context, plain = vectors_of(inside, texts), article.vectors
    for positions in (None, np.arange(n), np.random.default_rng(seed).permutation(n)):
        yield find_themes(texts, plain, config, seed, SILENT, model.calibration, positions)
    yield find_themes(texts, context, config, seed, SILENT, model.calibration, None, plain)
    found = suited(model, texts, plain)
    yield find_themes(texts, found.vectors, config, seed, SILENT, found.calibration, None, found.plain)


def main() -> None:
    """Print one row for each way, with 95 % intervals over articles, and paired differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--split", type=Split, default=Split.TEST)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    articles, model = section_articles(args.files, args.split, args.count), load(DEFAULT)
    print(f"{len(articles)} articles, {sum(len(a.truth) for a in articles):,} sentences, {args.split.value}")
    metrics = AdjustedMutualInformation(MetricConfig()), AdjustedRandIndex(MetricConfig())
    for number in ("true", "suggested"):
        found = [
            [*themes_by_way(article, model, len(np.unique(article.truth)) if number == "true" else 0, args.seed)]
            for article in articles
        ]
        table = np.array([
            [[metric.score(article.truth, themes.labels) for metric in metrics] for themes in own]
            for article, own in zip(articles, found, strict=True)
        ])  # fmt: skip
        for at, way in enumerate(WAYS):
            ami, ari = (bootstrap_mean(table[:, at, column], seed=0) for column in (0, 1))
            print(f"{number} k, {way:24} AMI {ami.value:.3f} [{ami.low:.3f}, {ami.high:.3f}]  ARI {ari.value:.3f}")
        for way, other in _COMPARED:
            for column, name in enumerate(("AMI", "ARI")):
                gain = bootstrap_mean(table[:, WAYS.index(way), column] - table[:, WAYS.index(other), column], seed=0)
                print(f"{number} k, {way} − {other}: {name} {gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]")
        used = np.array([[themes.order > 0 for themes in own] for own in found]).mean(axis=0)
        print(f"order used: {used[1]:.3f} as written, {used[2]:.3f} shuffled")


if __name__ == "__main__":
    main()
