"""Job kinds: write a corpus as a Hugging Face dataset (a folder, or a ZIP file of it), and back up the store."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from themescope.core.config import option
from themescope.core.errors import ConfigError, DataError
from themescope.core.paths import working_folder
from themescope.jobs import backups
from themescope.jobs.common.articles import ready_corpus
from themescope.jobs.common.files import check_target, made_file, whole
from themescope.jobs.common.job import JobConfig, JobContext

FOLDER = "datasets"
"""Folder of the ZIP files exported from pages, in the data folder."""


@dataclass(frozen=True)
class ExportDatasetConfig(JobConfig):
    """Arguments of an export."""

    TITLE = "Export the dataset of “{corpus}”"

    corpus: str = option("", "Name of the corpus.", required=True)
    folder: str = option(
        "", "Folder to write, which must not exist, on the worker's machine; empty: a ZIP file in the data folder.",
        file=True,
    )  # fmt: skip
    labelling: str = option("", "Name of the labelling whose clusters become labels; empty: none.")
    themes: bool = option(False, "Use the newest themes of the corpus as labels.")

    def validate(self) -> None:
        """Check that there is at most one source of labels."""
        if self.labelling and self.themes:
            raise ConfigError("Labels come from a coding or from themes, not from both.")


def export_dataset(args: ExportDatasetConfig, context: JobContext) -> dict[str, Any]:
    """Write to a temporary folder and move it into place."""
    from themescope.jobs.datasets import labels_of, write_dataset

    store = context.store
    corpus = ready_corpus(store, args.corpus)
    labels = labels_of(store, corpus, args.labelling, args.themes)
    target = _new_folder(Path(args.folder)) if args.folder else made_file(store.settings.home / FOLDER, ".zip")
    with working_folder(target.parent, f".{target.name}.") as folder:
        folder.chmod(0o755)
        counts = write_dataset(store, corpus, labels, folder, context)
        with store.reading() as r:
            r.corpora.get(corpus.id)  # raises an error if it was deleted meanwhile: articles may be missing
        if args.folder:
            os.replace(folder, target)
        else:
            # Parquet is compressed.
            with whole(target) as partial, zipfile.ZipFile(partial, "x", zipfile.ZIP_STORED) as archive:
                for file in sorted(folder.rglob("*")):
                    if file.is_file():
                        archive.write(file, file.relative_to(folder).as_posix())
    sizes = {str(split): rows for split, rows in counts.items()}
    return {"file": str(target), "corpus": corpus.name, "sentences": sum(counts.values()), "splits": sizes}


def _new_folder(target: Path) -> Path:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{str(target)!r} exists and is not an empty folder. Choose a new one.")
    if not target.is_dir():
        check_target(target)
    return target


@dataclass(frozen=True)
class BackUpConfig(JobConfig):
    """Arguments of the job: none, as settings name the folder and the number of backups that are kept."""

    TITLE = backups.TITLE


def back_up(args: BackUpConfig, context: JobContext) -> dict[str, Any]:
    """Write the backup, compare it with its digests, and remove the oldest ones."""
    made, removed = backups.write_regular(context.store, lambda share: context.progress(share, 1.0))
    return {
        "file": str(made.path),
        "bytes": made.bytes,
        "made": made.about.made,
        "problems": list(made.about.problems.values()),
        "removed": [path.name for path in removed],
    }
