"""Data and settings of recurrent models: sentences as rows of a vocabulary, batches, and vocabulary expansion.

This module imports no torch, so that a form can be drawn without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config, option
from themescope.core.models.triplet_network.batching import length_batches
from themescope.core.text.tokens import tokenize
from themescope.core.text.word_vectors import STORAGES, NumberedTexts, WordVectors, numbered
from themescope.core.types import Float32, Index, Sentence

END, UNKNOWN = 0, 1
SPECIAL = 2
"""Number of rows of the word table before the first word: END of a sentence, and UNKNOWN for other words."""


@dataclass(frozen=True)
class WordRows(NumberedTexts):
    """Tokenised sentences by row of the word table, and which of them training uses."""

    words: list[str]
    """Word of row SPECIAL + i."""
    counts: Index
    """(SPECIAL + words,) number of times that each row is a target."""
    usable: Index
    """Rows that batches are sampled from."""

    def batches(self, size: int, per_epoch: int, seed: int, epoch: int) -> list[Index]:
        """Return shuffled batches of usable rows of similar length; they depend only on ``seed`` and ``epoch``."""
        random = np.random.default_rng([seed, epoch])
        order = random.permutation(self.usable)[: per_epoch or len(self.usable)]
        batches = list(length_batches(order, self.lengths, size))
        return [batches[i] for i in random.permutation(len(batches))]


def word_rows(
    sentences: Iterable[Sequence[str]], vocabulary: int, tick: Callable[[], None], *, least: int = 1
) -> WordRows:
    """Tokenise with the ``vocabulary`` most frequent words; sentences of at least ``least`` words are usable."""
    names, texts = numbered(sentences, tick)
    kept = [word for word, _ in Counter(texts.ids.tolist()).most_common(vocabulary)]
    row_of = np.full(len(names), UNKNOWN, np.int32)
    row_of[kept] = np.arange(SPECIAL, SPECIAL + len(kept))
    ids = row_of[texts.ids]
    counts = np.bincount(ids, minlength=SPECIAL + len(kept)).astype(np.int64)
    counts[END] = len(texts)
    usable = np.flatnonzero(texts.lengths >= max(least, 1))
    return WordRows(ids, texts.starts, [names[i] for i in kept], counts, usable)


@dataclass(frozen=True)
class SkipData(WordRows):
    """Sentences with their neighbours; non-empty sentences with a non-empty neighbour are usable."""

    neighbours: Index
    """(n, 2) rows of the previous and the next sentence, -1 where there is none."""


def skip_data(sentences: Sequence[Sentence], vocabulary: int, most: int, tick: Callable[[], None]) -> SkipData:
    """Tokenise in lower case with the ``vocabulary`` most frequent words; cut sentences after ``most`` words.

    Neighbours are consecutive sentences of one article; a sentence without an article has none.
    """
    rows = word_rows((tokenize(s.text.lower())[:most] for s in sentences), vocabulary, tick)
    places = {(s.article_id, s.position): i for i, s in enumerate(sentences) if s.article_id != -1}
    found = [[places.get((s.article_id, s.position + step), -1) for step in (-1, 1)] for s in sentences]
    neighbours = np.array(found, np.int64).reshape(-1, 2)
    filled = np.append(rows.lengths > 0, False)  # row -1: no neighbour
    neighbours = np.where(filled[neighbours], neighbours, -1)
    usable = np.flatnonzero(filled[:-1] & (neighbours >= 0).any(axis=1))
    return SkipData(rows.ids, rows.starts, rows.words, rows.counts, usable, neighbours)


_RIDGE = 1e-6


@dataclass(frozen=True)
class ExpandedWords:
    """Learned word vectors, extended to other words of ``table`` by ``vector · map + shift``."""

    own: WordVectors
    table: WordVectors
    map: Float32
    """(table.dim, own.dim)"""
    shift: Float32
    """(own.dim,)"""

    def of_words(self, words: Sequence[str]) -> tuple[Float32, npt.NDArray[np.bool_]]:
        """Return (n, dim) vectors and an (n,) mask of known words; vectors of unknown words are zero."""
        vectors = np.zeros((len(words), self.own.dim), np.float32)
        learned = np.array([self.own.row(word) for word in words], np.int64)
        others = np.array([self.table.row(word) for word in words], np.int64)
        mapped = np.flatnonzero((learned < 0) & (others >= 0))
        if len(mapped):
            vectors[mapped] = self.table.vectors(others[mapped]) @ self.map + self.shift
        given = np.flatnonzero(learned >= 0)
        if len(given):
            vectors[given] = self.own.vectors(learned[given])
        return vectors, (learned >= 0) | (others >= 0)


def expanded(own: WordVectors, table: WordVectors) -> ExpandedWords:
    """Fit the map by least squares over the words that both tables have; without common words it is zero."""
    rows = np.array([table.row(word) for word in own.words], np.int64)
    common = np.flatnonzero(rows >= 0)
    if not len(common):
        return ExpandedWords(own, table, np.zeros((table.dim, own.dim), np.float32), np.zeros(own.dim, np.float32))
    x, y = table.vectors(rows[common]).astype(np.float64), own.vectors(common).astype(np.float64)
    middle, target = x.mean(axis=0), y.mean(axis=0)
    x, y = x - middle, y - target
    scale = _RIDGE * max(float(np.square(x).sum()), 1.0)
    solved = np.linalg.solve(x.T @ x + scale * np.eye(table.dim), x.T @ y)
    return ExpandedWords(own, table, solved.astype(np.float32), (target - middle @ solved).astype(np.float32))


@dataclass(frozen=True)
class RecurrentTrainingConfig(Config):
    """Sizes and training of a GRU encoder with its decoders; smaller than in the papers."""

    hidden: int = option(
        300, "Units of the encoder in each direction; a sentence vector has twice as many dimensions.",
        low=2, high=4_800,
    )  # fmt: skip
    decoder: int = option(300, "Units of each decoder.", low=2, high=4_800)
    word_dim: int = option(300, "Dimensions of the word vectors that the encoder learns.", low=2, high=2_000)
    vocabulary: int = option(20_000, "Number of most frequent words of the corpus to learn.", low=1, high=1_000_000)
    max_tokens: int = option(30, "Maximum number of words of a sentence to read and predict.", low=1, high=1_000)
    negatives: int = option(512, "Number of words sampled for the softmax in each step.", low=1, high=100_000)
    epochs: int = option(1, "Number of passes over the sentences.", low=1, high=1_000)
    sentences_per_epoch: int = option(0, "Number of sentences sampled in each epoch; 0 uses all.", low=0)
    batch_size: int = option(128, "Number of sentences in a batch.", low=1, high=65_536)
    learning_rate: float = option(1e-3, "Learning rate of Adam.", low=1e-6, high=1.0)
    gradient_clip: float = option(10.0, "Maximum norm of the gradient of a batch.", low=1e-3, high=1e6)
    device: str = option("auto", "auto uses a CUDA GPU if there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(
        0, "Number of processor threads; 0 uses all. With 1, results are reproducible.", low=0, high=256
    )
    checkpoint_seconds: float = option(15.0, "Interval between checkpoints.", low=0, high=30, unit="s")


@dataclass(frozen=True)
class SkipThoughtConfig(RecurrentTrainingConfig):
    """Settings of ``skip-thought``."""

    word_vectors: str = option(
        "glove-6b-50d", "Table of word vectors for words that are not learned; with the setting weights, the table "
        "that the weights were trained with.",
        file=True,
    )  # fmt: skip
    vocabulary_limit: int = option(0, "Read only the first words of the table, this many; 0 reads all.", low=0)
    storage: str = option("int8", "Number format of the word vectors in the saved model.", choices=STORAGES)
    weights: str = option(
        "", "Instead of training: a .safetensors or .npz file with the weights of a recurrent encoder, named as in the "
        "release of Kiros et al. 2015 (encoder_U, encoder_Ux, encoder_W, …; encoder_r_… for the backward direction).",
        file=True,
    )  # fmt: skip
    lowercase: bool = option(True, "With the setting weights: convert words to lower case. Training always does.")


@dataclass(frozen=True)
class SaeConfig(RecurrentTrainingConfig):
    """Settings of ``sae``."""

    epochs: int = option(5, "Number of passes over the sentences.", low=1, high=1_000)
    min_tokens: int = option(3, "Ignore shorter sentences in training.", low=1)
    dropout_rate: float = option(
        0.2, "Share of the dimensions of a word vector that is masked in training.", low=0, high=0.95
    )
    storage: str = option("fp16", "Number format of the word vectors in the saved model.", choices=STORAGES)

    @property
    def noise(self) -> tuple[float, float]:
        """(p_o, p_x), the probabilities of noise in the input of the encoder: none."""
        return 0.0, 0.0


@dataclass(frozen=True)
class SdaeConfig(SaeConfig):
    """Settings of ``sdae``."""

    deleted: float = option(0.1, "Probability p_o that a word is deleted from the input.", low=0, high=1)
    swapped: float = option(0.1, "Probability p_x that two adjacent words of the input are swapped.", low=0, high=1)

    @property
    def noise(self) -> tuple[float, float]:
        """(p_o, p_x), the probabilities of noise in the input of the encoder."""
        return self.deleted, self.swapped
