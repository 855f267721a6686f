"""Write a backup while the store is in use."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from themescope.core.errors import ArtifactError, DataError
from themescope.core.paths import working_folder
from themescope.db.files.artifacts import files_below
from themescope.db.snapshots import SQLITE, engine_of, open_snapshot
from themescope.db.store import Store
from themescope.jobs.backups.format import ARTIFACTS, BACKUP, DATABASES, VECTORS, About, about_of
from themescope.jobs.common.archive import ArchiveReader, ArchiveWriter, Progress
from themescope.jobs.common.files import check_new, whole
from themescope.jobs.common.results import code_version

_PIECE = 1 << 20
_INCOMPRESSIBLE = frozenset({".safetensors", ".xz", ".gz"})
PARTIAL = ".themescope-"
"""Prefix of the files and folders of a regular backup that is being written."""
_RESERVE = 50_000_000
"""Bytes that are left free on the disk."""


@dataclass(frozen=True)
class _Copied:
    """Parts of a backup that were copied at the moment of its snapshot."""

    database: Path
    """Content of the password file; None without accounts."""
    models: Mapping[str, str]
    """Digest of an artifact → name of a model that uses it."""


@dataclass(frozen=True)
class Backup:
    """A written backup."""

    path: Path
    about: About
    bytes: int


def write_backup(store: Store, out: Path, progress: Progress = lambda share: None) -> Backup:
    """Write a backup to a new file, compare it with its digests, and return it.

    Artifacts and vector files that the database names, but that are missing or damaged, are listed in
    ``about.problems`` and do not prevent the backup. Raises :class:`DataError` if ``out`` exists or the disk is too
    small, and ``StoreError`` if the database cannot be copied.
    """
    check_new(out)
    with working_folder(out.parent, f"{PARTIAL}backup-") as folder, whole(out) as partial:
        about, copied = _copy_database(store, folder)
        with ArchiveWriter(partial, BACKUP) as archive:
            about = _write(_Sink(archive, lambda share: progress(0.8 * share)), store, about, copied)
            archive.close(about.to_json())
        check_backup(partial, lambda share: progress(0.8 + 0.2 * share))
    return Backup(out, about, out.stat().st_size)


def check_backup(path: Path, progress: Progress = lambda share: None) -> About:
    """Compare every byte of a backup with its digests, and return its description.

    Raises ``ReadError`` if it is damaged or incomplete, or was made by a newer version.
    """
    with ArchiveReader(path, BACKUP) as archive:
        about = about_of(archive, path)
        archive.check(progress)
        expected = {VECTORS + name for name in about.intact_vectors()}
        artifacts = {name.split("/")[1] for name in archive.named(ARTIFACTS)}
        if not expected <= {*archive.parts} or not {*about.intact_artifacts()} <= artifacts:
            raise archive.damaged("it lacks files that its database names.")
    return about


def _copy_database(store: Store, folder: Path) -> tuple[About, _Copied]:
    """Copy the database into a folder; return the description of the backup, and what was copied."""
    _keep_files(store)
    database = folder / DATABASES[engine_of(store.settings)]
    with open_snapshot(store) as snapshot:
        artifacts, vectors = snapshot.artifacts(), snapshot.vector_files()
        elsewhere = store.vector_files.folder.path_here is None
        # The copy of the database and the one in the archive, which may not shrink.
        needed = 2 * snapshot.size() + _bytes_of_artifacts(store, artifacts)
        _check_space(folder, needed + (0 if elsewhere else sum(vectors.values())))
        about = About(
            made=datetime.now(UTC).isoformat(timespec="milliseconds"),
            themescope=code_version(),
            schema=snapshot.schema,
            engine=engine_of(store.settings),
            rows=snapshot.rows(),
            artifacts=tuple(sorted(artifacts)),
            vectors=vectors,
            vectors_elsewhere=store.vector_files.folder.where() if elsewhere and vectors else "",
        )
        snapshot.copy_to(database)
    return about, _Copied(database, artifacts)


def _bytes_of_artifacts(store: Store, digests: Iterable[str]) -> int:
    folders = [store.artifacts.path(digest) for digest in digests if store.artifacts.has(digest)]
    return sum(file.stat().st_size for folder in folders for file in folder.rglob("*"))


def _keep_files(store: Store) -> None:
    """Make files in use recent, so that no worker removes them before they are copied, even if models are deleted.

    A file that is named later, before the snapshot, is recent already: whatever stores a file makes it so.
    """
    with open_snapshot(store) as snapshot:
        artifacts, vectors = [*snapshot.artifacts()], [*snapshot.vector_files()]
    store.artifacts.keep(artifacts)
    store.vector_files.keep(vectors)


def _check_space(folder: Path, needed: int) -> None:
    """Raise ``DataError`` if the disk is too small for the copy of the database and the archive."""
    free = shutil.disk_usage(folder).free
    if free < needed + _RESERVE:
        raise DataError(
            f"The disk with {str(folder.parent)!r} has {free / 1e9:,.1f} GB free, and the backup may need "
            f"{needed / 1e9:,.1f} GB while it is written. Free space, or choose another disk."
        )


@dataclass
class _Sink:
    """Archive that is written, with a report of the bytes."""

    archive: ArchiveWriter
    progress: Progress
    total: int = 1
    done: int = 0

    def copy(self, name: str, stream: IO[bytes], *, compressed: bool) -> None:
        """Write a part; the report may raise an error to stop it."""
        with self.archive.part(name, compressed=compressed) as write:
            while piece := stream.read(_PIECE):
                write(piece)
                self.done += len(piece)
                self.progress(min(self.done / self.total, 1.0))


def _write(sink: _Sink, store: Store, about: About, copied: _Copied) -> About:
    """Write all parts; return the description with the problems that were found."""
    problems: dict[str, str] = {}
    vectors = {} if about.vectors_elsewhere else about.vectors
    sizes = (copied.database.stat().st_size, _bytes_of_artifacts(store, about.artifacts), sum(vectors.values()))
    sink.total = max(sum(sizes), 1)
    with copied.database.open("rb") as stream:
        sink.copy(copied.database.name, stream, compressed=about.engine == SQLITE)
    for name in (*about.artifacts, *vectors):
        try:
            if name in vectors:
                _write_vectors(sink, store, name)
            else:
                _write_artifact(sink, store, name)
        except ArtifactError as error:
            model = copied.models.get(name)
            problems[name] = f"{error} (model {model!r})" if model else str(error)
    return replace(about, problems=problems)


def _write_artifact(sink: _Sink, store: Store, digest: str) -> None:
    store.artifacts.check(digest)
    folder = store.artifacts.path(digest)
    for file in files_below(folder):
        with file.open("rb") as stream:
            part = f"{ARTIFACTS}{digest}/{file.relative_to(folder).as_posix()}"
            sink.copy(part, stream, compressed=file.suffix not in _INCOMPRESSIBLE)


def _write_vectors(sink: _Sink, store: Store, name: str) -> None:
    digest, dot, suffix = name.partition(".")
    store.vector_files.check(digest, dot + suffix)
    with store.vector_files.folder.local(name).open("rb") as stream:
        sink.copy(VECTORS + name, stream, compressed=False)
