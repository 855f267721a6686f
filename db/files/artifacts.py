"""Artifact files: content-addressed folders of fitted models, and checkpoints of running jobs."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from themescope.core.errors import ArtifactError

_DIGEST = re.compile(r"[0-9a-f]{32}")
_PARTIAL = "partial-"
_DAY = 86_400.0


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
        self._remove_partial()
        partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=self._folder))
        try:
            folder_writer(partial)
            digest = digest_of_folder(partial)
            for file in files_below(partial):
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())
            self._move(partial, self._folder / digest)
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

    def remove_unused(self, in_use: Collection[str], older_than_s: float = _DAY) -> list[str]:
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

    def _move(self, partial: Path, target: Path) -> None:
        if target.is_dir():
            os.utime(target)  # now recent, so that a cleanup that runs at the same time keeps it
            return
        try:
            os.replace(partial, target)
        except OSError:
            # Another process stored the same content first; anything else is a failure.
            if not target.is_dir():
                raise

    def _remove_partial(self) -> None:
        for folder in self._folder.glob(f"{_PARTIAL}*"):
            if _modified(folder) < time.time() - _DAY:
                shutil.rmtree(folder, ignore_errors=True)


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


def _modified(folder: Path) -> float:
    """Return the time of the last change of a folder; infinity if it was just removed."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
