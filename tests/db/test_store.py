"""The store and its transactions."""

import os
import pickle
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import ProgrammingError

from tests.db.processes import at_once, edit, load
from tests.db.texts import add_corpus, article
from themescope.core.errors import ConfigError, ConflictError, MissingExtraError, StoreError, with_place
from themescope.db.settings import Settings, sqlite_url
from themescope.db.store import Store


class TestUnitOfWork:
    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_rolled_back_when_it_raises(self, store: Store, error: type[BaseException]) -> None:
        with pytest.raises(error), store.writing() as w:
            corpus = w.corpora.create("lost", "en")
            w.corpora.add_articles(corpus.id, [article("A")])
            raise error
        with store.reading() as r:
            assert r.corpora.list(include_unready=True) == []

    def test_nothing_is_written_through_a_reader(self, store: Store) -> None:
        with pytest.raises(StoreError), store.reading() as r:
            r.corpora.create("x", "en")
        with store.writing() as w:  # the pooled connection writes again
            w.corpora.create("kept", "en")
        with store.reading() as r:
            assert r.corpora.by_name("kept")

    def test_a_reader_sees_one_snapshot(self, store: Store) -> None:
        add_corpus(store, "one")
        with store.reading() as r:
            assert len(r.corpora.list()) == 1
            add_corpus(store, "two")
            assert len(r.corpora.list()) == 1
        with store.reading() as r:
            assert len(r.corpora.list()) == 2

    def test_a_reader_never_waits_for_a_writer(self, store: Store) -> None:
        add_corpus(store)
        with store.writing() as w:
            corpus = w.corpora.create("half", "en")
            w.corpora.add_articles(corpus.id, [article("A")])
            # The writer goes on only after this block: a reader that waited for it would never return.
            with store.reading() as r:
                assert [c.name for c in r.corpora.list(include_unready=True)] == ["demo"]

    def test_references_to_nothing_are_a_conflict(self, store: Store) -> None:
        with pytest.raises(ConflictError, match="nothing was written"), store.writing() as w:
            w.triplets.create(77, "t", "sentences", {}, 0, "d")

    def test_a_copy_in_another_process_and_a_closed_store_open_connections_of_their_own(self, store: Store) -> None:
        add_corpus(store)
        copy = pickle.loads(pickle.dumps(store))
        store.close()
        for opened in (copy, store):
            with opened.reading() as r:
                assert len(r.corpora.list()) == 1
        copy.close()

    def test_defects_of_ours_are_not_dressed_up(self, store: Store) -> None:
        with pytest.raises((ProgrammingError, StoreError)) as caught, store.reading() as r:
            r.corpora.connection.exec_driver_sql("SELECT nonsense FROM corpus")
        assert "nonsense" in with_place(caught.value)

    def test_unused_artifacts_are_swept(self, store: Store) -> None:
        used, unused = (store.artifacts.put(lambda f, x=x: (f / "m").write_text(x) and None) for x in "ab")
        for digest in (used, unused):
            os.utime(store.artifacts.path(digest), (time.time() - 200_000,) * 2)
        with store.writing() as w:
            w.models.add(name="m", method="x", config={}, seed=0, digest="d", artifact=used)
        assert store.remove_unused_artifacts() == [unused]


def test_processes_write_and_read_at_once(store: Store) -> None:
    with store.writing() as w:
        busy, read = w.corpora.create("busy", "en"), w.corpora.create("read", "en")
    assert at_once((load, store, busy.id, 15), (edit, store, read.id, 40), (edit, store, read.id, 40)) == []
    with store.reading() as r:
        assert r.corpora.get(busy.id).sentences == 15 * 20 * 100
        assert len(r.workers.alive(600)) == 80


def test_a_connection_needs_no_lock(settings: Settings) -> None:
    Store(settings).migrate()
    with closing(sqlite3.connect(settings.home / "themescope.db", isolation_level=None)) as db:
        assert db.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        db.execute("BEGIN IMMEDIATE")
        with Store(settings).reading() as r:
            assert r.corpora.list() == []


