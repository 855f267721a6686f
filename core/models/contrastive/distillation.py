"""Distillation: a fitted model as the teacher of a contrastive method (Hinton et al. 2015).

The teacher embeds the training articles once. For each sentence, its cosines with the other sentences of the article
become a softmax, which the student's softmax is compared with
(:func:`themescope.core.models.contrastive.loss.distillation_loss`). Vectors of teacher and student may have different
dimensions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from themescope.core.errors import DataError
from themescope.core.models.base import unit_length
from themescope.core.models.checkpoints import digest_of_arrays, read_arrays, write_arrays
from themescope.core.models.contrastive.loss import Mean, distillation_loss
from themescope.core.models.contrastive.sampling import Batch, DistillationConfig, SectionedArticles
from themescope.core.protocols import Report
from themescope.core.types import Corpus, FittedModel, Index, Sentence

_BLOCK = 4_096  # sentences embedded, and written to the checkpoint folder, at once
_FOLDER = "teacher"
_TOLERANCE = 0.02  # of a coordinate of a unit vector: another teacher differs by more, bfloat16 by less

Float16 = npt.NDArray[np.float16]


@dataclass(frozen=True)
class Teacher:
    """Vectors of a fitted model for the training articles, and their part in the loss."""

    vectors: Float16
    """(k, dim) unit vectors, at half precision because a corpus has many."""
    places: Index
    """(n,) row of ``vectors`` of each row of the training data, -1 where the teacher has not read it."""
    weight: float
    temperature: float

    def knows(self, batch: Batch) -> bool:
        """Return whether the teacher has read a sentence of the batch."""
        return bool((self.places[batch.rows] >= 0).any())

    def mixed(self, loss: Mean, similarities: Tensor, candidates: Tensor, batch: Batch) -> list[Mean]:
        """Return the parts of (1 − α)·``loss`` + α·divergence; the second concerns what the teacher has read."""
        places = self.places[batch.rows]
        known = torch.from_numpy(places >= 0).to(similarities.device)
        x = torch.from_numpy(self.vectors[np.maximum(places, 0)].astype(np.float32)).to(similarities.device)
        logits, teacher = similarities / self.temperature, (x @ x.T) / self.temperature
        divergence = distillation_loss(logits, teacher, candidates & known)
        return [loss.times(1 - self.weight), divergence.times(self.weight)]

    @property
    def fingerprint(self) -> str:
        """Digest of the vectors and of the rows they belong to."""
        return digest_of_arrays(self.vectors, self.places)


def teacher_of(
    corpus: Corpus,
    sentences: Sequence[Sentence],
    articles: SectionedArticles,
    config: DistillationConfig,
    seed: int,
    report: Report,
) -> Teacher | None:
    """Embed ``articles``, which are rows of ``sentences``, with the model of ``corpus``; None without a model.

    Finished blocks are kept in the checkpoint folder of ``report``, so that an interrupted training does not embed them
    again; :func:`drop_teacher` removes them. Raises ``DataError`` for several models and for one with sparse vectors.
    """
    if not corpus.models or not config.distillation or not len(articles):
        return None
    if len(corpus.models) > 1:
        raise DataError(f"A training has one teacher, but {len(corpus.models)} models are given. Name one model.")
    chosen = np.arange(len(articles.sentences))
    if config.teacher_limit and config.teacher_limit < len(articles):
        numbers = np.sort(np.random.default_rng(seed).permutation(len(articles))[: config.teacher_limit])
        chosen = np.concatenate([articles.rows(number) for number in numbers.tolist()])
    vectors = _Embedding(corpus.models[0], sentences, articles, report).of(chosen)
    places = np.full(len(articles.sentences), -1, np.int64)
    places[chosen] = np.arange(len(chosen))
    return Teacher(vectors, places, config.distillation, config.distillation_temperature)


def drop_teacher(report: Report) -> None:
    """Remove the vectors of the teacher from the checkpoint folder of a finished training."""
    folder = report.checkpoint_folder()
    if folder is not None and (folder / _FOLDER).is_dir():
        for path in (folder / _FOLDER).iterdir():
            path.unlink()
        (folder / _FOLDER).rmdir()


@dataclass(frozen=True)
class _Embedding:
    """Embeds rows of articles, whole articles at once, and keeps finished blocks as files."""

    model: FittedModel
    sentences: Sequence[Sentence]
    articles: SectionedArticles
    report: Report

    def of(self, rows: Index) -> Float16:
        """Return (len(rows), dim) unit vectors of ``rows``, which are in the order of articles."""
        first, *others = self._blocks(rows)
        parts = [self._first(first)]
        for number, block in enumerate(others, 1):
            self.report.progress(sum(map(len, parts)), len(rows), "sentences embedded by the teacher")
            found = self._read(block, number)
            if found is None:
                found = self._embedded(block)
                self._write(block, number, found)
            parts.append(found)
        return np.concatenate(parts)

    def _blocks(self, rows: Index) -> list[Index]:
        """Divide ``rows`` between articles into blocks of at least ``_BLOCK`` rows; the first block is one article."""
        numbers = np.searchsorted(self.articles.starts, rows, side="right")
        bounds: list[int] = []
        begin = 0
        for end in [*(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(rows)]:
            if end - begin >= _BLOCK or not bounds or end == len(rows):
                bounds.append(end)
                begin = end
        return np.split(rows, bounds[:-1])

    def _first(self, block: Index) -> Float16:
        """Embed the first article; its vectors tell whether the files are of this teacher. If not, they are removed.

        The vectors of the file are returned, because those of another processor may differ in the last digit.
        """
        vectors, found = self._embedded(block), self._read(block, 0)
        if found is not None and found.shape == vectors.shape and np.allclose(found, vectors, atol=_TOLERANCE):
            return found
        drop_teacher(self.report)
        self._write(block, 0, vectors)
        return vectors

    def _read(self, block: Index, number: int) -> Float16 | None:
        path = self._path(number)
        stored = read_arrays(path, self._key(block)) if path else None
        return None if stored is None else np.asarray(stored[1]["vectors"], np.float16)

    def _write(self, block: Index, number: int, vectors: Float16) -> None:
        if path := self._path(number):
            write_arrays(path, self._key(block), {}, {"vectors": vectors})

    def _path(self, number: int) -> Path | None:
        folder = self.report.checkpoint_folder()
        return folder / _FOLDER / f"{number:06d}.safetensors" if folder else None

    def _key(self, block: Index) -> str:
        """Return a digest of the texts of a block."""
        digest = hashlib.blake2b(digest_size=8)
        for sentence in self._sentences(block):
            digest.update(sentence.text.encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    def _embedded(self, block: Index) -> Float16:
        found: Any = self.model.embed(self._sentences(block))
        if sparse.issparse(found):
            raise DataError("The vectors of this teacher are sparse. Name a model with dense vectors.")
        return unit_length(np.asarray(found, np.float32)).astype(np.float16)

    def _sentences(self, block: Index) -> list[Sentence]:
        return [self.sentences[row] for row in self.articles.sentences[block].tolist()]
