"""Agreement of predicted with given scores: Pearson, Spearman, mean squared error, with intervals."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.metrics.statistics import LEVEL
from themescope.core.text.languages import STOP_WORDS
from themescope.core.types import Estimate, Floats

_RESAMPLES = 2_000
_CHUNK = 1_000_000  # draws held at a time


def pearson(a: Floats, b: Floats) -> float:
    """Return Pearson's r of two (n,) series; 0 if either is constant."""
    first, second = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / norm if norm > 0 else 0.0


def spearman(a: Floats, b: Floats) -> float:
    """Return Pearson's r of the ranks; ties have their mean rank."""
    from scipy.stats import rankdata

    return pearson(rankdata(a), rankdata(b))


def agreement_with_scores(
    series: npt.ArrayLike, predicted: npt.ArrayLike, given: Floats, seed: int
) -> dict[str, Estimate]:
    """Return Pearson and Spearman of (n,) ``series``, and the mean squared error of ``predicted``, against ``given``.

    The intervals are percentiles over 2,000 resamples of the pairs.
    """
    values, scores = np.asarray(series, np.float64), np.asarray(predicted, np.float64)
    if not len(given) or values.shape != given.shape or scores.shape != given.shape:
        raise DataError(f"Predicted and given scores differ in number: {values.shape}, {scores.shape}, {given.shape}.")
    if not (np.isfinite(values).all() and np.isfinite(scores).all()):
        raise DataError("A predicted score is not a finite number.")
    errors = (scores - given) ** 2
    found = {"pearson": pearson(values, given), "spearman": spearman(values, given), "mse": float(errors.mean())}
    rng = np.random.default_rng(seed)
    n = len(given)
    step = max(1, _CHUNK // n)
    parts: dict[str, list[Floats]] = {"pearson": [], "spearman": [], "mse": []}
    for start in range(0, _RESAMPLES, step):
        counts = rng.multinomial(n, np.full(n, 1 / n), size=min(step, _RESAMPLES - start)).astype(np.float64)
        parts["pearson"].append(_weighted_pearson(values, given, counts))
        parts["spearman"].append(_weighted_pearson(_ranks(values, counts), _ranks(given, counts), counts))
        parts["mse"].append(counts @ errors / n)
    resampled = {name: np.concatenate(chunks) for name, chunks in parts.items()}
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    ends = {name: np.quantile(draws, tails) for name, draws in resampled.items()}
    return {
        name: Estimate(value, float(ends[name][0]), float(ends[name][1]), len(given)) for name, value in found.items()
    }


def _weighted_pearson(a: Floats, b: Floats, counts: Floats) -> Floats:
    """Return the (r,) correlations of (n,) or (r, n) series under (r, n) weights."""
    total = counts.sum(axis=1, keepdims=True)
    first, second = (x - (counts * x).sum(axis=1, keepdims=True) / total for x in (a, b))
    products = (counts * first * second).sum(axis=1)
    norms = np.sqrt((counts * first * first).sum(axis=1) * (counts * second * second).sum(axis=1))
    return np.asarray(np.divide(products, norms, out=np.zeros_like(products), where=norms > 0), np.float64)


def _ranks(values: Floats, counts: Floats) -> Floats:
    """Return the (r, n) mean ranks of (n,) ``values`` if value i occurs ``counts[:, i]`` times."""
    distinct, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(distinct)))
    sizes = np.add.reduceat(counts[:, order], starts, axis=1)
    return np.asarray((np.cumsum(sizes, axis=1) - (sizes - 1) / 2)[:, place], np.float64)


# ROUGE-1 of a summary against reference summaries, with the options of version 1.5.5 (Lin 2004)

_TOKEN = re.compile(r"[a-z0-9]+")
_SHORT = 3  # tokens of at most so many letters are not stemmed
_LOCAL = threading.local()  # a stemmer has state, so threads cannot share one


@dataclass(frozen=True)
class RougeSettings(Config):
    """Options of ROUGE; the defaults are those of Saha et al. 2017 (-l 100 -m -s -f A)."""

    words: int = option(100, "Number of words at the start of summary and reference to compare; 0 uses all.", low=0)
    stemming: bool = option(True, "Compare words of more than three letters by their Porter stem.")
    remove_stop_words: bool = option(True, "Ignore stop words (the SMART list).")


@dataclass(frozen=True, slots=True)
class RougeCounts:
    """Word counts shared by summary and references, summed over the references (model-average scoring)."""

    hits: int
    """Number of tokens of the references that are also in the summary."""
    total: int
    """Number of tokens of all references."""
    compared: int
    """Number of tokens of the summary, counted for each reference."""

    @property
    def recall(self) -> float:
        """Share of the references' tokens that are in the summary; 0 without tokens."""
        return self.hits / self.total if self.total else 0.0

    @property
    def precision(self) -> float:
        """Share of the summary's tokens that are in the references; 0 without tokens."""
        return self.hits / self.compared if self.compared else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision."""
        both = self.total + self.compared
        return 2 * self.hits / both if both else 0.0


def rouge_1(system: str, references: Sequence[str], settings: RougeSettings) -> RougeCounts:
    """Count the single words that ``system`` shares with each of the ``references``."""
    own = rouge_tokens(system, settings)
    hits = total = 0
    for reference in references:
        theirs = rouge_tokens(reference, settings)
        hits += (own & theirs).total()
        total += theirs.total()
    return RougeCounts(hits, total, own.total() * len(references))


def rouge_tokens(text: str, settings: RougeSettings) -> Counter[str]:
    """Return the tokens: lower case, split at non-alphanumeric ASCII characters, as in ROUGE 1.5.5."""
    if settings.words:
        text = " ".join(text.split()[: settings.words])
    tokens = _TOKEN.findall(text.lower())
    if settings.remove_stop_words:
        tokens = [token for token in tokens if token not in STOP_WORDS]
    return Counter(map(_stem, tokens) if settings.stemming else tokens)


@lru_cache(maxsize=200_000)
def _stem(token: str) -> str:
    if len(token) <= _SHORT:
        return token
    stemmer = getattr(_LOCAL, "stemmer", None)
    if stemmer is None:
        import snowballstemmer

        stemmer = _LOCAL.stemmer = snowballstemmer.stemmer("porter")
    return str(stemmer.stemWord(token))
