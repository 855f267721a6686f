"""Files that jobs read and write: uploads, the paths that pages may name, and atomic writing.

Pages may name uploaded files and files below the folders of the setting ``THEMESCOPE_IMPORT_FOLDERS``. The command line
acts as the owner of the data folder and may read all files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from themescope.core.errors import AccessError, DataError, ReadError
from themescope.core.paths import DATA
from themescope.core.readers.streams import BOMB_RATIO, excessive_size
from themescope.core.text.word_vectors import DISTILLED
from themescope.core.text.word_vectors import REGISTRY as WORD_TABLES
from themescope.db.settings import Settings
from themescope.jobs.common.job import JobConfig

UPLOADS = "uploads"
"""Folder of uploaded files, in the data folder."""
_KEPT_S = 7 * 86_400
NO_FOLDERS = (
    "To read files of the server by their path, set THEMESCOPE_IMPORT_FOLDERS to the folders that pages may read, and "
    "restart Themescope. The themescope command reads files without it."
)


def readable(settings: Settings, path: Path) -> Path:
    """Return the real path behind ``path``, all links followed, which need not exist.

    Raises :class:`themescope.core.errors.AccessError` if it is not below a folder that pages may read.
    """
    real = _real(path)
    if any(real.is_relative_to(_real(root)) for root in (*settings.import_folders, settings.home / UPLOADS, DATA)):
        return real
    if not settings.import_folders:
        raise AccessError(f"Pages may not read {str(path)!r}. {NO_FOLDERS}")
    folders = ", ".join(map(str, settings.import_folders))
    raise AccessError(
        f"{str(path)!r} is not below the folders that pages may read ({folders}). "
        "Add its folder to THEMESCOPE_IMPORT_FOLDERS, or use the themescope command."
    )


def check_files(settings: Settings, config: JobConfig) -> None:
    """Raise :class:`themescope.core.errors.AccessError` for a job with a path that pages may not read or write."""
    for name in config.file_names():
        if name in WORD_TABLES or name == DISTILLED:  # installed word vectors, which have no path
            continue
        path = Path(os.path.expanduser(name.removeprefix(DISTILLED)))
        if not path.is_absolute():
            raise AccessError(f"Enter the full path instead of {name!r}: the worker runs in another folder.")
        readable(settings, path)
        for parent, folders, files in os.walk(path):
            for below in (Path(parent, one) for one in (*folders, *files)):
                if below.is_symlink():  # jobs read what it refers to
                    readable(settings, below)


def _real(path: Path) -> Path:
    """Return ``path`` with links resolved; a path with a null byte is returned unchanged."""
    if "\0" in str(path):
        return Path(os.path.abspath(path))
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise AccessError(f"{str(path)!r} cannot be resolved: its symbolic links form a cycle.") from None


def check_target(out: Path, source: Path | None = None) -> None:
    """Raise :class:`DataError` if ``out`` cannot be written; call it before the work starts."""
    if out.is_dir():
        raise DataError(f"{str(out)!r} is a folder. Name a file.")
    if not out.parent.is_dir():
        raise DataError(f"The folder {str(out.parent)!r} does not exist.")
    if not os.access(out.parent, os.W_OK):
        raise DataError(f"Themescope may not write into the folder {str(out.parent)!r}.")
    if source is not None and source.exists() and out.exists() and out.samefile(source):
        raise DataError(f"{str(out)!r} is the input file. Choose another name for the output.")


def check_new(out: Path) -> None:
    """Raise :class:`DataError` if ``out`` exists or cannot be written; call it before the work starts."""
    check_target(out)
    if out.exists():
        raise DataError(f"The file {str(out)!r} exists already. Choose another name, or move it away.")


def made_file(folder: Path) -> Path:
    """Return the path of a new ZIP file for a download in a folder, from which files older than a week are removed.

    Partial files of killed exports are removed as well; two exports may do so at the same time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        with suppress(FileNotFoundError):
            if old.stat().st_mtime < time.time() - _KEPT_S:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    return folder / f"{secrets.token_hex(8)}.zip"


def size_text(size: float) -> str:
    """Return a number of bytes for people, in GB from 100 MB on."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


@contextmanager
def whole(out: Path) -> Iterator[Path]:
    """Yield a temporary path that is moved to ``out`` if the block succeeds."""
    target = Path(os.path.realpath(out))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


# Uploaded files: stored under sanitized names, each in a new folder of the data folder, for a week

MOST_BYTES = 500_000_000
"""Maximum size of an uploaded file."""
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def safe_name(name: str) -> str:
    """Return a file name of letters, digits, spaces, ``.``, ``_`` and ``-``: no folder, not hidden, not reserved.

    The name is kept recognisable because a reader may take an article's title from it.
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[^\w .-]|[\x00-\x1f]", "_", last).strip(" .")[-100:].strip(" .")
    return f"_{cleaned}" if not cleaned or _RESERVED.match(cleaned) else cleaned


