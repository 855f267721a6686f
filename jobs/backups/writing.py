"""Write a backup while the store is in use, also regularly into the folder of ``THEMESCOPE_BACKUP_FOLDER``.

A backup contains the database without sessions (``database.sqlite`` or ``database.dump``), and every artifact and every
vector file on this machine that the database names. It contains no ``secrets.toml``, no ``signing-key`` and no
environment variables, which belong to the deployment, and no checkpoints and uploads.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from themescope.core.errors import ArtifactError, ConfigError, DataError, ReadError
from themescope.core.paths import working_folder
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.engine import is_known, newest
from themescope.db.files.artifacts import files_below
from themescope.db.files.snapshots import POSTGRES, SQLITE, engine_of, open_snapshot
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.archive import ArchiveFormat, ArchiveReader, ArchiveWriter, Progress
from themescope.jobs.common.files import check_new, size_text, whole
from themescope.jobs.common.results import code_version

DATABASES = {SQLITE: "database.sqlite", POSTGRES: "database.dump"}
BACKUP_JOB = "back-up"
"""Id of the job kind that writes backups."""
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
            about = _write(_Sink(archive, lambda share: progress(0.8 * share)), store, about, database, models)
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
    return about, database, artifacts


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
            f"The disk with {str(folder.parent)!r} has {size_text(free)} free, and the backup may need "
            f"{size_text(needed)} while it is written. Free space, or choose another disk."
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


def _write(sink: _Sink, store: Store, about: About, database: Path, models: Mapping[str, str]) -> About:
    """Write all parts; return the description with the problems that were found."""
    problems: dict[str, str] = {}
    vectors = {} if about.vectors_elsewhere else about.vectors
    sizes = (database.stat().st_size, _bytes_of_artifacts(store, about.artifacts), sum(vectors.values()))
    sink.total = max(sum(sizes), 1)
    with database.open("rb") as stream:
        sink.copy(database.name, stream, compressed=about.engine == SQLITE)
    for name in (*about.artifacts, *vectors):
        try:
            if name in vectors:
                _write_vectors(sink, store, name)
            else:
                _write_artifact(sink, store, name)
        except ArtifactError as error:
            model = models.get(name)
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


TITLE = "Back up the store"
_NAME = re.compile(r"themescope-\d{8}-\d{6}\.zip", re.ASCII)
_RETRY = timedelta(hours=1)
"""Time after which a failed backup is tried again, if the next one is not due earlier."""
_LEFTOVER_S = 86_400.0


def is_due(settings: Settings, last: JobRecord | None, now: datetime) -> bool:
    """Return whether a backup should be queued; ``last`` is the newest job of that kind."""
    if settings.backup_folder is None:
        return False
    if last is None:
        return True
    interval = timedelta(hours=settings.backup_hours)
    if last.status is JobStatus.FAILED:
        interval = min(interval, _RETRY)
    return last.status.ended and now - last.created >= interval


def queue_if_due(store: Store) -> int | None:
    """Queue a backup if one is due, and return the id of its job; only one of several workers does so."""
    if store.settings.backup_folder is None:
        return None
    now = datetime.now(UTC)
    with store.reading() as r:
        due = is_due(store.settings, r.jobs.newest(BACKUP_JOB), now)
    if not due:
        return None
    with store.writing() as w:
        w.jobs.lock()
        if not is_due(store.settings, w.jobs.newest(BACKUP_JOB), now):
            return None
        return w.jobs.add(BACKUP_JOB, TITLE, {}).id


def write_regular(store: Store, progress: Progress) -> tuple[Backup, list[Path]]:
    """Write a backup into the folder of backups, and remove older ones; return it, and what was removed.

    Raises :class:`ConfigError` if no folder is set, and the errors of
    :func:`~themescope.jobs.backups.writing.write_backup`.
    """
    folder = store.settings.backup_folder
    if folder is None:
        raise ConfigError("No folder for backups is set. Set THEMESCOPE_BACKUP_FOLDER, and restart the workers.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The folder of backups {folder} cannot be created: {error.strerror}.") from None
    _remove_leftovers(folder)
    made = write_backup(store, folder / f"themescope-{datetime.now(UTC):%Y%m%d-%H%M%S}.zip", progress)
    old = regular_backups(folder)[: -store.settings.backups_kept]
    for path in old:
        path.unlink(missing_ok=True)
    return made, old


def regular_backups(folder: Path) -> list[Path]:
    """Return the files of regular backups in a folder, oldest first."""
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name)) if folder.is_dir() else []


def _remove_leftovers(folder: Path) -> None:
    """Remove unfinished files of backups whose process was killed; another one may be writing a newer backup."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.name.startswith(PARTIAL) and path.stat().st_mtime < time.time() - _LEFTOVER_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
