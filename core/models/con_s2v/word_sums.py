"""Methods whose sentence vector is a sum or mean of word vectors learned on the corpus.

They are ``fastsent`` and ``fastsent-ae`` (Hill, Cho and Korhonen 2016, section 3) and ``w2v-avg`` (Mikolov et al.
2013). Any sentence has a vector, whether or not it was in the training text. Cosine distance.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config, config_from_dict
from themescope.core.errors import DataError
from themescope.core.models.bag_of_words import combined_words
from themescope.core.models.base import BaseModel
from themescope.core.models.con_s2v.config import FastSentAEConfig, FastSentConfig, SentVecConfig, W2VAverageConfig
from themescope.core.models.con_s2v.text import EncodedText, encode_text
from themescope.core.models.con_s2v.training import drop_checkpoints
from themescope.core.models.storage import (
    read_json,
    read_settings,
    read_word_vectors,
    write_json,
    write_settings,
    write_word_vectors,
)
from themescope.core.protocols import SILENT, Report
from themescope.core.text.tokens import content_words
from themescope.core.text.word_vectors import Storage, WordVectors
from themescope.core.types import Corpus, Sentence, Vectors

_TRAINING = "training.json"

Float32 = npt.NDArray[np.float32]


class _WordSums(BaseModel):
    """Base of the methods; a subclass implements :meth:`_learn`."""

    mean: ClassVar[bool]
    """Whether a sentence is the mean of its words, or their sum."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self.metrics: dict[str, float] = {}
        """Training metrics: loss, words, seconds, words/s."""
        self._words: WordVectors | None = None

    @abstractmethod
    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        """Return (words, dim) vectors of the vocabulary of ``text``, and training metrics."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn word vectors from ``corpus.sentences``."""
        if not len(corpus.sentences):
            raise DataError("This method needs the sentences of a corpus, but this corpus has none.")
        text = encode_text(
            corpus.sentences, self.config.min_count, tick=lambda: report.progress(0, 1, "Reading the sentences")
        )
        table, self.metrics = self._learn(text, report)
        storage: Storage = self.config.storage
        self._words = WordVectors(text.vocabulary.words, table).stored_as(storage)
        drop_checkpoints(report.checkpoint_folder())
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) sums or means; a sentence without known words is the zero vector."""
        return combined_words([content_words(s.text) for s in sentences], self._fitted(), mean=self.mean)

    def save(self, folder: Path) -> None:
        """Write settings, word vectors and training metrics."""
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, self._fitted())
        write_json(folder / _TRAINING, {"metrics": self.metrics})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, cls.config_class))
        model.metrics = read_json(folder / _TRAINING).get("metrics", {})
        model._words = read_word_vectors(folder)
        return model

    def _fitted(self) -> WordVectors:
        if self._words is None:
            raise DataError("This model is not trained yet. Call fit() first, or load a saved model.")
        return self._words


class FastSent(_WordSums):
    """The sum of a sentence's word vectors predicts the words of the previous and the next sentence."""

    config_class: ClassVar[type[Config]] = FastSentConfig
    mean: ClassVar[bool] = False

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from themescope.core.models.con_s2v.graphs import discourse_graph
        from themescope.core.models.con_s2v.learn import learn_bags

        graph = discourse_graph(text.articles, text.positions)
        learned = learn_bags(self.config, text, graph, self.seed, report)
        return learned.inputs, learned.metrics


class FastSentAE(FastSent):
    """FastSent that also predicts the words of the sentence itself."""

    config_class: ClassVar[type[Config]] = FastSentAEConfig


class W2VAverage(_WordSums):
    """The mean of skip-gram word vectors that were learned on the same text."""

    config_class: ClassVar[type[Config]] = W2VAverageConfig
    mean: ClassVar[bool] = True

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from themescope.core.models.con_s2v.graphs import no_graph
        from themescope.core.models.con_s2v.learn import learn_sentences

        words_only = {"content": False, "neighbours": False, "proximity": False, "mode": "reference"}
        config = config_from_dict(SentVecConfig, self.config.to_dict() | words_only)
        learned = learn_sentences(config, text, no_graph(len(text)), self.seed, report, "words")
        return learned.inputs, learned.metrics
