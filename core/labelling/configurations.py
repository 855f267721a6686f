"""Configurations of a clustering that labels choose from: model × clusterer × number of clusters × shared words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.inputs import extended_labels
from themescope.core.models.composite.hybrid import concatenate_with_tfidf
from themescope.core.types import Ids, Labels, Matrix, Sentence

COMPARED = 2_000
"""Maximum number of sentences that are clustered; the others are assigned to the nearest cluster."""
_FACTORS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.45, 2.0)


@dataclass(frozen=True, slots=True)
class Configuration:
    """How to cluster the sentences of a labelling."""

    model: str
    """Name of the model with the vectors."""
    clusterer: str
    """Id of the clusterer."""
    k: int
    shared: float
    """Weight of shared words, against 1 for the model; 0 uses the model alone."""


def numbers_of_clusters(suggested: int, present: int, n: int) -> tuple[int, ...]:
    """Return the numbers of clusters to compare for n sentences: around a suggestion, and that of the labelling."""
    found = {round(suggested * factor) for factor in _FACTORS} | {present}
    return tuple(sorted({min(max(k, 2), max(n // 2, 1)) for k in found}))


def compared_rows(n: int, seed: int) -> Ids:
    """Return the ascending rows that are clustered: all, or of many sentences a random sample."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:COMPARED])


def with_shared_words(texts: Sequence[str], x: Matrix, shared: float) -> Matrix:
    """Return (n, dim + words) rows in which words of (n,) ``texts`` have the weight ``shared``; ``x`` if that is 0.

    The words are weighted within the list of all texts, as in Themes.
    """
    if not shared or sparse.issparse(x):
        return x
    sentences = [Sentence(text, position=i) for i, text in enumerate(texts)]
    found = concatenate_with_tfidf([np.asarray(x, np.float32)], sentences, shared)
    used = np.flatnonzero(np.bincount(found.indices, minlength=found.shape[1]))
    return sparse.csr_array(found[:, used])


def clustered(x: Matrix, clusterer: str, k: int, seed: int) -> Labels:
    """Return (n,) labels of the rows of ``x``, of which at most :data:`COMPARED` are clustered."""
    rows = compared_rows(x.shape[0], seed)
    found: Labels = CLUSTERERS.build(clusterer).fit_predict(x[rows], k, seed)
    return extended_labels(x, rows, found, int(found.max()) + 1)