def new_folder(home: Path) -> Path:
    """Return a new folder for the files of an upload; those of old uploads are removed."""
    root = home / UPLOADS
    root.mkdir(parents=True, exist_ok=True)
    remove_old(root)
    folder = root / secrets.token_hex(8)
    folder.mkdir()
    return folder


def is_upload(path: Path, home: Path) -> bool:
    """Return whether ``path`` is in a folder of :func:`new_folder`."""
    return path.is_relative_to(home / UPLOADS)


def remove_old(root: Path, now: float | None = None) -> None:
    """Remove uploads older than a week."""
    limit = (now or time.time()) - _KEPT_S
    for folder in root.iterdir():
        if folder.is_dir() and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


# Writer and reader of archives (bundles and backups): zip files with a manifest and a digest for every part

MANIFEST = "manifest.json"
MOST_LINE = 200_000_000
"""Largest line in bytes: an article, or one step of a labelling."""
_MANIFEST_BYTES_PER_PART = 500
_PIECE = 1 << 20
_BINARY = getattr(os, "O_BINARY", 0)
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class ArchiveFormat:
    """Kind of archive: its name, the names of its parts, and limits against hostile files."""

    noun: str
    """Word for such a file in messages."""
    version: int
    names: re.Pattern[str]
    """Pattern of the names of parts."""
    required: str
    """Pattern that the name of at least one part matches."""
    most_parts: int
    most_bytes: int
    """Maximum size when unpacked."""
    mode: int
    """File mode, before the mask of the process."""
    redo: str
    """Advice for a damaged file."""
    most_ratio: int = BOMB_RATIO
    """Maximum ratio of the sizes when unpacked and packed, for large files."""

    @property
    def id(self) -> str:
        """Return the id in the manifest."""
        return f"themescope {self.noun}"


Progress = Callable[[float], None]
"""Callback for the share of the work that is done, 0…1; may raise an error to stop it."""


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """Entry of a part in the manifest."""

    bytes: int
    sha256: str


