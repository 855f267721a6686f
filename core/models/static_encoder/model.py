"""The static encoder as a model: ``static-encoder``.

The vector of a sentence is the weighted sum of the vectors of its words, which were trained by the contrastive loss on
whole articles. Embedding takes about as long as splitting the text into words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy import sparse

from themescope.core.config import Config
from themescope.core.errors import ArtifactError, DataError
from themescope.core.models.base import BaseModel, unit_length
from themescope.core.models.contrastive.sampling import SectionedArticles, sectioned_articles, training_and_validation
from themescope.core.models.static_encoder.config import StaticEncoderConfig
from themescope.core.models.static_encoder.vocabulary import (
    Index,
    Words,
    initial_vectors,
    read_words,
    rows_of,
    vocabulary_of,
)
from themescope.core.models.storage import (
    read_json,
    read_settings,
    read_word_vectors,
    write_json,
    write_settings,
    write_tensors,
    write_word_vectors,
)
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.text.encoders import WEIGHTS, write_steps
from themescope.core.text.word_tables import load_word_vectors
from themescope.core.text.word_vectors import Storage, WordVectors
from themescope.core.types import Corpus, Sentence, Vectors

if TYPE_CHECKING:
    from torch import Tensor

    from themescope.core.models.contrastive.sampling import Batch
    from themescope.core.models.contrastive.training import Examples
    from themescope.core.models.static_encoder.network import WordTable

_TRAINING = "training.json"
_READING, _TAUGHT = 0.1, 0.5  # shares of the progress after reading the sentences, and after a teacher has
_BLOCK = 8_192  # sentences tokenised at once, which bounds the memory


class StaticEncoder(BaseModel):
    """Weighted sum of trained word vectors, cosine distance."""

    config_class: ClassVar[type[Config]] = StaticEncoderConfig
    config: StaticEncoderConfig

    def __init__(self, config: StaticEncoderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self.metrics: dict[str, float] = {}
        """Training metrics: validation precision, steps, seconds, sentences/s, words."""
        self.history: list[dict[str, float]] = []
        """One row for each validation, see :class:`themescope.core.models.training_loop.Trained`."""
        self._words: WordVectors | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation; a model of ``corpus`` is the teacher.

        Raises ``DataError`` without sections, without words that are frequent enough, and for a teacher with sparse
        vectors.
        """
        from themescope.core.models.contrastive.distillation import drop_teacher, teacher_of
        from themescope.core.models.contrastive.training import train
        from themescope.core.models.device import pick_device

        parts = training_and_validation(corpus, "The static encoder")
        limits = (self.config.training_limit, self.config.validation_limit)
        articles = [
            sectioned_articles(part).limited(limit, self.seed) for part, limit in zip(parts, limits, strict=True)
        ]
        texts = [_texts(part, found.sentences, report) for part, found in zip(parts, articles, strict=True)]
        report.progress(0, 1, "Reading word vectors")
        words, network = self._initial(*texts[0])
        network.to(pick_device(self.config.device))
        training, validation = (
            _source(network, found, read.only(rows_of(distinct, words)))
            for found, (distinct, read) in zip(articles, texts, strict=True)
        )
        stage = SubReport(report, _READING, _TAUGHT)
        teacher = teacher_of(corpus, parts[0], articles[0], self.config, self.seed, stage)
        stage = SubReport(report, _TAUGHT if teacher else _READING, 1.0)
        trained = train(self.config, self.seed, network, replace(training, teacher=teacher), validation, stage)
        drop_teacher(report)
        storage: Storage = self.config.storage  # type: ignore[assignment]  # one of the choices
        self._words = WordVectors(words.words, network.weighted()).stored_as(storage)
        self.metrics, self.history = trained.metrics | {"words": float(len(words))}, trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors of length 1; a sentence without known words is the zero vector."""
        words = self._fitted()
        sums = np.zeros((len(sentences), words.dim), np.float32)
        for start in range(0, len(sentences), _BLOCK):
            block = sentences[start : start + _BLOCK]
            distinct, read = read_words((s.text for s in block), lambda: None)
            rows = rows_of(distinct, words)
            read = read.only(np.where(rows >= 0, np.cumsum(rows >= 0) - 1, -1))
            table = words.vectors(rows[rows >= 0])
            counts = sparse.csr_array(
                (np.ones(len(read.ids), np.float32), read.ids, read.starts), shape=(len(block), len(table))
            )
            sums[start : start + len(block)] = counts @ table
        return unit_length(sums)

    def save(self, folder: Path) -> None:
        """Write settings, words, vectors and the training history."""
        words = self._fitted()
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, words)
        write_json(folder / _TRAINING, {"metrics": self.metrics, "history": self.history})

    def save_for_sentence_transformers(self, folder: Path) -> None:
        """Write words and vectors as a folder that sentence-transformers loads.

        Raises ``MissingExtraError`` without the packages of the extra encoder.
        """
        from themescope.core.models.static_encoder.tokenizer import spellings, tokenizer_of

        table = self._fitted()
        known = spellings(table.words)
        vectors = table.vectors(np.array([table.row(word) for word in known], np.int64))
        tokenizer_of([*known]).save(str(folder / "tokenizer.json"))
        unknown = np.zeros((1, table.dim), np.float32)
        write_tensors(folder / WEIGHTS, {"embedding.weight": np.concatenate([vectors, unknown])})
        write_steps(folder, {"": "StaticEmbedding", "1_Normalize": "Normalize"})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, StaticEncoderConfig))
        details = read_json(folder / _TRAINING)
        model.metrics, model.history = details.get("metrics", {}), details.get("history", [])
        model._words = read_word_vectors(folder)
        if not len(model._words):
            raise ArtifactError(f"The saved model in {folder.name} is damaged: it has no words.")
        return model

    def _initial(self, distinct: Sequence[str], read: Words) -> tuple[WordVectors, WordTable]:
        """Return the vocabulary of the training articles with its initial vectors, and the initial network."""
        from themescope.core.models.static_encoder.network import WordTable

        found = vocabulary_of(distinct, read, self.config.vocabulary, self.config.least_count)
        limit = self.config.vocabulary_limit or None
        vectors = initial_vectors(found.words, [load_word_vectors(name, limit) for name in self.config.word_vectors])
        weights = self.config.frequency / (self.config.frequency + found.shares)
        network = WordTable(
            vectors, weights, self.config.dim, self.config.word_dropout, train_vectors=self.config.train_vectors
        )
        return WordVectors(found.words, vectors), network

    def _fitted(self) -> WordVectors:
        if self._words is None:
            raise DataError("The static encoder is not trained yet. Call fit() first, or load a saved model.")
        return self._words


def _texts(sentences: Sequence[Sentence], rows: Index, report: Report) -> tuple[list[str], Words]:
    """Return the distinct words of some sentences, and these sentences by number of word."""
    texts = (sentences[i].text for i in rows.tolist())
    return read_words(texts, lambda: report.progress(0, 1, "Reading the sentences"))


def _source(network: WordTable, articles: SectionedArticles, words: Words) -> Examples:
    """Return articles as training data of the network."""
    from themescope.core.models.contrastive.training import Examples

    digest = hashlib.blake2b(digest_size=8)
    for array in (words.ids, words.starts, articles.sections, network.vectors.detach().cpu().numpy()):
        digest.update(np.ascontiguousarray(array).tobytes())
    return Examples(articles, partial(_similarities, network, words), digest.hexdigest())


def _similarities(network: WordTable, words: Words, batch: Batch) -> Tensor:
    """Return the (m, m) cosines of the sentences of a batch."""
    from themescope.core.models.static_encoder.network import bags

    vectors: Tensor = network(*(part.to(network.vectors.device) for part in bags(words, batch.rows)))
    return vectors @ vectors.T
