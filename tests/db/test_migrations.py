from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from tests.db.processes import at_once, migrate
from tests.db.stores import empty_of_0_2
from tests.db.texts import add_corpus
from themescope.core.errors import StoreError, with_place
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import Cluster, start
from themescope.core.records.stored import JobStatus
from themescope.db.engine import configuration, current_revision, newest, open_engine, up_to_date
from themescope.db.records import NewLabelling
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.services.labelling.session import LabellingSession

HEAD = ScriptDirectory.from_config(configuration()).get_current_head()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = "" if request.param == "sqlite" else request.getfixturevalue("postgres_server").new_database()
    store = Store(Settings.in_folder(tmp_path / "home", url))
    yield store
    store.close()


def query(store: Store, statement: str) -> list[tuple[object, ...]]:
    engine = open_engine(store.settings)
    with engine.begin() as connection:
        rows = connection.exec_driver_sql(statement)
        found = [tuple(row) for row in rows] if rows.returns_rows else []
    engine.dispose()
    return found


def upgrade(store: Store, version: str) -> None:
    """Run one migration on a store that has the tables of today."""
    engine = open_engine(store.settings)
    with engine.begin() as connection, Operations.context(MigrationContext.configure(connection)):
        import_module(f"themescope.db.migrations.versions.{version}").upgrade()
    engine.dispose()


def test_from_nothing_to_head_and_again(empty: Store) -> None:
    assert newest() == HEAD and not up_to_date(empty.settings)
    with pytest.raises(StoreError, match="not set up yet"), empty.reading() as r:
        r.corpora.list()
    empty.migrate()
    assert up_to_date(empty.settings)
    empty.migrate()
    assert query(empty, "SELECT version_num FROM alembic_version") == [(HEAD,)]
    assert add_corpus(empty).sentences == 60


def test_running_jobs_are_queued_again_so_that_their_old_worker_loses_them(empty: Store) -> None:
    empty_of_0_2(empty.settings)
    values = f"'k', 't', '{{}}', 'running', 'q', 0, '', 2, 'old', false, '{datetime.now(UTC)}', '{datetime.now(UTC)}'"
    query(
        empty,
        "INSERT INTO job (kind, title, args, status, queue, progress, message, attempt, owner, cancel, created, "
        f"queued, heartbeat, error, traceback, result) VALUES ({values}, '{datetime.now(UTC)}', '', '', '{{}}')",
    )
    empty.migrate()
    with empty.writing() as w:
        job = w.jobs.get(1)
        assert (job.status, job.owner, job.attempt) == (JobStatus.QUEUED, "", 1)
        assert not w.jobs.heartbeat(1, "old").owned


def test_migrations_and_tables_agree(empty: Store) -> None:
    empty_of_0_2(empty.settings)
    empty.migrate()
    assert_tables_agree(empty)
    assert add_corpus(empty).sentences == 60


@pytest.mark.parametrize(
    ("revision", "said"),
    [
        ("0009", r"before 0.2 \(schema 0009"),
        ("0015", r"before 0.2 \(schema 0015"),
        ("9999", rf"made by a newer version of Themescope \(schema 9999.*up to {HEAD}"),
    ],
)
def test_a_store_of_a_version_before_0_2_or_a_newer_one_is_left_alone(empty: Store, revision: str, said: str) -> None:
    empty.migrate()
    query(empty, f"UPDATE alembic_version SET version_num = '{revision}'")
    with pytest.raises(StoreError, match=said):
        empty.migrate()


def assert_tables_agree(store: Store) -> None:
    engine = open_engine(store.settings)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        inspector = sa.inspect(connection)
        kept = {
            (table, key["constrained_columns"][0]): key["options"].get("ondelete")
            for table in inspector.get_table_names()
            for key in inspector.get_foreign_keys(table)
        }
    engine.dispose()
    keys = [(table.name, key) for table in metadata.sorted_tables for key in table.foreign_key_constraints]
    assert kept == {(name, key.column_keys[0]): key.ondelete for name, key in keys}


def test_every_foreign_key_has_an_index() -> None:
    for table in metadata.sorted_tables:
        unique = [c for c in table.constraints if isinstance(c, sa.UniqueConstraint | sa.PrimaryKeyConstraint)]
        led_by = {index.columns[0].name for index in (*table.indexes, *unique)}
        for key in table.foreign_key_constraints:
            assert key.column_keys[0] in led_by, f"{table.name}.{key.column_keys[0]}"


