"""``triplets-sen-titles``: the vectors of two triplet networks side by side (Ein Dor et al. 2018, section 3.2; B.5).

Side by side as they are, each half weighs as much as its vectors are long; ``unit_halves`` gives both the same say.
Where both networks read the same word vectors, the saved model keeps them once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from core.config import Config, config_from_dict, option
from core.errors import ArtifactError, ConfigError, DataError
from core.models.distances import cosine_distances, unit_length
from core.models.storage import (
    read_json,
    read_settings,
    read_word_vectors,
    write_json,
    write_settings,
    write_tensors,
    write_word_vectors,
)
from core.models.triplet_network.model import DISTANCES, TripletNet
from core.models.triplet_network.model_config import TripletNetConfig
from core.protocols import SILENT, Report
from core.text.word_vectors import Float32, WordVectors
from core.types import Corpus, Sentence, Vectors

_HALVES = ("sentences", "titles")
_COURSE = "halves.json"


if TYPE_CHECKING:
    from core.models.triplet_network.inference import Precision


@dataclass(frozen=True)
class JoinedConfig(Config):
    """Settings of ``triplets-sen-titles``."""

    unit_halves: bool = option(
        False, "Scale each network's half to length 1, so that both count the same; otherwise lengths stay as they are."
    )


class JoinedNets:
    """Two trained triplet networks as one method; :meth:`fit` takes them from ``corpus.models``."""

    def __init__(self, config: JoinedConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self._nets: tuple[TripletNet, ...] = ()

    @property
    def inference(self) -> Precision:
        """How both networks embed on a processor, see :attr:`TripletNet.inference`."""
        return self.nets[0].inference

    @inference.setter
    def inference(self, precision: Precision) -> None:
        for net in self.nets:
            net.inference = precision

    @property
    def metrics(self) -> dict[str, float]:
        """How the training of each network went."""
        named = zip(_HALVES, self._nets, strict=False)
        return {f"{half}: {name}": value for half, net in named for name, value in net.metrics.items()}

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the two trained networks of ``corpus.models``: that of sentences, then that of titles."""
        nets = [model for model in corpus.models if isinstance(model, TripletNet)]
        if len(nets) != len(_HALVES) or len(corpus.models) != len(_HALVES):
            raise DataError(
                "triplets-sen-titles joins two trained triplet networks. Name the models of sentences and of titles."
            )
        for net in nets:
            report.progress(0, 1, f"Joining networks over {len(net.words):,} words")
        self._nets = tuple(nets)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, width of both) vectors; a sentence without tokens is the zero vector."""
        return self._side_by_side([net.embed(sentences) for net in self.nets])

    def embed_words(self, sentences: Sequence[Sequence[str]]) -> Vectors:
        """(n, width of both) vectors of sentences that are lists of words already."""
        return self._side_by_side([net.embed_words(sentences) for net in self.nets])

    def attention(self, sentences: Sequence[Sequence[str]]) -> dict[str, list[Float32]]:
        """The weights of either network, see :class:`core.models.triplet_network.word_attention.Attending`."""
        named = zip(_HALVES, self.nets, strict=True)
        return {half: weights for half, net in named for weights in net.attention(sentences).values()}

    def _side_by_side(self, vectors: Sequence[Vectors]) -> Vectors:
        halves = [np.asarray(half) for half in vectors]
        return np.concatenate([unit_length(half) for half in halves] if self.config.unit_halves else halves, axis=1)

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) distances of the kind both networks were trained with, or 1 − cosine where they differ."""
        kinds = {net.config.measured for net in self.nets}
        return DISTANCES[kinds.pop()](a, b) if len(kinds) == 1 else cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write both networks, and the word vectors once where they are the same."""
        first, second = self.nets
        shared = _same(first.words, second.words)
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, first.words)
        if not shared:
            write_word_vectors(folder, second.words, f"{_HALVES[1]}-")
        course: dict[str, Any] = {"shared_words": shared}
        for half, net in zip(_HALVES, (first, second), strict=True):
            write_tensors(folder / f"{half}.safetensors", net.weights)
            config = net.config.without_folders().to_dict()
            course[half] = {"config": config, "seed": net.seed, "metrics": net.metrics, "history": net.history}
        write_json(folder / _COURSE, course)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        model = cls(*read_settings(folder, JoinedConfig))
        course = read_json(folder / _COURSE)
        words = read_word_vectors(folder)
        nets = []
        for place, half in enumerate(_HALVES):
            own = place > 0 and not course.get("shared_words")
            net = _net(folder, course.get(half))
            net.restore(read_word_vectors(folder, f"{half}-") if own else words, folder / f"{half}.safetensors")
            nets.append(net)
        model._nets = tuple(nets)
        return model

    @property
    def sentence_network(self) -> TripletNet:
        """The network of sentences, from which another training may go on."""
        return self.nets[0]

    @property
    def nets(self) -> tuple[TripletNet, ...]:
        """The network of sentences, and that of titles."""
        if not self._nets:
            raise DataError("triplets-sen-titles has no networks yet: call fit() with two, or load a saved model.")
        return self._nets


def _net(folder: Path, course: Any) -> TripletNet:
    try:
        net = TripletNet(config_from_dict(TripletNetConfig, course["config"]), int(course["seed"]))
        net.metrics, net.history = dict(course["metrics"]), list(course["history"])
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise ArtifactError(f"The saved model in {folder.name} is damaged: {_COURSE}: {error}") from None
    return net


def _same(a: WordVectors, b: WordVectors) -> bool:
    """Whether two tables give every word the same vector."""
    if a is b:
        return True
    pairs = ((a.table, b.table), (a.scales, b.scales), (a.rows, b.rows))
    equal = all(x is y or (x is not None and y is not None and np.array_equal(x, y)) for x, y in pairs)
    return equal and a.spread == b.spread and list(a.words) == list(b.words)
