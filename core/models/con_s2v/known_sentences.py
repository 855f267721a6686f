"""Vectors that were learned for particular sentences, found again by id or by text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from core.types import Ids, Sentence

PRECISIONS: dict[str, type[np.floating[Any]]] = {"fp16": np.float16, "fp32": np.float32}


@dataclass(frozen=True)
class KnownSentences:
    """One row a sentence. An id counts only where the text is the one that was learned from."""

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
        """(m,) row of each sentence: by id where the text fits, else the first with the same text, else -1."""
        found = np.full(len(sentences), -1, np.int64)
        for place, sentence in enumerate(sentences):
            digest = text_digest(sentence.text)
            row = self._row_of_id.get(sentence.id, -1)
            fits = row >= 0 and self.digests[row] == digest
            found[place] = row if fits else self._row_of_text.get(digest, -1)
        return found

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What :meth:`of` needs."""
        return {"vectors": self.vectors, "ids": self.ids, "digests": self.digests}

    @classmethod
    def of(cls, tensors: Mapping[str, Any]) -> KnownSentences:
        """Inverse of :meth:`tensors`."""
        return cls(tensors["vectors"], tensors["ids"], tensors["digests"])


def known_sentences(sentences: Iterable[Sentence], vectors: npt.NDArray[np.float32], storage: str) -> KnownSentences:
    """The table of ``sentences`` and their (n, dim) ``vectors``, kept as ``storage`` says."""
    places = [(s.id, text_digest(s.text)) for s in sentences]
    ids, digests = np.array(places, np.int64).reshape(-1, 2).T
    return KnownSentences(vectors.astype(PRECISIONS[storage]), ids.copy(), digests.copy())


def text_digest(text: str) -> int:
    """A 64-bit digest of a text (BLAKE2b), as a signed number."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
