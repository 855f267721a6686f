"""Artifact files: content-addressed folders of fitted models, checkpoints, and folders in object storage."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.errors import ArtifactError, MissingExtraError, StoreError

_DIGEST = re.compile(r"[0-9a-f]{32}")
PARTIAL = "partial-"
DAY = 86_400.0


class Artifacts:
    """Folders under ``home/artifacts``. A digest names exactly one content, so nothing is ever overwritten."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "artifacts"
        self._checkpoints = home / "checkpoints"

    def put(self, folder_writer: Callable[[Path], None]) -> str:
        """Store what ``folder_writer`` writes into an empty folder, and return its digest (32 hexadecimal digits).

        The folder is written under a temporary name, flushed to disk and then renamed, so that it appears only when
        complete. Raises :class:`ArtifactError` if nothing, or a link, was written.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        _remove_partial(self._folder)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=self._folder))
        try:
            folder_writer(partial)
            digest = digest_of_folder(partial)
            for file in files_below(partial):
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())
            target = self._folder / digest
            if target.is_dir():
                os.utime(target)  # now recent, so that a cleanup that runs at the same time keeps it
            else:
                try:
                    os.replace(partial, target)
                except OSError:
                    # Another process stored the same content first; anything else is a failure.
                    if not target.is_dir():
                        raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return digest

    def path(self, digest: str) -> Path:
        """Return the folder of an artifact, for reading only; raise :class:`ArtifactError` if it does not exist."""
        if not _DIGEST.fullmatch(digest):
            raise ArtifactError(f"{digest!r} is not the digest of an artifact, which has 32 digits of 0–9 and a–f.")
        folder = self._folder / digest
        if not folder.is_dir():
            raise ArtifactError(
                f"The files of artifact {digest} are missing. Restore the folder of artifacts or train again."
            )
        return folder

    def has(self, digest: str) -> bool:
        """Return whether the folder of this artifact exists."""
        return bool(_DIGEST.fullmatch(digest)) and (self._folder / digest).is_dir()

    def check(self, digest: str) -> None:
        """Compare the content of an artifact with its digest; raise :class:`ArtifactError` if it was damaged."""
        if digest_of_folder(self.path(digest)) != digest:
            raise ArtifactError(
                f"The files of artifact {digest} were changed or damaged. Train or add the model again."
            )

    def keep(self, digests: Collection[str]) -> None:
        """Make artifacts recent, so that :meth:`remove_unused` keeps them for a day."""
        for digest in digests:
            with suppress(FileNotFoundError):
                os.utime(self._folder / digest)

    def delete(self, digest: str) -> None:
        """Remove an artifact, if it exists."""
        if _DIGEST.fullmatch(digest):
            shutil.rmtree(self._folder / digest, ignore_errors=True)

    def unused(self, in_use: Collection[str]) -> list[str]:
        """Return the digests of the artifacts that are not in ``in_use``."""
        folders = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        return [f.name for f in folders if _DIGEST.fullmatch(f.name) and f.name not in in_use]

    def remove_unused(self, in_use: Collection[str], older_than_s: float = DAY) -> list[str]:
        """Remove unused artifacts, except recent ones that a running job may be about to store."""
        limit = time.time() - older_than_s
        removed = []
        for digest in self.unused(in_use):
            # Checked immediately before the removal: a job may just have stored the same content again.
            if _modified(self._folder / digest) < limit:
                self.delete(digest)
                removed.append(digest)
        return removed

    def checkpoint_folder(self, job_id: int) -> Path:
        """Return the job's checkpoint folder, which survives a crash; create it if missing."""
        folder = self._checkpoints / f"job-{int(job_id)}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:  # its job ended and removed it between the two steps of mkdir
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def drop_checkpoint(self, job_id: int) -> None:
        """Remove the job's checkpoint folder, if it exists."""
        shutil.rmtree(self._checkpoints / f"job-{int(job_id)}", ignore_errors=True)


def digest_of_folder(folder: Path) -> str:
    """Return the BLAKE2b-128 digest of the names, sizes and bytes of all files below ``folder``, sorted by name."""
    files = files_below(folder)
    if not files:
        raise ArtifactError(f"Nothing was written into {folder.name}, so there is no artifact to store.")
    total = hashlib.blake2b(digest_size=16)
    for file in files:
        name = file.relative_to(folder).as_posix().encode("utf-8")
        total.update(f"{len(name)} {file.stat().st_size} ".encode() + name)
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                total.update(block)
    return total.hexdigest()


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted by name; raise :class:`ArtifactError` if it contains a link."""
    found = sorted(folder.rglob("*"), key=lambda p: p.relative_to(folder).as_posix())
    for path in found:
        if path.is_symlink():
            raise ArtifactError(f"An artifact must not contain links, and {path.name} is one.")
    return [path for path in found if path.is_file()]


def _modified(path: Path) -> float:
    """Return the time of the last change of a file or folder; infinity if it was just removed."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _remove_partial(folder: Path) -> None:
    """Remove what killed processes left in a folder, if it is older than a day."""
    for path in folder.glob(f"{PARTIAL}*"):
        if _modified(path) < time.time() - DAY:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


