"""``doc-mean``, ``neighbour-mean``, ``smoothed``: other models' vectors mixed within each document (F.10, I.4).

Labels of SJH17 are labels of documents, so that averaging over the document is nearly an oracle: a method that learns
from context must be compared with these. They learn nothing of their own. A sparse model (tf-idf) is first reduced to
its principal directions on the corpus (LSA, Deerwester et al. 1990). Several models are mixed each by itself and stand
side by side. The result may be whitened: brought to a few principal axes of equal spread, since k-means on raw
vectors finds what varies most, which need not be the topic. Sentences of a document must be embedded together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.config import Config, option
from core.errors import DataError
from core.models.composite.smoothing_operators import document_means, neighbour_means, smoothed
from core.models.composite.submodels import load_inside, save_inside
from core.models.composite.whitening import PrincipalAxes
from core.models.con_s2v.graphs import discourse_graph
from core.models.distances import cosine_distances, unit_length
from core.models.storage import read_settings, read_tensors, write_settings, write_tensors
from core.protocols import SILENT, Report, SubReport
from core.types import Corpus, FittedModel, Matrix, Sentence, Vectors

_LSA, _AXES = "lsa.safetensors", "axes.safetensors"
_BLOCK = 4_096


@dataclass(frozen=True)
class ControlConfig(Config):
    """What every control may be told."""

    lsa: int = option(300, "Coordinates that a sparse model's vectors are reduced to.", low=2, high=2_000)
    unit: bool = option(False, "Bring every model's vectors to length 1 before they are mixed.")
    unit_mixed: bool = option(False, "Bring what is mixed of every model to length 1, and the result.")
    axes: int = option(
        0, "Turn the result to so many principal axes of the corpus and even out their spread; 0: leave it.",
        low=0, high=2_000,
    )  # fmt: skip
    evenness: float = option(
        1.0, "How far the spread of the axes is evened out: each is divided by its deviation to this power.",
        low=0, high=1,
    )  # fmt: skip


@dataclass(frozen=True)
class DocumentMeanConfig(ControlConfig):
    """Settings of ``doc-mean``."""

    keep_own: bool = option(False, "Put the sentence's own vector beside the mean of its document.")


@dataclass(frozen=True)
class NeighbourMeanConfig(ControlConfig):
    """Settings of ``neighbour-mean``."""


@dataclass(frozen=True)
class SmoothedConfig(ControlConfig):
    """Settings of ``smoothed``."""

    share: float = option(
        0.85, "a of (1 − a)(I − aP)⁻¹X: how much comes from the sentences around it.", low=0, high=0.999
    )


@dataclass(frozen=True)
class _Directions:
    """What a sparse model's vectors are reduced to. Columns that no word of the corpus has are left out."""

    columns: npt.NDArray[np.int64]
    """(used,)."""
    axes: npt.NDArray[np.float32]
    """(used, lsa)."""

    def reduced(self, x: Any) -> npt.NDArray[np.float32]:
        """(n, lsa) of (n, columns) sparse rows."""
        return np.asarray(x[:, self.columns] @ self.axes, np.float32)


@dataclass(frozen=True)
class _Base:
    """A model whose vectors are mixed."""

    model: FittedModel
    directions: _Directions | None
    """Of a sparse model, None of another."""

    def embed(self, sentences: Sequence[Sentence]) -> npt.NDArray[np.float32]:
        """(n, dim) vectors before they are mixed."""
        x: Any = self.model.embed(sentences)
        return np.asarray(x if self.directions is None else self.directions.reduced(x), np.float32)


