"""Migrations, run by one process at a time. Alembic is imported only to migrate: that takes a third of a start."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.engine import Connection

import themescope.db.label_tables
import themescope.db.notebook_tables  # noqa: F401  # both add their tables to the metadata
from themescope.core.errors import SchemaError
from themescope.db.engine import open_engine, readers_of
from themescope.db.password_file import delete_password_file
from themescope.db.repositories.jobs import Jobs
from themescope.db.settings import Settings
from themescope.db.tables import metadata

if TYPE_CHECKING:
    from alembic.config import Config

_MIGRATIONS = Path(__file__).parent / "migrations"
_VERSION = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))
_ADVISORY_LOCK = 0x7468656D65  # "theme": an arbitrary number that nothing else in this database uses
_BEFORE = re.compile(r'^down_revision = "(\w+)"$', re.MULTILINE)
_V0_1, _V0_2 = 9, 23
"""Numbers of the revisions of the released versions; no store of one in between was released."""


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

    Raises ``SchemaError`` if the store was made by a newer version of Themescope, or by one that was never released.
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
                _migrate(connection, settings)
        delete_password_file(settings.home)
    finally:
        engine.dispose()


def _migrate(connection: Connection, settings: Settings) -> None:
    from alembic import command

    config = configuration()
    config.attributes |= {"connection": connection, "home": settings.home}
    command.upgrade(config, "head")
    _queue_running_jobs(connection)


def _queue_running_jobs(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("LOCK TABLE job IN EXCLUSIVE MODE"))  # waits for workers that are claiming a job
    repository = Jobs(connection)
    for id in repository.heartbeats():
        repository.requeue(id, interrupted=True)


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
    """Raise ``SchemaError`` if ``current`` is a revision of a newer version, or of one that was never released."""
    if current is None or is_known(current):
        return
    if current.isdecimal() and (int(current) < _V0_1 or _V0_1 < int(current) < _V0_2):
        raise SchemaError(
            f"The store at {settings.database_label} was made by a version of Themescope that was never released "
            f"(schema {current}). Open it with commit 3911e44 first, which migrates it to the tables of version 0.2."
        )
    raise SchemaError(
        f"The store at {settings.database_label} was made by a newer version of Themescope (schema {current}; this "
        f"version knows up to {newest()}). Update Themescope, or set THEMESCOPE_HOME to another folder."
    )


def check_current(connection: Connection, settings: Settings) -> None:
    """Raise ``SchemaError`` if the tables are not those of this version."""
    current = current_revision(connection)
    check_known(current, settings)
    if current != newest():
        raise SchemaError(
            f"The store at {settings.database_label} has the tables of an older version of Themescope (schema "
            f"{current or 'none'}; this version uses {newest()}). Restart Themescope, which migrates the store."
        )
