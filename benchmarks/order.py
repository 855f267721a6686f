"""Themes of running text with and without the order of its sentences, and with shuffled sentences.

``python -m benchmarks.order FILES… [--split test] [--count 100]`` on compressed JSON lines of articles: AMI (max) and
ARI of `find_themes` with the sections, with the true and the suggested number of themes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks._section_articles import SectionArticle, section_articles
from themescope.core.metrics.partition import AdjustedMutualInformation, AdjustedRandIndex, MetricConfig
from themescope.core.metrics.statistics.intervals import bootstrap_mean
from themescope.core.paths import DEFAULT
from themescope.core.protocols import SILENT
from themescope.core.sentence_model import load
from themescope.core.tasks.themes import ThemesConfig, find_themes
from themescope.core.types import Split


def scores(article: SectionArticle, seed: int) -> list[float]:
    """Return AMI and ARI without order, with it, and shuffled, for the true and the suggested k; and both tests."""
    n, k = len(article.truth), len(np.unique(article.truth))
    ways = (None, np.arange(n), np.random.default_rng(seed).permutation(n))
    found, used = [], []
    for wanted in (k, 0):
        for positions in ways:
            config = ThemesConfig(k=wanted, sample=10, subsamples=1)
            themes = find_themes(
                list(article.texts), article.vectors, config, seed, SILENT, load(DEFAULT).calibration, positions
            )
            found += [
                AdjustedMutualInformation(MetricConfig()).score(article.truth, themes.labels),
                AdjustedRandIndex(MetricConfig()).score(article.truth, themes.labels),
            ]
            used.append(float(themes.order > 0))
    return [*found, used[1], used[2]]


def main() -> None:
    """Print one row for each way, with 95 % intervals over articles, and paired differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--split", type=Split, default=Split.TEST)
    parser.add_argument("--count", type=int, default=100)
    args = parser.parse_args()
    articles = section_articles(args.files, args.split, args.count)
    table = np.array([scores(article, 0) for article in articles])
    print(f"{len(articles)} articles, {sum(len(a.truth) for a in articles):,} sentences, {args.split.value}")
    for at, name in enumerate(
        f"{k} k, {way}" for k in ("true", "suggested") for way in ("no order", "order", "shuffled")
    ):
        ami, ari = (bootstrap_mean(table[:, 2 * at + column], seed=0) for column in (0, 1))
        print(f"{name:24} AMI {ami.value:.3f} [{ami.low:.3f}, {ami.high:.3f}]  ARI {ari.value:.3f}")
    gain = bootstrap_mean(table[:, 8] - table[:, 6], seed=0)
    print(f"suggested k, order − no order: AMI {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
    print(f"order used: {table[:, -2].mean():.3f} as written, {table[:, -1].mean():.3f} shuffled")


if __name__ == "__main__":
    main()
