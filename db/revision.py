"""Check of the schema revision without Alembic, whose import would take a third of every start."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from db.engine import open_engine, readers_of
from db.settings import Settings

_VERSION = sa.table("alembic_version", sa.column("version_num"))


def newest() -> str:
    """The newest revision of this version of Themescope: the files of the revisions begin with their numbers."""
    return max(file.name[:4] for file in (Path(__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))


def up_to_date(settings: Settings) -> bool:
    """Whether the store is at the newest revision. Waits for nobody."""
    engine = open_engine(settings)
    try:
        with readers_of(engine).connect() as connection:
            if not sa.inspect(connection).has_table(_VERSION.name):
                return False
            return list(connection.scalars(sa.select(_VERSION.c.version_num))) == [newest()]
    finally:
        engine.dispose()
