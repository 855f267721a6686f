"""Saved models: a folder with the files of the model and ``model.json``, which describes the model and its training.

``model.json`` contains the method, its settings, the digest of every file, and ``record``, the data record of the
training: corpus, triplet set and the digests of the training titles, from which an evaluation can tell whether an
article was seen in training (:func:`saw_title`). A folder contains no code and no pickle.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from themescope.core.config import digest_of
from themescope.core.errors import ArtifactError, UnknownNameError
from themescope.core.models import REGISTRY
from themescope.core.models.storage import COMPRESSED, SETTINGS, read_json, write_json
from themescope.core.protocols import Model
from themescope.core.registry import Card
from themescope.core.types import FittedModel, fold_title

FORMAT = 1
MODEL_FILE = "model.json"
_SUBMODELS = "base.json"
_ENDINGS = {".json", ".safetensors", ".txt", COMPRESSED}


def save_model(
    model: FittedModel, method_id: str, folder: Path, record: Mapping[str, Any], *, small: bool = False
) -> str:
    """Write ``model`` into ``folder``, which is created if needed, and return the digest of its content.

    With ``small`` its files are compacted, see :mod:`themescope.core.models.compact`.
    """
    REGISTRY.get(method_id)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder)
    if small:
        from themescope.core.models.compact import compact

        compact(folder)
    settings = read_json(folder / SETTINGS)
    info: dict[str, Any] = {
        "format": FORMAT,
        "method": method_id,
        "config": settings["config"],
        "seed": settings["seed"],
        "record": dict(record),
        "files": _file_digests(folder),
    }
    info["digest"] = digest_of(info)
    write_json(folder / MODEL_FILE, info)
    return str(info["digest"])


def load_model(folder: Path) -> tuple[Model, dict[str, Any]]:
    """Return the model in ``folder`` and its ``model.json``.

    Raises ``ArtifactError`` when the model is missing, damaged or saved in a newer format.
    """
    info = read_info(folder)
    if not _unchanged(info):
        raise ArtifactError(
            f"The saved model in {folder.name} is damaged: {MODEL_FILE} has changed since it was saved."
        )
    found = _file_digests(folder)
    for name, digest in found.items():
        if info["files"].get(name, digest) != digest:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: {name} has changed since it was saved.")
    missing = [name for name in info["files"] if name not in found]
    if missing:
        raise ArtifactError(f"The saved model in {folder.name} is damaged: {missing[0]:.100} is missing.")
    model: Model = REGISTRY.get(info["method"]).resolve().load(folder)
    return model, info


def read_info(folder: Path) -> dict[str, Any]:
    """Return the checked content of ``model.json`` without loading any weights."""
    if not (folder / MODEL_FILE).is_file():
        raise ArtifactError(
            f"{folder.name} is not a saved model: it has no {MODEL_FILE}. Give a folder that Themescope saved."
        )
    info = read_json(folder / MODEL_FILE)
    if info.get("format") != FORMAT:
        raise ArtifactError(
            f"The saved model in {folder.name} has format {info.get('format')!r:.50}; this version reads format "
            f"{FORMAT}. Update Themescope, or train the model again."
        )
    if not all(isinstance(info.get(key), dict) for key in ("files", "record", "config")):
        raise ArtifactError(
            f"The saved model in {folder.name} is damaged: {MODEL_FILE} lacks its list of files, its record or its "
            "configuration."
        )
    if type(info.get("seed")) is not int or not 0 <= info["seed"] < 1 << 63:
        raise ArtifactError(f"The saved model in {folder.name} is damaged: the seed in {MODEL_FILE} is no number.")
    if not isinstance(info["record"].get("metrics", {}), dict):
        raise ArtifactError(f"The saved model in {folder.name} is damaged: the metrics in {MODEL_FILE} are no table.")
    _card(str(info.get("method")), folder)
    return info


def _unchanged(info: Mapping[str, Any]) -> bool:
    """Return whether ``model.json`` has the digest of its content."""
    try:
        return digest_of({name: value for name, value in info.items() if name != "digest"}) == info.get("digest")
    except (ValueError, RecursionError):  # such as text that is not Unicode
        return False


def save_submodels(models: Sequence[FittedModel], folder: Path) -> None:
    """Write ``models`` into the folder of the model that is built from them; their file names get a prefix each."""
    write_json(folder / _SUBMODELS, {"methods": [_method_of(model) for model in models]})
    for number, model in enumerate(models):
        with tempfile.TemporaryDirectory() as own:
            model.save(Path(own))
            for path in Path(own).iterdir():
                shutil.copyfile(path, folder / (_prefix(number) + path.name))


def load_submodels(folder: Path) -> list[FittedModel]:
    """Return the models that :func:`save_submodels` wrote. Raises ``ArtifactError`` for an unknown method."""
    methods = read_json(folder / _SUBMODELS).get("methods") or [None]
    return [_submodel(folder, number, str(method)) for number, method in enumerate(methods)]


def title_digests(titles: Iterable[str]) -> list[str]:
    """Return the sorted 12-digit digests of folded article titles, see :func:`themescope.core.types.fold_title`."""
    return sorted({_digest(fold_title(title)) for title in titles})


def saw_title(info: Mapping[str, Any], title: str) -> bool:
    """Return whether the training record in ``info`` (a ``model.json``) lists the article ``title``."""
    folded = fold_title(title)
    # Version 0.1 digested titles without normalisation, so its records may contain the decomposed form.
    forms = {folded, unicodedata.normalize("NFD", folded)}
    return any(_digest(form) in info["record"].get("train_titles", ()) for form in forms)


def _card(method: str, folder: Path) -> Card:
    try:
        return REGISTRY.get(method)
    except UnknownNameError as error:
        raise ArtifactError(f"The saved model in {folder.name} needs a method that is not installed. {error}") from None


def _method_of(model: FittedModel) -> str:
    """Return the id of the first method that builds models of this class."""
    factory = f"{type(model).__module__}:{type(model).__qualname__}"
    return next(card.id for card in REGISTRY if card.factory == factory)


def _prefix(number: int) -> str:
    return f"base{number}-"


def _submodel(folder: Path, number: int, method: str) -> FittedModel:
    card = _card(method, folder)
    with tempfile.TemporaryDirectory() as own:
        for path in folder.glob(_prefix(number) + "*"):
            shutil.copyfile(path, Path(own) / path.name.removeprefix(_prefix(number)))
        model: FittedModel = card.resolve().load(Path(own))
    return model


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=6).hexdigest()


def _file_digests(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix in _ENDINGS)
    return {
        path.name: hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        for path in files
        if path.name != MODEL_FILE
    }
