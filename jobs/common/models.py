"""Stored models: lookup by name, and adding from a folder. Pretrained models are added on first use."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from themescope.core.config import digest_of
from themescope.core.errors import ArtifactError, ConflictError, DuplicateNameError, UnknownNameError
from themescope.core.paths import DEFAULT, default_models, model_folder, pretrained_folders
from themescope.core.records.stored import ModelRecord
from themescope.db.files.artifacts import digest_of_folder
from themescope.db.store import Store, Unit

Writing = Callable[[], AbstractContextManager[Unit]]
NOT_STORED = 0
"""Id of the record of a pretrained model that the store does not hold yet."""


def find_model(store: Store, name: str) -> ModelRecord:
    """Return the stored model called ``name``; a pretrained model, by its name or as "default", is added if needed.

    Raises :class:`themescope.core.errors.UnknownNameError` if there is neither.
    """
    with store.reading() as r:
        try:
            return r.models.by_name(name)
        except UnknownNameError as error:
            if not is_pretrained(name):
                raise UnknownNameError("model", name, [*error.known, DEFAULT, *pretrained_folders()]) from None
    return _stored(store, model_folder(name))


def built_on(store: Store, model: ModelRecord) -> list[ModelRecord]:
    """Return the stored components, submodels and base models of a model.

    Empty if the model's files cannot be read; loading the model reports that.
    """
    from themescope.core.models.artifact import read_info

    try:
        digests = read_info(store.artifacts.path(model.artifact))["record"].get("models", ())
    except ArtifactError:
        return []
    with store.reading() as r:
        found = [r.models.by_digest(digest) for digest in digests]
    return [record for record in found if record is not None]


def _stored(store: Store, folder: Path) -> ModelRecord:
    """Return the record of the pretrained model in ``folder``, which is added to the store if needed.

    A copy that another version stored may have other files beside the same training.
    """
    wanted = _record(folder.name, folder)
    digest = wanted.digest
    with store.reading() as r:
        same = (model for model in r.models.list() if _training(model) == _training(wanted))
        found = r.models.by_digest(digest) or next(same, None)
    if found is not None:
        return found
    try:
        return add_model(store, folder, folder.name, _info(folder), store.writing)[0]
    except (ConflictError, DuplicateNameError):  # another process may have added it meanwhile
        with store.reading() as r:
            found = r.models.by_digest(digest)
        if found is None:
            raise
        return found


def is_pretrained(name: str) -> bool:
    """Return whether ``name`` is that of a pretrained model, or "default"."""
    return name == DEFAULT or name in pretrained_folders()


def selectable_models(store: Store) -> list[ModelRecord]:
    """Return the stored models, and with the id ``NOT_STORED`` the pretrained ones that are not stored yet.

    :func:`find_model` finds both by name.
    """
    with store.reading() as r:
        stored = r.models.list()
    taken = {model.digest for model in stored} | {model.name for model in stored}
    return stored + [model for model in pretrained_models() if not {model.digest, model.name} & taken]


def pretrained_models() -> list[ModelRecord]:
    """Return the pretrained models of this installation as records, the default one first."""
    best = default_models()[:1]
    folders = sorted(pretrained_folders().items(), key=lambda item: (item[0] not in best, item[0]))
    return [_record(name, folder) for name, folder in folders]


def pretrained_folder(model: ModelRecord) -> Path | None:
    """Return the folder of the pretrained model that ``model`` is, or is a stored copy of; None for other models.

    A copy that an earlier version stored may lack files that were added later, so the training is compared.
    """
    folders = pretrained_folders().items()
    return next((folder for name, folder in folders if _training(_record(name, folder)) == _training(model)), None)


def _training(model: ModelRecord) -> tuple[Any, ...]:
    return model.method, model.seed, dict(model.config), dict(model.metrics)


def add_model(
    store: Store, source: Path, name: str, info: Mapping[str, Any], writing: Writing
) -> tuple[ModelRecord, bool]:
    """Copy the saved model in ``source`` into the store, unless the same files are stored already.

    ``info`` is its ``model.json``. Returns the record and whether the model was stored before.
    """
    from themescope.core.models import REGISTRY as METHODS

    artifact = store.artifacts.put(lambda folder: _copy(source, folder))
    digest = _digest(artifact)
    with writing() as w:
        existing = w.models.by_digest(digest)
        if existing is not None:
            return existing, True
        name, revision = w.models.usable_name(name), METHODS.get(info["method"]).revision
        return w.models.add(name=name, digest=digest, artifact=artifact, revision=revision, **_facts(info)), False


def _digest(artifact: str) -> str:
    """Return the digest that identifies a model by its files, in the form that version 0.1 stored."""
    return digest_of({"what": "add-model", "code": "0.1.0", "artifact": artifact})


@cache
def _record(name: str, folder: Path) -> ModelRecord:
    artifact = digest_of_folder(folder)
    return ModelRecord(
        id=NOT_STORED,
        name=name,
        digest=_digest(artifact),
        corpus_id=None,
        triplet_set_id=None,
        artifact=artifact,
        created=datetime.min.replace(tzinfo=UTC),
        **_facts(_info(folder)),
    )


def _facts(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a model's record that its ``model.json`` has."""
    return {**{key: info[key] for key in ("method", "config", "seed")}, "metrics": info["record"].get("metrics", {})}


def _info(folder: Path) -> dict[str, Any]:
    from themescope.core.models.artifact import read_info

    return read_info(folder)


def _copy(source: Path, target: Path) -> None:
    """Copy the regular files of a saved model, which has no subfolders."""
    for file in sorted(source.iterdir()):
        if file.is_file() and not file.is_symlink():
            shutil.copyfile(file, target / file.name)


def announcement(store: Store, wanted: str) -> str:
    """Return a warning if the name of a new model is taken, else ""."""
    with store.reading() as r:
        name = r.models.usable_name(wanted)
    if not _numbered(wanted, name):
        return ""
    return f"A model called {wanted!r} exists already. A new one will be called {name!r}."


def renamed(wanted: str, name: str) -> dict[str, str]:
    """Return result entries that report that a number was appended to the requested model name."""
    if not _numbered(wanted, name):
        return {}
    return {"renamed": f"A model called {wanted!r} existed already, so the new one is called {name!r}."}


def _numbered(wanted: str, name: str) -> bool:
    """Return whether a number was appended; surrounding spaces are ignored."""
    return name.startswith(f"{wanted.strip()} ")
