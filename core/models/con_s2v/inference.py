"""Vectors of sentences: looked up for sentences of the training text, inferred for others.

Inference takes content steps on frozen word vectors, as DBOW and DM do (Le and Mikolov 2014).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from core.models.con_s2v.arrays import Noise, Tables, Text, empty_table, keep_thresholds, word_noise
from core.models.con_s2v.config import TrainingConfig
from core.models.con_s2v.text import FEWEST, Vocabulary
from core.types import Ids, Sentence

Float32 = npt.NDArray[np.float32]
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

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that :meth:`of` takes."""
        return {"vectors": self.vectors, "ids": self.ids, "digests": self.digests}

    @classmethod
    def of(cls, tensors: Mapping[str, Any]) -> KnownSentences:
        """Return the table with these arrays."""
        return cls(tensors["vectors"], tensors["ids"], tensors["digests"])


def known_sentences(sentences: Iterable[Sentence], vectors: npt.NDArray[np.float32], storage: str) -> KnownSentences:
    """Return the table of ``sentences`` with (n, dim) ``vectors`` in the number format ``storage``."""
    places = [(s.id, text_digest(s.text)) for s in sentences]
    ids, digests = np.array(places, np.int64).reshape(-1, 2).T
    return KnownSentences(vectors.astype(PRECISIONS[storage]), ids.copy(), digests.copy())


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

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that :meth:`of` takes."""
        settings = np.array([self.rate, self.window], np.float64)
        return {"words": self.words, "inputs": self.inputs, "settings": settings}

    @classmethod
    def of(cls, tensors: Mapping[str, Any]) -> ContentModel:
        """Return the model with these arrays."""
        rate, window = tensors["settings"].tolist()
        return cls(tensors["words"], tensors["inputs"], rate, int(window))

    def infer(
        self, rows: Sequence[Sequence[int]], digests: Sequence[int], vocabulary: Vocabulary, config: TrainingConfig
    ) -> Float32:
        """Return (m, dim) vectors of sentences given as word rows; fewer than three words give the zero vector.

        The initial vector and all random numbers depend on the digest of the sentence alone, so that a row does not
        depend on the other sentences.
        """
        enough = [i for i, words in enumerate(rows) if len(words) >= FEWEST]
        out = np.zeros((len(rows), self.dim), np.float32)
        if not enough:
            return out
        from core.models.con_s2v import kernels

        seeds = np.array([digests[i] & (2**63 - 1) for i in enough], np.int64)
        lengths = [len(rows[i]) for i in enough]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        ids = np.fromiter((word for i in enough for word in rows[i]), np.int32, int(starts[-1]))
        text = Text(ids, starts, keep_thresholds(vocabulary.counts, config.subsampling))
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
