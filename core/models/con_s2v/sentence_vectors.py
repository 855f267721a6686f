"""Base class of methods that learn a vector for each sentence of a corpus. Cosine distance.

A sentence of the corpus gets its learned vector, found by id and text. The vector of any other sentence is inferred by
content steps on fixed word vectors, as in DBOW and DM (Le and Mikolov 2014). Sentences of at most two words are not
used in training and get the zero vector.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.models.artifact import damaged, read_tensors, read_words, write_tensors, write_words
from themescope.core.models.base import TrainedModel
from themescope.core.models.con_s2v.config import EpochsConfig
from themescope.core.models.con_s2v.text import (
    FEWEST,
    CorpusVocabulary,
    EncodedText,
    Noise,
    Tables,
    TextArrays,
    empty_table,
    encode_text,
    keep_thresholds,
    word_noise,
)
from themescope.core.types import SILENT, Corpus, Float32, Ids, Report, Sentence, Vectors

PRECISIONS: dict[str, type[np.floating[Any]]] = {"fp16": np.float16, "fp32": np.float32}


@dataclass(frozen=True)
class KnownSentences:
    """Learned vectors, one row for each sentence, found by id and text."""

    vectors: npt.NDArray[np.floating[Any]]
    """(n, dim) float16 or float32."""
    ids: Ids
    digests: Ids
    """(n,) see :func:`text_digest`."""

    @cached_property
    def _row_of_id(self) -> dict[int, int]:
        return {found: row for row, found in enumerate(self.ids.tolist()) if found != -1}

    @cached_property
    def _row_of_text(self) -> dict[int, int]:
        rows: dict[int, int] = {}
        for row, digest in enumerate(self.digests.tolist()):
            rows.setdefault(digest, row)
        return rows

    def rows(self, sentences: Sequence[Sentence]) -> npt.NDArray[np.int64]:
        """Return (m,) rows: by id if the text is the same, else the first row with the same text, else -1."""
        found = np.full(len(sentences), -1, np.int64)
        for place, sentence in enumerate(sentences):
            digest = text_digest(sentence.text)
            row = self._row_of_id.get(sentence.id, -1)
            fits = row >= 0 and self.digests[row] == digest
            found[place] = row if fits else self._row_of_text.get(digest, -1)
        return found


def text_digest(text: str) -> int:
    """Return the 64-bit BLAKE2b digest of a text as a signed integer."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


@dataclass(frozen=True)
class ContentModel:
    """Tables that predict words from a sentence's vector (DBOW), with a window also from preceding words (DM)."""

    words: npt.NDArray[np.floating[Any]]
    """(words, dim) output vectors."""
    inputs: npt.NDArray[np.floating[Any]]
    """(words, dim) input vectors, or no rows."""
    rate: float
    window: int = 0
    """Number of preceding words; 0 for DBOW."""

    @property
    def dim(self) -> int:
        """Dimensions of a sentence vector."""
        return int(self.words.shape[1])

    def stored_as(self, dtype: type[np.floating[Any]]) -> ContentModel:
        """Return the same tables in another precision."""
        return ContentModel(self.words.astype(dtype), self.inputs.astype(dtype), self.rate, self.window)

    def infer(
        self, rows: Sequence[Sequence[int]], digests: Sequence[int], vocabulary: CorpusVocabulary, config: EpochsConfig
    ) -> Float32:
        """Return (m, dim) vectors of sentences given as word rows; fewer than three words give the zero vector.

        The initial vector and all random numbers depend on the digest of the sentence alone, so that a row does not
        depend on the other sentences.
        """
        enough = [i for i, words in enumerate(rows) if len(words) >= FEWEST]
        out = np.zeros((len(rows), self.dim), np.float32)
        if not enough:
            return out
        from themescope.core.models.con_s2v import kernels

        seeds = np.array([digests[i] & (2**63 - 1) for i in enough], np.int64)
        lengths = [len(rows[i]) for i in enough]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        ids = np.fromiter((word for i in enough for word in rows[i]), np.int32, int(starts[-1]))
        text = TextArrays(ids, starts, keep_thresholds(vocabulary.counts, config.subsampling))
        alias = word_noise(vocabulary.counts)
        start = empty_table(len(enough), self.dim)
        for row, seed in zip(start, seeds.tolist(), strict=True):
            row[: self.dim] = (np.random.default_rng(seed).random(self.dim, np.float32) - 0.5) / self.dim
        tables = Tables(start, _padded(self.words), np.zeros((0, 1), np.float32), _padded(self.inputs))
        noise = Noise(alias, alias, config.negatives)
        kernels.infer(tables, text, noise, self.window, config.epochs, self.rate, seeds)
        out[enough] = start[:, : self.dim]
        return out


