"""Takes a saved model (a folder with ``model.json``) into the store."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.config import option
from core.errors import ArtifactError
from jobs.config import JobConfig
from jobs.context import JobContext
from jobs.digests import work_digest
from jobs.names import renamed


@dataclass(frozen=True)
class AddModelConfig(JobConfig):
    """Arguments of adding a model."""

    folder: str = option("", "Folder of the saved model, as the worker sees it.")
    name: str = option("", "Name of the model in the store.")

    def validate(self) -> None:
        """Both are needed."""
        self.require("folder", "name")

    def title(self) -> str:
        """Names the model."""
        return f"Add model “{self.name}”"


def run(args: AddModelConfig, context: JobContext) -> dict[str, Any]:
    """Check the folder by loading it, copy it, enter the model. The same files are entered once."""
    from core.embedders.artifact import load_embedder

    store, source = context.store, Path(args.folder)
    if not source.is_dir():
        raise ArtifactError(f"There is no folder {args.folder!r}. Give the folder that holds the model's model.json.")
    context.progress(0, 1, "Checking the model")
    _, info = load_embedder(source)
    artifact = store.artifacts.put(lambda folder: _copy(source, folder))
    digest = work_digest("add-model", artifact=artifact)
    with store.reading() as r:
        existing = r.models.by_digest(digest)
    if existing is not None:
        return {"model": existing.name, "model_id": existing.id, "digest": digest, "cached": True}
    context.progress(0.9, 1, "Entering the model")
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
        )
    told = renamed(args.name, record.name)
    return {"model": record.name, "model_id": record.id, "digest": digest, "cached": False, **told}


def _copy(source: Path, target: Path) -> None:
    """Plain files only, one level deep: what a saved model consists of."""
    for file in sorted(source.iterdir()):
        if file.is_file() and not file.is_symlink():
            shutil.copyfile(file, target / file.name)
