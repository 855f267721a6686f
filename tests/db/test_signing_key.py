"""The key that signs cookies is made once, for its owner only."""

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
    with pytest.raises(ConfigError, match="Other users may read"):
        signing_key(tmp_path)


def test_a_damaged_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.db.passwords._TRIES", 2)
    signing_key(tmp_path)
    (tmp_path / "signing-key").write_text("short", encoding="ascii")
    with pytest.raises(ConfigError, match="damaged"):
        signing_key(tmp_path)
