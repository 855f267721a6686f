"""Folders of the package sentence-transformers, read as a model and written from one, without that package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from themescope.core.errors import ConfigError
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import MODEL_FILE, read_info, save_model
from themescope.core.models.base import ForSentenceTransformers
from themescope.core.protocols import SILENT, Model, Report
from themescope.core.text.encoders import is_encoder
from themescope.core.types import Corpus, FittedModel

_READS_FOLDERS = frozenset({"pretrained", "encoder"})
"""Tags of the method that reads such a folder."""


def is_foreign(folder: Path) -> bool:
    """Return whether a folder is an encoder of sentence-transformers or transformers, not a model that we saved."""
    return not (folder / MODEL_FILE).is_file() and is_encoder(folder)


def read_foreign(folder: Path, report: Report = SILENT) -> tuple[Model, dict[str, Any]]:
    """Return the encoder in ``folder`` as a model, and what a ``model.json`` would say about it.

    Raises :class:`themescope.core.errors.ReadError` for encoders with other steps than a transformer and its pooling,
    and :class:`themescope.core.errors.MissingExtraError` without the packages of the extra encoder.
    """
    card = next(card for card in REGISTRY if card.tags >= _READS_FOLDERS)
    model: Model = REGISTRY.build(card.id, {"folder": str(folder)}, seed=0).fit(Corpus(), report)
    return model, {"method": card.id, "config": {}, "seed": 0, "record": {"encoder": folder.name}}


def save_foreign(source: Path, folder: Path, report: Report = SILENT) -> dict[str, Any]:
    """Save the encoder in ``source`` as a model in ``folder``, and return its ``model.json``.

    Raises the errors of :func:`read_foreign`.
    """
    model, info = read_foreign(source, report)
    save_model(model, info["method"], folder, info["record"])
    return read_info(folder)


def save_for_sentence_transformers(model: FittedModel, folder: Path) -> None:
    """Write ``model`` into ``folder``, which ``SentenceTransformer(folder)`` loads; the vectors have length 1.

    Raises :class:`themescope.core.errors.ConfigError` for a model that is no encoder of single sentences.
    """
    if not isinstance(model, ForSentenceTransformers):
        able = ", ".join(card.id for card in REGISTRY if issubclass(card.resolve(), ForSentenceTransformers))
        raise ConfigError(f"This model cannot be written for sentence-transformers. Methods that can: {able}.")
    folder.mkdir(parents=True, exist_ok=True)
    model.save_for_sentence_transformers(folder)