# Folders of large files: on the local disk, memory-mapped, or in object storage, addressed through fsspec

Bytes = npt.NDArray[np.uint8]
"""Bytes of a file, (n,); a view of a memory-mapped file or a copy."""
Range = tuple[int, int]
"""First byte, and the byte after the last."""
_ADVICE = "Restore the file from a backup, or delete the vectors and embed the corpus again."


class Folder(ABC):
    """Folder of files that are written once. Names contain no slash."""

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Store a file, which appears only when it is complete; an existing one is kept and becomes recent."""

    @abstractmethod
    def write_file(self, name: str, source: Path) -> None:
        """Store a local file, as :meth:`write` does, without reading it into memory."""

    @abstractmethod
    def read(self, name: str, ranges: Sequence[Range]) -> list[Bytes]:
        """Return parts of a file; raise :class:`ArtifactError` if it is missing or too short."""

    @abstractmethod
    def size(self, name: str) -> int:
        """Return the size of a file in bytes; raise :class:`ArtifactError` if it is missing."""

    @abstractmethod
    def local(self, name: str) -> Path:
        """Return the path of a file on this machine, fetched first where the folder is elsewhere."""

    @abstractmethod
    def modified(self) -> dict[str, float]:
        """Return every file with the time of its last change, in seconds since 1970."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    @property
    def path_here(self) -> Path | None:
        """Return the path of the folder on this machine; None if it is elsewhere."""
        return None

    @abstractmethod
    def where(self, name: str = "") -> str:
        """Return the path or URL of a file, for messages."""

    @abstractmethod
    def remove_unfinished(self) -> None:
        """Remove what killed processes left behind, if it is older than a day."""

    def missing(self, name: str) -> ArtifactError:
        """Return the error for a missing file."""
        return ArtifactError(f"The vector file {self.where(name)} is missing. {_ADVICE}")

    def damaged(self, name: str, problem: str) -> ArtifactError:
        """Return the error for a damaged file; ``problem`` is a sentence without its full stop."""
        return ArtifactError(f"The vector file {self.where(name)} is damaged: {problem}. {_ADVICE}")


def open_folder(url: str, home: Path) -> Folder:
    """Return the folder at a ``file://`` or ``s3://`` URL; with an empty one, ``vectors`` in the data folder ``home``.

    Copies of remote files are kept in the folder ``cache`` of ``home``.
    """
    if not url:
        return LocalFolder(home / "vectors")
    if url.startswith("file:"):
        from fsspec.core import url_to_fs

        return LocalFolder(Path(url_to_fs(url)[1]))
    return RemoteFolder(url.rstrip("/"), home / "cache")


@dataclass(frozen=True)
class LocalFolder(Folder):
    """Folder on the local disk; the parts that are read are views of memory-mapped files."""

    path: Path

    @property
    def path_here(self) -> Path:
        """Return the path of the folder."""
        return self.path

    def write(self, name: str, data: bytes) -> None:
        """Write under a temporary name, flush to disk and rename."""
        self._put(name, lambda stream: stream.write(data))

    def write_file(self, name: str, source: Path) -> None:
        """Copy under a temporary name, flush to disk and rename."""
        with source.open("rb") as opened:
            self._put(name, lambda stream: shutil.copyfileobj(opened, stream, 1 << 20))

    def _put(self, name: str, fill: Callable[[Any], object]) -> None:
        target = self.path / name
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if target.exists():
                os.utime(target)  # now recent, so that a cleanup that runs at the same time keeps it
                return
            handle, partial = tempfile.mkstemp(prefix=PARTIAL, dir=self.path)
            try:
                with os.fdopen(handle, "wb") as stream:
                    fill(stream)
                    stream.flush()
                    os.fsync(stream.fileno())
                os.replace(partial, target)
            finally:
                Path(partial).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"The vector file {target} cannot be written: {error.strerror}. Check the disk and its permissions."
            ) from error

    def read(self, name: str, ranges: Sequence[Range]) -> list[Bytes]:
        """Return views of the memory-mapped file, which is mapped until they are gone."""
        size = self.size(name)
        if any(stop > size for _, stop in ranges):
            raise self.damaged(name, f"it has only {size:,} bytes")
        if not size:
            return [np.empty(0, np.uint8) for _ in ranges]
        whole = np.memmap(self.path / name, dtype=np.uint8, mode="r")
        return [whole[start:stop] for start, stop in ranges]

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        try:
            return (self.path / name).stat().st_size
        except FileNotFoundError:
            raise self.missing(name) from None

    def local(self, name: str) -> Path:
        """Return the path of the file itself."""
        self.size(name)
        return self.path / name

    def modified(self) -> dict[str, float]:
        """Return the files of the folder; empty if it does not exist."""
        found: dict[str, float] = {}
        for path in self.path.iterdir() if self.path.is_dir() else ():
            with suppress(FileNotFoundError):  # removed meanwhile
                found[path.name] = path.stat().st_mtime
        return {name: when for name, when in found.items() if not name.startswith(PARTIAL)}

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """Remove temporary files older than a day."""
        _remove_partial(self.path)

    def where(self, name: str = "") -> str:
        """Return the path of a file."""
        return str(self.path / name)


