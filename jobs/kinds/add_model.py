"""Takes a saved model (a folder with ``model.json``) into the store."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.config import digest_of, option
from core.errors import ArtifactError
from jobs.common.config import JobConfig
from jobs.common.context import JobContext
from jobs.common.names import renamed


@dataclass(frozen=True)
class AddModelConfig(JobConfig):
    """Arguments of adding a model."""

    folder: str = option("", "Folder of the saved model, as the worker sees it.", file=True)
    name: str = option("", "Name of the model in the store.")

    def validate(self) -> None:
        """Both are needed."""
        self.require("folder", "name")

    def title(self) -> str:
        """Names the model."""
        return f"Add model “{self.name}”"


def run(args: AddModelConfig, context: JobContext) -> dict[str, Any]:
    """Load the folder to check it, copy it and add the model to the store, once for the same files."""
    from core.models import REGISTRY as METHODS
    from core.models.artifact import load_model

    store, source = context.store, Path(args.folder)
    if not source.is_dir():
        raise ArtifactError(f"There is no folder {args.folder!r}. Give the folder that holds the model's model.json.")
    context.progress(0, 1, "Checking the model")
    _, info = load_model(source)
    artifact = store.artifacts.put(lambda folder: _copy(source, folder))
    digest = added_digest(artifact)
    with store.reading() as r:
        existing = r.models.by_digest(digest)
    if existing is not None:
        return {"model": existing.name, "model_id": existing.id, "digest": digest, "cached": True}
    context.progress(0.9, 1, "Adding the model")
    with context.writing() as w:
        record = w.models.add(
            name=w.models.usable_name(args.name),
            method=info["method"],
            config=info["config"],
            seed=info["seed"],
            digest=digest,
            corpus_id=None,
            triplet_set_id=None,
            metrics=info["record"].get("metrics", {}),
            artifact=artifact,
            revision=METHODS.get(info["method"]).revision,
        )
    told = renamed(args.name, record.name)
    return {"model": record.name, "model_id": record.id, "digest": digest, "cached": False, **told}


def added_digest(artifact: str) -> str:
    """Return the digest that identifies a model by its files, in the form that version 0.1 stored."""
    return digest_of({"what": "add-model", "code": "0.1.0", "artifact": artifact})


def _copy(source: Path, target: Path) -> None:
    """Plain files only, one level deep: what a saved model consists of."""
    for file in sorted(source.iterdir()):
        if file.is_file() and not file.is_symlink():
            shutil.copyfile(file, target / file.name)
