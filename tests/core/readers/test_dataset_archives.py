import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.core.readers.samples import parquet, zipped
from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY, arrow_tables
from themescope.core.readers.arrow_tables import unpack
from themescope.core.readers.formats import detect
from themescope.core.types import SILENT


def rows(count: int = 3) -> bytes:
    return parquet([{"text": f"Sentence {i} of the dataset is here."} for i in range(count)])


def packed(path: Path, members: dict[str, bytes]) -> Path:
    path.write_bytes(zipped(members))
    return path


def cut(path: Path) -> None:
    path.write_bytes(packed(path, {"train.parquet": rows(500)}).read_bytes()[:-30])


@pytest.mark.parametrize("inside", ["", "claims/"])
def test_a_dataset_is_unpacked_and_read(tmp_path: Path, inside: str) -> None:
    members = {"data/train.parquet": rows(), "README.md": b"# Claims\n", "run.py": b"raise SystemExit", ".env": b"x"}
    archive = packed(tmp_path / "claims.zip", {inside + name: content for name, content in members.items()})
    folder = unpack(archive, tmp_path / "claims")
    assert folder == Path(tmp_path / "claims", inside)
    assert sorted(p.name for p in folder.rglob("*") if p.is_file()) == ["README.md", "train.parquet"]
    articles = list(REGISTRY.build(detect(folder)).read(folder, SILENT))
    assert sum(article.sentence_count() for article in articles) == 3
    (read,) = REGISTRY.build("zip").read(archive, SILENT)
    assert (read.title, read.source, read.sentence_count()) == ("claims", "claims", 3)


def link(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("train.parquet")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")


def lying(path: Path) -> None:
    """A member that is longer than the archive says."""
    content = packed(path, {"train.parquet": b"a" * 5_000}).read_bytes()
    path.write_bytes(content.replace((5_000).to_bytes(4, "little"), (50).to_bytes(4, "little")))


def mutated_lzma(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("train.parquet", rows(500))
    content = bytearray(path.read_bytes())
    content[300:340] = bytes(40)
    path.write_bytes(content)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no archive": (lambda path: path.write_bytes(rows()), "damaged"),
    "cut off": (cut, "damaged"),
    "damaged LZMA": (mutated_lzma, "damaged"),
    "outside": (lambda path: packed(path, {"../train.parquet": rows()}), "outside of its folder"),
    "absolute": (lambda path: packed(path, {"/train.parquet": rows()}), "outside of its folder"),
    "drive": (lambda path: packed(path, {"c:\\train.parquet": rows()}), "outside of its folder"),
    "a link": (link, "not a Hugging Face dataset"),
    "no data": (lambda path: packed(path, {"notes.txt": b"x"}), "not a Hugging Face dataset"),
    "a bomb": (lambda path: packed(path, {"train.parquet": bytes(20_000_000)}), "too much"),
    "many files": (lambda path: packed(path, {f"{i}.csv": b"" for i in range(30)}), "more than 20 files"),
    "a lie": (lying, "damaged"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_dataset_is_refused(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_tables, "_MOST_FILES", 20)
    make, words = REFUSED[what]
    make(tmp_path / "claims.zip")
    with pytest.raises(ReadError, match=words):
        unpack(tmp_path / "claims.zip", tmp_path / "inner" / "claims")
    assert not list(tmp_path.glob("*.parquet")) and not list((tmp_path / "inner").glob("*.parquet"))
