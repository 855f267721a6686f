"""Write and restore backups while the store is in use.

A backup contains the database without sessions (``database.sqlite`` or ``database.dump``), and every artifact and every
vector file on this machine that the database names. It contains no ``secrets.toml``, no ``signing-key`` and no
environment variables, which belong to the deployment, and no checkpoints and uploads.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from themescope.core.errors import ArtifactError, DataError, ReadError, StoreError
from themescope.core.paths import working_folder
from themescope.db.engine import is_known, newest
from themescope.db.files.artifacts import Artifacts, files_below
from themescope.db.files.snapshots import POSTGRES, SQLITE, engine_of, is_empty, load_dump, open_snapshot
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store
from themescope.jobs.common.articles import code_version
from themescope.jobs.common.files import (
    ArchiveFormat,
    ArchiveReader,
    ArchiveWriter,
    Progress,
    check_new,
    size_text,
    whole,
)

DATABASES = {SQLITE: "database.sqlite", POSTGRES: "database.dump"}
ARTIFACTS, VECTORS = "artifacts/", "vectors/"
_FILE = r"(?!\.{1,2}(?:/|$))[^/\\:\x00-\x1f\x7f]{1,200}"
BACKUP = ArchiveFormat(
    noun="backup",
    version=1,
    names=re.compile(
        rf"database\.(?:sqlite|dump)|artifacts/[0-9a-f]{{32}}(?:/{_FILE})+"
        r"|vectors/[0-9a-f]{32}\.(?:safetensors|usearch)",
        re.ASCII,
    ),
    required=r"database\.(?:sqlite|dump)",
    most_parts=5_000_000,
    # A backup is as large as the store; restoring compares this with the free space.
    most_bytes=1 << 60,
    most_ratio=2_000,
    mode=0o600,
    redo="Use another backup.",
)


@dataclass(frozen=True)
class About:
    """Description of a backup in its manifest."""

    made: str
    """Moment of the snapshot, ISO 8601 in UTC."""
    themescope: str
    """Version that made it."""
    schema: str
    """Revision of the tables."""
    engine: str
    """"sqlite" or "postgresql"."""
    rows: Mapping[str, int]
    """Table → number of rows."""
    artifacts: tuple[str, ...]
    """Digests of the artifacts that the database names."""
    vectors: Mapping[str, int]
    """Name → bytes of the vector files that the database names."""
    vectors_elsewhere: str = ""
    """URL of the folder of vector files that are not in the backup, because they are in object storage."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Artifact or vector file that was missing or damaged when the backup was made → message."""

    def to_json(self) -> dict[str, Any]:
        """Return the description as JSON values."""
        return asdict(self)

    @property
    def when(self) -> datetime:
        """Return the moment of the snapshot."""
        return datetime.fromisoformat(self.made)

    @property
    def is_older(self) -> bool:
        """Return whether the tables are of an older version, which the next start migrates."""
        return self.schema != newest()

    def intact_artifacts(self) -> list[str]:
        """Return the artifacts that the backup contains undamaged."""
        return [digest for digest in self.artifacts if digest not in self.problems]

    def intact_vectors(self) -> list[str]:
        """Return the vector files that the backup contains undamaged."""
        return [] if self.vectors_elsewhere else [name for name in self.vectors if name not in self.problems]


def about_of(archive: ArchiveReader, path: Path) -> About:
    """Return the description of an opened backup.

    Raises ``ReadError`` if it is damaged, or was made by a newer version of Themescope.
    """
    try:
        found = About(**{**archive.about, "artifacts": tuple(archive.about["artifacts"])})
        counts = {**found.rows, **found.vectors}
        texts = (found.made, found.themescope, found.schema, *found.artifacts, *found.problems.values(), *counts)
        if not all(isinstance(text, str) for text in texts) or not all(type(n) is int for n in counts.values()):
            raise TypeError(found)
        if found.engine not in DATABASES or found.when.tzinfo is None:
            raise ValueError(found)
    except (TypeError, ValueError, KeyError, AttributeError):
        raise ReadError(path, "its manifest is damaged.", "", BACKUP.redo) from None
    if not is_known(found.schema):
        raise ReadError(
            path,
            f"it was made by a newer version, Themescope {found.themescope} (schema {found.schema}; this version knows "
            f"up to {newest()}).",
            advice="Update Themescope, then restore it.",
        )
    return found


_PIECE = 1 << 20
_INCOMPRESSIBLE = frozenset({".safetensors", ".xz", ".gz"})
PARTIAL = ".themescope-"
"""Prefix of the files and folders of a regular backup that is being written."""
_RESERVE = 50_000_000
"""Bytes that are left free on the disk."""


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
        about, database, models = _copy_database(store, folder)
        with ArchiveWriter(partial, BACKUP) as archive:
            about = _write(archive, store, about, database, models, lambda share: progress(0.8 * share))
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


