"""Methods whose sentence vector is a sum or mean of learned word vectors: ``fastsent``, ``fastsent-ae``, ``w2v-avg``.

What is learned are word vectors, so that any sentence has a vector. Cosine distance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.config import config_from_dict, option
from core.errors import DataError
from core.models.con_s2v.checkpoints import drop_checkpoints
from core.models.con_s2v.config import BagsConfig, SentVecConfig, TrainingConfig
from core.models.con_s2v.text import EncodedText, encode_text
from core.models.distances import cosine_distances
from core.models.storage import (
    read_json,
    read_settings,
    read_word_vectors,
    write_json,
    write_settings,
    write_word_vectors,
)
from core.protocols import SILENT, Report
from core.text.stems import content_words
from core.text.word_vectors import Storage, WordVectors
from core.types import Corpus, Sentence, Vectors

_TRAINING = "training.json"

Float32 = npt.NDArray[np.float32]


class _WordSums(ABC):
    config_class: ClassVar[type[TrainingConfig]]
    mean: ClassVar[bool]
    """Whether a sentence is the mean of its words, or their sum."""

    def __init__(self, config: Any, seed: int) -> None:
        self.config, self.seed = config, seed
        self.metrics: dict[str, float] = {}
        """How training went: loss, words, seconds, words/s."""
        self._words: WordVectors | None = None

    @abstractmethod
    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        """(words, dim) vectors of the vocabulary of ``text``, and how training went."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn word vectors from the running text of ``corpus``."""
        if not len(corpus.sentences):
            raise DataError("This method learns from the sentences of a corpus; this corpus has none.")
        text = encode_text(
            corpus.sentences, self.config.min_count, tick=lambda: report.progress(0, 1, "Reading the sentences")
        )
        table, self.metrics = self._learn(text, report)
        storage: Storage = self.config.storage
        self._words = WordVectors(text.vocabulary.words, table).stored_as(storage)
        drop_checkpoints(report.checkpoint_folder())
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, dim) sums or means; a sentence without a known word is the zero vector."""
        return summed([content_words(s.text) for s in sentences], self._fitted(), self.mean)

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write settings and word vectors."""
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, self._fitted())
        write_json(folder / _TRAINING, {"metrics": self.metrics})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        model = cls(*read_settings(folder, cls.config_class))
        model.metrics = read_json(folder / _TRAINING).get("metrics", {})
        model._words = read_word_vectors(folder)
        return model

    def _fitted(self) -> WordVectors:
        if self._words is None:
            raise DataError("This model has learned nothing yet: call fit() first, or load a saved model.")
        return self._words


@dataclass(frozen=True)
class FastSentConfig(BagsConfig):
    """Settings of ``fastsent``. Published by SJH17 after one epoch, which is too few (algorithms, trap 14)."""


@dataclass(frozen=True)
class FastSentAEConfig(BagsConfig):
    """Settings of ``fastsent-ae``."""

    own_words: bool = option(True, "Predict the sentence's own words as well (FastSent+AE).")


class _Bags(_WordSums):
    mean: ClassVar[bool] = False

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from core.models.con_s2v.graphs import discourse_graph
        from core.models.con_s2v.learn import learn_bags

        graph = discourse_graph(text.articles, text.positions)
        learned = learn_bags(self.config, text, graph, self.seed, report)
        return learned.inputs, learned.metrics


class FastSent(_Bags):
    """The sum of a sentence's words predicts the words of the sentences before and after (Hill et al. 2016, 3)."""

    config_class: ClassVar[type[TrainingConfig]] = FastSentConfig


class FastSentAE(_Bags):
    """The same, with the sentence's own words."""

    config_class: ClassVar[type[TrainingConfig]] = FastSentAEConfig


@dataclass(frozen=True)
class W2VAverageConfig(TrainingConfig):
    """Settings of ``w2v-avg``: skip-gram with negative sampling inside sentences (Mikolov et al. 2013)."""

    dim: int = option(600, "Coordinates of a vector.", low=2, high=4_000)
    window: int = option(10, "Largest distance of a word that predicts another (published: 8, 10 or 12).",
                         low=1, high=100)  # fmt: skip
    learning_rate: float = option(0.025, "Rate at the start; it falls linearly with the words done.", low=1e-6, high=1)


class W2VAverage(_WordSums):
    """The mean of word vectors that were learned on the same text: the words' half of the engine's mode reference."""

    config_class: ClassVar[type[TrainingConfig]] = W2VAverageConfig
    mean: ClassVar[bool] = True

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from core.models.con_s2v.graphs import no_graph
        from core.models.con_s2v.learn import learn_sentences

        alone = {"content": False, "neighbours": False, "proximity": False, "mode": "reference"}
        config = config_from_dict(SentVecConfig, self.config.to_dict() | alone)
        learned = learn_sentences(config, text, no_graph(len(text)), self.seed, report, "words")
        return learned.inputs, learned.metrics


def summed(sentences: Sequence[Sequence[str]], words: WordVectors, mean: bool) -> Float32:
    """(n, dim) sums or means of the vectors of each sentence's known words; zero where there is none."""
    rows = [[row for row in map(words.row, sentence) if row >= 0] for sentence in sentences]
    out = np.zeros((len(rows), words.dim), np.float32)
    for place, found in enumerate(rows):
        if found:
            vectors = words.vectors(np.array(found, np.int64))
            out[place] = vectors.mean(axis=0) if mean else vectors.sum(axis=0)
    return out
