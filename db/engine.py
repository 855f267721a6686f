"""Database engines: SQLite in WAL mode with explicit transactions, or PostgreSQL; their errors; and migrations.

On SQLite a writer begins with BEGIN IMMEDIATE: a deferred transaction that becomes a writer fails at once with
'database is locked' if another one wrote meanwhile, however long the timeout. Readers begin deferred and therefore
never wait; they see one snapshot from their first statement to their last, on both engines. Migrations are run by one
process at a time. Alembic is imported only to migrate: that takes a third of a start.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from themescope.core.errors import (
    ConfigError,
    ConflictError,
    MissingExtraError,
    SchemaError,
    StoreError,
    StoreUnavailableError,
)
from themescope.db.access import enforce
from themescope.db.repositories.jobs import Jobs
from themescope.db.settings import Settings, sqlite_path
from themescope.db.sql import holds
from themescope.db.tables import metadata

TIMEOUT_SECONDS = 15.0


def open_engine(settings: Settings, *, foreign_keys: bool = True) -> Engine:
    """Return an engine for writers, which connects on first use.

    Migrations turn ``foreign_keys`` off (SQLite only), because rebuilding a table drops the old one. Raises
    ``MissingExtraError`` for PostgreSQL without psycopg, and ``StoreError`` if the data folder cannot be created.
    """
    path = sqlite_path(settings.database_url)
    if path is None:
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("A store on PostgreSQL", "psycopg", "postgres") from error
        url, timeout = _parsed(settings).set(drivername="postgresql+psycopg"), {"connect_timeout": int(TIMEOUT_SECONDS)}
        engine = sa.create_engine(url, connect_args=timeout, pool_pre_ping=True, pool_size=10, max_overflow=20)
    else:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():  # for nobody else on this machine, also in a folder that is open to all
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            advice = "Set THEMESCOPE_HOME to another folder."
            raise StoreError(f"The data folder {path.parent} cannot be created: {error.strerror}. {advice}") from error
        engine = _sqlite(_parsed(settings).set(database=str(path)), foreign_keys)
    enforce(engine)
    return engine


def readers_of(engine: Engine) -> Engine:
    """Return an engine on the same pool that refuses writes and never waits for a writer."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(readonly=True)
    return engine.execution_options(postgresql_readonly=True, isolation_level="REPEATABLE READ")


def _parsed(settings: Settings) -> URL:
    try:
        return make_url(settings.database_url)
    except (ArgumentError, ValueError):
        raise ConfigError(
            f"DATABASE_URL is not a valid URL: {settings.database_label}. "
            "Write it as postgresql://user:password@host:5432/name, special characters of the password as %XX."
        ) from None


