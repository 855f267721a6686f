"""Where a network looks in a triplet, and what each word does to the order of the triplet.

Attention weights say how the states of the words are mixed; they are no explanation by themselves (Jain and Wallace
2019, Attention is not Explanation). So each stands beside the deletion check: how much the margin
d(pivot, other) − d(pivot, same) changes when that one word is left out of its sentence (leave-one-out; Li, Monroe and
Jurafsky 2016, Understanding Neural Networks through Representation Erasure).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

from core.errors import DataError
from core.text.tokens import tokenize
from core.text.word_vectors import Float32
from core.types import Vectors

MOST_WORDS = 600
"""Words of a triplet that are read at most: the check embeds the sentence once for each of its words."""
_FEWEST = 3  # words of a sentence from which a rank correlation says something


@runtime_checkable
class Attending(Protocol):
    """What a method tagged ``attention`` offers beside :class:`core.protocols.Model`."""

    def attention(self, sentences: Sequence[Sequence[str]]) -> dict[str, list[Float32]]:
        """Name of each of its networks → for every sentence (its words,) weights, which sum to 1."""
        ...

    def embed_words(self, sentences: Sequence[Sequence[str]]) -> Vectors:
        """(n, dim) vectors of sentences that are lists of words already."""
        ...

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) distance of row i of ``a`` to row i of ``b``."""
        ...


@dataclass(frozen=True, slots=True)
class SentenceReading:
    """The words of one sentence; row i of every array is word i."""

    words: tuple[str, ...]
    weights: dict[str, Float32]
    """Attention by network."""
    changes: Float32
    """Margin without the word minus margin with it: below 0 the word speaks for the right order."""

    def agreement(self, network: str) -> float | None:
        """Rank correlation (Spearman) of attention and size of the change; None for under 3 words, or all equal."""
        sizes = np.abs(self.changes)
        if len(self.words) < _FEWEST or np.ptp(sizes) == 0 or np.ptp(self.weights[network]) == 0:
            return None
        return float(spearmanr(self.weights[network], sizes).statistic)


@dataclass(frozen=True, slots=True)
class TripletReading:
    """A triplet as one model reads it."""

    margin: float
    """d(pivot, other) − d(pivot, same) with all words."""
    sentences: tuple[SentenceReading, SentenceReading, SentenceReading]
    """Pivot, same theme, other theme."""

    @property
    def networks(self) -> list[str]:
        """Names of the networks that have weights."""
        return list(self.sentences[0].weights)

    def agreement(self, network: str) -> float | None:
        """The mean of the rank correlations of its sentences; within each, because short ones have larger weights."""
        found = [value for s in self.sentences if (value := s.agreement(network)) is not None]
        return float(np.mean(found)) if found else None


def read_triplet(embedder: Attending, texts: Sequence[str]) -> TripletReading:
    """Attention and deletion check for the ``texts`` of (pivot, same theme, other theme).

    Raises :class:`DataError` for a triplet of more than :data:`MOST_WORDS` words.
    """
    words = [tokenize(text) for text in texts]
    count = sum(map(len, words))
    if count > MOST_WORDS:
        raise DataError(f"This triplet has {count:,} words; at most {MOST_WORDS} are checked. Choose a shorter one.")
    weights = embedder.attention(words)
    margin, changes = deletion_effects(embedder, words)
    pivot, same, other = (
        SentenceReading(tuple(words[i]), {name: listed[i] for name, listed in weights.items()}, changes[i])
        for i in range(3)
    )
    return TripletReading(margin, (pivot, same, other))


def deletion_effects(embedder: Attending, triplet: Sequence[Sequence[str]]) -> tuple[float, list[Float32]]:
    """The margin of a triplet of words, and for each sentence (its words,) how leaving out a word changes it.

    All variants are embedded together: n words cost n + 3 sentences, of which the whole ones are embedded once.
    """
    variants = [list(sentence) for sentence in triplet]
    places = np.tile(np.arange(3), (1 + sum(map(len, triplet)), 1))  # which variant stands for each sentence
    for part, sentence in enumerate(triplet):
        for i in range(len(sentence)):
            places[len(variants) - 2, part] = len(variants)
            variants.append([*sentence[:i], *sentence[i + 1 :]])
    vectors = embedder.embed_words(variants)
    pivots, same, other = (vectors[places[:, part]] for part in range(3))
    margins = embedder.distances(pivots, other) - embedder.distances(pivots, same)
    changes = np.asarray(margins[1:] - margins[0], np.float32)
    return float(margins[0]), np.split(changes, np.cumsum([len(sentence) for sentence in triplet])[:-1])
