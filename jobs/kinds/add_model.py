"""Job kind: add a saved model (a folder with ``model.json``) or a sentence-transformers encoder to the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from themescope.core.config import option
from themescope.core.errors import ArtifactError
from themescope.core.paths import working_folder
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import add_model, renamed


@dataclass(frozen=True)
class AddModelConfig(JobConfig):
    """Arguments of adding a model."""

    folder: str = option(
        "", "Folder of the saved model, or of a sentence-transformers encoder, on the worker's machine.", file=True
    )
    name: str = option("", "Name of the model in the store.")

    def validate(self) -> None:
        """Check that folder and name are given."""
        self.require("folder", "name")

    def title(self) -> str:
        """Return a title with the name of the model."""
        return f"Add model “{self.name}”"


def run(args: AddModelConfig, context: JobContext) -> dict[str, Any]:
    """Load the folder to check it, and add the model to the store unless the same files are stored already."""
    from themescope.core.models.artifact import load_model
    from themescope.core.models.sentence_transformers_folder import is_foreign, save_foreign

    source = Path(args.folder)
    if not source.is_dir():
        raise ArtifactError(
            f"The folder {args.folder!r} does not exist. Choose the folder with the model's model.json, or of a "
            "sentence-transformers encoder."
        )
    if is_foreign(source):
        with working_folder(None) as folder:
            return _added(args, context, folder, save_foreign(source, folder, context.part(0.0, 0.9)))
    context.progress(0, 1, "Checking the model")
    return _added(args, context, source, load_model(source)[1])


def _added(args: AddModelConfig, context: JobContext, folder: Path, info: dict[str, Any]) -> dict[str, Any]:
    context.progress(0.9, 1, "Adding the model")
    record, cached = add_model(context.store, folder, args.name, info, context.writing)
    message = {} if cached else renamed(args.name, record.name)
    return {"model": record.name, "model_id": record.id, "digest": record.digest, "cached": cached, **message}