def _sqlite(url: URL, foreign_keys: bool) -> Engine:
    engine = sa.create_engine(url, connect_args={"timeout": TIMEOUT_SECONDS}, pool_size=10, max_overflow=20)

    @event.listens_for(engine, "connect")
    def _connect(db: sqlite3.Connection, _: Any) -> None:
        db.isolation_level = None  # _begin emits BEGIN
        _use_wal(db)
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        db.create_function("holds", 2, holds, deterministic=True)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        readonly = bool(connection.get_execution_options().get("readonly"))
        connection.exec_driver_sql(f"PRAGMA query_only={int(readonly)}")
        connection.exec_driver_sql("BEGIN" if readonly else "BEGIN IMMEDIATE")

    return engine


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL mode. The first switch needs exclusive access, for which SQLite does not wait by itself."""
    until = time.monotonic() + TIMEOUT_SECONDS
    while db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file, see release_free_pages; needs a lock, too
            db.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "readonly" in str(error):
                return
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def release_free_pages(settings: Settings) -> None:
    """Make a SQLite file smaller by up to 100 MB of deleted rows; nothing on PostgreSQL, which does so by itself.

    Files of versions before 0.3 keep their size until they are rewritten (``sqlite3 FILE VACUUM``).
    """
    if path := sqlite_path(settings.database_url):
        with closing(sqlite3.connect(path, timeout=TIMEOUT_SECONDS, isolation_level=None)) as db:
            db.executescript("PRAGMA incremental_vacuum(25000)")  # execute() would release one page


_NOT_SET_UP = "The store is not set up yet. Start Themescope once (make run), or run: themescope doctor"
_SENTENCES = (
    ("no such table", _NOT_SET_UP),
    ("readonly database", "The store cannot be written. Check the permissions of its file and folder."),
    ("query_only", "The store was opened for reading only."),
    ("database or disk is full", "The disk with the store is full. Free space and try again."),
    ("unable to open", "The store cannot be opened. Check that its folder exists and is writable."),
    (
        "not a database",
        "The file of the store is not a database. Set THEMESCOPE_HOME or DATABASE_URL to another place.",
    ),
    ("malformed", "The database is damaged. Restore it from a backup."),
    ("disk i/o error", "The disk with the store reports an error. Check the disk and its free space."),
)
_LOCKED = "The store was locked for too long by another process. Try again."
_STATES = {
    "42P01": _NOT_SET_UP,
    "25006": "The store was opened for reading only.",
    "42501": "The account in DATABASE_URL lacks a permission in the store. Grant it.",
    "53100": "The disk with the store is full. Free space and try again.",
}
_FAULT = "The database reports an error. Check it with `themescope doctor`."
_UNREACHABLE = "The store cannot be reached. Check that the server runs and that DATABASE_URL is right."


def as_store_error(error: Exception, settings: Settings) -> StoreError | None:
    """Return the message for ``error``, or None if it can only be a defect."""
    where = settings.database_label
    if isinstance(error, IntegrityError):
        return ConflictError("An object that this change needs was changed or deleted; nothing was written. Try again.")
    if isinstance(error, PoolTimeout):
        return StoreUnavailableError("Too many simultaneous connections to the store. Try again.", where)
    # SQLAlchemy does not wrap SQLite errors that happen while a connection is being prepared.
    cause = error.orig if isinstance(error, DBAPIError) else error
    text, state = str(cause), getattr(cause, "sqlstate", None)
    if state in _STATES:
        return StoreError(_STATES[state], where)
    # For SQLite only: a statement on PostgreSQL may quote these texts in its data.
    if settings.database_url.startswith("sqlite"):
        if "database is locked" in text:
            return StoreUnavailableError(_LOCKED, where)
        for part, sentence in _SENTENCES:
            if part in text.lower():
                return StoreError(sentence, where)
    if isinstance(error, OperationalError | InterfaceError):
        why = (text.strip() or "no reason given").splitlines()[0].rstrip(".")
        # On SQLite nothing but a lock passes by itself.
        passing = not settings.database_url.startswith("sqlite")
        place = f"{where}: {why}"
        return StoreUnavailableError(_UNREACHABLE, place) if passing else StoreError(_FAULT, place)
    return None


if TYPE_CHECKING:
    from alembic.config import Config

_MIGRATIONS = Path(__file__).parent / "migrations"
_VERSION = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))
_ADVISORY_LOCK = 0x7468656D65  # "theme": an arbitrary number that nothing else in this database uses
_BEFORE = re.compile(r'^down_revision = "(\w+)"$', re.MULTILINE)
_FIRST = 23
"""Number of the oldest revision that is migrated: that of version 0.2."""


def configuration() -> Config:
    """Return the Alembic configuration, which needs no ini file."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", _MIGRATIONS.as_posix().replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def upgrade(settings: Settings) -> None:
    """Create the tables or migrate them, in one transaction that excludes other migrations.

    Running jobs are queued again: their workers, of the old version, lose them and can write nothing more.

    Raises ``SchemaError`` if the store was made by a newer version of Themescope, or by one before 0.2.
    """
    engine = open_engine(settings, foreign_keys=False)
    try:
        # BEGIN IMMEDIATE on SQLite excludes other writers; PostgreSQL needs an advisory lock.
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
            current = current_revision(connection)
            check_known(current, settings)
            if current is None:
                metadata.create_all(connection, checkfirst=False)
                _VERSION.create(connection)
                connection.execute(_VERSION.insert().values(version_num=newest()))
            elif current != newest():
                from alembic import command

                from themescope.db.repositories import failures

                config = configuration()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
                failures.move_notebooks(connection)
                if connection.dialect.name == "postgresql":
                    # This waits for workers that are claiming a job.
                    connection.execute(sa.text("LOCK TABLE job IN EXCLUSIVE MODE"))
                repository = Jobs(connection)
                for id in repository.heartbeats():
                    repository.requeue(id, interrupted=True)
    finally:
        engine.dispose()


def up_to_date(settings: Settings) -> bool:
    """Return whether the store is at the newest revision, without waiting for other processes."""
    engine = open_engine(settings)
    try:
        with readers_of(engine).connect() as connection:
            return current_revision(connection) == newest()
    finally:
        engine.dispose()


def current_revision(connection: Connection) -> str | None:
    """Return the revision of the schema; None before the first migration."""
    if not sa.inspect(connection).has_table(_VERSION.name):
        return None
    return connection.scalars(sa.select(_VERSION.c.version_num)).one_or_none()


def newest() -> str:
    """Return the newest revision of this version of Themescope: the one that no other follows."""
    (last,) = _revisions().keys() - _revisions().values()
    return last


@cache
def _revisions() -> dict[str, str]:
    """Return every revision with the one before it; the names of their files begin with their numbers.

    Numbers need not follow the order of the revisions. They are those at the start of the process: an upgrade replaces
    the files, but not the code that is running.
    """
    files = (_MIGRATIONS / "versions").glob("[0-9]*.py")
    found = ((file.name[:4], _BEFORE.search(file.read_text(encoding="utf-8"))) for file in files)
    return {revision: before[1] if before else "" for revision, before in found}


def is_known(revision: str) -> bool:
    """Return whether this version of Themescope has a revision, the newest one or one before it."""
    return revision in _revisions()


def check_known(current: str | None, settings: Settings) -> None:
    """Raise ``SchemaError`` if ``current`` is a revision of a newer version, or of one before 0.2."""
    if current is None or is_known(current):
        return
    if current.isdecimal() and int(current) < _FIRST:
        raise SchemaError(
            f"The store was made by a version of Themescope before 0.2 (schema {current}). Open it with commit 3911e44 "
            "first, which migrates it to the tables of version 0.2.",
            settings.database_label,
        )
    raise SchemaError(
        f"The store was made by a newer version of Themescope (schema {current}; this version knows up to {newest()}). "
        "Update Themescope, or set THEMESCOPE_HOME to another folder.",
        settings.database_label,
    )


def check_current(connection: Connection, settings: Settings) -> None:
    """Raise ``SchemaError`` if the tables are not those of this version."""
    current = current_revision(connection)
    check_known(current, settings)
    if current != newest():
        raise SchemaError(
            f"The store has the tables of an older version of Themescope (schema {current or 'none'}; this version "
            f"uses {newest()}). Restart Themescope, which migrates the store.",
            settings.database_label,
        )
