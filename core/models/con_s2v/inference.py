"""Vectors of sentences that took no part in training: content steps on frozen word tables (as DBOW and DM infer)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.models.con_s2v import kernels
from core.models.con_s2v.arrays import Noise, Tables, Text, empty_table
from core.models.con_s2v.config import TrainingConfig
from core.models.con_s2v.noise import keep_thresholds, word_noise
from core.models.con_s2v.text import FEWEST, Vocabulary

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ContentModel:
    """What predicts words from a sentence's vector; with a window, together with the words before (DM)."""

    words: npt.NDArray[np.floating[Any]]
    """(words, dim) outputs."""
    inputs: npt.NDArray[np.floating[Any]]
    """(words, dim) inputs, or no rows."""
    rate: float
    window: int = 0
    """0: the vector alone (DBOW)."""

    @property
    def dim(self) -> int:
        """Coordinates of a sentence vector."""
        return int(self.words.shape[1])

    def stored_as(self, dtype: type[np.floating[Any]]) -> ContentModel:
        """The same tables in another precision."""
        return ContentModel(self.words.astype(dtype), self.inputs.astype(dtype), self.rate, self.window)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What :meth:`of` needs."""
        settings = np.array([self.rate, self.window], np.float64)
        return {"words": self.words, "inputs": self.inputs, "settings": settings}

    @classmethod
    def of(cls, tensors: Mapping[str, Any]) -> ContentModel:
        """Inverse of :meth:`tensors`."""
        rate, window = tensors["settings"].tolist()
        return cls(tensors["words"], tensors["inputs"], rate, int(window))

    def infer(
        self, rows: Sequence[Sequence[int]], digests: Sequence[int], vocabulary: Vocabulary, config: TrainingConfig
    ) -> Float32:
        """(m, dim) vectors of sentences given as word rows; fewer than three words give the zero vector.

        Start and draws follow from a sentence's ``digests`` alone, so that a row does not depend on the others.
        """
        enough = [i for i, words in enumerate(rows) if len(words) >= FEWEST]
        out = np.zeros((len(rows), self.dim), np.float32)
        if not enough:
            return out
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
