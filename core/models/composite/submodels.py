"""Models that are made of other models keep these in their own folder, each file under a name that says whose it is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from core.errors import ArtifactError, UnknownNameError
from core.models.storage import read_json, write_json
from core.types import FittedModel

_FILE = "base.json"


def save_inside(models: Sequence[FittedModel], folder: Path) -> None:
    """Write every model's files into ``folder``, and which method each is of."""
    write_json(folder / _FILE, {"methods": [_method_of(model) for model in models]})
    for number, model in enumerate(models):
        with tempfile.TemporaryDirectory() as inner:
            model.save(Path(inner))
            for path in Path(inner).iterdir():
                shutil.copyfile(path, folder / (_prefix(number) + path.name))


def load_inside(folder: Path) -> list[FittedModel]:
    """The models that :func:`save_inside` wrote. Raises ``ArtifactError`` for a method that we do not know."""
    methods = read_json(folder / _FILE).get("methods") or [None]
    return [_loaded(folder, number, str(method)) for number, method in enumerate(methods)]


def _method_of(model: FittedModel) -> str:
    """The id of a method that ``model`` is a model of."""
    from core.models import REGISTRY

    return next(card.id for card in REGISTRY if card.resolve() is type(model))


def _prefix(number: int) -> str:
    """What the names of a model's files begin with."""
    return f"base{number}-"


def _loaded(folder: Path, number: int, method: str) -> FittedModel:
    """A model whose files lie in ``folder`` under names that begin with ours."""
    from core.models import REGISTRY

    try:
        card = REGISTRY.get(method)
    except UnknownNameError as error:
        raise ArtifactError(f"The saved model in {folder.name} was made by another version. {error}") from None
    with tempfile.TemporaryDirectory() as inner:
        for path in folder.glob(_prefix(number) + "*"):
            shutil.copyfile(path, Path(inner) / path.name.removeprefix(_prefix(number)))
        model: FittedModel = card.resolve().load(Path(inner))
    return model
