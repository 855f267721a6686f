"""Scores of the sentences of a document for its summary. Built as ``Cls(config)``; larger scores come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.config import Config, option
from core.errors import DataError
from core.tasks.lexrank import Scores, lexrank, tfidf_lexrank_vectors
from core.types import Matrix


@dataclass(frozen=True)
class LexrankConfig(Config):
    """Settings of LexRank; the defaults are those of Saha et al. 2017."""

    threshold: float = option(0.1, "Cosine from which two sentences are joined.", low=-1.0, high=1.0)
    damping: float = option(0.85, "Chance that the walk follows an edge instead of starting anew.", low=0.0, high=0.999)


@dataclass(frozen=True)
class BaselineConfig(Config):
    """Baselines have no settings."""


class Lexrank:
    """Centrality by the cosines of given vectors."""

    def __init__(self, config: LexrankConfig) -> None:
        self.config = config

    def scores(self, sentences: Sequence[str], vectors: Matrix | None, seed: int) -> Scores:
        """(n,) scores of n sentences with (n, dim) vectors."""
        if vectors is None or vectors.shape[0] != len(sentences):
            raise DataError("LexRank needs one vector for every sentence of the document.")
        return lexrank(vectors, self.config.threshold, self.config.damping)


class TfidfLexrank:
    """Centrality by shared words; rarity is measured within the document."""

    def __init__(self, config: LexrankConfig) -> None:
        self.config = config

    def scores(self, sentences: Sequence[str], vectors: Matrix | None, seed: int) -> Scores:
        """(n,) scores; ``vectors`` are ignored."""
        return lexrank(tfidf_lexrank_vectors(sentences), self.config.threshold, self.config.damping)


class Lead:
    """The first sentences."""

    def __init__(self, config: BaselineConfig) -> None:
        self.config = config

    def scores(self, sentences: Sequence[str], vectors: Matrix | None, seed: int) -> Scores:
        """(n,) scores that fall from the first sentence to the last; they sum to 1."""
        falling = np.arange(len(sentences), 0, -1, dtype=np.float64)
        return np.asarray(falling / max(falling.sum(), 1.0), np.float64)


class RandomOrder:
    """Sentences in random order, as a baseline."""

    def __init__(self, config: BaselineConfig) -> None:
        self.config = config

    def scores(self, sentences: Sequence[str], vectors: Matrix | None, seed: int) -> Scores:
        """(n,) random scores; they sum to 1."""
        drawn = np.random.default_rng(seed).permutation(len(sentences)) + 1.0
        return np.asarray(drawn / max(drawn.sum(), 1.0), np.float64)
