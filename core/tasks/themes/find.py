"""From sentences and their vectors to named themes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.clustering import REGISTRY as CLUSTERERS
from core.clustering.inputs import unit_rows
from core.clustering.naming import theme_names, theme_words
from core.config import Config, option
from core.errors import ConfigError, DataError
from core.models.composite.hybrid import WORDS, beside_words
from core.protocols import Report, SubReport
from core.tasks.themes.counts import Curves, candidates, measure, suggest
from core.tasks.themes.quality import fits
from core.types import Labels, Matrix, Sentence

FEWEST, MOST = 4, 50_000
"""Numbers of sentences that themes can be found in."""
COMPARED = 6_000
"""Sentences that are compared all with all (0.3 GB); with more, the rest joins the nearest theme of these."""


@dataclass(frozen=True)
class ThemesConfig(Config):
    """Settings of finding themes."""

    k: int = option(0, "How many; 0: suggested by the curves.", low=0, high=500, label="number of themes")
    most: int = option(30, "Largest number of themes that is tried.", low=2, high=50, label="most themes tried")
    clusterer: str = option("iclust", "How sentences are put together.")
    sample: int = option(1_000, "Sentences that the curves are taken over at most.", low=10, high=COMPARED)
    subsamples: int = option(5, "Random parts of the list that stability is measured with.", low=1, high=50)
    shared: float = option(
        WORDS, "How much the words count that sentences share, against 1 for the model; 0: the model alone.",
        low=0.0, high=1_000.0,
    )  # fmt: skip
    words: int = option(3, "Words in a theme's name.", low=1, high=8)
    central: int = option(5, "Most central sentences told of each theme.", low=1, high=50)

    def validate(self) -> None:
        """Reject unknown clusterers and those that do not use vectors."""
        tags = CLUSTERERS.get(self.clusterer).tags
        if self.k == 1:
            raise ConfigError("One theme would hold every sentence: give at least 2, or 0 for a suggestion.")
        if "no-vectors" in tags or "needs-k" not in tags:
            raise ConfigError(f"{self.clusterer!r} cannot be told how many clusters to make of which vectors.")


@dataclass(frozen=True, slots=True)
class Theme:
    """One cluster with its name; ``central`` are rows of its most central sentences, the most central first."""

    name: str
    words: tuple[str, ...]
    size: int
    central: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Themes:
    """Result of finding themes; themes are in order of descending size, and label c is ``themes[c]``."""

    labels: Labels
    themes: tuple[Theme, ...]
    margins: npt.NDArray[np.float32]
    """(n,) mean cosine to the own theme minus that to the nearest other theme; negative for uncertain sentences."""
    curves: Curves
    reason: str
    """Why this number of themes; empty when it was given."""
    compared: int
    """How many sentences were compared all with all."""


def find_themes(texts: list[str], vectors: Matrix, config: ThemesConfig, seed: int, report: Report) -> Themes:
    """Cluster (n,) ``texts`` by their (n, dim) ``vectors``, name the clusters and order them by size.

    Dense vectors are joined with Tf-idf within the list, unless ``config.shared`` is 0; sparse ones are words already.
    The curves over k are measured on ``vectors`` as they are, since words make them too rough to suggest a number by,
    and in any case, so that a given number can be seen beside the others. Raises
    :class:`core.errors.DataError` for too few or too many sentences.
    """
    n = len(texts)
    _check(n, vectors, config)
    random = np.random.default_rng(seed)
    rows = np.sort(random.permutation(n)[: config.sample])
    ks = candidates(len(rows), config.most)
    curves = measure(vectors[rows], ks, config.subsamples, seed, SubReport(report, 0.0, 0.7))
    suggestion = suggest(curves)
    k = config.k or suggestion.k
    if config.shared and not sparse.issparse(vectors):
        vectors = _with_words(texts, vectors, config.shared)
    report.progress(0.7, 1, f"clustering {n:,} sentences")
    compared = np.sort(random.permutation(n)[:COMPARED])
    labels = _by_size(_cluster(vectors, compared, k, config, seed), k)
    report.progress(0.95, 1, "naming the themes")
    own, other = fits(vectors, labels, k)
    words = theme_words(texts, labels, k, config.words)
    themes = tuple(
        Theme(name, found, int((labels == c).sum()), _central(texts, own, np.flatnonzero(labels == c), config.central))
        for c, (name, found) in enumerate(zip(theme_names(words), words, strict=True))
    )
    reason = "" if config.k else suggestion.reason
    return Themes(labels, themes, (own - other).astype(np.float32), curves, reason, len(compared))


def _check(n: int, vectors: Matrix, config: ThemesConfig) -> None:
    if vectors.shape[0] != n:
        raise DataError(f"There are {n:,} sentences but {vectors.shape[0]:,} vectors.")
    if n < max(FEWEST, config.k):
        raise DataError(f"{n} sentences are too few: themes need at least {max(FEWEST, config.k)}.")
    if n > MOST:
        raise DataError(f"{n:,} sentences are too many for one list of themes (at most {MOST:,}). Take a part of them.")


def _with_words(texts: Sequence[str], vectors: Any, shared: float) -> Matrix:
    """(n, dim + words of the list) CSR rows; columns that nobody uses are left out, for clusterers that make means."""
    sentences = [Sentence(text, position=i) for i, text in enumerate(texts)]
    joined = beside_words([np.asarray(vectors, np.float32)], sentences, shared)
    return sparse.csr_array(joined[:, np.flatnonzero(np.bincount(joined.indices, minlength=joined.shape[1]))])


def _cluster(vectors: Any, compared: npt.NDArray[np.int64], k: int, config: ThemesConfig, seed: int) -> Labels:
    """Cluster the compared sentences; every other one joins the theme that is nearest to it on average."""
    found: Labels = CLUSTERERS.build(config.clusterer).fit_predict(vectors[compared], k, seed)
    n = vectors.shape[0]
    if len(compared) == n:
        return found
    unit: Any = unit_rows(vectors)
    membership = np.zeros((len(compared), k))
    membership[np.arange(len(compared)), found] = 1.0 / np.bincount(found, minlength=k)[found]
    labels: Labels = np.asarray(unit @ (unit[compared].T @ membership)).argmax(axis=1).astype(np.int32)
    labels[compared] = found
    return labels


def _by_size(labels: Labels, k: int) -> Labels:
    """The same clusters, numbered from the largest; of equals the one with the earliest sentence first."""
    first = np.full(k, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    order = np.lexsort((first, -np.bincount(labels, minlength=k)))
    rank = np.empty(k, np.int32)
    rank[order] = np.arange(k, dtype=np.int32)
    return np.asarray(rank[labels])


def _central(
    texts: Sequence[str], own: npt.NDArray[np.float64], rows: npt.NDArray[np.intp], count: int
) -> tuple[int, ...]:
    """The most central of ``rows``, no text twice."""
    first: dict[str, int] = {}
    for row in rows[np.argsort(-own[rows], kind="stable")].tolist():
        first.setdefault(" ".join(texts[row].split()).casefold(), row)
    return tuple(first.values())[:count]
