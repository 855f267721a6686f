"""Paths: expansion of user-given paths, and the folders of pretrained models."""

from __future__ import annotations

from pathlib import Path

from core.errors import ArtifactError, ConfigError, UnknownNameError

DATA = Path(__file__).parent / "data"
"""Files that come with the package, such as pretrained models."""
DEFAULT = "default"
"""Another name of :data:`DEFAULT_MODEL`, accepted wherever a model is named."""
DEFAULT_MODEL = "triplets-sen-titles-wikipedia"


def expand_home(text: str | Path, advice: str = "Write the path in full.") -> Path:
    """Return ``text`` as a path with ``~`` and ``~name`` expanded to home folders.

    Raises :class:`core.errors.ConfigError`, whose message ends with ``advice``, if there is no such home folder.
    """
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:
        raise ConfigError(f"There is no home folder {path.parts[0]!r}, needed for {str(path)!r}. {advice}") from None


def pretrained_folders() -> dict[str, Path]:
    """Return the pretrained models of this installation: name → folder."""
    return {path.parent.name: path.parent for path in sorted((DATA / "models").glob("*/model.json"))}


def model_folder(name: str | Path) -> Path:
    """Return the folder of a pretrained model ("default" or its name), or of any saved model by its path.

    Raises :class:`UnknownNameError` if it is neither, and :class:`ArtifactError` if the files of the default model are
    missing from this installation.
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
    folder = expand_home(name)
    if folder.is_dir():
        return folder
    raise UnknownNameError("pretrained model or folder of a saved model", wanted, [DEFAULT, *models])
