"""Personal data: export those of a person, or forget the person and keep their labels under a pseudonym."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from themescope.core.errors import DataError, UnknownNameError
from themescope.core.records.stored import JobStatus
from themescope.db import personal_data as data
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store, Unit
from themescope.jobs.backups import regular_backups
from themescope.jobs.common.files import check_new, whole, write_private
from themescope.jobs.kinds.bundles import FOLDER as BUNDLES
from themescope.jobs.services.accounts import people

_ANY_JOBS = 10_000
_PIECE, _OVERLAP = 1 << 20, 1_000
_NUMBERS_ONLY = frozenset({".safetensors", ".usearch"})


@dataclass(frozen=True)
class Traces:
    """Where the name of a person occurs."""

    name: str
    rows: dict[str, int]
    """"table.column" → number of rows, which :func:`forget` changes."""
    corpora: int
    """Number of articles, headings and sentences with the name, which are not changed."""
    bundles: tuple[Path, ...]
    """Exported bundles, which :func:`forget` deletes."""


@dataclass(frozen=True)
class Forgotten:
    """Result of :func:`forget`."""

    pseudonym: str
    files: tuple[Path, ...]
    """Files of the data folder that still contain the name, such as uploads and models."""
    backups: tuple[Path, ...]
    """Regular backups, which may contain the name until newer ones replace them."""


def find_traces(store: Store, name: str, texts: bool = True) -> Traces:
    """Search a name in every table and in the exported bundles.

    Without ``texts``, texts that contain more than the name are not counted. Raises ``UnknownNameError`` if nobody has
    that name.
    """
    with store.reading() as r:
        name = _known(r, store, name)
        rows = data.occurrences(r.people.connection, _replacement(r, name, texts))
        corpora = data.in_corpora(r.people.connection, _replacement(r, name))
        pattern = _pattern(name, data.people_named(r.people.connection))
    return Traces(name, rows, corpora, tuple(_files_with(store.settings, pattern, BUNDLES)))


def forget(store: Store, name: str, texts: bool = True) -> Forgotten:
    """Remove the account of a person, replace the name by a pseudonym in every row, and return what is left.

    Labels, history and reviews are kept, so that partitions and agreement stay the same. Without ``texts``, names and
    notes that contain more than the name are kept as well. Exported bundles with the name are deleted, and a SQLite
    file is rewritten.

    Raises ``UnknownNameError`` if nobody has that name, ``DataError`` if a running job names the person, and
    ``StoreError`` if the person is the only admin or the SQLite file cannot be rewritten.
    """
    with store.reading() as r:
        name = _known(r, store, name)
        _check_jobs(r, _replacement(r, name))
        pattern = _pattern(name, data.people_named(r.people.connection))
    if any(member.person.name == name for member in people.members(store)):
        people.remove(store, name)
    with store.writing() as w:
        replacement = _replacement(w, name, texts)
        w.sessions.close_all(name, names=True)
        data.replace_name(w.people.connection, replacement)
    for path in _files_with(store.settings, pattern, BUNDLES):
        path.unlink(missing_ok=True)
    store.close()
    data.rewrite_file(store.settings)
    folder = store.settings.backup_folder
    backups = () if folder is None else tuple(regular_backups(folder))
    return Forgotten(replacement.pseudonym, tuple(_files_with(store.settings, pattern)), backups)


def export(store: Store, name: str, out: Path) -> dict[str, int]:
    """Write every row with the name of a person to a new JSON file; return table → number of rows.

    Passwords and sessions are not included. Raises ``UnknownNameError`` if nobody has that name, and ``DataError`` if
    ``out`` exists or cannot be written.
    """
    check_new(out)
    with store.reading() as r:
        name = _known(r, store, name)
        rows = data.rows_of(r.people.connection, name)
        mentions = data.occurrences(r.people.connection, _replacement(r, name))
    ways = {member.person.name: member.login for member in people.members(store)}
    content = {
        "format": "themescope personal data",
        "name": name,
        "made": datetime.now(UTC),
        "signs in by": ways.get(name) or "",
        "tables": rows,
        "rows with the name": mentions,
    }
    with whole(out) as partial:
        write_private(partial, json.dumps(content, ensure_ascii=False, indent=1, default=_plain).encode())
    return {table: len(found) for table, found in rows.items()}


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _known(unit: Unit, store: Store, name: str) -> str:
    """Return the stored name of a person, with or without an account."""
    accounts = {member.person.name for member in people.members(store)}
    known = (data.people_named(unit.people.connection) | accounts) - {""}
    for found in (name, people.tidy(name)):
        if found in known:
            return found
    raise UnknownNameError("person", name, known)


def _replacement(unit: Unit, name: str, texts: bool = True) -> data.Replacement:
    connection = unit.people.connection
    return data.Replacement(name, data.new_pseudonym(connection), data.people_named(connection), texts)


def _check_jobs(unit: Unit, replacement: data.Replacement) -> None:
    """Raise ``DataError`` if a running job names the person, because it would write the name again."""
    for job in unit.jobs.list(limit=_ANY_JOBS, status=JobStatus.RUNNING):
        if replacement.value(job.args) != job.args:
            raise DataError(f"Job {job.id} ({job.title}) is running and names {replacement.name}. Wait, or cancel it.")


# --- files ------------------------------------------------------------------------------------------------------------


def _pattern(name: str, others: Collection[str]) -> re.Pattern[bytes]:
    """Return a pattern whose group 1 is a name, in plain text or in JSON, that is not part of another person's."""
    longer = sorted((other for other in others if name in other and other != name), key=len, reverse=True)
    kept, wanted = (
        b"|".join(re.escape(form).encode() for text in texts for form in (text, json.dumps(text)[1:-1]))
        for texts in (longer, [name])
    )
    return re.compile(rb"(?<!\w)(?:" + (kept or b"(?!)") + rb"|(" + wanted + rb"))(?!\w)", re.IGNORECASE)


def _files_with(settings: Settings, pattern: re.Pattern[bytes], folder: str = "") -> Iterator[Path]:
    """Yield the files below the data folder, or a folder in it, that contain a name; databases are not searched."""
    database = str(sqlite_path(settings.database_url) or "")
    regular = set() if settings.backup_folder is None else set(regular_backups(settings.backup_folder))
    for path in sorted((settings.home / folder).rglob("*")):
        if path.suffix in _NUMBERS_ONLY or (database and str(path).startswith(database)) or path in regular:
            continue
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink() and _contains(path, pattern):
                yield path


def _contains(path: Path, pattern: re.Pattern[bytes]) -> bool:
    if zipfile.is_zipfile(path):
        with suppress(zipfile.BadZipFile, NotImplementedError, RuntimeError), zipfile.ZipFile(path) as archive:
            return any(_found(archive.open(entry), pattern) for entry in archive.infolist())
    with path.open("rb") as stream:
        return _found(stream, pattern)


def _found(stream: IO[bytes], pattern: re.Pattern[bytes]) -> bool:
    with stream:
        end = b""
        while piece := stream.read(_PIECE):
            if any(match[1] for match in pattern.finditer(end + piece)):
                return True
            end = piece[-_OVERLAP:]
    return False
