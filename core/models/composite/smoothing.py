"""Other models' vectors in the context of their document: ``doc-mean``, ``neighbour-mean``, ``smoothed``, ``centred``.

The labels of Saha et al. (2017) belong to documents, so that averaging over the document is close to an oracle: a
method that learns from context must be compared with these models, which learn nothing from context. A sparse model
(tf-idf) is first reduced by LSA. Several models are smoothed separately and concatenated. The result may be whitened,
because k-means on raw vectors finds the directions of largest variance, which need not be the topic. Sentences of a
document must be embedded together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.models.artifact import load_submodels, save_submodels
from themescope.core.models.base import BaseModel, unit_length
from themescope.core.models.composite.operators import (
    LatentAxes,
    PrincipalAxes,
    document_means,
    neighbour_means,
    smoothed,
)
from themescope.core.models.con_s2v.graphs import discourse_graph
from themescope.core.models.storage import has_file, read_settings, read_tensors, write_settings, write_tensors
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.types import Corpus, FittedModel, Matrix, Sentence, Vectors

_LSA, _AXES = "lsa.safetensors", "axes.safetensors"
_BLOCK = 4_096
_SHORTEST = 1e-4  # centred vectors below this share of their length are rounding noise

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ContextSmoothingConfig(Config):
    """Settings that all smoothing methods share."""

    lsa: int = option(300, "Dimensions that the vectors of a sparse model are reduced to by LSA.", low=2, high=2_000)
    unit: bool = option(False, "Scale the vectors of every model to length 1 before smoothing.")
    unit_mixed: bool = option(False, "Scale the smoothed vectors of every model, and the result, to length 1.")
    axes: int = option(
        0, "Reduce the result to this many principal axes of the corpus and whiten them; 0 omits this step.",
        low=0, high=2_000,
    )  # fmt: skip
    evenness: float = option(
        1.0, "Strength of whitening: each axis is divided by its standard deviation to this power. 0 is plain PCA.",
        low=0, high=1,
    )  # fmt: skip


@dataclass(frozen=True)
class DocumentMeanConfig(ContextSmoothingConfig):
    """Settings of ``doc-mean``."""

    keep_own: bool = option(False, "Concatenate the sentence's own vector with the mean of its document.")


@dataclass(frozen=True)
class NeighbourMeanConfig(ContextSmoothingConfig):
    """Settings of ``neighbour-mean``."""


@dataclass(frozen=True)
class SmoothedConfig(ContextSmoothingConfig):
    """Settings of ``smoothed``."""

    share: float = option(
        0.85, "Share of the result that comes from surrounding sentences: a of (1 − a)(I − aP)⁻¹X.", low=0, high=0.999
    )


@dataclass(frozen=True)
class CentredConfig(ContextSmoothingConfig):
    """Settings of ``centred``."""

    unit: bool = option(True, "Scale the vectors of every model to length 1 before centring.")


@dataclass(frozen=True)
class _Submodel:
    """A model whose vectors are smoothed."""

    model: FittedModel
    latent: LatentAxes | None
    """Set for a sparse model only."""

    def embed(self, sentences: Sequence[Sentence]) -> Float32:
        """Return (n, dim) dense vectors before smoothing."""
        x: Any = self.model.embed(sentences)
        return np.asarray(x if self.latent is None else self.latent.project(x), np.float32)


class _ContextSmoothing(BaseModel):
    """Base of the smoothing methods; a subclass implements :meth:`_smooth`. Cosine distance."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self._submodels: tuple[_Submodel, ...] = ()
        self._axes: PrincipalAxes | None = None

    @abstractmethod
    def _smooth(self, x: Float32, articles: Any, positions: Any) -> Matrix:
        """Return (n, dim) rows of ``x`` smoothed within their articles; ``articles`` and ``positions`` are (n,)."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the models in ``corpus.models``; fit LSA and whitening on ``corpus.sentences`` where they are used."""
        if not corpus.models:
            raise DataError("This method smooths the vectors of fitted models. Name one or more models.")
        submodels, steps = [], len(corpus.models) + 1
        for number, model in enumerate(corpus.models):
            part = SubReport(report, number / steps, (number + 1) / steps)
            submodels.append(_Submodel(model, _latent_axes(model, corpus, self.config.lsa, self.seed, part)))
        self._submodels, self._axes = tuple(submodels), None
        if self.config.axes:
            if not len(corpus.sentences):
                raise DataError("Whitening is fitted on the sentences of a corpus, but this corpus has none.")
            blocks = map(self._smoothed, _whole_articles(corpus.sentences, SubReport(report, 1 - 1 / steps, 1)))
            self._axes = PrincipalAxes.of(blocks, self.config.axes, self.config.evenness)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) smoothed vectors, those of several models concatenated.

        A sentence without an article keeps its own vector.
        """
        x = self._smoothed(sentences)
        if self._axes is None:
            return x
        return unit_length(self._axes.project(x)) if self.config.unit_mixed else self._axes.project(x)

    def _smoothed(self, sentences: Sequence[Sentence]) -> Float32:
        """Return (n, dim) smoothed vectors of all models, concatenated, before whitening."""
        articles = np.array([s.article_id for s in sentences], np.int64)
        positions = np.array([s.position for s in sentences], np.int64)
        parts = []
        for submodel in self._fitted():
            x = submodel.embed(sentences)
            x = unit_length(x) if self.config.unit else x
            smooth = np.array(self._smooth(x, articles, positions), np.float32)
            smooth[~x.any(axis=1)] = 0
            parts.append(unit_length(smooth) if self.config.unit_mixed else smooth)
        return np.concatenate(parts, axis=1)

    @property
    def submodels(self) -> tuple[FittedModel, ...]:
        """The models that this one is built on."""
        return tuple(submodel.model for submodel in self._submodels)

    def use_submodels(self, models: Sequence[FittedModel]) -> None:
        """Embed with ``models``, which give the same vectors as :attr:`submodels`, in the same order."""
        known = zip(models, self._submodels, strict=True)
        self._submodels = tuple(_Submodel(model, before.latent) for model, before in known)

    def save(self, folder: Path) -> None:
        """Write the settings, the models, and the axes of LSA and whitening."""
        submodels = self._fitted()
        write_settings(folder, self.config, self.seed)
        save_submodels([submodel.model for submodel in submodels], folder)
        found: dict[str, Any] = {}
        for number, submodel in enumerate(submodels):
            if submodel.latent is not None:
                found |= {f"{number}.columns": submodel.latent.columns, f"{number}.axes": submodel.latent.axes}
        if found:
            write_tensors(folder / _LSA, found)
        if self._axes is not None:
            write_tensors(folder / _AXES, {"mean": self._axes.mean, "axes": self._axes.axes})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, cls.config_class))
        found = read_tensors(folder / _LSA) if has_file(folder / _LSA) else {}
        latent = {
            number: LatentAxes(columns, found[f"{number}.axes"])
            for number, columns in ((int(name.split(".")[0]), x) for name, x in found.items() if "columns" in name)
        }
        model._submodels = tuple(
            _Submodel(submodel, latent.get(number)) for number, submodel in enumerate(load_submodels(folder))
        )
        if has_file(folder / _AXES):
            tensors = read_tensors(folder / _AXES, ("mean", "axes"))
            model._axes = PrincipalAxes(tensors["mean"], tensors["axes"])
        return model

    def _fitted(self) -> tuple[_Submodel, ...]:
        if not self._submodels:
            raise DataError("This method has no models yet. Call fit() with models, or load a saved model.")
        return self._submodels


class DocumentMean(_ContextSmoothing):
    """Mean of the vectors of a sentence's document."""

    config_class: ClassVar[type[Config]] = DocumentMeanConfig

    def _smooth(self, x: Float32, articles: Any, positions: Any) -> Matrix:
        means = document_means(x, articles)
        return np.concatenate([x, means], axis=1) if self.config.keep_own else means


