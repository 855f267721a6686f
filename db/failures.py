"""Conversion of database driver errors to messages, which never contain a password."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.errors import ConflictError, StoreError
from db.settings import Settings

_NOT_SET_UP = "The store at {where} is not set up yet. Start Themescope once (make run), or run: themescope doctor"
_SENTENCES = (
    ("no such table", _NOT_SET_UP),
    ("readonly database", "The store at {where} cannot be written to. Check who may write that file and its folder."),
    ("query_only", "The store at {where} was opened for reading only."),
    ("database is locked", "The store at {where} was busy for too long: another process holds it. Try again."),
    ("database or disk is full", "The disk that holds the store at {where} is full. Make room and try again."),
    ("unable to open", "The store at {where} cannot be opened. Check that its folder exists and may be written to."),
    ("not a database", "{where} is not a database. Set THEMESCOPE_HOME or DATABASE_URL to another place."),
    ("malformed", "The database {where} is damaged. Restore it from a copy."),
    ("disk i/o error", "The disk that holds the store at {where} reports an error. Check the disk and its free space."),
)
_STATES = {
    "42P01": _NOT_SET_UP,
    "25006": "The store at {where} was opened for reading only.",
    "42501": "The account that DATABASE_URL names may not do that in {where}. Grant it the right to.",
    "53100": "The disk that holds the store at {where} is full. Make room and try again.",
}
_UNREACHABLE = (
    "The store at {where} cannot be reached ({why}). Check that the server runs and that DATABASE_URL is right."
)


def as_store_error(error: Exception, settings: Settings) -> StoreError | None:
    """Return the message for ``error``, or None if it can only be a defect."""
    where = settings.database_label
    if isinstance(error, IntegrityError):
        return ConflictError("Something this needs was changed or deleted meanwhile; nothing was written. Try again.")
    if isinstance(error, PoolTimeout):
        return StoreError(f"Too many readers and writers at once for the store at {where}. Try again.")
    # SQLite errors are not wrapped when they happen while a connection is being prepared.
    cause = error.orig if isinstance(error, DBAPIError) else error
    text, state = str(cause), getattr(cause, "sqlstate", None)
    if state in _STATES:
        return StoreError(_STATES[state].format(where=where))
    # SQLite's words only: a statement on PostgreSQL may quote them in its data.
    if settings.database_url.startswith("sqlite"):
        for part, sentence in _SENTENCES:
            if part in text.lower():
                return StoreError(sentence.format(where=where))
    if isinstance(error, OperationalError | InterfaceError):
        why = (text.strip() or "no reason given").splitlines()[0].rstrip(".")
        return StoreError(_UNREACHABLE.format(where=where, why=why))
    return None
