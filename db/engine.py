"""Database engines: SQLite in WAL mode with explicit transactions, or PostgreSQL; and messages for their errors.

On SQLite a writer begins with BEGIN IMMEDIATE: a deferred transaction that becomes a writer fails at once with
'database is locked' if another one wrote meanwhile, however long the timeout. Readers begin deferred and therefore
never wait; they see one snapshot from their first statement to their last, on both engines.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from themescope.core.errors import ConfigError, ConflictError, MissingExtraError, StoreError, StoreUnavailableError
from themescope.db.access import enforce
from themescope.db.settings import Settings, sqlite_path

TIMEOUT_SECONDS = 15.0


def open_engine(settings: Settings, *, foreign_keys: bool = True) -> Engine:
    """Return an engine for writers, which connects on first use.

    Migrations turn ``foreign_keys`` off (SQLite only), because rebuilding a table drops the old one. Raises
    ``MissingExtraError`` for PostgreSQL without psycopg, and ``StoreError`` if the data folder cannot be created.
    """
    engine = _engine(settings, foreign_keys)
    enforce(engine)
    return engine


def _engine(settings: Settings, foreign_keys: bool) -> Engine:
    path = sqlite_path(settings.database_url)
    if path is None:
        return _postgres(settings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The data folder {path.parent} cannot be created: {error.strerror}. Set THEMESCOPE_HOME to another folder."
        ) from error
    return _sqlite(_parsed(settings).set(database=str(path)), foreign_keys)


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


def _postgres(settings: Settings) -> Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("A store on PostgreSQL", "psycopg", "postgres") from error
    url = _parsed(settings).set(drivername="postgresql+psycopg")
    timeout = {"connect_timeout": int(TIMEOUT_SECONDS)}
    return sa.create_engine(url, connect_args=timeout, pool_pre_ping=True, pool_size=10, max_overflow=20)


def _sqlite(url: URL, foreign_keys: bool) -> Engine:
    engine = sa.create_engine(url, connect_args={"timeout": TIMEOUT_SECONDS}, pool_size=10, max_overflow=20)

    @event.listens_for(engine, "connect")
    def _connect(db: sqlite3.Connection, _: Any) -> None:
        db.isolation_level = None  # _begin emits BEGIN
        _use_wal(db)
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        db.create_function("holds", 2, _holds, deterministic=True)

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
            db.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "readonly" in str(error):
                return
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _holds(text: str, lowered: str) -> bool:
    """Return whether ``text`` contains ``lowered``, ignoring case; LIKE of SQLite folds ASCII letters only."""
    return lowered in text.lower()


_NOT_SET_UP = "The store at {where} is not set up yet. Start Themescope once (make run), or run: themescope doctor"
_SENTENCES = (
    ("no such table", _NOT_SET_UP),
    ("readonly database", "The store at {where} cannot be written. Check the permissions of that file and its folder."),
    ("query_only", "The store at {where} was opened for reading only."),
    ("database or disk is full", "The disk with the store at {where} is full. Free space and try again."),
    ("unable to open", "The store at {where} cannot be opened. Check that its folder exists and is writable."),
    ("not a database", "{where} is not a database. Set THEMESCOPE_HOME or DATABASE_URL to another place."),
    ("malformed", "The database {where} is damaged. Restore it from a backup."),
    ("disk i/o error", "The disk with the store at {where} reports an error. Check the disk and its free space."),
)
_LOCKED = "The store at {where} was locked for too long by another process. Try again."
_STATES = {
    "42P01": _NOT_SET_UP,
    "25006": "The store at {where} was opened for reading only.",
    "42501": "The account in DATABASE_URL lacks a permission in {where}. Grant it.",
    "53100": "The disk with the store at {where} is full. Free space and try again.",
}
_UNREACHABLE = (
    "The store at {where} cannot be reached ({why}). Check that the server runs and that DATABASE_URL is right."
)


def as_store_error(error: Exception, settings: Settings) -> StoreError | None:
    """Return the message for ``error``, or None if it can only be a defect."""
    where = settings.database_label
    if isinstance(error, IntegrityError):
        return ConflictError("An object that this change needs was changed or deleted; nothing was written. Try again.")
    if isinstance(error, PoolTimeout):
        return StoreUnavailableError(f"Too many simultaneous connections to the store at {where}. Try again.")
    # SQLAlchemy does not wrap SQLite errors that happen while a connection is being prepared.
    cause = error.orig if isinstance(error, DBAPIError) else error
    text, state = str(cause), getattr(cause, "sqlstate", None)
    if state in _STATES:
        return StoreError(_STATES[state].format(where=where))
    # For SQLite only: a statement on PostgreSQL may quote these texts in its data.
    if settings.database_url.startswith("sqlite"):
        if "database is locked" in text:
            return StoreUnavailableError(_LOCKED.format(where=where))
        for part, sentence in _SENTENCES:
            if part in text.lower():
                return StoreError(sentence.format(where=where))
    if isinstance(error, OperationalError | InterfaceError):
        why = (text.strip() or "no reason given").splitlines()[0].rstrip(".")
        # On SQLite nothing but a lock passes by itself.
        passing = not settings.database_url.startswith("sqlite")
        return (StoreUnavailableError if passing else StoreError)(_UNREACHABLE.format(where=where, why=why))
    return None
