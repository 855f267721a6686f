"""Methods whose sentence vector is a sum or mean of word vectors learned on the corpus.

They are ``fastsent`` and ``fastsent-ae`` (Hill, Cho and Korhonen 2016, section 3) and ``w2v-avg`` (Mikolov et al.
2013). Any sentence has a vector, whether or not it was in the training text. Cosine distance.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from themescope.core.config import Config, config_from_dict
from themescope.core.errors import DataError
from themescope.core.models.artifact import read_word_vectors, write_word_vectors
from themescope.core.models.bag_of_words import combined_words
from themescope.core.models.base import TrainedModel
from themescope.core.models.con_s2v.config import FastSentAEConfig, FastSentConfig, SentVecConfig, W2VAverageConfig
from themescope.core.models.con_s2v.text import EncodedText, discourse_graph, encode_text, no_graph
from themescope.core.protocols import SILENT, Report
from themescope.core.text.languages import content_words
from themescope.core.text.word_vectors import Storage, WordVectors
from themescope.core.types import Corpus, Float32, Sentence, Vectors


class _WordSums(TrainedModel):
    """Base of the methods; a subclass implements :meth:`_learn`."""

    mean: ClassVar[bool]
    """Whether a sentence is the mean of its words, or their sum."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self._words: WordVectors | None = None

    @abstractmethod
    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        """Return (words, dim) vectors of the vocabulary of ``text``, and training metrics."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn word vectors from ``corpus.sentences``."""
        from themescope.core.models.con_s2v.training import drop_checkpoints

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
        words = [content_words(s.text) for s in sentences]
        return combined_words(words, self._fitted(self._words), mean=self.mean)

    def _write(self, folder: Path) -> None:
        write_word_vectors(folder, self._fitted(self._words))

    def _read(self, folder: Path) -> None:
        self._words = read_word_vectors(folder)


class FastSent(_WordSums):
    """The sum of a sentence's word vectors predicts the words of the previous and the next sentence."""

    config_class: ClassVar[type[Config]] = FastSentConfig
    mean: ClassVar[bool] = False

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from themescope.core.models.con_s2v.training import learn_bags

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
        from themescope.core.models.con_s2v.training import learn_sentences

        words_only = {"content": False, "neighbours": False, "proximity": False, "mode": "reference"}
        config = config_from_dict(SentVecConfig, self.config.to_dict() | words_only)
        learned = learn_sentences(config, text, no_graph(len(text)), self.seed, report, "words")
        return learned.inputs, learned.metrics
