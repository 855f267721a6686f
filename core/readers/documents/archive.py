"""ZIP archives of files: each file is read by the reader of its format."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from themescope.core.config import Config
from themescope.core.errors import ReadError
from themescope.core.protocols import SILENT, Report
from themescope.core.readers.account import ReadAccount
from themescope.core.readers.dataset_folders import unpack
from themescope.core.readers.documents.packages import DAMAGE, Package, made, names_in
from themescope.core.readers.outline import BaseReader
from themescope.core.readers.streams import FileHead
from themescope.core.types import Article

_DATASET = (".parquet", ".arrow")
_MOST_FILES = 10_000
SAMPLE = made({"Ada.txt": "It was founded in 1200,\nthen it grew.\n", "b/Bea.md": "# Bea\n\nBea is.\n"})


@dataclass(frozen=True)
class ArchiveConfig(Config):
    """Settings of the reader: none, because every file has a reader of its own."""


class Archive(BaseReader):
    """Reader of the files of a ZIP archive in the order of their names; files without a reader are listed."""

    config: ArchiveConfig

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield the articles of every file. Raises :class:`ReadError` if no file can be read."""
        from themescope.core.readers import REGISTRY
        from themescope.core.readers.formats import detect

        self.account.clear()
        with tempfile.TemporaryDirectory() as folder:
            if (dataset := packed_dataset(path, Path(folder))) is not None:
                reader = REGISTRY.build("table")
                yield from reader.read(dataset, report)
                self.account.add(_account_of(reader, ""))
                return
        package = Package(path, report)
        names = sorted(name for name in package.names if not _ignored(name))
        if len(names) > _MOST_FILES:
            raise ReadError(path, f"this ZIP file has more than {_MOST_FILES:,} files.")
        problems: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            for number, name in enumerate(names):
                file = Path(folder) / str(number) / (PurePosixPath(name).name[-120:] or "file")
                file.parent.mkdir()
                file.write_bytes(package.read(name))
                try:
                    id = detect(file)
                    if id == "zip":
                        raise ReadError(file, "this is an archive in an archive.", advice="Unpack it first.")
                    reader = REGISTRY.build(id)
                    for article in reader.read(file, SILENT):
                        yield replace(article, source=name)
                    self.account.add(_account_of(reader, name))
                except ReadError as error:
                    problems.append(str(error))
                    self.account.skip("file that cannot be read", name, str(error))
                file.unlink()
        if names and len(problems) == len(names):
            raise ReadError(path, f"none of its {len(names):,} files can be read. The first: {problems[0]}")


def _account_of(reader: object, name: str) -> ReadAccount:
    """Return the account of a reader, with the name of the file in its places."""
    account = reader.account if isinstance(reader, BaseReader) else ReadAccount()
    entries = [e._replace(place=f"{name}, {e.place}" if e.place and name else e.place or name) for e in account.entries]
    notes = {f"{name}, {key}" if name else key: note for key, note in account.notes.items()}
    return ReadAccount(account.skipped, account.changed, entries, notes)


def _ignored(name: str) -> bool:
    """Return whether a member is a folder, or a file that systems hide."""
    parts = PurePosixPath(name).parts
    return name.endswith("/") or not parts or any(part.startswith((".", "__MACOSX")) for part in parts)


def packed_dataset(path: Path, folder: Path) -> Path | None:
    """Unpack the Hugging Face dataset in a ZIP file below ``folder``; return its folder, None if it is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except DAMAGE:
        return None
    if not any(name.endswith((*_DATASET, "README.md", "state.json", "dataset_dict.json")) for name in names):
        return None
    try:
        return unpack(path, folder)
    except ReadError:
        if any(name.endswith(_DATASET) for name in names):
            raise
        return None


def recognises(head: FileHead) -> bool:
    """Return whether a file is a ZIP archive of files."""
    return any(not _ignored(name) for name in names_in(head))
