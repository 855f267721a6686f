"""Attention weights of the words of a triplet, and the effect of deleting each word.

Attention weights are no explanation by themselves (Jain and Wallace 2019, Attention is not Explanation). Each is
therefore accompanied by the effect of deletion: how much the margin d(pivot, negative) − d(pivot, positive) changes
when the word is removed from its sentence (Li, Monroe and Jurafsky 2016, Understanding Neural Networks through
Representation Erasure).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

from themescope.core.errors import DataError
from themescope.core.text.languages import tokenize
from themescope.core.types import Float32, Vectors

MOST_WORDS = 600
"""Maximum number of words of a triplet, because the sentence is embedded once for each of its words."""
_FEWEST = 3  # number of words that a rank correlation needs


@runtime_checkable
class Attending(Protocol):
    """Methods of a model tagged ``attention``, in addition to those of :class:`themescope.core.protocols.Model`."""

    def attention(self, sentences: Sequence[Sequence[str]]) -> dict[str, list[Float32]]:
        """Return, by name of network, (words,) weights of every tokenised sentence, which sum to 1."""
        ...

    def embed_words(self, sentences: Sequence[Sequence[str]]) -> Vectors:
        """Return (n, dim) vectors of tokenised sentences."""
        ...

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """Return (n,) distances of row i of ``a`` to row i of ``b``."""
        ...


@dataclass(frozen=True, slots=True)
class SentenceAttention:
    """Attention and deletion effects of one sentence; row i of every array is word i."""

    words: tuple[str, ...]
    weights: dict[str, Float32]
    """Attention weights by name of network."""
    changes: Float32
    """Margin without the word minus margin with it; negative where the word supports the correct order."""

    def agreement(self, network: str) -> float | None:
        """Return Spearman's correlation of attention with absolute changes; None below 3 words or for constants."""
        sizes = np.abs(self.changes)
        if len(self.words) < _FEWEST or np.ptp(sizes) == 0 or np.ptp(self.weights[network]) == 0:
            return None
        return float(spearmanr(self.weights[network], sizes).statistic)


@dataclass(frozen=True, slots=True)
class TripletAttention:
    """Attention and deletion effects of one triplet for one model."""

    margin: float
    """d(pivot, negative) − d(pivot, positive) with all words."""
    sentences: tuple[SentenceAttention, SentenceAttention, SentenceAttention]
    """Pivot, positive, negative."""

    @property
    def networks(self) -> list[str]:
        """Names of the networks of the model."""
        return list(self.sentences[0].weights)

    def agreement(self, network: str) -> float | None:
        """Return the mean of the correlations within sentences, since weights are larger in short sentences."""
        found = [value for s in self.sentences if (value := s.agreement(network)) is not None]
        return float(np.mean(found)) if found else None


def triplet_attention(model: Attending, texts: Sequence[str]) -> TripletAttention:
    """Return attention and deletion effects for the ``texts`` of (pivot, positive, negative).

    Raises :class:`DataError` for a triplet of more than :data:`MOST_WORDS` words.
    """
    words = [tokenize(text) for text in texts]
    count = sum(map(len, words))
    if count > MOST_WORDS:
        raise DataError(
            f"This triplet has {count:,} words, but at most {MOST_WORDS} are allowed. Choose a shorter one."
        )
    weights = model.attention(words)
    margin, changes = deletion_effects(model, words)
    pivot, positive, negative = (
        SentenceAttention(tuple(words[i]), {name: listed[i] for name, listed in weights.items()}, changes[i])
        for i in range(3)
    )
    return TripletAttention(margin, (pivot, positive, negative))


def deletion_effects(model: Attending, triplet: Sequence[Sequence[str]]) -> tuple[float, list[Float32]]:
    """Return the margin of a tokenised triplet, and for each sentence (words,) changes of it by deleting a word.

    All variants are embedded together: n words take n + 3 sentences.
    """
    variants = [list(sentence) for sentence in triplet]
    places = np.tile(np.arange(3), (1 + sum(map(len, triplet)), 1))  # which variant represents each sentence
    for part, sentence in enumerate(triplet):
        for i in range(len(sentence)):
            places[len(variants) - 2, part] = len(variants)
            variants.append([*sentence[:i], *sentence[i + 1 :]])
    vectors = model.embed_words(variants)
    pivots, positives, negatives = (vectors[places[:, part]] for part in range(3))
    margins = model.distances(pivots, negatives) - model.distances(pivots, positives)
    changes = np.asarray(margins[1:] - margins[0], np.float32)
    return float(margins[0]), np.split(changes, np.cumsum([len(sentence) for sentence in triplet])[:-1])
