"""Models that ignore word order: ``tfidf``, ``word-counts``, ``mean-vectors`` and ``c-phrase``.

The columns of counts are hashes of words, so that vectors of different articles have the same dimensions and no
vocabulary has to be learned.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.models.artifact import read_tensors, read_word_vectors, write_tensors, write_word_vectors
from themescope.core.models.base import BaseModel, unit_length
from themescope.core.text.languages import SMART_STOP_WORDS, content_words
from themescope.core.text.word_vectors import STORAGES, TABLE, WordVectors, load_word_vectors, token_ids
from themescope.core.types import SILENT, Corpus, Report, Sentence, Vectors

COLUMNS = 1 << 20
_WEIGHTS = "document-frequencies.safetensors"
_WORD = re.compile(r"\w+")
_FIT_BLOCK = 20_000

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WordCountsConfig(Config):
    """Settings of ``word-counts``."""

    lowercase: bool = option(True, "Convert words to lower case.")
    min_letters: int = option(2, "Ignore words with fewer letters.", low=1, high=20)


@dataclass(frozen=True)
class TfidfConfig(Config):
    """Settings of ``tfidf``."""

    scope: str = option(
        "article",
        "Sentences over which inverse document frequency is computed: those of the sentence's own article, "
        "or those of the whole corpus.",
        choices=("article", "corpus"),
    )
    lowercase: bool = option(True, "Convert words to lower case.")
    min_letters: int = option(2, "Ignore words with fewer letters.", low=1, high=20)
    sublinear: bool = option(False, "Count a word that occurs c times as 1 + ln c instead of c.")
    stop_words: bool = option(True, "Count stop words too: frequent words of English such as “the” and “of”.")


class WordCounts(BaseModel, config=WordCountsConfig):
    """Number of occurrences of each word, without weights and without training."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Do nothing, since there is nothing to learn."""
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 2²⁰) CSR counts; a sentence without words is an empty row."""
        texts = (s.text for s in sentences)
        return count_words(texts, self.config.lowercase, self.config.min_letters).astype(np.float32)


class Tfidf(BaseModel, config=TfidfConfig):
    """Tf-idf vectors of length 1 with smoothed inverse document frequency ``1 + ln((1 + N) / (1 + df))``.

    A document is a sentence. N and df are counted over the sentences of its article (scope "article") or over the
    sentences given to :meth:`fit` (scope "corpus"). Cosine distance (Salton and Buckley 1988).
    """

    config: TfidfConfig
    _documents = 0
    _frequencies: Counts | None = None  # (COLUMNS,) number of sentences with each word; scope "corpus" only

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Count document frequencies over the sentences of ``corpus``; scope "article" learns nothing."""
        if self.config.scope == "article":
            return self
        total = len(corpus.sentences)
        if not total:
            raise DataError("tfidf with scope 'corpus' needs the sentences of a corpus, but this corpus has none.")
        frequencies = np.zeros(COLUMNS, np.int64)
        for start in range(0, total, _FIT_BLOCK):
            counts = self._counts(corpus.sentences[start : start + _FIT_BLOCK])
            frequencies += np.bincount(counts.indices, minlength=COLUMNS)
            report.progress(min(start + _FIT_BLOCK, total), total, "sentences counted")
        self._documents, self._frequencies = total, frequencies
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 2²⁰) CSR rows of length 1; a sentence without words is an empty row."""
        counts = self._counts(sentences)
        rows = np.repeat(np.arange(len(sentences)), np.diff(counts.indptr))
        if self.config.sublinear:
            counts.data = 1 + np.log(counts.data)
        documents: int | Counts = self._documents
        if self.config.scope == "article":
            _, articles, sizes = np.unique([s.article_id for s in sentences], return_inverse=True, return_counts=True)
            places = articles[rows] * np.int64(COLUMNS) + counts.indices  # of each count: its word within its article
            _, place, found = np.unique(places, return_inverse=True, return_counts=True)
            documents, frequencies = sizes[articles[rows]], found[place]
        else:
            frequencies = self._fitted(self._frequencies)[counts.indices]
        data = counts.data * np.asarray(1 + np.log((1 + documents) / (1 + frequencies)), np.float64)
        norms = np.sqrt(np.bincount(rows, data * data, minlength=len(sentences)))
        counts.data = (data / norms[rows]).astype(np.float32)
        return counts

    def _write(self, folder: Path) -> None:
        if self._frequencies is not None:
            columns = np.flatnonzero(self._frequencies)
            tensors: dict[str, Any] = {
                "columns": columns.astype(np.int32),
                "frequencies": self._frequencies[columns].astype(np.int32),
                "documents": np.array([self._documents], np.int64),
            }
            write_tensors(folder / _WEIGHTS, tensors)

    def _read(self, folder: Path) -> None:
        if self.config.scope == "corpus":
            tensors = read_tensors(folder / _WEIGHTS, ("columns", "frequencies", "documents"))
            self._documents = int(tensors["documents"][0])
            self._frequencies = np.zeros(COLUMNS, np.int64)
            self._frequencies[tensors["columns"]] = tensors["frequencies"]

    def _counts(self, sentences: Sequence[Sentence]) -> sparse.csr_array:
        ignored = frozenset() if self.config.stop_words else SMART_STOP_WORDS
        return count_words((s.text for s in sentences), self.config.lowercase, self.config.min_letters, ignored)


def count_words(
    texts: Iterable[str], lowercase: bool, min_letters: int, ignored: frozenset[str] = frozenset()
) -> sparse.csr_array:
    """Return (n, 2²⁰) float64 counts of words with at least ``min_letters``; columns of a row are sorted and unique.

    Words that are in ``ignored`` in lower case are not counted.
    """
    columns: list[int] = []
    starts = [0]
    for text in texts:
        words = _WORD.findall(text.lower() if lowercase else text)
        if ignored:
            words = [word for word in words if word.lower() not in ignored]
        columns.extend([_column(word) for word in words if len(word) >= min_letters])
        starts.append(len(columns))
    data = np.ones(len(columns), np.float64)
    shape = (len(starts) - 1, COLUMNS)
    counts = sparse.csr_array((data, np.array(columns, np.int32), np.array(starts, np.int32)), shape=shape)
    counts.sum_duplicates()
    return counts


@lru_cache(maxsize=200_000)
def _column(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) % COLUMNS


_BLOCK = 8_192  # sentences tokenised at once, which bounds the memory


@dataclass(frozen=True)
class MeanVectorsConfig(Config):
    """Settings of ``mean-vectors``."""

    word_vectors: str = option("glove-6b-50d", TABLE, file=True)
    vocabulary_limit: int = option(0, "Read only the first words of the table, this many; 0 reads all.", low=0)
    storage: str = option("fp16", "Number format of the word vectors in the saved model.", choices=STORAGES)


@dataclass(frozen=True)
class CPhraseConfig(MeanVectorsConfig):
    """Settings of ``c-phrase``."""

    word_vectors: str = option(
        "glove-6b-50d", "Table of word vectors: a file of the C-PHRASE vectors, or any other table.", file=True
    )


class _WordVectorModel(BaseModel):
    """A model without training: :meth:`fit` reads the table of word vectors that the settings name.

    A sentence without known words is the zero vector.
    """

    _vectors: WordVectors | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Read the table of word vectors; ``corpus`` is not used."""
        report.progress(0, 1, "Reading word vectors")
        loaded = load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None)
        self._vectors = loaded.stored_as(self.config.storage)
        report.progress(1, 1, f"{len(loaded):,} words")
        return self

    def _write(self, folder: Path) -> None:
        write_word_vectors(folder, self._fitted(self._vectors))

    def _read(self, folder: Path) -> None:
        self._vectors = read_word_vectors(folder)


