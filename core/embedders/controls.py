"""``doc-mean``, ``neighbour-mean``, ``smoothed``: another model's vectors mixed within each document (F.10, I.4).

Labels of SJH17 are labels of documents, so that averaging over the document is nearly an oracle: a method that learns
from context must be compared with these. They learn nothing of their own. A sparse model (tf-idf) is first reduced to
its principal directions on the corpus (LSA, Deerwester et al. 1990). Sentences of a document must be embedded together.
"""

from __future__ import annotations

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.config import Config, option
from core.embedders.distances import cosine_distances, unit_length
from core.embedders.storage import read_json, read_settings, read_tensors, write_json, write_settings, write_tensors
from core.errors import ArtifactError, DataError, UnknownNameError
from core.protocols import Embedder, Report
from core.sentvec.graphs import discourse_graph
from core.sentvec.smoothing import document_means, neighbour_means, smoothed
from core.types import Corpus, Matrix, Sentence, Vectors

_BASE, _BASE_FILE, _LSA = "base-", "base.json", "lsa.safetensors"
_BLOCK = 4_096


@dataclass(frozen=True)
class ControlConfig(Config):
    """What every control may be told."""

    lsa: int = option(300, "Coordinates that a sparse model's vectors are reduced to.", low=2, high=2_000)
    unit: bool = option(False, "Bring the model's vectors to length 1 before they are mixed.")


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


class _Control(ABC):
    config_class: ClassVar[type[ControlConfig]]

    def __init__(self, config: Any, seed: int) -> None:
        self.config, self.seed = config, seed
        self._base: Embedder | None = None
        self._directions: npt.NDArray[np.float32] | None = None  # (columns, lsa), sparse models only

    @abstractmethod
    def _mixed(self, x: npt.NDArray[np.float32], articles: Any, positions: Any) -> Matrix:
        """(n, dim) rows mixed within their articles, given as (n,) each."""

    def fit(self, corpus: Corpus, report: Report) -> None:
        """Take the model in ``corpus.models``; of a sparse one, find the directions on ``corpus.sentences``."""
        if len(corpus.models) != 1:
            raise DataError("This method mixes the vectors of one fitted model. Name that model.")
        self._base = corpus.models[0]
        if not sparse.issparse(self._base.embed([])):
            report.progress(1, 1, "Nothing to learn")
            return
        if not len(corpus.sentences):
            raise DataError("A sparse model is reduced on the sentences of a corpus; this corpus has none.")
        self._directions = _directions(self._sparse(corpus.sentences, report), self.config.lsa, self.seed)

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, dim) mixed vectors; a loose sentence keeps its own."""
        base: Any = self._fitted().embed(sentences)
        x = np.asarray(base if self._directions is None else base @ self._directions, np.float32)
        if self.config.unit:
            x = unit_length(x)
        articles = np.array([s.article_id for s in sentences], np.int64)
        positions = np.array([s.position for s in sentences], np.int64)
        empty = ~x.any(axis=1)
        mixed = np.array(self._mixed(x, articles, positions), np.float32)
        mixed[empty] = 0
        return mixed

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write the settings, and the model with every file of its own under a name of ours."""
        base = self._fitted()
        write_settings(folder, self.config, self.seed)
        write_json(folder / _BASE_FILE, {"method": _method_of(base)})
        with tempfile.TemporaryDirectory() as inner:
            base.save(Path(inner))
            for path in Path(inner).iterdir():
                shutil.copyfile(path, folder / (_BASE + path.name))
        if self._directions is not None:
            write_tensors(folder / _LSA, {"directions": self._directions})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        model = cls(*read_settings(folder, cls.config_class))
        model._base = _loaded(folder)
        if (folder / _LSA).is_file():
            model._directions = read_tensors(folder / _LSA, ("directions",))["directions"]
        return model

    def _sparse(self, sentences: Sequence[Sentence], report: Report) -> Any:
        """(n, columns) CSR vectors of the base, whole articles at a time."""
        blocks, begun = [], 0
        for end in _article_ends(sentences):
            report.progress(begun, len(sentences), "sentences read")
            blocks.append(self._fitted().embed(sentences[begun:end]))
            begun = end
        return sparse.vstack(blocks, format="csr")

    def _fitted(self) -> Embedder:
        if self._base is None:
            raise DataError("This method has no model to mix yet: call fit() with one, or load a saved model.")
        return self._base


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


def _directions(x: Any, count: int, seed: int) -> npt.NDArray[np.float32]:
    """(columns, count) the right singular vectors of (n, columns) ``x``; fewer where x has fewer."""
    from sklearn.utils.extmath import randomized_svd

    used = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]))
    count = min(count, len(used), x.shape[0])
    _, _, right = randomized_svd(x[:, used], count, random_state=seed)
    directions = np.zeros((x.shape[1], count), np.float32)
    directions[used] = right.T
    return directions


def _article_ends(sentences: Sequence[Sentence]) -> list[int]:
    """Ends of blocks of about :data:`_BLOCK` sentences that cut no article."""
    ends, begun = [], 0
    for place in range(1, len(sentences)):
        if place - begun >= _BLOCK and sentences[place].article_id != sentences[place - 1].article_id:
            ends.append(place)
            begun = place
    return [*ends, len(sentences)]


def _method_of(base: Embedder) -> str:
    """The id of a method that ``base`` is a model of."""
    from core.embedders import REGISTRY

    return next(card.id for card in REGISTRY if card.resolve() is type(base))


def _loaded(folder: Path) -> Embedder:
    """The base model, whose files lie in ``folder`` under names that begin with ours."""
    from core.embedders import REGISTRY

    try:
        card = REGISTRY.get(str(read_json(folder / _BASE_FILE).get("method")))
    except UnknownNameError as error:
        raise ArtifactError(f"The saved model in {folder.name} was made by another version. {error}") from None
    with tempfile.TemporaryDirectory() as inner:
        for path in folder.glob(_BASE + "*"):
            shutil.copyfile(path, Path(inner) / path.name.removeprefix(_BASE))
        base: Embedder = card.resolve().load(Path(inner))
    return base