@dataclass(frozen=True)
class RemoteFolder(Folder):
    """Folder in object storage; a file appears there when its upload is complete.

    Account and server come from the usual places of the storage's client, such as ``AWS_ACCESS_KEY_ID`` and
    ``AWS_ENDPOINT_URL``.
    """

    url: str
    cache: Path

    def write(self, name: str, data: bytes) -> None:
        """Upload the bytes as one object."""
        with self._system(name) as (system, path):
            system.pipe_file(path, data)

    def write_file(self, name: str, source: Path) -> None:
        """Upload a local file as one object."""
        with self._system(name) as (system, path):
            system.put_file(str(source), path)

    def read(self, name: str, ranges: Sequence[Range]) -> list[Bytes]:
        """Fetch the ranges, several at a time."""
        asked = [(start, stop) for start, stop in ranges if stop > start]
        with self._system(name) as (system, path):
            starts, stops = zip(*asked, strict=True) if asked else ((), ())
            parts = system.cat_ranges([path] * len(asked), list(starts), list(stops), on_error="raise")
        found = iter(np.frombuffer(part, np.uint8) for part in parts)
        fetched = [next(found) if stop > start else np.empty(0, np.uint8) for start, stop in ranges]
        if any(len(part) < stop - start for part, (start, stop) in zip(fetched, ranges, strict=True)):
            raise self.damaged(name, "it is too short")
        return fetched

    def size(self, name: str) -> int:
        """Return the size of an object in bytes."""
        with self._system(name) as (system, path):
            return int(system.info(path, refresh=True)["size"])

    def local(self, name: str) -> Path:
        """Return the path of a copy in the cache, which is fetched if it is not there with the same size."""
        copy = self.cache / name
        if copy.is_file() and copy.stat().st_size == self.size(name):
            return copy
        self.cache.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(prefix=PARTIAL, dir=self.cache)
        os.close(handle)
        try:
            with self._system(name) as (system, path):
                system.get_file(path, partial)
            os.replace(partial, copy)
        finally:
            Path(partial).unlink(missing_ok=True)
        return copy

    def modified(self) -> dict[str, float]:
        """Return the objects of the folder."""
        with self._system() as (system, path):
            system.invalidate_cache()
            found = system.find(path, maxdepth=1, detail=True)
        return {where.rpartition("/")[2]: about["LastModified"].timestamp() for where, about in found.items()}

    def remove(self, name: str) -> None:
        """Remove an object, if it exists, and its copy in the cache."""
        (self.cache / name).unlink(missing_ok=True)
        with suppress(ArtifactError), self._system(name) as (system, path):
            system.rm_file(path)

    def remove_unfinished(self) -> None:
        """Remove unfinished downloads older than a day; an unfinished upload is no object."""
        _remove_partial(self.cache)

    def where(self, name: str = "") -> str:
        """Return the URL of an object."""
        return f"{self.url}/{name}"

    @contextmanager
    def _system(self, name: str = "") -> Iterator[tuple[Any, str]]:
        """Open the file system of fsspec, with the path of a file in it; convert its errors."""
        from fsspec.core import url_to_fs

        try:
            system, path = url_to_fs(self.where(name))
        except ImportError as error:
            raise MissingExtraError("A folder of vector files on S3", "s3fs", "s3") from error
        try:
            yield system, path
        except FileNotFoundError as error:
            raise self.missing(name) from error
        except Exception as error:  # s3fs raises errors of aiohttp and botocore, which have no common base
            raise StoreError(
                "The folder of vector files cannot be reached. Check VECTORS_URL, the storage account and that its "
                "server runs.",
                f"{self.where(name)}: {type(error).__name__}: {error}",
            ) from error
