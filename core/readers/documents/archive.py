"""ZIP archives of files: each file is read by the reader of its format."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from themescope.core.config import Config, option
from themescope.core.errors import ReadError
from themescope.core.protocols import SILENT, Report
from themescope.core.readers.account import UNREADABLE, ReadAccount
from themescope.core.readers.dataset_folders import unpack
from themescope.core.readers.documents.packages import DAMAGE, Package, made, names_in
from themescope.core.readers.encodings import ENCODINGS, guesses, is_certain
from themescope.core.readers.outline import BaseReader
from themescope.core.readers.streams import FileHead, is_utf8
from themescope.core.types import Article

_DATASET = (".parquet", ".arrow")
_MOST_FILES = 10_000
_UTF8 = 0x800
"""Flag of a file whose name is UTF-8."""
_ID = re.compile(rb'(?<=["@])[UW][A-Z0-9]{6,}(?=["|>])')
"""Id of a person in the messages of Slack."""
_OF_NAMES = ("cp850", "cp852", "cp866", "cp932", "gb18030", "big5", "cp949")
"""Encodings of names in archives that Windows has made."""
_LEAST = 0.02
"""Score from which the encoding of names counts as certain: few of their words are stop words."""
SAMPLE = made({"Ada.txt": "It was founded in 1200,\nthen it grew.\n", "b/Bea.md": "# Bea\n\nBea is.\n"})


@dataclass(frozen=True)
class ArchiveConfig(Config):
    """Settings of the reader; every file has a reader of its own."""

    name_encoding: str = option(
        "", "Encoding of names of files that are not marked as UTF-8; empty: found from their bytes.",
        choices=("", *ENCODINGS),
    )  # fmt: skip


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
        meant = self._readable_names(package)
        names = sorted(name for name in package.names if not _ignored(name))
        if len(names) > _MOST_FILES:
            raise ReadError(path, f"this ZIP file has more than {_MOST_FILES:,} files.")
        problems: list[str] = []
        people = _people_of_slack(package)
        with tempfile.TemporaryDirectory() as folder:
            for number, stored in enumerate(names):
                name = meant.get(stored, stored)
                if people and "/" not in stored:
                    text = package.read(stored).decode("utf-8", "replace")
                    self.account.skip("list of people or channels of Slack", name, text)
                    continue
                file = Path(folder) / str(number) / _short(PurePosixPath(name).name)
                file.parent.mkdir()
                data = package.read(stored)
                file.write_bytes(_ID.sub(lambda id: people.get(id[0], id[0]), data) if people else data)
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
                    self.account.skip(UNREADABLE, name, str(error))
                file.unlink()
        if names and len(problems) == len(names):
            raise ReadError(path, f"none of its {len(names):,} files can be read. The first: {problems[0]}")

    def _readable_names(self, package: Package) -> dict[str, str]:
        """Return name as stored → name as meant, for those that are not marked as UTF-8."""
        old = [one.filename for one in package.members if not one.flag_bits & _UTF8 and not one.filename.isascii()]
        if not old:
            return {}
        data = "\n".join(old).encode("cp437")  # zipfile has decoded them so
        encoding = self.config.name_encoding or ("utf-8" if is_utf8(data) else "")
        if not encoding and is_certain(found := guesses(data, _OF_NAMES), _LEAST):
            encoding = found[0].encoding
        uncertain = "uncertain, read as cp437; choose it (name_encoding) if they are wrong"
        self.account.notes["encoding of the names of files"] = encoding or uncertain
        return dict(zip(old, data.decode(encoding or "cp437", "replace").split("\n"), strict=True))


def _people_of_slack(package: Package) -> dict[bytes, bytes]:
    """Return id → name, both as in its JSON, of the people in an export of Slack; none for other archives."""
    if not {"users.json", "channels.json"} <= {*package.names}:
        return {}
    try:
        named = {one["id"]: one.get("real_name") or one["name"] for one in json.loads(package.read("users.json"))}
        return {id.encode(): json.dumps(name)[1:-1].encode() for id, name in named.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def _account_of(reader: object, name: str) -> ReadAccount:
    """Return the account of a reader, with the name of the file in its places."""
    account = reader.account if isinstance(reader, BaseReader) else ReadAccount()
    entries = [e._replace(place=f"{name}, {e.place}" if e.place and name else e.place or name) for e in account.entries]
    notes = {f"{name}, {key}" if name else key: note for key, note in account.notes.items()}
    return ReadAccount(account.skipped, account.changed, entries, notes)


def _short(name: str) -> str:
    """Return the end of a name, with as many bytes as systems take for the name of a file."""
    return name.encode()[-240:].decode(errors="ignore") or "file"


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