class _Control(ABC):
    config_class: ClassVar[type[ControlConfig]]

    def __init__(self, config: Any, seed: int) -> None:
        self.config, self.seed = config, seed
        self._bases: tuple[_Base, ...] = ()
        self._axes: PrincipalAxes | None = None

    @abstractmethod
    def _mixed(self, x: npt.NDArray[np.float32], articles: Any, positions: Any) -> Matrix:
        """(n, dim) rows mixed within their articles, given as (n,) each."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the models in ``corpus.models``; of a sparse one, find the directions on ``corpus.sentences``."""
        if not corpus.models:
            raise DataError("This method mixes the vectors of fitted models. Name one or more.")
        bases, steps = [], len(corpus.models) + 1
        for number, model in enumerate(corpus.models):
            share = SubReport(report, number / steps, (number + 1) / steps)
            bases.append(_Base(model, _directions(model, corpus, self.config.lsa, self.seed, share)))
        self._bases, self._axes = tuple(bases), None
        if self.config.axes:
            if not len(corpus.sentences):
                raise DataError("Principal axes are those of a corpus's sentences; this corpus has none.")
            blocks = map(self._beside, _whole_articles(corpus.sentences, SubReport(report, 1 - 1 / steps, 1)))
            self._axes = PrincipalAxes.of(blocks, self.config.axes, self.config.evenness)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, dim) mixed vectors, those of several models side by side; a loose sentence keeps its own."""
        x = self._beside(sentences)
        if self._axes is None:
            return x
        return unit_length(self._axes.turned(x)) if self.config.unit_mixed else self._axes.turned(x)

    def _beside(self, sentences: Sequence[Sentence]) -> npt.NDArray[np.float32]:
        """(n, dim) what is mixed of every model, side by side."""
        articles = np.array([s.article_id for s in sentences], np.int64)
        positions = np.array([s.position for s in sentences], np.int64)
        parts = []
        for base in self._fitted():
            x = base.embed(sentences)
            x = unit_length(x) if self.config.unit else x
            mixed = np.array(self._mixed(x, articles, positions), np.float32)
            mixed[~x.any(axis=1)] = 0
            parts.append(unit_length(mixed) if self.config.unit_mixed else mixed)
        return np.concatenate(parts, axis=1)

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write the settings, and every model with each file of its own under a name of ours."""
        bases = self._fitted()
        write_settings(folder, self.config, self.seed)
        save_inside([base.model for base in bases], folder)
        found: dict[str, Any] = {}
        for number, base in enumerate(bases):
            if base.directions is not None:
                found |= {f"{number}.columns": base.directions.columns, f"{number}.axes": base.directions.axes}
        if found:
            write_tensors(folder / _LSA, found)
        if self._axes is not None:
            write_tensors(folder / _AXES, {"mean": self._axes.mean, "axes": self._axes.axes})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        model = cls(*read_settings(folder, cls.config_class))
        found = read_tensors(folder / _LSA, ()) if (folder / _LSA).is_file() else {}
        model._bases = tuple(
            _Base(
                base,
                _Directions(found[f"{number}.columns"], found[f"{number}.axes"])
                if f"{number}.columns" in found
                else None,
            )
            for number, base in enumerate(load_inside(folder))
        )
        if (folder / _AXES).is_file():
            tensors = read_tensors(folder / _AXES, ("mean", "axes"))
            model._axes = PrincipalAxes(tensors["mean"], tensors["axes"])
        return model

    def _fitted(self) -> tuple[_Base, ...]:
        if not self._bases:
            raise DataError("This method has no model to mix yet: call fit() with one, or load a saved model.")
        return self._bases


class DocumentMean(_Control):
    """The mean of the vectors of a sentence's document."""

    config_class: ClassVar[type[ControlConfig]] = DocumentMeanConfig

    def _mixed(self, x: npt.NDArray[np.float32], articles: Any, positions: Any) -> Matrix:
        means = document_means(x, articles)
        return np.concatenate([x, means], axis=1) if self.config.keep_own else means


class NeighbourMean(_Control):
    """Half a sentence's own vector, a quarter of the previous one's, a quarter of the next one's."""

    config_class: ClassVar[type[ControlConfig]] = NeighbourMeanConfig

    def _mixed(self, x: npt.NDArray[np.float32], articles: Any, positions: Any) -> Matrix:
        return neighbour_means(x, articles, positions)


class Smoothed(_Control):
    """Personalised PageRank along the order of sentences: near sentences count more than far ones."""

    config_class: ClassVar[type[ControlConfig]] = SmoothedConfig

    def _mixed(self, x: npt.NDArray[np.float32], articles: Any, positions: Any) -> Matrix:
        return smoothed(x, discourse_graph(articles, positions), self.config.share)


def _directions(model: FittedModel, corpus: Corpus, count: int, seed: int, report: Report) -> _Directions | None:
    """The first right singular vectors of a sparse model's vectors; fewer than ``count`` where there are fewer."""
    from sklearn.utils.extmath import randomized_svd

    if not sparse.issparse(model.embed([])):
        report.progress(1, 1, "Nothing to learn")
        return None
    if not len(corpus.sentences):
        raise DataError("A sparse model is reduced on the sentences of a corpus; this corpus has none.")
    x: Any = sparse.vstack([model.embed(block) for block in _whole_articles(corpus.sentences, report)], format="csr")
    used = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]))
    count = min(count, len(used), x.shape[0])
    _, _, right = randomized_svd(x[:, used], count, random_state=seed)
    return _Directions(used, np.ascontiguousarray(right.T, np.float32))


def _whole_articles(sentences: Sequence[Sentence], report: Report) -> Iterator[Sequence[Sentence]]:
    """The sentences in blocks of about :data:`_BLOCK` that cut no article."""
    begun = 0
    for place in range(1, len(sentences) + 1):
        last = place == len(sentences)
        if last or (place - begun >= _BLOCK and sentences[place].article_id != sentences[place - 1].article_id):
            report.progress(begun, len(sentences), "sentences read")
            yield sentences[begun:place]
            begun = place
