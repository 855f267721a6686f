"""Nothing outside the database is written inside a transaction: the guard that watches all tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from themescope.db.store import Store


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
