"""Writer and reader of bundle files, with size limits and a digest for every part.

Names of parts are checked against a pattern and never used as paths. The same parts give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from core.errors import ReadError

FORMAT, VERSION = "themescope bundle", 1
MANIFEST = "manifest.json"
ARTICLES = "articles.jsonl"
MOST_UNPACKED = 20_000_000_000
MOST_PARTS = 20_000
MOST_LINE = 200_000_000
"""Largest line in bytes: an article, or one step of a labelling."""
_MOST_RATIO = 200
_MOST_MANIFEST = 10_000_000
_SMALL = 10_000_000
_PIECE = 1 << 20
_NAME = re.compile(
    r"articles\.jsonl|labellings/\d{4}\.jsonl|vectors/\d{2}/\d{5}\.safetensors"
    r"|models/\d{2}/[A-Za-z0-9][A-Za-z0-9_-]{0,60}\.(json|safetensors|txt|md)",
    re.ASCII,
)
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)

Progress = Callable[[float], None]
"""Callback for the share of the work that is done, 0…1; may raise an error to stop it."""


@dataclass(frozen=True, slots=True)
class Part:
    """Entry of a part in the manifest."""

    bytes: int
    sha256: str


@dataclass(slots=True)
class _Counted:
    """Writable stream that counts and digests the bytes written to it."""

    stream: IO[bytes]
    digest: Any = field(default_factory=hashlib.sha256)
    size: int = 0

    def write(self, data: bytes) -> None:
        """Write data and update the count and the digest."""
        self.stream.write(data)
        self.digest.update(data)
        self.size += len(data)


class BundleWriter:
    """Writer of a bundle; :meth:`close` writes the manifest last."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, allowZip64=True)
        self._parts: dict[str, Part] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[Callable[[bytes], None]]:
        """Begin a part and yield a function that writes bytes to it."""
        if not _NAME.fullmatch(name) or name in self._parts:
            raise ReadError(name, "a bundle cannot contain a part of that name.")
        with self._zip.open(_entry(name), "w", force_zip64=True) as stream:
            counted = _Counted(stream)
            yield counted.write
        self._parts[name] = Part(counted.size, counted.digest.hexdigest())

    def close(self, about: Mapping[str, Any]) -> None:
        """Write the manifest with ``about``, a description of the content."""
        parts = {name: {"bytes": part.bytes, "sha256": part.sha256} for name, part in sorted(self._parts.items())}
        manifest = {"format": FORMAT, "version": VERSION, "about": dict(about), "parts": parts}
        self._zip.writestr(_entry(MANIFEST), json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        self._zip.close()

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _FIXED_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


class BundleReader:
    """Reader of a bundle. Opening it checks names and sizes; :meth:`check` compares every byte with the manifest.

    Raises
    ------
    ReadError
        If the file is not a bundle, is damaged, is too large unpacked, or has unexpected parts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise ReadError(path, "this file does not exist.", advice="Check its path.") from None
        except PermissionError:
            raise ReadError(path, "Themescope may not open this file.", advice="Change its permissions.") from None
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
            raise ReadError(path, "this file is not a bundle (a zip made by Themescope).") from None
        try:
            self._entries = self._checked()
            self.about, self.parts = self._manifest()
        except BaseException:
            self._zip.close()
            raise

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        entries = self._zip.infolist()
        if len(entries) > MOST_PARTS:
            raise self._error(f"it contains {len(entries):,} files, which is too many.")
        for entry in entries:
            if entry.filename != MANIFEST and not _NAME.fullmatch(entry.filename):
                raise self._error(f"it contains {entry.filename[:80]!r}, which is not a part of a bundle.")
            if entry.flag_bits & 0x1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self._error("it is encrypted, or its compression is not supported.")
        unpacked, packed = sum(e.file_size for e in entries), sum(e.compress_size for e in entries)
        if unpacked > MOST_UNPACKED or (unpacked > _SMALL and unpacked > _MOST_RATIO * max(packed, 1)):
            raise self._error(f"it unpacks to {unpacked // 1_000_000:,} MB, which is too much.")
        found = {entry.filename: entry for entry in entries}
        if len(found) < len(entries):
            raise self._error("it contains a name twice.")
        return found

    def _manifest(self) -> tuple[Mapping[str, Any], dict[str, Part]]:
        entry = self._entries.get(MANIFEST)
        if entry is None or entry.file_size > _MOST_MANIFEST:
            raise self._error("it has no manifest, so it is not a bundle.")
        try:
            manifest = json.loads(b"".join(self._pieces(MANIFEST)))
            if manifest["format"] != FORMAT:
                raise ValueError(manifest)
            if int(manifest["version"]) != VERSION:
                raise self._error("it was made by a newer version of Themescope.", "Update Themescope.")
            parts = {str(n): Part(int(p["bytes"]), str(p["sha256"])) for n, p in manifest["parts"].items()}
            about: Mapping[str, Any] = dict(manifest["about"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise self._error("its manifest is damaged.") from None
        sizes = {name: entry.file_size for name, entry in self._entries.items() if name != MANIFEST}
        if sizes != {name: part.bytes for name, part in parts.items()} or ARTICLES not in parts:
            raise self._error("its parts do not match its manifest.")
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
                raise self._error("it was changed after the export, or damaged.", position=name)

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a part, including line ends."""
        with self._converted_errors(name), self._zip.open(self._entries[name]) as stream:
            while line := stream.readline(MOST_LINE + 1):
                if len(line) > MOST_LINE:
                    raise self._error(f"a line is longer than {MOST_LINE // 1_000_000} MB.", position=name)
                yield line.decode("utf-8")

    def copy(self, name: str, target: Path) -> None:
        """Copy a part to a file."""
        with target.open("xb") as stream:
            for piece in self._pieces(name):
                stream.write(piece)

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
        """Convert errors of the zip library to a ``ReadError``."""
        try:
            yield
        except (zipfile.BadZipFile, OSError, EOFError, UnicodeDecodeError, NotImplementedError) as error:
            raise self._error(f"a part of it is damaged ({type(error).__name__}).", position=name) from None
        except Exception as error:
            if type(error).__module__ == "zlib":
                raise self._error("a part of it is damaged.", position=name) from None
            raise

    def _error(self, problem: str, advice: str = "Export or copy it again.", position: str = "") -> ReadError:
        return ReadError(self._path, problem, position, advice)

    def __enter__(self) -> BundleReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