class NeighbourMean(_ContextSmoothing):
    """½ of a sentence's own vector, ¼ of the previous and ¼ of the next one's."""

    config_class: ClassVar[type[Config]] = NeighbourMeanConfig

    def _smooth(self, x: Float32, articles: Any, positions: Any) -> Matrix:
        return neighbour_means(x, articles, positions)


class Smoothed(_ContextSmoothing):
    """Personalised PageRank along the order of sentences: the weight of a sentence falls with its distance."""

    config_class: ClassVar[type[Config]] = SmoothedConfig

    def _smooth(self, x: Float32, articles: Any, positions: Any) -> Matrix:
        return smoothed(x, discourse_graph(articles, positions), self.config.share)


class Centred(_ContextSmoothing):
    """A sentence's own vector minus the mean of its document, which removes what all its sentences share.

    A vector equal to the mean, such as that of the only sentence of a document, is not changed.
    """

    config_class: ClassVar[type[Config]] = CentredConfig

    def _smooth(self, x: Float32, articles: Any, positions: Any) -> Matrix:
        filled = x.any(axis=1)
        moved: Any = x.copy()
        moved[filled] -= np.asarray(document_means(x[filled], articles[filled]))
        lengths = np.linalg.norm(moved, axis=1), np.linalg.norm(x, axis=1)
        return np.where((lengths[0] > _SHORTEST * lengths[1])[:, None], moved, x)


def _latent_axes(model: FittedModel, corpus: Corpus, count: int, seed: int, report: Report) -> LatentAxes | None:
    """Return the LSA axes of a sparse model on the sentences of ``corpus``, None for a dense model."""
    if not sparse.issparse(model.embed([])):
        report.progress(1, 1, "Nothing to learn")
        return None
    if not len(corpus.sentences):
        raise DataError("LSA of a sparse model is fitted on the sentences of a corpus, but this corpus has none.")
    blocks: Any = [model.embed(block) for block in _whole_articles(corpus.sentences, report)]
    return LatentAxes.of(sparse.vstack(blocks, format="csr"), count, seed)


def _whole_articles(sentences: Sequence[Sentence], report: Report) -> Iterator[Sequence[Sentence]]:
    """Yield the sentences in blocks of at least :data:`_BLOCK` that split no article."""
    begin = 0
    for end in range(1, len(sentences) + 1):
        last = end == len(sentences)
        if last or (end - begin >= _BLOCK and sentences[end].article_id != sentences[end - 1].article_id):
            report.progress(begin, len(sentences), "sentences read")
            yield sentences[begin:end]
            begin = end