class MeanVectors(_WordVectorModel, config=MeanVectorsConfig):
    """Mean of the vectors of a sentence's known words, cosine distance (Ein Dor et al. 2018, section 5.1)."""

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) means of word vectors."""
        vectors = self._fitted(self._vectors)
        means = np.zeros((len(sentences), vectors.dim), np.float32)
        for start in range(0, len(sentences), _BLOCK):
            tokens = token_ids((s.text for s in sentences[start : start + _BLOCK]), vectors, unknown=False)
            filled = np.flatnonzero(tokens.lengths)
            if len(filled):
                sums = np.add.reduceat(tokens.table[tokens.ids], tokens.starts[filled], axis=0)
                means[start + filled] = sums / tokens.lengths[filled, None]
        return means


class CPhrase(_WordVectorModel, config=CPhraseConfig):
    """Sum of additive word vectors scaled to length 1 (Pham et al. 2015; Saha et al. 2017, section 4).

    Saha et al. use the 300-dimensional C-PHRASE vectors; any table of additive word vectors works. Words are
    lower-cased without punctuation and not stemmed. Cosine distance.
    """

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) sums of word vectors, scaled to length 1."""
        words = [content_words(s.text, stemmed=False) for s in sentences]
        return unit_length(combined_words(words, self._fitted(self._vectors), mean=False))


def combined_words(sentences: Sequence[Sequence[str]], vectors: WordVectors, *, mean: bool) -> npt.NDArray[np.float32]:
    """Return (n, dim) means or sums of the vectors of each sentence's known words; zero where none is known."""
    rows = [[row for row in map(vectors.row, sentence) if row >= 0] for sentence in sentences]
    out = np.zeros((len(rows), vectors.dim), np.float32)
    for i, found in enumerate(rows):
        if found:
            known = vectors.vectors(np.array(found, np.int64))
            out[i] = known.mean(axis=0) if mean else known.sum(axis=0)
    return out
