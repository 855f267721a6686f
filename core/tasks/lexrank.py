"""LexRank: centrality of the sentences of a document (Erkan and Radev 2004).

A document is a graph of its sentences, connected if their cosine is large enough; the score of a sentence is the share
of time that a random walk spends on it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.errors import DataError
from themescope.core.text.tokens import content_words
from themescope.core.types import Ids, Matrix

Scores = npt.NDArray[np.float64]

MOST_SENTENCES = 5_000
"""Most sentences of a document: their cosines take 200 MB, and four times as much while they are counted."""
_ITERATIONS = 1_000  # a damping of .85 reduces the change by this factor, so that 1e-6 takes 85 iterations
_DIGITS = 9  # scores that are equal to this precision are tied, because rounding errors are larger


def lexrank(vectors: Matrix, threshold: float = 0.1, damping: float = 0.85, tolerance: float = 1e-6) -> Scores:
    """Return (n,) scores of the sentences with (n, dim) ``vectors``; they sum to 1.

    The weight of an edge is the cosine, if it is at least ``threshold``; sentences are connected to themselves as well.
    From a sentence without other edges the walk continues anywhere, so that it gets the teleport score; otherwise it
    would keep the mean 1/n. The iteration ends when the sum of changes is below ``tolerance``. Raises
    :class:`DataError` for numbers that are not finite, and for more than :data:`MOST_SENTENCES` sentences.
    """
    if vectors.shape[0] > MOST_SENTENCES:
        raise DataError(
            f"LexRank compares every sentence with every other one: {vectors.shape[0]:,} sentences are too many, the "
            f"most are {MOST_SENTENCES:,}. Give it the documents one by one, or a sample."
        )
    weights = _cosines(vectors)
    n = len(weights)
    if n == 0:
        return np.empty(0)
    weights[weights < threshold] = 0.0
    loose = np.count_nonzero(weights, axis=1) <= np.count_nonzero(weights.diagonal()[:, None], axis=1)
    weights[loose] = 0.0
    degrees = weights.sum(axis=1)
    steps = (weights / np.where(loose, 1.0, degrees)[:, None]).T
    scores = np.full(n, 1.0 / n)
    for _ in range(_ITERATIONS):
        moved = damping * (steps @ scores + scores[loose].sum() / n) + (1.0 - damping) / n
        change = np.abs(moved - scores).sum()
        scores = moved
        if change < tolerance:
            break
    return np.asarray(scores / scores.sum(), np.float64)


def ranked(scores: Scores) -> Ids:
    """Return the (n,) positions of the sentences, most central first; ties by position."""
    return np.argsort(-np.round(np.asarray(scores, np.float64), _DIGITS), kind="stable").astype(np.int64)


def tfidf_lexrank_vectors(sentences: Sequence[str]) -> sparse.csr_array:
    """Return (n, words) weights of the stemmed words of a document's sentences, for the Tf-Idf LexRank of Saha et al.

    The count of a word is divided by the largest count in its sentence and multiplied by ln(n / (1 + df)), with df
    counted within the document, so that the weight of a word in n - 1 or n sentences is 0 or less.
    """
    counts = [Counter(content_words(sentence)) for sentence in sentences]
    found = Counter(word for words in counts for word in words)
    columns = {word: column for column, word in enumerate(found)}
    idf = {word: math.log(len(sentences) / (1 + df)) for word, df in found.items()}
    data = [count / max(words.values()) * idf[word] for words in counts for word, count in words.items()]
    places = [columns[word] for words in counts for word in words]
    starts = np.cumsum([0, *(len(words) for words in counts)])
    return sparse.csr_array((data, places, starts), shape=(len(sentences), len(columns)), dtype=np.float64)


def _cosines(vectors: Matrix) -> Scores:
    """Return the (n, n) cosines in float64; those of zero rows are 0."""
    if sparse.issparse(vectors):
        rows = sparse.csr_array(vectors, dtype=np.float64)
        dense = np.asarray((rows @ rows.T).todense(), np.float64)
    else:
        given = np.asarray(vectors, np.float64)
        dense = given @ given.T
    if not np.isfinite(dense).all():
        raise DataError("A vector contains a value that is not finite. Embed the sentences again.")
    norms = np.sqrt(np.maximum(dense.diagonal(), 0.0))
    norms[norms == 0.0] = 1.0
    return np.asarray(dense / norms[:, None] / norms[None, :], np.float64)
