"""The key that signs cookies is made once, for its owner only."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from themescope.core.errors import ConfigError
from themescope.db.passwords import signing_key


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
