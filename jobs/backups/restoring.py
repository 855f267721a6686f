"""Restore a backup into an empty data folder and an empty database."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from themescope.core.errors import DataError, StoreError
from themescope.core.paths import working_folder
from themescope.db.files.artifacts import Artifacts
from themescope.db.files.snapshots import POSTGRES, engine_of, is_empty, load_dump, open_snapshot
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store
from themescope.jobs.backups.writing import (
    ARTIFACTS,
    BACKUP,
    BACKUP_JOB,
    DATABASES,
    VECTORS,
    About,
    about_of,
    check_backup,
)
from themescope.jobs.common.archive import ArchiveReader, Progress
from themescope.jobs.common.files import size_text, whole

_ALLOWED = frozenset({"secrets.toml", "lost+found"})
"""Entries that an empty data folder may have: configuration, and what file systems make."""
_MARK = ".restoring"
_NAMES = {"sqlite": "SQLite", POSTGRES: "PostgreSQL"}


def restore_backup(settings: Settings, path: Path, progress: Progress = lambda share: None) -> About:
    """Restore a backup into the data folder and the database of ``settings``, and compare it with its digests.

    Nothing is written before the whole file was compared with its digests; if a later step fails, what it wrote is
    removed. Raises ``ReadError`` if the file is damaged or was made by a newer version, ``DataError`` if the data
    folder or the database is not empty or is of another engine, and ``StoreError`` if the database cannot be written.
    """
    with ArchiveReader(path, BACKUP) as archive:
        about = about_of(archive, path)
        _check_target(settings, about)
        folder = next(parent for parent in (settings.home, *settings.home.parents) if parent.is_dir())
        free, needed = shutil.disk_usage(folder).free, sum(part.bytes for part in archive.parts.values())
        if free < needed:
            raise DataError(
                f"The backup needs {size_text(needed)}, and the disk with {str(folder)!r} has {size_text(free)} free. "
                "Free space, or set THEMESCOPE_HOME to another disk."
            )
        check_backup(path, lambda share: progress(0.4 * share))
        store = Store(settings)
        try:
            with _marked(settings), _removed_on_error(store, about):
                _restore_files(store, archive, about, lambda share: progress(0.4 + 0.4 * share))
                _restore_database(settings, archive, about)
            progress(0.9)
            _compare(store, about)
            with store.writing() as w:
                w.jobs.cancel_all(BACKUP_JOB, "This store was restored from the backup that this job was writing.")
        finally:
            store.close()
    return about


def _check_target(settings: Settings, about: About) -> None:
    engine = engine_of(settings)
    if engine != about.engine:
        raise DataError(
            f"This backup is of a store on {_NAMES[about.engine]}, and DATABASE_URL names {_NAMES[engine]}. Restore it "
            "there, and move projects between them with themescope export bundle."
        )
    _remove_remains(settings)
    if found := _entries(settings):
        raise DataError(
            f"The data folder {settings.home} is not empty: it contains {found[0]!r}. Set THEMESCOPE_HOME to a new "
            "folder, or move that content away."
        )
    if not is_empty(settings):
        raise DataError(
            f"The database {settings.database_label} has the tables of a store. Set DATABASE_URL to an empty database."
        )
    store = Store(settings)
    if about.vectors and not about.vectors_elsewhere and store.vector_files.folder.modified():
        where = store.vector_files.folder.where()
        raise DataError(f"The folder of vector files, {where}, is not empty. Set VECTORS_URL to another folder.")


def _entries(settings: Settings) -> list[str]:
    """Return what the data folder contains, except the folder of backups."""
    allowed = set(_ALLOWED)
    if settings.backup_folder is not None and settings.backup_folder.parent == settings.home:
        allowed.add(settings.backup_folder.name)
    return sorted({*os.listdir(settings.home)} - allowed - {_MARK}) if settings.home.is_dir() else []


@contextmanager
def _marked(settings: Settings) -> Iterator[None]:
    """Mark the data folder, so that after the process was killed the next restore may remove what this one wrote."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark = settings.home / _MARK
    mark.write_text(str(os.getpid()), encoding="ascii")
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def _remove_remains(settings: Settings) -> None:
    """Empty a data folder in which a restore was killed; it was empty when that began."""
    try:
        process = int((settings.home / _MARK).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return
    database = sqlite_path(settings.database_url)
    if not is_empty(settings) if database is None else database.exists():
        return  # it comes last: perhaps people have used this store since
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.kill(process, 0)
            raise DataError(f"Another restore into {settings.home} is running (process {process}). Wait for its end.")
    for path in (settings.home / name for name in (*_entries(settings), _MARK)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def _removed_on_error(store: Store, about: About) -> Iterator[None]:
    """Remove what was restored if the block fails: the target was empty before."""
    try:
        yield
    except BaseException:
        for digest in about.artifacts:
            store.artifacts.delete(digest)
        for name in about.intact_vectors():
            store.vector_files.folder.remove(name)
        raise


def _restore_files(store: Store, archive: ArchiveReader, about: About, progress: Progress) -> None:
    artifacts, vectors = about.intact_artifacts(), about.intact_vectors()
    total = len(artifacts) + len(vectors) or 1
    for done, digest in enumerate(artifacts):
        progress(done / total)
        _restore_artifact(store.artifacts, archive, digest)
    for done, name in enumerate(vectors, len(artifacts)):
        progress(done / total)
        _restore_vectors(store, archive, name)


def _restore_artifact(artifacts: Artifacts, archive: ArchiveReader, digest: str) -> None:
    prefix = f"{ARTIFACTS}{digest}/"

    def write(folder: Path) -> None:
        for name in archive.named(prefix):
            target = folder / name.removeprefix(prefix)
            target.parent.mkdir(parents=True, exist_ok=True)
            archive.copy(name, target)

    if (found := artifacts.put(write)) != digest:
        artifacts.delete(found)
        raise archive.damaged("the content of an artifact does not match its name.", position=digest)


def _restore_vectors(store: Store, archive: ArchiveReader, name: str) -> None:
    digest, dot, suffix = name.partition(".")
    with working_folder(store.settings.home) as folder:
        archive.copy(VECTORS + name, folder / name)
        store.vector_files.folder.write_file(name, folder / name)
    store.vector_files.check(digest, dot + suffix)


def _restore_database(settings: Settings, archive: ArchiveReader, about: About) -> None:
    """Restore the database as the last step, so that an interrupted restore leaves no store that looks complete."""
    name = DATABASES[about.engine]
    path = sqlite_path(settings.database_url)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as partial:
            archive.copy(name, partial)
        return
    settings.home.mkdir(parents=True, exist_ok=True)
    with working_folder(settings.home) as folder:
        archive.copy(name, dump := folder / name)
        load_dump(settings, dump)


def _compare(store: Store, about: About) -> None:
    """Raise ``StoreError`` if the restored database is not the one that was saved."""
    with open_snapshot(store) as snapshot:
        found = {"schema": snapshot.schema, **snapshot.rows()}
    expected = {"schema": about.schema, **about.rows}
    differing = [name for name, value in expected.items() if found.get(name) != value]
    if differing:
        raise StoreError(
            f"The restored database differs from the backup in {', '.join(differing)}. Empty the data folder and the "
            "database, and restore another backup."
        )