class ArchiveWriter:
    """Writer of an archive; :meth:`close` writes the manifest last."""

    def __init__(self, path: Path, format: ArchiveFormat) -> None:
        self._format = format
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, format.mode), "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, allowZip64=True)
        self._parts: dict[str, ArchivePart] = {}

    @contextmanager
    def part(self, name: str, *, compressed: bool = True) -> Iterator[Callable[[bytes], None]]:
        """Begin a part and yield a function that writes bytes to it."""
        if not self._format.names.fullmatch(name) or name in self._parts:
            raise ReadError(name, f"a {self._format.noun} cannot contain a part of that name.")
        digest, size = hashlib.sha256(), 0
        with self._zip.open(_entry(name, compressed), "w", force_zip64=True) as stream:

            def write(data: bytes) -> None:
                nonlocal size
                stream.write(data)
                digest.update(data)
                size += len(data)

            yield write
        self._parts[name] = ArchivePart(size, digest.hexdigest())

    def close(self, about: Mapping[str, Any]) -> None:
        """Write the manifest with ``about``, a description of the content, and flush the file to disk."""
        parts = {name: {"bytes": part.bytes, "sha256": part.sha256} for name, part in sorted(self._parts.items())}
        manifest = {"format": self._format.id, "version": self._format.version, "about": dict(about), "parts": parts}
        self._zip.writestr(_entry(MANIFEST), json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            self._zip.close()


def _entry(name: str, compressed: bool = True) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _FIXED_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    entry.external_attr = 0o600 << 16
    return entry


def is_archive(path: Path, format: ArchiveFormat) -> bool:
    """Return whether a file has the manifest and the required part of an archive, whole or damaged."""
    try:
        with zipfile.ZipFile(path) as found:
            names = found.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False
    return MANIFEST in names and any(re.fullmatch(format.required, name) for name in names)


class ArchiveReader:
    """Reader of an archive. Opening it checks names and sizes; :meth:`check` compares every byte with the manifest.

    Raises ``ReadError`` if the file is not such an archive, is damaged, is too large unpacked, or has unexpected parts.
    """

    def __init__(self, path: Path, format: ArchiveFormat) -> None:
        self._path, self._format = path, format
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise ReadError(path, "this file does not exist.", advice="Check its path.") from None
        except PermissionError:
            raise ReadError(path, "Themescope may not open this file.", advice="Change its permissions.") from None
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
            raise ReadError(
                path, f"this file is not a {format.noun} (a zip made by Themescope), or is incomplete.", "", format.redo
            ) from None
        try:
            self._entries = self._checked()
            self.about, self.parts = self._manifest()
        except BaseException:
            self._zip.close()
            raise

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        entries = self._zip.infolist()
        if len(entries) > self._format.most_parts:
            raise self.damaged(f"it contains {len(entries):,} files, which is too many.")
        for entry in entries:
            if entry.filename != MANIFEST and not self._format.names.fullmatch(entry.filename):
                name = entry.filename[:80]
                raise self.damaged(f"it contains {name!r}, which is not a part of a {self._format.noun}.")
            if entry.flag_bits & 0x1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self.damaged("it is encrypted, or its compression is not supported.")
        if size := excessive_size(entries, self._format.most_bytes, self._format.most_ratio):
            raise self.damaged(f"it unpacks to {size}, which is too much.")
        found = {entry.filename: entry for entry in entries}
        if len(found) < len(entries):
            raise self.damaged("it contains a name twice.")
        return found

    def _manifest(self) -> tuple[Mapping[str, Any], dict[str, ArchivePart]]:
        entry = self._entries.get(MANIFEST)
        if entry is None or entry.file_size > self._format.most_parts * _MANIFEST_BYTES_PER_PART:
            raise self.damaged(f"it has no manifest, so it is not a {self._format.noun}.")
        try:
            manifest = json.loads(b"".join(self._pieces(MANIFEST)))
            if manifest["format"] != self._format.id:
                raise ValueError(manifest)
            if int(manifest["version"]) != self._format.version:
                raise self.damaged("it was made by a newer version of Themescope.", "Update Themescope.")
            parts = {str(n): ArchivePart(int(p["bytes"]), str(p["sha256"])) for n, p in manifest["parts"].items()}
            about: Mapping[str, Any] = dict(manifest["about"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise self.damaged("its manifest is damaged.") from None
        sizes = {name: entry.file_size for name, entry in self._entries.items() if name != MANIFEST}
        expected = {name: part.bytes for name, part in parts.items()}
        if sizes != expected or not any(re.fullmatch(self._format.required, name) for name in parts):
            raise self.damaged("its parts do not match its manifest.")
        return about, parts

    def check(self, progress: Progress = lambda share: None) -> None:
        """Read every part once and compare it with the manifest."""
        total, done = sum(part.bytes for part in self.parts.values()) or 1, 0
        for name, part in self.parts.items():
            digest = hashlib.sha256()
            for piece in self._pieces(name):
                digest.update(piece)
                done += len(piece)
                progress(done / total)
            if digest.hexdigest() != part.sha256:
                raise self.damaged("it was changed after it was written, or damaged.", position=name)

    def lines(self, name: str) -> Generator[str]:
        """Yield the lines of a part, including line ends."""
        with self._converted_errors(name), self._zip.open(self._entries[name]) as stream:
            while line := stream.readline(MOST_LINE + 1):
                if len(line) > MOST_LINE:
                    raise self.damaged(f"a line is longer than {MOST_LINE // 1_000_000} MB.", position=name)
                yield line.decode("utf-8")

    def copy(self, name: str, target: Path) -> None:
        """Copy a part to a new file, and flush it to disk."""
        with target.open("xb") as stream:
            for piece in self._pieces(name):
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())

    def data(self, name: str) -> bytes:
        """Return the bytes of a part."""
        return b"".join(self._pieces(name))

    def named(self, prefix: str) -> list[str]:
        """Return the parts whose names start with the prefix, in order."""
        return sorted(name for name in self.parts if name.startswith(prefix))

    def _pieces(self, name: str) -> Iterator[bytes]:
        with self._converted_errors(name), self._zip.open(self._entries[name]) as stream:
            while piece := stream.read(_PIECE):
                yield piece

    @contextmanager
    def _converted_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, OSError, EOFError, UnicodeDecodeError, NotImplementedError) as error:
            raise self.damaged(f"a part of it is damaged ({type(error).__name__}).", position=name) from None
        except Exception as error:
            if type(error).__module__ == "zlib":
                raise self.damaged("a part of it is damaged.", position=name) from None
            raise

    def damaged(self, problem: str, advice: str = "", position: str = "") -> ReadError:
        """Return the error for this file; ``problem`` is a sentence."""
        return ReadError(self._path, problem, position, advice or self._format.redo)

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
