"""Base class of methods that learn a vector for each sentence of a corpus. Cosine distance.

A sentence of the corpus gets its learned vector; that of any other sentence is inferred with fixed word vectors.
Sentences of at most two words are not used in training and get the zero vector.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from core.errors import ArtifactError, DataError
from core.models.base import BaseModel
from core.models.con_s2v.inference import (
    PRECISIONS,
    ContentModel,
    KnownSentences,
    known_sentences,
    text_digest,
)
from core.models.con_s2v.text import EncodedText, Vocabulary, encode_text
from core.models.con_s2v.training import drop_checkpoints
from core.models.storage import (
    read_json,
    read_settings,
    read_tensors,
    read_words,
    write_json,
    write_settings,
    write_tensors,
    write_words,
)
from core.protocols import SILENT, Report
from core.types import Corpus, Sentence, Vectors

_SENTENCES, _WORDS, _TRAINING = "sentences.safetensors", "words.safetensors", "training.json"
_BLOCK = 2_000  # number of sentences looked up or inferred at once

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Fitted:
    """Result of a training."""

    vectors: Float32
    """(n, dim) vectors of the training sentences."""
    parts: tuple[ContentModel, ...]
    """Models that infer the vectors of other sentences; their vectors are concatenated."""
    vocabulary: Vocabulary
    """Words of the tables of ``parts``."""
    metrics: dict[str, float]


class SentenceVectors(BaseModel):
    """Base of the methods; a subclass implements :meth:`_learn`."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self.metrics: dict[str, float] = {}
        """Training metrics: losses, words, seconds, words/s."""
        self._known: KnownSentences | None = None
        self._vocabulary = Vocabulary([], np.zeros(0, np.int64))
        self._parts: tuple[ContentModel, ...] = ()

    @abstractmethod
    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        """Return vectors of the sentences of ``text``, which are the training sentences of ``corpus``."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn a vector for every sentence of ``corpus`` with at least three words."""
        if not len(corpus.sentences):
            raise DataError("This method needs the sentences of a corpus, but this corpus has none.")
        text = encode_text(
            corpus.sentences, self.config.min_count, tick=lambda: report.progress(0, 1, "Reading the sentences")
        )
        fitted = self._learn(text, corpus, report)
        dtype = PRECISIONS[self.config.storage]
        used = (corpus.sentences[row] for row in text.rows.tolist())
        self._known = known_sentences(used, fitted.vectors, self.config.storage)
        self._vocabulary, self.metrics = fitted.vocabulary, fitted.metrics
        self._parts = tuple(part.stored_as(dtype) for part in fitted.parts)
        drop_checkpoints(report.checkpoint_folder())
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors: learned, inferred, or zero for sentences of at most two words."""
        known = self._fitted()
        out = np.zeros((len(sentences), known.vectors.shape[1]), np.float32)
        for start in range(0, len(sentences), _BLOCK):
            part = sentences[start : start + _BLOCK]
            rows = known.rows(part)
            out[start : start + _BLOCK][rows >= 0] = known.vectors[rows[rows >= 0]]
            new = np.flatnonzero(rows < 0)
            if len(new):
                out[start + new] = self._inferred([part[i].text for i in new.tolist()])
        return out

    def save(self, folder: Path) -> None:
        """Write settings, sentence vectors with ids and text digests, and the words."""
        known = self._fitted()
        write_settings(folder, self.config, self.seed)
        write_tensors(folder / _SENTENCES, known.tensors())
        write_words(folder, self._vocabulary.words)
        tensors: dict[str, Any] = {"counts": self._vocabulary.counts}
        for number, part in enumerate(self._parts):
            tensors |= {f"{number}.{name}": array for name, array in part.tensors().items()}
        write_tensors(folder / _WORDS, tensors)
        write_json(folder / _TRAINING, {"metrics": self.metrics, "parts": len(self._parts)})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, cls.config_class))
        course = read_json(folder / _TRAINING)
        model.metrics = course.get("metrics", {})
        model._known = KnownSentences.of(read_tensors(folder / _SENTENCES, ("vectors", "ids", "digests")))
        tensors, words = read_tensors(folder / _WORDS, ("counts",)), read_words(folder)
        if len(words) != len(tensors["counts"]):
            raise ArtifactError(f"The saved model in {folder.name} is damaged: words and counts differ in number.")
        model._vocabulary = Vocabulary(words, tensors["counts"])
        parts = [
            {name.partition(".")[2]: array for name, array in tensors.items() if name.startswith(f"{number}.")}
            for number in range(int(course.get("parts", 0)))
        ]
        try:
            model._parts = tuple(ContentModel.of(part) for part in parts)
        except KeyError as error:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: {_WORDS}: no {error}.") from None
        return model

    def content(self, sentences: Sequence[Sentence]) -> Fitted:
        """Return what was learned with the vectors of ``sentences``, for methods that use this as the base model."""
        return Fitted(np.asarray(self.embed(sentences)), self._parts, self._vocabulary, {})

    def _inferred(self, texts: list[str]) -> Float32:
        rows = [self._vocabulary.rows(text) for text in texts]
        digests = [text_digest(text) for text in texts]
        parts = [part.infer(rows, digests, self._vocabulary, self.config) for part in self._parts]
        return np.concatenate(parts, axis=1)

    def _fitted(self) -> KnownSentences:
        if self._known is None:
            raise DataError("This model is not trained yet. Call fit() first, or load a saved model.")
        return self._known
