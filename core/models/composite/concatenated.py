"""Concatenation of two triplet networks: ``triplets-sen-titles`` (Ein Dor et al. 2018, section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from themescope.core.config import Config, config_from_dict, option
from themescope.core.errors import ConfigError, DataError
from themescope.core.models.artifact import (
    damaged,
    read_json,
    read_word_vectors,
    write_json,
    write_tensors,
    write_word_vectors,
)
from themescope.core.models.base import BaseModel, unit_length
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.model import TripletNet
from themescope.core.text.word_vectors import WordVectors
from themescope.core.types import SILENT, Corpus, Report, Sentence, Vectors

if TYPE_CHECKING:
    from themescope.core.models.triplet_network.model import Precision

_COMPONENTS = ("sentences", "titles")
_DETAILS = "components.json"
_DETAILS_OF_0_1 = "halves.json"
"""Name of the same file in models that version 0.1 saved."""


@dataclass(frozen=True)
class ConcatenatedConfig(Config):
    """Settings of ``triplets-sen-titles``."""

    renamed: ClassVar[dict[str, str]] = {"unit_halves": "unit_components"}

    unit_components: bool = option(
        False, "Scale the vector of each network to length 1, so that both have the same weight; otherwise a network "
        "weighs as much as its vectors are long.",
    )  # fmt: skip


class ConcatenatedModel(BaseModel):
    """Two trained triplet networks whose vectors are concatenated; :meth:`fit` takes them from ``corpus.models``."""

    config_class: ClassVar[type[Config]] = ConcatenatedConfig
    config: ConcatenatedConfig

    def __init__(self, config: ConcatenatedConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._components: tuple[TripletNet, ...] = ()

    @property
    def inference(self) -> Precision:
        """Numeric precision of both networks on a processor, see :attr:`TripletNet.inference`."""
        return self.components[0].inference

    @inference.setter
    def inference(self, precision: Precision) -> None:
        for component in self.components:
            component.inference = precision

    @property
    def metrics(self) -> dict[str, float]:
        """Training metrics of both networks, prefixed with the name of the component."""
        named = zip(_COMPONENTS, self._components, strict=False)
        return {f"{name}: {key}": value for name, net in named for key, value in net.metrics.items()}

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the two trained networks in ``corpus.models``: the one on sentences, then the one on titles."""
        networks = [model for model in corpus.models if isinstance(model, TripletNet)]
        if len(networks) != len(_COMPONENTS) or len(corpus.models) != len(_COMPONENTS):
            raise DataError(
                "triplets-sen-titles concatenates two trained triplet networks. Name the model trained on sentences, "
                "then the model trained on titles."
            )
        for network in networks:
            report.progress(0, 1, f"Concatenating networks, {len(network.words):,} words")
        self._components = tuple(networks)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, sum of both dimensions) vectors; a sentence without tokens is the zero vector."""
        return self._concatenated([component.embed(sentences) for component in self.components])

    def _concatenated(self, vectors: Sequence[Vectors]) -> Vectors:
        parts = [np.asarray(part) for part in vectors]
        return np.concatenate([unit_length(part) for part in parts] if self.config.unit_components else parts, axis=1)

    @property
    def distance(self) -> str:
        """The distance both networks were trained with; cosine where they differ."""
        kinds = {component.distance for component in self.components}
        return kinds.pop() if len(kinds) == 1 else "cosine"

    def _write(self, folder: Path) -> None:
        """Write both networks; word vectors that both share are written once."""
        first, second = self.components
        shared = _equal(first.words, second.words)
        write_word_vectors(folder, first.words)
        if not shared:
            write_word_vectors(folder, second.words, f"{_COMPONENTS[1]}-")
        details: dict[str, Any] = {"shared_words": shared}
        for name, net in zip(_COMPONENTS, self.components, strict=True):
            write_tensors(folder / f"{name}.safetensors", net.weights)
            config = net.config.without_folders().to_dict()
            details[name] = {"config": config, "seed": net.seed, "metrics": net.metrics, "history": net.history}
        write_json(folder / _DETAILS, details)

    def _read(self, folder: Path) -> None:
        file = _DETAILS_OF_0_1 if (folder / _DETAILS_OF_0_1).is_file() else _DETAILS
        details: Any = read_json(folder / file)
        words, components = read_word_vectors(folder), []
        for position, name in enumerate(_COMPONENTS):
            try:
                own = details[name]
                net = TripletNet(config_from_dict(TripletNetConfig, own["config"]), int(own["seed"]))
                net.metrics, net.history = dict(own["metrics"]), list(own["history"])
            except (KeyError, TypeError, ValueError, ConfigError) as error:
                raise damaged(folder, f"{file}: {error}") from None
            if position and not details.get("shared_words"):
                words = read_word_vectors(folder, f"{name}-")
            net.restore(words, folder / f"{name}.safetensors")
            components.append(net)
        self._components = tuple(components)

    @property
    def sentence_network(self) -> TripletNet:
        """The network on sentences, which can be the base model of another training."""
        return self.components[0]

    @property
    def components(self) -> tuple[TripletNet, ...]:
        """The network on sentences and the network on titles."""
        return self._fitted(self._components or None)


def _equal(a: WordVectors, b: WordVectors) -> bool:
    """Return whether two tables have the same words with the same vectors."""
    if a is b:
        return True
    pairs = ((a.table, b.table), (a.scales, b.scales), (a.rows, b.rows))
    equal = all(x is y or (x is not None and y is not None and np.array_equal(x, y)) for x, y in pairs)
    return equal and a.spread == b.spread and list(a.words) == list(b.words)