def _padded(table: npt.NDArray[np.floating[Any]]) -> Float32:
    padded = empty_table(*table.shape)
    padded[:, : table.shape[1]] = table
    return padded


_SENTENCES, _WORDS = "sentences.safetensors", "words.safetensors"
_BLOCK = 2_000  # number of sentences looked up or inferred at once


@dataclass(frozen=True)
class Fitted:
    """Result of a training."""

    vectors: Float32
    """(n, dim) vectors of the training sentences."""
    parts: tuple[ContentModel, ...]
    """Models that infer the vectors of other sentences; their vectors are concatenated."""
    vocabulary: CorpusVocabulary
    """Words of the tables of ``parts``."""
    metrics: dict[str, float]


class SentenceVectors(TrainedModel):
    """Base of the methods; a subclass implements :meth:`_learn`."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self._known: KnownSentences | None = None
        self._vocabulary = CorpusVocabulary([], np.zeros(0, np.int64))
        self._parts: tuple[ContentModel, ...] = ()

    @abstractmethod
    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        """Return vectors of the sentences of ``text``, which are the training sentences of ``corpus``."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn a vector for every sentence of ``corpus`` with at least three words."""
        from themescope.core.models.con_s2v.training import drop_checkpoints

        if not len(corpus.sentences):
            raise DataError("This method needs the sentences of a corpus, but this corpus has none.")
        text = encode_text(
            corpus.sentences, self.config.min_count, tick=lambda: report.progress(0, 1, "Reading the sentences")
        )
        fitted = self._learn(text, corpus, report)
        dtype = PRECISIONS[self.config.storage]
        used = (corpus.sentences[row] for row in text.rows.tolist())
        ids, digests = np.array([(s.id, text_digest(s.text)) for s in used], np.int64).reshape(-1, 2).T
        self._known = KnownSentences(fitted.vectors.astype(dtype), ids.copy(), digests.copy())
        self._vocabulary, self.metrics = fitted.vocabulary, fitted.metrics
        self._parts = tuple(part.stored_as(dtype) for part in fitted.parts)
        drop_checkpoints(report.checkpoint_folder())
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors: learned, inferred, or zero for sentences of at most two words."""
        known = self._fitted(self._known)
        out = np.zeros((len(sentences), known.vectors.shape[1]), np.float32)
        for start in range(0, len(sentences), _BLOCK):
            part = sentences[start : start + _BLOCK]
            rows = known.rows(part)
            out[start : start + _BLOCK][rows >= 0] = known.vectors[rows[rows >= 0]]
            new = np.flatnonzero(rows < 0)
            if len(new):
                out[start + new] = self._inferred([part[i].text for i in new.tolist()])
        return out

    def _write(self, folder: Path) -> None:
        known = self._fitted(self._known)
        found = {"vectors": known.vectors, "ids": known.ids, "digests": known.digests}
        write_tensors(folder / _SENTENCES, found)
        write_words(folder, self._vocabulary.words)
        tensors: dict[str, Any] = {"counts": self._vocabulary.counts}
        for n, part in enumerate(self._parts):
            settings = np.array([part.rate, part.window], np.float64)
            tensors |= {f"{n}.words": part.words, f"{n}.inputs": part.inputs, f"{n}.settings": settings}
        write_tensors(folder / _WORDS, tensors)

    def _read(self, folder: Path) -> None:
        names = ("vectors", "ids", "digests")
        found = read_tensors(folder / _SENTENCES, names)
        self._known = KnownSentences(*(found[name] for name in names))
        tensors, words = read_tensors(folder / _WORDS, ("counts",)), read_words(folder)
        if len(words) != len(tensors["counts"]):
            raise damaged(folder, "words and counts differ in number")
        self._vocabulary = CorpusVocabulary(words, tensors["counts"])
        parts = []
        try:
            for n in range(len(tensors) // 3):  # each part has three tensors
                rate, window = tensors[f"{n}.settings"].tolist()
                parts.append(ContentModel(tensors[f"{n}.words"], tensors[f"{n}.inputs"], rate, int(window)))
        except KeyError as error:
            raise damaged(folder, f"{_WORDS}: no {error}") from None
        self._parts = tuple(parts)

    def content(self, sentences: Sequence[Sentence]) -> Fitted:
        """Return what was learned with the vectors of ``sentences``, for methods that use this as the base model."""
        return Fitted(np.asarray(self.embed(sentences)), self._parts, self._vocabulary, {})

    def _inferred(self, texts: list[str]) -> Float32:
        rows = [self._vocabulary.rows(text) for text in texts]
        digests = [text_digest(text) for text in texts]
        parts = [part.infer(rows, digests, self._vocabulary, self.config) for part in self._parts]
        return np.concatenate(parts, axis=1)
