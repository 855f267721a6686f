"""The static encoder as a model: ``static-encoder``.

The vector of a sentence is the weighted sum of the vectors of its words, which were trained by the contrastive loss on
whole articles. Embedding takes about as long as splitting the text into words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy import sparse

from themescope.core.config import Config, option
from themescope.core.errors import ConfigError
from themescope.core.models.base import TrainedModel, unit_length
from themescope.core.models.checkpoints import digest_of_arrays
from themescope.core.models.contrastive.sampling import DistillationConfig, SectionedArticles, split_articles
from themescope.core.models.static_encoder.vocabulary import (
    initial_vectors,
    rows_of,
    spellings,
    tokenizer_of,
    vocabulary_of,
)
from themescope.core.models.storage import damaged, read_word_vectors, write_tensors, write_word_vectors
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.text.encoders import WEIGHTS, write_steps
from themescope.core.text.tokens import tokenize
from themescope.core.text.word_tables import load_word_vectors
from themescope.core.text.word_vectors import STORAGES, NumberedTexts, Storage, WordVectors, numbered
from themescope.core.types import Corpus, Sentence, Vectors

if TYPE_CHECKING:
    from torch import Tensor

    from themescope.core.models.contrastive.sampling import Batch
    from themescope.core.models.contrastive.training import Examples
    from themescope.core.models.static_encoder.network import WordTable

_READ = 0.1  # share of the progress after reading the sentences
_BLOCK = 8_192  # sentences tokenised at once, which bounds the memory


@dataclass(frozen=True)
class StaticEncoderConfig(DistillationConfig):
    """Settings of ``static-encoder``."""

    word_vectors: tuple[str, ...] = option(
        ("glove-6b-50d",),
        "Tables of word vectors to start from, concatenated: the id of a table, a file, or distilled:FOLDER of a "
        "sentence encoder (distilled: alone uses the installed one).",
        file=True,
    )
    vocabulary_limit: int = option(0, "Read only the first words of each table, this many; 0 reads all.", low=0)
    vocabulary: int = option(
        40_000, "Maximum number of words: the most frequent ones of the training articles, in lower case.",
        low=1, high=1_000_000, unit="words",
    )  # fmt: skip
    least_count: int = option(5, "Ignore words that occur less often in the training articles.", low=1, high=1_000_000)
    dim: int = option(
        128, "Maximum number of dimensions of a vector; starts with the principal components of the tables.",
        low=2, high=4_096,
    )  # fmt: skip
    train_vectors: bool = option(
        True, "Train the vector of every word. Otherwise only the weights of words and one linear map of all vectors "
        "are trained, which is several times as fast.",
    )  # fmt: skip
    frequency: float = option(
        1e-3, "Parameter a of the initial weight a / (a + p) of a word, where p is its share of all words; the weights "
        "are learned.",
        low=1e-6, high=1e3,
    )  # fmt: skip
    word_dropout: float = option(0.1, "Share of words that is left out in training.", low=0.0, high=0.95)
    articles_per_batch: int = option(16, "Number of articles in a batch.", low=1, high=1_024)
    epochs: int = option(3, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(1e-3, "Highest learning rate of AdamW.", low=1e-7, high=1.0)
    weight_decay: float = option(0.0, "Weight decay of AdamW.", low=0.0, high=10.0)
    precision: str = option("fp32", "Number format of the vectors in training.", choices=("fp32",))
    storage: str = option(
        "fp16", "Number format of the vectors in the saved model; int8 needs half of fp16.", choices=STORAGES
    )

    def validate(self) -> None:
        """Refuse an empty list of tables."""
        if not self.word_vectors:
            raise ConfigError(f"{self.named('word_vectors')} is empty. Name at least one table.")


class StaticEncoder(TrainedModel):
    """Weighted sum of trained word vectors, cosine distance."""

    config_class: ClassVar[type[Config]] = StaticEncoderConfig
    config: StaticEncoderConfig

    def __init__(self, config: StaticEncoderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._words: WordVectors | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation; a model of ``corpus`` is the teacher.

        Raises ``DataError`` without sections, without words that are frequent enough, and for a teacher with sparse
        vectors.
        """
        from themescope.core.models.contrastive.training import train_with_teacher
        from themescope.core.models.device import pick_device

        parts = split_articles(corpus, self.config, self.seed, "The static encoder")
        texts = [
            numbered(
                (tokenize(sentences[i].text) for i in articles.sentences.tolist()),
                lambda: report.progress(0, 1, "Reading the sentences"),
            )
            for sentences, articles in parts
        ]
        report.progress(0, 1, "Reading word vectors")
        words, network = self._initial(*texts[0])
        network.to(pick_device(self.config.device))
        training, validation = (
            _source(network, articles, read.only(rows_of(distinct, words)))
            for (_, articles), (distinct, read) in zip(parts, texts, strict=True)
        )
        stage = SubReport(report, _READ, 1.0)
        teaching = corpus, parts[0][0]
        trained = train_with_teacher(self.config, self.seed, network, training, validation, teaching, stage)
        storage: Storage = self.config.storage  # type: ignore[assignment]  # one of the choices
        self._words = WordVectors(words.words, network.weighted()).stored_as(storage)
        self.metrics, self.history = trained.metrics | {"words": float(len(words))}, trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors of length 1; a sentence without known words is the zero vector."""
        words = self._fitted(self._words)
        sums = np.zeros((len(sentences), words.dim), np.float32)
        for start in range(0, len(sentences), _BLOCK):
            block = sentences[start : start + _BLOCK]
            distinct, read = numbered(tokenize(s.text) for s in block)
            rows = rows_of(distinct, words)
            read = read.only(np.where(rows >= 0, np.cumsum(rows >= 0) - 1, -1))
            table = words.vectors(rows[rows >= 0])
            counts = sparse.csr_array(
                (np.ones(len(read.ids), np.float32), read.ids, read.starts), shape=(len(block), len(table))
            )
            sums[start : start + len(block)] = counts @ table
        return unit_length(sums)

    def save_for_sentence_transformers(self, folder: Path) -> None:
        """Write words and vectors as a folder that sentence-transformers loads.

        Raises ``MissingExtraError`` without the packages of the extra encoder.
        """
        table = self._fitted(self._words)
        known = spellings(table.words)
        vectors = table.vectors(np.array([table.row(word) for word in known], np.int64))
        tokenizer_of([*known]).save(str(folder / "tokenizer.json"))
        unknown = np.zeros((1, table.dim), np.float32)
        write_tensors(folder / WEIGHTS, {"embedding.weight": np.concatenate([vectors, unknown])})
        write_steps(folder, {"": "StaticEmbedding", "1_Normalize": "Normalize"})

    def _write(self, folder: Path) -> None:
        write_word_vectors(folder, self._fitted(self._words))

    def _read(self, folder: Path) -> None:
        self._words = read_word_vectors(folder)
        if not len(self._words):
            raise damaged(folder, "it has no words")

    def _initial(self, distinct: Sequence[str], read: NumberedTexts) -> tuple[WordVectors, WordTable]:
        """Return the vocabulary of the training articles with its initial vectors, and the initial network."""
        from themescope.core.models.static_encoder.network import WordTable

        found, shares = vocabulary_of(distinct, read, self.config.vocabulary, self.config.least_count)
        limit = self.config.vocabulary_limit or None
        vectors = initial_vectors(found, [load_word_vectors(name, limit) for name in self.config.word_vectors])
        weights = self.config.frequency / (self.config.frequency + shares)
        network = WordTable(
            vectors, weights, self.config.dim, self.config.word_dropout, train_vectors=self.config.train_vectors
        )
        return WordVectors(found, vectors), network


def _source(network: WordTable, articles: SectionedArticles, words: NumberedTexts) -> Examples:
    """Return articles as training data of the network."""
    from themescope.core.models.contrastive.training import Examples

    vectors = network.vectors.detach().cpu().numpy()
    digest = digest_of_arrays(words.ids, words.starts, articles.sections, vectors)
    return Examples(articles, partial(_similarities, network, words), digest)


def _similarities(network: WordTable, words: NumberedTexts, batch: Batch) -> Tensor:
    """Return the (m, m) cosines of the sentences of a batch."""
    from themescope.core.models.static_encoder.network import bags

    vectors: Tensor = network(*(part.to(network.vectors.device) for part in bags(words, batch.rows)))
    return vectors @ vectors.T
