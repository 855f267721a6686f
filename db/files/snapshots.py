"""Consistent copies of the database while others write: SQLite's online backup, or pg_dump in an exported snapshot."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, make_url

from themescope.core.errors import StoreError
from themescope.db import tables as t
from themescope.db.engine import check_known, current_revision
from themescope.db.files.vector_files import VECTORS_SUFFIX
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store
from themescope.db.tables import NOT_IN_BACKUPS

SQLITE, POSTGRES = "sqlite", "postgresql"
_VERSION_TABLE = "alembic_version"


def engine_of(settings: Settings) -> str:
    """Return "sqlite" or "postgresql"."""
    return POSTGRES if sqlite_path(settings.database_url) is None else SQLITE


class StoreSnapshot:
    """State of the database at one moment; every method reads that state, whatever others write meanwhile.

    The tables may be of an older version. Raises ``StoreError`` if there are none, or they are of a newer version.
    """

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self._connection, self._settings = connection, settings
        # The first statement of the transaction fixes the snapshot, on both engines.
        revision = current_revision(connection)
        check_known(revision, settings)
        if revision is None:
            raise _not_set_up(settings)
        self.schema = revision
        # Also those of an older version that the tables of today do not have.
        self._names = sorted({*sa.inspect(connection).get_table_names()} - {_VERSION_TABLE})

    def artifacts(self) -> dict[str, str]:
        """Return the digest of every artifact with the name of a model that uses it."""
        if t.model.name not in self._names:
            return {}
        rows = self._connection.execute(sa.select(t.model.c.artifact, t.model.c.name))
        return {artifact: name for artifact, name in rows}

    def vector_files(self) -> dict[str, int]:
        """Return the name and the size in bytes of every file of vectors."""
        if t.vector_file.name not in self._names:
            return {}
        rows = self._connection.execute(sa.select(t.vector_file.c.digest, t.vector_file.c.size))
        return {digest + VECTORS_SUFFIX: size for digest, size in rows}

    def rows(self) -> dict[str, int]:
        """Return the number of rows of every table, as in a copy."""
        emptied = self._left_out()
        counts = {name: sa.select(sa.func.count()).select_from(sa.table(name)) for name in self._names}
        return {n: 0 if n in emptied else int(self._connection.scalar(count) or 0) for n, count in counts.items()}

    def size(self) -> int:
        """Return the size of the database in bytes."""
        if self._connection.dialect.name == POSTGRES:
            return int(self._connection.scalar(sa.select(sa.func.pg_database_size(sa.func.current_database()))) or 0)
        pragmas = ("page_count", "page_size")
        pages, page = (self._connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas)
        return int(pages or 0) * int(page or 0)

    def copy_to(self, target: Path) -> None:
        """Write the database to a new file, which only its owner should be able to reach.

        Raises ``StoreError`` if the database is damaged, or pg_dump is missing, too old or fails.
        """
        if self._connection.dialect.name == POSTGRES:
            self._dump(target)
            return
        source: Any = self._connection.connection.driver_connection
        # In one step: a copy in several steps begins again whenever somebody writes. Writers need not wait (WAL).
        with closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
            emptied = self._left_out()
            copy.execute("PRAGMA journal_mode=DELETE")
            copy.execute("PRAGMA secure_delete=ON")
            with copy:
                for name in emptied:
                    copy.execute(f'DELETE FROM "{name}"')
            if details := damage(copy.execute):
                where = self._settings.database_label
                raise StoreError(f"The database is damaged ({details}). Restore the last backup before that.", where)

    def _left_out(self) -> list[str]:
        return [table.name for table in t.metadata.sorted_tables if table.name in self._names and left_out(table)]

    def _dump(self, target: Path) -> None:
        connection = self._connection
        version = int(connection.exec_driver_sql("SHOW server_version_num").scalar() or 0) // 10_000
        program = _program("pg_dump", version)
        snapshot = connection.scalar(sa.select(sa.func.pg_export_snapshot()))
        schema = connection.scalar(sa.select(sa.func.current_schema()))
        names = [_VERSION_TABLE, *self._names]
        options = ["--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", f"--file={target}"]
        options += [f'--table="{schema}"."{name}"' for name in names]
        options += [f'--exclude-table-data="{schema}"."{name}"' for name in self._left_out()]
        _run([program, *options], self._settings)


def damage(execute: Callable[[str], Any]) -> str:
    """Return what SQLite finds wrong with a database whose statements ``execute`` runs; "" for nothing."""
    (problem,) = execute("PRAGMA quick_check(1)").fetchone()
    return "" if problem == "ok" else " ".join(problem.removeprefix("*** in database main ***").split())


def _not_set_up(settings: Settings) -> StoreError:
    return StoreError("The store is not set up. Check THEMESCOPE_HOME and DATABASE_URL.", settings.database_label)


def left_out(table: sa.Table) -> bool:
    """Return whether copies leave a table empty."""
    return bool(table.info.get(NOT_IN_BACKUPS))


@contextmanager
def open_snapshot(store: Store) -> Iterator[StoreSnapshot]:
    """Open a snapshot of the database of a store.

    Raises ``StoreError`` if it cannot be reached, has no tables, or was made by a newer version.
    """
    path = sqlite_path(store.settings.database_url)
    if path is not None and not path.exists():
        raise _not_set_up(store.settings)
    with store.reading() as r:
        yield StoreSnapshot(r.models.connection, store.settings)


def is_empty(settings: Settings) -> bool:
    """Return whether the database has none of the tables of a store; a SQLite file must not exist.

    Raises ``StoreError`` if PostgreSQL cannot be reached.
    """
    path = sqlite_path(settings.database_url)
    if path is not None:
        return not path.exists()
    store = Store(settings)
    try:
        with store.reading() as r:
            found = set(sa.inspect(r.models.connection).get_table_names())
    finally:
        store.close()
    return not found & {_VERSION_TABLE, *t.metadata.tables}


def load_dump(settings: Settings, dump: Path) -> None:
    """Load a file that :meth:`Snapshot.copy_to` wrote into an empty PostgreSQL database, in one transaction.

    Raises ``StoreError`` if pg_restore is missing, or fails.
    """
    options = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
    _run([_program("pg_restore"), *options, dump], settings)


def _program(name: str, least: int = 0) -> str:
    """Return the path of a client program of PostgreSQL, of at least this major version."""
    path = shutil.which(name)
    how = f"On Debian: apt-get install postgresql-client{f'-{least}' if least else ''}."
    if path is None:
        raise StoreError(f"Backups of a store on PostgreSQL need the program {name}, which is not in PATH. {how}")
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"\b(\d+)(?:\.\d+)*", shown)
    if least and (version is None or int(version[1]) < least):
        raise StoreError(
            f"The program {name} ({shown.strip() or path}) is older than the PostgreSQL server ({least}), so it cannot "
            f"read it. {how}"
        )
    return path


def _run(command: Sequence[str | Path], settings: Settings) -> None:
    """Run a client program on the database; the password is not among its arguments, which other users can see."""
    name, url = Path(command[0]).name, make_url(settings.database_url).set(drivername=POSTGRES)
    address = url._replace(password=None).render_as_string(hide_password=False)
    done = subprocess.run(
        [*map(str, command), f"--dbname={address}"],
        env={**os.environ, "PGPASSWORD": str(url.password)} if url.password else os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip() or "no reason")
        raise StoreError(f"{name} failed at {settings.database_label}: {said.removeprefix(f'{name}: ')}")
