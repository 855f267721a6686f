"""Settings, and the key that signs."""

import errno
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from themescope.core.errors import ConfigError
from themescope.db.passwords import signing_key
from themescope.db.settings import Settings, checkout_home, sqlite_path, without_password


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
def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    signing_key(tmp_path)
    path = tmp_path / "signing-key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="may be read by other users"):
        signing_key(tmp_path)


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