class TestTrouble:
    @pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
    def test_an_unreachable_server_without_its_password(self, tmp_path: Path, scheme: str) -> None:
        pytest.importorskip("psycopg")
        store = Store(Settings.in_folder(tmp_path, f"{scheme}://ann:s3cret@127.0.0.1:1/themes"))
        with pytest.raises(StoreError, match=r"cannot be reached.*Check that the server runs") as caught:
            store.migrate()
        assert "127.0.0.1" not in str(caught.value), "everybody may see the message"
        assert "s3cret" not in caught.value.place and "ann:***@127.0.0.1" in with_place(caught.value)

    @pytest.mark.postgres
    def test_an_unknown_database(self, tmp_path: Path, postgres_server) -> None:
        store = Store(Settings.in_folder(tmp_path, postgres_server.url("nowhere")))
        with pytest.raises(StoreError, match="cannot be reached") as caught:
            store.migrate()
        assert '"nowhere" does not exist' in caught.value.place

    def test_what_is_in_the_way_is_said(self, tmp_path: Path) -> None:
        for name in ("text/themescope.db", "folder/themescope.db/x"):
            (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / "text" / "themescope.db").write_bytes(b"no database at all " * 100)
        (tmp_path / "file").write_text("x")
        for home, said in (
            ("text", "is not a database"),
            ("folder", "cannot be opened"),
            ("file/home", r"cannot be created.*Set THEMESCOPE_HOME"),
        ):
            with pytest.raises(StoreError, match=said):
                Store(Settings.in_folder(tmp_path / home)).migrate()

    def test_a_file_that_may_only_be_read(self, sqlite_store: Store) -> None:
        add_corpus(sqlite_store)
        sqlite_store.close()
        path = sqlite_store.settings.home / "themescope.db"
        if os.name != "posix" or os.geteuid() == 0:
            pytest.skip("File permissions do not bind this account.")
        path.chmod(0o444)
        with pytest.raises(StoreError, match="cannot be written"):
            add_corpus(sqlite_store, "second")

    def test_a_url_that_cannot_be_parsed(self, tmp_path: Path) -> None:
        pytest.importorskip("psycopg")
        store = Store(Settings.in_folder(tmp_path, "postgresql://ann:s3cret@host:port/x"))
        with pytest.raises(ConfigError, match="DATABASE_URL is not a valid URL") as caught:
            store.migrate()
        assert "s3cret" not in str(caught.value)

    def test_a_missing_driver_names_the_extra(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'themescope\[postgres\]'"):
            Store(Settings.in_folder(tmp_path, "postgresql://localhost/x")).migrate()

    def test_a_sqlite_file_elsewhere(self, tmp_path: Path) -> None:
        store = Store(Settings.in_folder(tmp_path / "home", sqlite_url(tmp_path / "deep" / "er" / "x.db")))
        store.migrate()
        add_corpus(store)
        store.close()
        assert (tmp_path / "deep" / "er" / "x.db").is_file()


@pytest.mark.parametrize(
    "change",
    [
        lambda path: (path / "new").write_text("text", encoding="utf-8"),
        lambda path: (path / "kept").open("ab"),
        lambda path: (path / "kept").rename(path / "moved"),
        lambda path: (path / "kept").unlink(),
        lambda path: (path / "folder").mkdir(),
    ],
)
def test_files_are_not_written_inside_a_transaction(
    sqlite_store: Store, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    (tmp_path / "kept").write_text("text", encoding="utf-8")
    with pytest.raises(AssertionError, match="inside a transaction"), sqlite_store.writing():
        change(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_files_are_read_inside_and_written_outside(sqlite_store: Store, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("text", encoding="utf-8")
    with sqlite_store.writing():
        assert path.read_text(encoding="utf-8") == "text"
    path.unlink()