def _copy_database(store: Store, folder: Path) -> tuple[About, Path, Mapping[str, str]]:
    """Return the description of a backup, a copy of the database in a folder, and artifact → a model that uses it."""
    # Files in use become recent, so that no worker removes them before they are copied, even if models are deleted. One
    # that is named later, before the snapshot, is recent already: whatever stores a file makes it so.
    with open_snapshot(store) as snapshot:
        kept, kept_vectors = [*snapshot.artifacts()], [*snapshot.vector_files()]
    store.artifacts.keep(kept)
    store.vector_files.keep(kept_vectors)
    database = folder / DATABASES[engine_of(store.settings)]
    with open_snapshot(store) as snapshot:
        artifacts, vectors = snapshot.artifacts(), snapshot.vector_files()
        elsewhere = store.vector_files.folder.path_here is None
        # The copy of the database and the one in the archive, which may not shrink.
        needed = 2 * snapshot.size() + _bytes_of_artifacts(store, artifacts)
        needed += 0 if elsewhere else sum(vectors.values())
        free = shutil.disk_usage(folder).free
        if free < needed + _RESERVE:
            raise DataError(
                f"The disk with {str(folder.parent)!r} has {size_text(free)} free, and the backup may need "
                f"{size_text(needed)} while it is written. Free space, or choose another disk."
            )
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
    return about, database, artifacts


def _bytes_of_artifacts(store: Store, digests: Iterable[str]) -> int:
    folders = [store.artifacts.path(digest) for digest in digests if store.artifacts.has(digest)]
    return sum(file.stat().st_size for folder in folders for file in folder.rglob("*"))


def _write(
    archive: ArchiveWriter, store: Store, about: About, database: Path, models: Mapping[str, str], progress: Progress
) -> About:
    """Write all parts; return the description with the problems that were found."""
    problems: dict[str, str] = {}
    vectors = {} if about.vectors_elsewhere else about.vectors
    sizes = (database.stat().st_size, _bytes_of_artifacts(store, about.artifacts), sum(vectors.values()))
    done, total = 0, max(sum(sizes), 1)

    def copy(name: str, file: Path, compressed: bool) -> None:
        nonlocal done
        with file.open("rb") as stream, archive.part(name, compressed=compressed) as write:
            while piece := stream.read(_PIECE):
                write(piece)
                done += len(piece)
                progress(min(done / total, 1.0))  # may raise an error to stop it

    copy(database.name, database, about.engine == SQLITE)
    for name in (*about.artifacts, *vectors):
        try:
            if name in vectors:
                digest, dot, suffix = name.partition(".")
                store.vector_files.check(digest, dot + suffix)
                copy(VECTORS + name, store.vector_files.folder.local(name), False)
            else:
                store.artifacts.check(name)
                folder = store.artifacts.path(name)
                for file in files_below(folder):
                    part = f"{ARTIFACTS}{name}/{file.relative_to(folder).as_posix()}"
                    copy(part, file, file.suffix not in _INCOMPRESSIBLE)
        except ArtifactError as error:
            model = models.get(name)
            problems[name] = f"{error} (model {model!r})" if model else str(error)
    return replace(about, problems=problems)


# Restore a backup into an empty data folder and an empty database

_ALLOWED = frozenset({"secrets.toml", "backups", "lost+found"})
"""Entries that an empty data folder may have: configuration, backups, and what file systems make."""
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
        # The data folder is marked, so that after the process was killed the next restore may remove what this wrote.
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = settings.home / _MARK
        mark.write_text(str(os.getpid()), encoding="ascii")
        with closing(Store(settings)) as store:
            try:
                _restore_files(store, archive, about, lambda share: progress(0.4 + 0.4 * share))
                _restore_database(settings, archive, about)
            except BaseException:  # the target was empty before
                for digest in about.artifacts:
                    store.artifacts.delete(digest)
                for name in about.intact_vectors():
                    store.vector_files.folder.remove(name)
                raise
            finally:
                mark.unlink(missing_ok=True)
            progress(0.9)
            _compare(store, about)
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
    """Return what the data folder contains, except what may be there."""
    return sorted({*os.listdir(settings.home)} - _ALLOWED - {_MARK}) if settings.home.is_dir() else []


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


def _restore_files(store: Store, archive: ArchiveReader, about: About, progress: Progress) -> None:
    artifacts, vectors = about.intact_artifacts(), about.intact_vectors()
    total = len(artifacts) + len(vectors) or 1
    for done, digest in enumerate(artifacts):
        progress(done / total)
        _restore_artifact(store.artifacts, archive, digest)
    for done, name in enumerate(vectors, len(artifacts)):
        progress(done / total)
        with working_folder(store.settings.home) as folder:
            archive.copy(VECTORS + name, folder / name)
            store.vector_files.folder.write_file(name, folder / name)
        content, dot, suffix = name.partition(".")
        store.vector_files.check(content, dot + suffix)


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
