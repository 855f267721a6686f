"""Pretrained models of this installation: their names and folders."""

from __future__ import annotations

from pathlib import Path

from core.errors import ArtifactError, UnknownNameError
from core.paths import at_home

DEFAULT = "default"
"""Another name of :data:`DEFAULT_MODEL`, everywhere a model is named."""
DEFAULT_MODEL = "triplets-sen-titles-wikipedia"


def pretrained_folders() -> dict[str, Path]:
    """Return the pretrained models of this installation: name → folder."""
    folder = Path(__file__).parent / "data" / "models"
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/model.json"))}


def model_folder(name: str | Path) -> Path:
    """Return the folder of a pretrained model ("default" or its name), or of any saved model by its path.

    Raises
    ------
    UnknownNameError
        If it is neither.
    ArtifactError
        If the default model is not among the files of this installation.
    """
    models, wanted = pretrained_folders(), str(name)
    if wanted == DEFAULT:
        if DEFAULT_MODEL not in models:
            raise ArtifactError(
                f"The default model {DEFAULT_MODEL!r} is missing from this installation. Install Themescope again, or "
                "give the folder of a saved model."
            )
        return models[DEFAULT_MODEL]
    if wanted in models:
        return models[wanted]
    folder = at_home(name)
    if folder.is_dir():
        return folder
    raise UnknownNameError("pretrained model or folder of a saved model", wanted, [DEFAULT, *models])
