import errno
import os
import pickle
import sqlite3
import stat
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import ProgrammingError

from tests.db.processes import at_once, edit, load
from tests.db.texts import add_corpus, article
from themescope.core.errors import ConfigError, ConflictError, MissingExtraError, StoreError, with_place
from themescope.db.passwords import signing_key
from themescope.db.settings import Settings, checkout_home, sqlite_path, sqlite_url, without_password
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

    def test_a_reader_sees_one_snapshot_and_never_waits_for_a_writer(self, store: Store) -> None:
        add_corpus(store, "one")
        with store.reading() as r:
            assert len(r.corpora.list()) == 1
            add_corpus(store, "two")
            assert len(r.corpora.list()) == 1
        with store.writing() as w:
            corpus = w.corpora.create("half", "en")
            w.corpora.add_articles(corpus.id, [article("A")])
            # The writer goes on only after this block: a reader that waited for it would never return.
            with store.reading() as r:
                assert len(r.corpora.list(include_unready=True)) == 2

    def test_a_copy_in_another_process_and_a_closed_store_open_connections_of_their_own(self, store: Store) -> None:
        add_corpus(store)
        copy = pickle.loads(pickle.dumps(store))
        store.close()
        for opened in (copy, store):
            with opened.reading() as r:
                assert len(r.corpora.list()) == 1
        copy.close()

    def test_references_to_nothing_are_a_conflict_and_defects_of_ours_are_not_dressed_up(self, store: Store) -> None:
        with pytest.raises(ConflictError, match="nothing was written"), store.writing() as w:
            w.triplets.create(77, "t", "sentences", {}, 0, "d")
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

    def test_a_url_that_cannot_be_parsed_and_a_missing_driver(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("psycopg")
        with pytest.raises(ConfigError, match="DATABASE_URL is not a valid URL") as caught:
            Store(Settings.in_folder(tmp_path, "postgresql://ann:s3cret@host:port/x")).migrate()
        assert "s3cret" not in str(caught.value)
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'themescope\[postgres\]'"):
            Store(Settings.in_folder(tmp_path, "postgresql://localhost/x")).migrate()

    def test_a_sqlite_file_elsewhere(self, tmp_path: Path) -> None:
        store = Store(Settings.in_folder(tmp_path / "home", sqlite_url(tmp_path / "deep" / "er" / "x.db")))
        store.migrate()
        add_corpus(store)
        store.close()
        assert (tmp_path / "deep" / "er" / "x.db").is_file()


def test_files_are_read_but_not_written_inside_a_transaction(sqlite_store: Store, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("text", encoding="utf-8")
    changes: list[Callable[[], object]] = [
        lambda: (tmp_path / "new").write_text("text", encoding="utf-8"),
        lambda: kept.open("ab"),
        lambda: kept.rename(tmp_path / "moved"),
        kept.unlink,
        (tmp_path / "folder").mkdir,
    ]
    for change in changes:
        with pytest.raises(AssertionError, match="inside a transaction"), sqlite_store.writing():
            assert kept.read_text(encoding="utf-8") == "text"
            change()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    kept.unlink()


# --- settings, and the key that signs ---------------------------------------------------------------------------------


class TestHome:
    def test_files_are_in_the_home(self, tmp_path: Path, themescope_home: Path) -> None:
        settings = Settings.from_environment({"THEMESCOPE_HOME": str(tmp_path)})
        assert settings.home == tmp_path
        assert sqlite_path(settings.database_url) == tmp_path / "themescope.db"
        assert settings.allowed_hosts == () and settings.import_folders == ()
        unset = {"THEMESCOPE_HOME": str(tmp_path), "DATABASE_URL": " "}
        assert Settings.from_environment(unset) == Settings.in_folder(tmp_path)
        assert Settings.from_environment({"THEMESCOPE_HOME": "data"}).home == Path.cwd() / "data"
        assert Settings.from_environment({"THEMESCOPE_HOME": "~/data"}).home == Path.home() / "data"
        assert Settings.from_environment().home == themescope_home

    def test_commands_find_the_store_of_make_run(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        assert checkout_home(tmp_path) is None
        (tmp_path / "themescope-home").mkdir()
        assert checkout_home(tmp_path) is None  # no checkout: an installed package beside some folder
        (tmp_path / "pyproject.toml").touch()
        assert checkout_home(tmp_path) == tmp_path / "themescope-home"
        monkeypatch.setattr("themescope.db.settings.checkout_home", lambda: tmp_path)
        assert Settings.from_environment({}).home == tmp_path
        assert Settings.from_environment({"THEMESCOPE_HOME": "~"}).home == Path.home()

    @pytest.mark.parametrize(
        ("platform", "variable", "ending"),
        [
            ("linux", "XDG_DATA_HOME", "themescope"),
            ("win32", "LOCALAPPDATA", "themescope"),
            ("darwin", "", "Library/Application Support/themescope"),
        ],
    )
    def test_the_platforms_own_place(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, variable: str, ending: str
    ) -> None:
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr("themescope.db.settings.checkout_home", lambda: None)
        home = Settings.from_environment({variable: str(tmp_path)} if variable else {}).home
        assert home.as_posix().endswith(ending)
        assert (home.parent == tmp_path) == bool(variable)


@pytest.mark.parametrize("url", ["", "ray://local", "ray://head.example.org:10001"])
def test_valid_urls_of_executors(tmp_path: Path, url: str) -> None:
    given = {"THEMESCOPE_HOME": str(tmp_path), "EXECUTOR_URL": f" {url} "}
    assert Settings.from_environment(given).executor_url == url


def test_passwords_are_not_shown(tmp_path: Path) -> None:
    url = "postgresql://ann:s3cret%40@db.example.org:5433/themes?password=s3cret"
    settings = Settings.in_folder(tmp_path, url)
    assert settings.database_label == "postgresql://ann:***@db.example.org:5433/themes"
    assert "s3cret" not in repr(settings)
    assert without_password("postgresql://ann@host/themes") == "postgresql://ann@host/themes"


def test_hosts_are_kept_as_browsers_send_them_and_folders_separated_as_in_path(tmp_path: Path) -> None:
    given = {
        "THEMESCOPE_ALLOWED_HOSTS": "Themes.Example.org., müller.example  [2001:DB8::1],10.0.0.1",
        "THEMESCOPE_IMPORT_FOLDERS": os.pathsep.join([str(tmp_path), " ~/texts ", ""]),
    }
    found = Settings.from_environment(given)
    assert found.allowed_hosts == ("themes.example.org", "xn--mller-kva.example", "2001:db8::1", "10.0.0.1")
    assert found.import_folders == (tmp_path, Path.home() / "texts")


EXECUTORS = r"EXECUTOR_URL must be empty, ray://local or ray://host:port, .* not '"
SCHEMES = r"DATABASE_URL has the unsupported scheme .* Use one of sqlite://…, postgres://…"
HOURS = "must be between 1 and 9,600 hours"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        *(
            ("EXECUTOR_URL", x, EXECUTORS)
            for x in ("local", "ray://", "ray://head", "ray://head:port", "dask://h:8786")
        ),
        *(("DATABASE_URL", x, SCHEMES) for x in ("mysql://localhost/x", "themescope.db", "http://localhost")),
        *(("DATABASE_URL", f"sqlite://{x}", "names no SQLite file") for x in ("", "/", "/:memory:")),
        ("THEMESCOPE_HOME", "what?", "question mark"),
        *(
            ("THEMESCOPE_ALLOWED_HOSTS", x, r"THEMESCOPE_ALLOWED_HOSTS: .* is not a host name")
            for x in ("*", "*.example.org", "http://a.example", "a.example:80", "a..b/c", "-")
        ),
        ("THEMESCOPE_IMPORT_FOLDERS", "texts", r"'texts' is not an absolute path\. Correct THEMESCOPE_IMPORT_FOLDERS"),
        ("THEMESCOPE_LOG_FORMAT", "xml", "THEMESCOPE_LOG_FORMAT must be text or json, not 'xml'"),
        *((f"THEMESCOPE_SESSION_{x}", "0", f"SESSION_{x} {HOURS}") for x in ("IDLE", "LIMIT")),
        *((f"THEMESCOPE_SESSION_{x}", "9601", f"SESSION_{x} {HOURS}") for x in ("IDLE", "LIMIT")),
        *((f"THEMESCOPE_SESSION_{x}", "a", f"SESSION_{x} must be a number of") for x in ("IDLE", "LIMIT")),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, variable: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Settings.from_environment({"THEMESCOPE_HOME": str(tmp_path), variable: value})


def test_all_processes_have_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(signing_key, [tmp_path / "home"] * 16))
    (key,) = keys
    assert len(key) == 64 and key != signing_key(tmp_path / "other")


@pytest.mark.skipif(os.name != "posix", reason="permissions of files")
def test_only_the_owner_may_read_the_store_and_its_key(settings: Settings) -> None:
    Store(settings).migrate()
    signing_key(settings.home)
    database, key = settings.home / "themescope.db", settings.home / "signing-key"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (settings.home, database, key)] == [0o700, 0o600, 0o600]
    key.chmod(0o640)
    with pytest.raises(ConfigError, match="may be read by other users"):
        signing_key(settings.home)


def test_a_full_disk_leaves_no_damaged_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as m, pytest.raises(ConfigError, match="Check the folder and its disk") as caught:
        m.setattr("themescope.db.passwords.secrets.token_hex", full)
        signing_key(tmp_path)
    assert str(tmp_path) not in str(caught.value)
    assert not (tmp_path / "signing-key").exists() and len(signing_key(tmp_path)) == 64


def test_a_damaged_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.db.passwords._TRIES", 2)
    signing_key(tmp_path)
    (tmp_path / "signing-key").write_text("short", encoding="ascii")
    with pytest.raises(ConfigError, match="damaged"):
        signing_key(tmp_path)
