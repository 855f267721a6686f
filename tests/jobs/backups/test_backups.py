"""Backups are made while people work, restore the same store elsewhere, and are refused when damaged."""

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from tests.db.stores import empty_of_0_2, unpack
from tests.db.texts import add_corpus
from tests.jobs.helpers import wait_for
from tests.jobs.test_cli import call, call_json
from themescope.core.errors import DataError, ReadError, StoreError
from themescope.core.labelling import operations as op
from themescope.core.records.stored import Role, Sharing
from themescope.db import tables as t
from themescope.db.engine import newest
from themescope.db.files.snapshots import left_out
from themescope.db.records import NewLabelling, SignInMethod, VectorBlock
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs import backups
from themescope.jobs.backups import BACKUP, check_backup, restore_backup, write_backup
from themescope.jobs.common.files import MANIFEST
from themescope.jobs.services import people
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

pytestmark = pytest.mark.usefixtures("cheap_passwords")


@pytest.fixture
def target(store: Store, tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    """An empty data folder and an empty database of the same engine, where a backup of ``store`` can be restored."""
    on_sqlite = store.settings.database_url.startswith("sqlite")
    url = "" if on_sqlite else request.getfixturevalue("postgres_server").new_database()
    return replace(Settings.in_folder(tmp_path / "elsewhere", url), vector_files_from=store.settings.vector_files_from)


def test_a_restored_store_equals_the_one_that_was_saved(store: Store, target: Settings, tmp_path: Path) -> None:
    fill(store)
    file = tmp_path / "b.zip"
    made = write_backup(store, file)
    assert not made.about.problems and made.bytes == file.stat().st_size
    assert os.name != "posix" or stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
    assert restore_backup(target, file) == made.about == check_backup(file)
    restored = Store(target)
    assert rows(restored) == rows(store) and files(restored) == files(store)
    with restored.reading() as r:
        assert r.people.connection.scalar(sa.select(sa.func.count()).select_from(t.session)) == 0
        model = r.models.by_name("model")
        assert np.array_equal(r.embeddings.get(model.id, [2])[2], np.full((12, 4), 2, dtype=np.float32))
    restored.artifacts.check(model.artifact)
    assert people.sign_in(restored, "Ada", SECRET, "")
    # Ids continue after those of the saved store.
    label(LabellingSession(restored, 1, "Ada"), 4)
    assert add_corpus(restored, "another").id == 2
    restored.close()


def test_a_backup_while_people_work_has_every_change_up_to_a_moment(
    store: Store, target: Settings, tmp_path: Path
) -> None:
    session = fill(store)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            label(session, len(session.steps) % 50)

    worker = threading.Thread(target=work)
    worker.start()
    wait_for(lambda: len(session.steps) > 4 or not worker.is_alive())
    write_backup(store, tmp_path / "b.zip")
    label_count = len(session.steps)
    stop.set()
    worker.join()
    restore_backup(target, tmp_path / "b.zip")
    restored = Store(target)
    with store.reading() as r, restored.reading() as copy:
        log = [*map(repr, r.label_steps.since(session.record.id, 0))]
        saved = [*map(repr, copy.label_steps.since(session.record.id, 0))]
        assert 4 < len(saved) <= label_count
        assert saved == log[: len(saved)]
    # The stored state is the one that its history gives.
    opened = LabellingSession(restored, session.record.id, "Ada")
    while opened.undo():
        pass
    assert np.array_equal(opened.partition.numbers, session.at(0).numbers)
    restored.close()


# --- what is missing, damaged or in the way ---------------------------------------------------------------------------


@pytest.fixture
def saved(sqlite_store: Store, tmp_path: Path) -> Path:
    """A backup of a filled store on SQLite."""
    fill(sqlite_store)
    return write_backup(sqlite_store, tmp_path / "b.zip").path


def test_damaged_backups_are_refused_and_leave_nothing_behind(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    target = Settings.in_folder(tmp_path / "elsewhere")
    places = np.random.default_rng(0).integers(0, len(data), 40)
    damaged = [data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :] for place in places]
    file, refused = tmp_path / "damaged.zip", 0
    whole = check_backup(saved)
    for content in [*damaged, data[: len(data) // 2], data[:-1], b""]:
        file.write_bytes(content)
        try:
            assert check_backup(file) == whole  # a byte that nothing reads, such as a time
        except ReadError:
            refused += 1
            with pytest.raises(ReadError):
                restore_backup(target, file)
    assert refused > 35
    assert not target.home.exists()


def rewritten(path: Path, out: Path, leave_out: str = "", **about: Any) -> Path:
    """A backup with another manifest, or without a part."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as target:
        manifest = json.loads(source.read(MANIFEST))
        manifest["about"] |= about
        for name in source.namelist():
            if name == MANIFEST:
                continue
            if leave_out and name.startswith(leave_out):
                del manifest["parts"][name]
            else:
                target.writestr(name, source.read(name))
        target.writestr(MANIFEST, json.dumps(manifest))
    return out


def test_a_backup_of_an_older_version_is_migrated_at_the_next_start(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_of_0_2(settings)
    shown = call("backup", tmp_path / "b.zip")
    assert shown.exit_code == 0 and "schema 0023" in shown.stdout
    monkeypatch.setenv("THEMESCOPE_HOME", str(tmp_path / "elsewhere"))
    shown = call("restore", tmp_path / "b.zip")
    assert shown.exit_code == 0 and "the next start migrates them" in shown.stdout
    restored = Store(Settings.from_environment())
    assert not restored.is_current()
    assert call_json("people", "list")["people"] == []
    assert restored.is_current()
    restored.close()


def test_tables_that_the_version_of_today_does_not_have_are_saved_too(tmp_path: Path) -> None:
    """A store of 0.2 has error notebooks in tables of their own, which become failures at the first start."""
    old, target = Settings.in_folder(unpack(tmp_path)), Settings.in_folder(tmp_path / "elsewhere")
    made = write_backup(Store(old), tmp_path / "b.zip")
    assert made.about.rows["error_case"] == 3
    restore_backup(target, tmp_path / "b.zip")
    restored = Store(target)
    restored.migrate()
    with restored.reading() as r:
        assert [c.sentences for c in r.corpora.list() if c.failures_of] == [3]
    restored.close()


def test_a_store_of_a_newer_version_and_none_are_not_saved(sqlite_store: Store, tmp_path: Path) -> None:
    with sqlite_store.writing() as w:
        w.people.connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    none = Store(Settings.in_folder(tmp_path / "none"))
    for store, said in ((sqlite_store, r"newer version .*Update Themescope"), (none, "not set up")):
        with pytest.raises(StoreError, match=said):
            write_backup(store, tmp_path / "b.zip")
    assert not [*tmp_path.glob("*b*")] and not (tmp_path / "none" / "themescope.db").exists()


def test_manifests_are_believed_only_where_they_make_sense(saved: Path, tmp_path: Path) -> None:
    target = Settings.in_folder(tmp_path / "elsewhere")
    wrong = (
        ("rows", []),
        ("made", "2026"),
        ("made", 3),
        ("engine", "x"),
        ("artifacts", [1]),
        ("more", 1),
        ("rows", {"a": "b"}),
    )
    for number, (key, value) in enumerate(wrong):
        with pytest.raises(ReadError, match="manifest is damaged"):
            restore_backup(target, rewritten(saved, tmp_path / f"{number}.zip", **{key: value}))
    for part in ("artifacts/", "vectors/"):
        with pytest.raises(ReadError, match="lacks files"):
            restore_backup(target, rewritten(saved, tmp_path / f"{part[:-1]}.zip", leave_out=part))
    with pytest.raises(ReadError, match="do not match its manifest"):
        restore_backup(target, rewritten(saved, tmp_path / "none.zip", leave_out="database"))
    newer = rewritten(saved, tmp_path / "newer.zip", schema="9999", themescope="7.0")
    with pytest.raises(ReadError, match=r"newer version, Themescope 7\.0 \(schema 9999; .* Update Themescope"):
        restore_backup(target, newer)
    counts = {table: 0 for table in metadata.tables}
    with pytest.raises(StoreError, match=r"differs from the backup in .*sentence"):
        restore_backup(target, rewritten(saved, tmp_path / "rows.zip", rows=counts))


def test_parts_cannot_leave_their_folder() -> None:
    artifact = f"artifacts/{'0' * 32}"
    assert BACKUP.names.fullmatch(f"{artifact}/a b/ü.json")
    for name in ("artifacts/../../x", f"{artifact}/../x", f"{artifact}/x/..", f"{artifact}//x", "/etc/x", "vectors/x"):
        assert not BACKUP.names.fullmatch(name), name


def test_missing_and_damaged_files_are_listed(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sqlite_store)
    (weights,) = sqlite_store.settings.home.glob("artifacts/*/parts/*")
    weights.write_bytes(b"damaged")
    (vectors,) = sqlite_store.settings.home.glob("vectors/*")
    vectors.unlink()
    shown = call("backup", tmp_path / "b.zip")
    assert shown.exit_code == 1
    for said in ("were changed or damaged", "(model 'model')", vectors.name):
        assert said in shown.stdout
    monkeypatch.setenv("THEMESCOPE_HOME", str(tmp_path / "elsewhere"))
    assert call("restore", tmp_path / "b.zip").exit_code == 0
    restored = Store(Settings.from_environment())
    assert rows(restored) == rows(sqlite_store) and files(restored) == {}
    restored.close()


def test_nothing_is_overwritten(saved: Path, sqlite_store: Store, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="exists already"):
        write_backup(sqlite_store, saved)
    with pytest.raises(DataError, match=r"data folder .* is not empty: it contains"):
        restore_backup(sqlite_store.settings, saved)
    home = tmp_path / "elsewhere"
    database = f"sqlite:///{sqlite_store.settings.home / 'themescope.db'}"
    with pytest.raises(DataError, match="has the tables of a store"):
        restore_backup(Settings.in_folder(home, database), saved)
    vectors = tmp_path / "full"
    vectors.mkdir()
    (vectors / ("0" * 32 + ".safetensors")).touch()
    with pytest.raises(DataError, match=r"folder of vector files, .* is not empty"):
        restore_backup(replace(Settings.in_folder(home), vectors_url=vectors.as_uri()), saved)
    with pytest.raises(DataError, match="is of a store on SQLite, and DATABASE_URL names PostgreSQL"):
        restore_backup(Settings.in_folder(home, "postgresql://nobody@127.0.0.1:1/x"), saved)
    home.mkdir()
    (home / "secrets.toml").touch()
    restore_backup(Settings.in_folder(home), saved)


def test_a_restore_that_fails_late_leaves_nothing(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StoreError("The disk is full.")

    target = Settings.in_folder(tmp_path / "elsewhere")
    with monkeypatch.context() as patched:
        patched.setattr(backups, "_restore_database", fail)
        with pytest.raises(StoreError, match="disk is full"):
            restore_backup(target, saved)
    assert not [p for p in target.home.rglob("*") if p.is_file()]
    shutil.rmtree(target.home)
    restore_backup(target, saved)


def test_a_killed_restore_does_not_block_the_next(saved: Path, tmp_path: Path) -> None:
    target = Settings.in_folder(tmp_path / "elsewhere")
    killed = (
        "import os, sys; from pathlib import Path; from themescope.db.settings import Settings\n"
        "from themescope.jobs import backups\n"
        "backups._restore_database = lambda *_: os._exit(9)\n"
        "backups.restore_backup(Settings.in_folder(Path(sys.argv[1])), Path(sys.argv[2]))"
    )
    done = subprocess.run([sys.executable, "-c", killed, str(target.home), str(saved)], check=False)
    assert done.returncode == 9 and any(p.is_file() for p in (target.home / "artifacts").rglob("*"))
    restore_backup(target, saved)
    assert not (target.home / ".restoring").exists()
    with pytest.raises(DataError, match="is not empty"):  # a whole store is never removed
        restore_backup(target, saved)


def test_a_disk_that_is_too_small_is_noticed_before(
    saved: Path, sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000))
    with pytest.raises(DataError, match=r"has 0\.0 MB free, and the backup may need"):
        write_backup(sqlite_store, tmp_path / "c.zip")
    with pytest.raises(DataError, match=r"The backup needs [0-9.]+ MB, .* has 0\.0 MB"):
        restore_backup(Settings.in_folder(tmp_path / "elsewhere"), saved)


@pytest.mark.postgres
def test_without_client_programs_the_message_names_their_package(
    postgres_url: str, themescope_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(Settings.in_folder(themescope_home, postgres_url))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match=r"need the program pg_dump, which is not in PATH.* postgresql-client-\d+"):
        write_backup(store, tmp_path / "b.zip")
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.2'\n")
    old.chmod(0o755)
    with pytest.raises(StoreError, match=r"9\.6\.2\) is older than the PostgreSQL server"):
        write_backup(store, tmp_path / "b.zip")
    store.close()


def test_the_commands(saved: Path, sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = call("backup", tmp_path / "c.zip")
    assert shown.exit_code == 0 and "Written and checked" in shown.stdout and f"schema {newest()}" in shown.stdout
    assert call("backup", tmp_path / "c.zip").exit_code == 2
    monkeypatch.setenv("THEMESCOPE_HOME", str(tmp_path / "elsewhere"))
    assert call_json("restore", "--check", saved)["schema"] == newest()
    assert not (tmp_path / "elsewhere").exists()
    assert "People sign in again." in call("restore", saved).stdout
    assert call("restore", saved).exit_code == 2
    assert call("restore", tmp_path / "none.zip").exit_code == 2


SECRET = "correct horse battery"


def fill(store: Store) -> LabellingSession:
    """A corpus, a model with its files and vectors, two accounts with a session, and a labelling of Ada."""
    corpus = add_corpus(store)
    artifact = store.artifacts.put(_write_model)
    blocks = [VectorBlock(article, np.full((12, 4), article, dtype=np.float32)) for article in range(1, 6)]
    vectors = store.vector_files.put(blocks)
    with store.writing() as w:
        model = w.models.add(
            name="model", method="mean-vectors", config={}, seed=0, digest="d", artifact=artifact, metrics={}
        )
        w.embeddings.add_file(model.id, vectors)
        w.jobs.add("train", "Train a model", {"name": "model"})
    people.add(store, "Ada", Role.ADMIN, SECRET)
    people.add(store, "ben@example.org", Role.LABELLER, None)
    with store.writing() as w:
        w.sessions.open("Ada", SignInMethod.PASSWORD)
    new = NewLabelling(corpus.id, "themes", "Ada", Sharing.SHARED)
    session = LabellingSession(store, starts.begin(store, new, starts.from_sections).id, "Ada")
    label(session, 0)
    return session


def label(session: LabellingSession, number: int) -> None:
    ids = session.partition.ids[number : number + 2]
    name = f"Theme {session.next_number}"
    session.do(op.create(session.partition, session.next_number, name, ids), "because", "lasso")


def _write_model(folder: Path) -> None:
    (folder / "model.json").write_text('{"model": 1}', encoding="utf-8")
    (folder / "parts").mkdir()
    (folder / "parts" / "weights.safetensors").write_bytes(bytes(range(256)) * 40)


def rows(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that a backup contains."""
    found = {}
    with store.reading() as r:
        for table in metadata.sorted_tables:
            if not left_out(table):
                selected = r.people.connection.execute(sa.select(table).order_by(*table.primary_key))
                found[table.name] = [tuple(map(str, row)) for row in selected]
    return found


def files(store: Store) -> dict[str, bytes]:
    """Every file in the data folder but databases and locks."""
    home = store.settings.home
    database = sqlite_path(store.settings.database_url)
    paths = [p for p in home.rglob("*") if p.is_file() and "lock" not in p.name]
    return {
        p.relative_to(home).as_posix(): p.read_bytes()
        for p in paths
        if database is None or not p.name.startswith(database.name)
    }
