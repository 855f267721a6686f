"""Migrations, run by one process at a time."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

import db
from core.errors import StoreError
from db.engine import open_engine
from db.settings import Settings

_ADVISORY_LOCK = 0x7468656D65  # "theme": any number that nobody else uses in this database


def configuration() -> Config:
    """Return the Alembic configuration, which needs no ini file."""
    config = Config()
    config.set_main_option("script_location", (Path(db.__file__).parent / "migrations").as_posix().replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def upgrade(settings: Settings, revision: str = "head") -> None:
    """Migrate the store to ``revision`` in one transaction that excludes other migrations.

    Raises
    ------
    StoreError
        If the store was made by a newer version of Themescope.
    """
    config = configuration()
    engine = open_engine(settings, foreign_keys=False)
    try:
        # BEGIN IMMEDIATE on SQLite keeps other writers out; PostgreSQL needs a lock by agreement.
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
            current = _known_revision(connection, settings)
            if revision == "head" and current == revisions().get_current_head():
                return
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    finally:
        engine.dispose()


def current_revision(connection: Connection) -> str | None:
    """Return the revision of the schema; None before the first migration."""
    return MigrationContext.configure(connection).get_current_revision()


@cache
def revisions() -> ScriptDirectory:
    """Return every known revision; cached, because each is a module that must be imported."""
    return ScriptDirectory.from_config(configuration())


def _known_revision(connection: Connection, settings: Settings) -> str | None:
    current, known = current_revision(connection), revisions()
    if current is not None and current not in {script.revision for script in known.walk_revisions()}:
        raise StoreError(
            f"The store at {settings.database_label} was made by a newer version of Themescope (schema {current}; this "
            f"version knows up to {known.get_current_head()}). Update Themescope, or set THEMESCOPE_HOME elsewhere."
        )
    return current