def test_a_failed_migration_leaves_nothing_behind(empty: Store) -> None:
    query(empty, "CREATE TABLE score (id INTEGER)")  # in the way of the last revision
    with pytest.raises((StoreError, sa.exc.ProgrammingError)) as failed:
        empty.migrate()
    assert "score" in with_place(failed.value)
    engine = open_engine(empty.settings)
    with engine.connect() as connection:
        assert current_revision(connection) is None
        assert sa.inspect(connection).get_table_names() == ["score"]
    engine.dispose()


def test_several_processes_at_once(empty: Store) -> None:
    assert at_once((migrate, empty), (migrate, empty)) == []
    assert query(empty, "SELECT version_num FROM alembic_version") == [(HEAD,)]


def test_clusters_of_one_name_are_numbered_in_a_step_of_the_history(store: Store) -> None:
    """Earlier versions let people make clusters of one name at the same moment."""
    corpus = add_corpus(store)
    with store.writing() as w:
        first = start(np.arange(1, 7), [1, 1, 2, 2, 3, 3], [Cluster(n, f"c{n}", 0) for n in (1, 2, 3, 4)])
        record = w.labellings.create(NewLabelling(corpus.id, "towns", ""), first)
    query(store, "DROP INDEX uq_label_cluster_name_key")
    query(store, "ALTER TABLE label_cluster DROP COLUMN name_key")
    for number, name in {1: "Same", 2: "same ", 3: "Same 2", 4: "SAME"}.items():
        query(store, f"UPDATE label_cluster SET name = '{name}' WHERE number = {number}")
    with store.reading() as r:
        before = r.labellings.snapshot(record.id).partition
    upgrade(store, "0030_cluster_names")
    assert_tables_agree(store)
    session = LabellingSession(store, record.id, "")
    names = {1: "Same", 2: "same 3", 3: "Same 2", 4: "SAME 4"}
    assert {n: c.name for n, c in session.partition.clusters.items()} == names
    assert session.steps[-1].summary == "2 clusters numbered: another one has the name"
    assert session.at(0).to_bytes() == before.to_bytes()
    session.do(op.rename(session.partition, 1, "One"))
    session.back_to(0)
    assert {n: c.name for n, c in session.partition.clusters.items()} == names
    assert session.undo() is not None
    assert session.partition.clusters[1].name == "One"


def test_attempts_at_gold_items_are_steps_of_the_history(store: Store) -> None:
    corpus = add_corpus(store)
    with store.writing() as w:
        first = start(np.arange(1, 4), [1, 1, 2], [Cluster(1, "History", 0), Cluster(2, "Economy", 0)])
        record = w.labellings.create(NewLabelling(corpus.id, "towns", "ben"), first)
    session = LabellingSession(store, record.id, "ben")
    session.do(op.rename(session.partition, 1, "Past"))
    before = session.partition.to_bytes()
    query(
        store,
        "CREATE TABLE practice (id INTEGER PRIMARY KEY, labelling_id BIGINT, person TEXT, created TIMESTAMP, "
        "items INTEGER, correct INTEGER, answers TEXT)",
    )
    query(
        store,
        f"INSERT INTO practice VALUES (1, {record.id}, 'ben', '2026-11-01 12:00:00', 2, 1, '[[1, 1, 1], [2, 2, 1]]')",
    )
    upgrade(store, "0031_practice")
    assert_tables_agree(store)
    session = LabellingSession(store, record.id, "ben")
    step = session.steps[-1]
    assert (step.person, step.summary, step.when.date().isoformat()) == ("ben", "practice: 1 of 2 right", "2026-11-01")
    assert step.reason == "sentence 1: Past, right; sentence 2: Economy, not Past"
    assert session.partition.to_bytes() == before
    assert session.undo() is not None and session.partition.clusters[1].name == "History"


def test_stored_tables_of_a_paper_get_the_numbers_of_the_paper(store: Store) -> None:
    with store.writing() as w:
        for name in ("1", "2", "3", "4", "5", "6"):
            w.papers.put("ed18", name, "full", {}, {"was": name})
            w.papers.put("sjh17", name, "full", {}, {"was": name})
    upgrade(store, "0034_paper_tables")
    names = {"1": "triplet-sets", "2": "3", "3": "benchmark", "4": "4", "5": "5", "6": "ablations"}
    with store.reading() as r:
        assert {t.content["was"]: t.name for t in r.papers.list("ed18")} == names
        assert all(t.content["was"] == t.name for t in r.papers.list("sjh17"))
