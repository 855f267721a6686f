"""A fitted method as a folder: the method's own files, and ``model.json`` saying what it is and what it learned from.

``record`` is the data record of the training: corpus, triplet set, and the digests of the training titles, so that
whoever evaluates later can tell whether an article was seen (:func:`title_digests`). A folder holds no code.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from core.config import digest_of
from core.errors import ArtifactError, UnknownNameError
from core.models import REGISTRY
from core.models.storage import read_json, write_json
from core.protocols import Model
from core.types import fold_title

FORMAT = 1
MODEL_FILE = "model.json"


def save_model(embedder: Model, method_id: str, folder: Path, record: Mapping[str, Any]) -> str:
    """Write ``embedder`` into ``folder`` (made if needed) and return the digest of its content."""
    REGISTRY.get(method_id)
    folder.mkdir(parents=True, exist_ok=True)
    embedder.save(folder)
    settings = read_json(folder / "embedder.json")
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
    """The embedder in ``folder`` and its ``model.json``. Raises ``ArtifactError`` when missing, damaged or too new."""
    info = read_info(folder)
    for name, digest in _file_digests(folder).items():
        if info["files"].get(name, digest) != digest:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: {name} is not what was saved.")
    missing = [name for name in info["files"] if not (folder / name).is_file()]
    if missing:
        raise ArtifactError(f"The saved model in {folder.name} is damaged: {missing[0]} is missing.")
    embedder: Model = REGISTRY.get(info["method"]).resolve().load(folder)
    return embedder, info


def read_info(folder: Path) -> dict[str, Any]:
    """``model.json`` of a saved model, checked but without loading its weights."""
    if not (folder / MODEL_FILE).is_file():
        raise ArtifactError(
            f"{folder.name} is not a saved model: it has no {MODEL_FILE}. Give a folder that Themescope saved."
        )
    info = read_json(folder / MODEL_FILE)
    if info.get("format") != FORMAT:
        raise ArtifactError(
            f"The saved model in {folder.name} has format {info.get('format')!r}; this version reads format {FORMAT}. "
            "Update Themescope, or train the model again."
        )
    if not isinstance(info.get("files"), dict) or not isinstance(info.get("record"), dict):
        raise ArtifactError(f"The saved model in {folder.name} is damaged: {MODEL_FILE} lacks its file list or record.")
    try:
        REGISTRY.get(str(info.get("method")))
    except UnknownNameError as error:
        raise ArtifactError(f"The saved model in {folder.name} was made by another version. {error}") from None
    return info


def title_digests(titles: Iterable[str]) -> list[str]:
    """Return the sorted 12-digit digests of folded article titles, see :func:`core.types.fold_title`."""
    return sorted({_digest(fold_title(title)) for title in titles})


def saw_title(info: Mapping[str, Any], title: str) -> bool:
    """Return whether the training record in ``info`` (a ``model.json``) lists the article ``title``."""
    folded = fold_title(title)
    # Version 0.1 digested titles as they were written, so its records may hold the decomposed form.
    forms = {folded, unicodedata.normalize("NFD", folded)}
    return any(_digest(form) in info["record"].get("train_titles", ()) for form in forms)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=6).hexdigest()


def _file_digests(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix in {".json", ".safetensors", ".txt"})
    return {
        path.name: hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        for path in files
        if path.name != MODEL_FILE
    }
