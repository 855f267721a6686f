"""A store written by version 0.2. The current version must open it."""

import json
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from themescope.db.engine import open_engine
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store  # noqa: F401  # imports all tables
from themescope.db.tables import metadata

V0_2 = Path(__file__).with_name("v0.2.zip")
V0_2_REVISION = "0023"
"""Migration at which version 0.2 left the database."""
NOTEBOOK = Path(__file__).with_name("v0.3-notebook.sql")
"""A store of the development of 0.3 (commit 8b7e71d3) with the error notebooks of two projects."""
NOTEBOOK_OF_A_BUNDLE = Path(__file__).with_name("v0.3-notebook.jsonl")
"""The notebook of its project “Rivers” as bundles of that commit have it: references and sentences are places."""


@cache
def expected() -> dict[str, Any]:
    """Row counts, distances between sentence vectors, and a labelling, of the store."""
    with zipfile.ZipFile(V0_2) as packed:
        found: dict[str, Any] = json.loads(packed.read("expected.json"))
    return found


def unpack(folder: Path) -> Path:
    with zipfile.ZipFile(V0_2) as packed:
        packed.extractall(folder)
    return folder / "home"


def on_postgres(home: Path, url: str) -> Settings:
    """Settings of the store in ``home`` with its rows copied into the empty PostgreSQL database at ``url``.

    The tables are those of version 0.2; the store still has to be migrated.
    """
    settings = Settings.in_folder(home, url)
    rows, target = sqlite3.connect(home / "themescope.db"), open_engine(settings)
    tables = _tables_of_0_2(home)
    with target.begin() as connection:
        tables.create_all(connection)
        connection.exec_driver_sql("SET session_replication_role = replica")  # rows in any order
        for table in tables.sorted_tables:
            _copy(rows, connection, table)
    rows.close()
    target.dispose()
    return settings


def _tables_of_0_2(home: Path) -> sa.MetaData:
    """The tables of the SQLite store, with the types that the models have where they still have the column."""
    found, engine = sa.MetaData(), sa.create_engine(f"sqlite:///{home / 'themescope.db'}")
    found.reflect(engine)
    engine.dispose()
    for column in (column for table in found.tables.values() for column in table.columns):
        if column.table.name in metadata.tables and column.name in metadata.tables[column.table.name].c:
            type_ = metadata.tables[column.table.name].c[column.name].type
            column.type = getattr(type_, "impl", type_)
            if isinstance(column.type, sa.Boolean) and column.server_default is not None:
                column.server_default = sa.DefaultClause(sa.false())
        elif isinstance(column.type, sa.DateTime):
            column.type = sa.DateTime(timezone=True)
        elif isinstance(column.type, sa.Double):
            column.type = sa.Double()
    return found


def empty_of_0_2(settings: Settings) -> None:
    """Create the tables of version 0.2 without rows in an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        home, target = unpack(Path(folder)), sqlite_path(settings.database_url)
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(home / "themescope.db", target)
            with closing(sqlite3.connect(target)) as database, database:
                for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    database.execute(f"DELETE FROM {name} WHERE '{name}' <> 'alembic_version'")
            return
        tables, engine = _tables_of_0_2(home), open_engine(settings)
    with engine.begin() as connection:
        tables.create_all(connection)
        connection.execute(tables.tables["alembic_version"].insert().values(version_num=V0_2_REVISION))
    engine.dispose()


def _copy(rows: sqlite3.Connection, connection: sa.Connection, table: sa.Table) -> None:
    """Copy the rows of a table, and continue its ids after the last one."""
    names = [column.name for column in table.columns]
    found = rows.execute(f"SELECT {', '.join(names)} FROM {table.name}").fetchall()
    if not found:
        return
    convert = [_converted(column.type) for column in table.columns]
    values = [{n: c(v) for n, c, v in zip(names, convert, row, strict=True)} for row in found]
    connection.execute(table.insert(), values)
    if "id" in names:
        sequence = sa.func.pg_get_serial_sequence(table.name, "id")
        connection.execute(sa.select(sa.func.setval(sequence, sa.select(sa.func.max(table.c.id)).scalar_subquery())))


def _converted(type_: sa.types.TypeEngine[Any]) -> Callable[[Any], Any]:
    """From SQLite's value of a column to PostgreSQL's."""
    if isinstance(type_, sa.Boolean):
        return bool
    if isinstance(type_, sa.DateTime):
        return lambda text: None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)
    return lambda value: value
