"""Trained models as Python objects: ``core.load("default").embed(sentences)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core import protocols
from core.errors import ConfigError
from core.pretrained import DEFAULT, DEFAULT_MODEL, model_folder
from core.types import Sentence, Vectors


class Model:
    """A trained model that takes plain strings. Safe to share between threads that only embed."""

    def __init__(self, name: str, embedder: protocols.Model, info: Mapping[str, Any]) -> None:
        self.name, self.embedder, self.info = name, embedder, info

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {self.info['method']}>"

    def embed(self, sentences: Sequence[str | Sentence]) -> Vectors:
        """(n, dim) float32 vectors, or a CSR array for sparse methods; row i is sentence i, n = 0 is allowed.

        Positioned sentences and strings may be mixed; strings count as sentences of one and the same text.
        """
        if isinstance(sentences, str):
            raise ConfigError("embed() takes a list of sentences, not one string: embed([sentence]).")
        placed = [Sentence(s, position=i) if isinstance(s, str) else s for i, s in enumerate(sentences)]
        return self.embedder.embed(placed)

    def similar(self, sentence: str, among: Sequence[str], top: int = 10) -> list[tuple[int, float]]:
        """Rows of ``among`` that are most like ``sentence``, with their cosines, the nearest first.

        All are embedded together; for many questions about the same sentences embed those once and use
        :func:`nearest`.
        """
        if not among:
            return []
        vectors = self.embed([sentence, *among])
        return nearest(vectors[:1], vectors[1:], top)


def nearest(query: Vectors, vectors: Vectors, top: int) -> list[tuple[int, float]]:
    """Rows of (n, dim) ``vectors`` by falling cosine to the (1, dim) ``query``, at most ``top``, with the cosines."""
    from core.clustering.inputs import unit_rows

    products: Any = unit_rows(vectors) @ unit_rows(query).T
    cosines: npt.NDArray[np.float64] = np.asarray(
        products.toarray() if hasattr(products, "toarray") else products, dtype=np.float64
    ).ravel()
    order = np.argsort(-cosines, kind="stable")[:top]
    return [(int(row), float(cosines[row])) for row in order]


def load(name: str | Path = DEFAULT, precision: str = "fp32") -> Model:
    """Load a pretrained model by its name, or a saved model by the path of its folder.

    ``precision`` "int8" lets a network compute with numbers of 8 bits on a processor: faster, at a cosine of at
    least .999 to the exact vectors (``benchmarks/inference.py``). Raises what
    :func:`core.pretrained.model_folder` raises, ``ArtifactError`` for a damaged folder, and ``ConfigError`` for a
    precision that the method does not have.
    """
    from core.models.artifact import load_model

    folder = model_folder(name)
    embedder, info = load_model(folder)
    if precision != "fp32":
        _set_precision(embedder, precision)
    return Model(DEFAULT_MODEL if str(name) == DEFAULT else folder.name, embedder, info)


def _set_precision(embedder: Any, precision: str) -> None:
    if precision != "int8":
        raise ConfigError(f"A precision is fp32 or int8, not {precision!r}.")
    if not hasattr(embedder, "inference"):
        raise ConfigError("This model has no network to compute with 8 bits. Use precision fp32.")
    embedder.inference = precision
