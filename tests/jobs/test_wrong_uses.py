"""Commands used wrongly, or where the machine refuses: one sentence, an exit code, and every file as it was."""

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.jobs.test_cli import call
from themescope.core.clustering.inputs import DEFAULT_CALIBRATION
from themescope.core.errors import ConfigError, DataError
from themescope.core.paths import working_folder
from themescope.db.settings import Settings, sqlite_path
from themescope.jobs.cli import __main__ as entry
from themescope.jobs.cli import lists
from themescope.jobs.queue.control import sentence_for
from themescope.jobs.services.table_files import csv_text

ROWS = [(i, f"The {'river' if i % 2 else 'school'} of the town, number {i}.") for i in range(40)]


@pytest.fixture
def sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.csv"
    path.write_bytes(csv_text(("id", "text"), ROWS).encode())
    return path


@pytest.mark.parametrize("command", [["cluster", "--k", "3"], ["embed"]])
@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("s.csv", "is the input file"),
        ("link.csv", "is the input file"),
        ("nowhere/o.csv", "The folder 'nowhere' does not exist"),
        ("folder.csv", "is a folder"),
    ],
)
def test_what_cannot_be_the_output_is_refused_before_any_work(
    sentences: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], out: str, said: str
) -> None:
    (sentences.parent / "folder.csv").mkdir()
    (sentences.parent / "link.csv").hardlink_to(sentences)
    monkeypatch.setattr(lists, "_model", None)
    before = sentences.read_bytes()
    result = call(*command, "s.csv", "--out", out)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert sentences.read_bytes() == before


def test_a_full_disk_leaves_the_file_that_was_there(sentences: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = sentences.parent / "o.csv"
    out.write_text("of yesterday", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    model = SimpleNamespace(encode=lambda texts: np.ones((len(texts), 8), np.float32), calibration=DEFAULT_CALIBRATION)
    monkeypatch.setattr(lists, "_model", lambda *_: model)
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        result = call("embed", "s.csv", "--out", out)
    assert result.exit_code == 1
    assert result.stderr.strip().endswith("The disk is full. Free space and try again.")
    assert out.read_text(encoding="utf-8") == "of yesterday"
    assert sorted(p.name for p in sentences.parent.iterdir() if p.is_file()) == ["o.csv", "s.csv"]
    assert call("embed", "s.csv", "--out", out).exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("sentence,")


def test_numbers_and_sentences_that_make_no_sense(sentences: Path) -> None:
    for wanted in ("0", "-3", "²", "five"):
        result = call("cluster", "s.csv", "--k", wanted, "--out", "o.csv")
        assert result.exit_code == 2 and "--k must be a number or auto" in result.stderr
    result = call("similar", "  ", "--in", "s.csv")
    assert result.exit_code == 2 and "Give a sentence" in result.stderr


def test_a_path_in_the_home_of_nobody(sentences: Path) -> None:
    for command in (
        ["train", "mean-vectors", "--set", "word_vectors=~nobody-of-that-name/x.txt"],
        ["embed", "s.csv", "--method", "~nobody-of-that-name/x.txt", "--out", "v.npy"],
    ):
        result = call(*command)
        assert result.exit_code == 2 and "There is no home folder '~nobody-of-that-name', needed" in result.stderr
        assert "x.txt'. Write the path in full." in result.stderr
    with pytest.raises(ConfigError, match="There is no home folder '~nobody-of-that-name'"):
        Settings.from_environment({"THEMESCOPE_HOME": "~nobody-of-that-name/data"})
    with pytest.raises(ConfigError, match="There is no home folder '~nobody-of-that-name'"):
        sqlite_path("sqlite:///~nobody-of-that-name/x.db")


def test_a_folder_that_became_read_only_hides_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    with pytest.raises(DataError, match="The reason"), working_folder(tmp_path):
        monkeypatch.setattr("os.rmdir", refuse)
        raise DataError("The reason.")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "x"), "The disk is full"),
        (OSError(errno.EFBIG, "x"), "exceeds the maximum size of this system"),
        (OSError(errno.EROFS, "Read-only file system", "/x/y"), "'/x/y' cannot be opened or written: Read-only file"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), "Themescope may not write to the folder '/x'"),
        (OSError("72000 requested and 992 written"), "could not be read or written completely (72000 requested"),
        (MemoryError(), "ran out of memory"),
        (KeyError("x"), "Internal error (KeyError: 'x')"),
    ],
)
def test_what_the_machine_refuses_is_a_sentence(error: Exception, said: str) -> None:
    assert said in sentence_for(error)


@pytest.mark.parametrize(
    ("access", "said"), [(True, "may not write to the folder {folder!r}"), (False, "may not open {file!r}")]
)
def test_a_file_that_cannot_be_moved_is_told_from_one_that_cannot_be_opened(
    access: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr("os.access", lambda *_: access)
    error = PermissionError(errno.EACCES, "Permission denied", str(file))
    assert said.format(folder=str(tmp_path), file=str(file)) in sentence_for(error)


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="nothing is forbidden to root, and Windows has no modes"
)
def test_a_folder_that_may_not_be_written(sentences: Path) -> None:
    folder = sentences.parent / "read only"
    folder.mkdir(mode=0o555)
    result = call("embed", "s.csv", "--out", str(folder / "v.npy"))
    assert result.exit_code == 2 and "may not write into the folder" in result.stderr


def test_ctrl_c_while_modules_are_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "themescope.jobs.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [SimpleNamespace(find_spec=interrupted)])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    monkeypatch.undo()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Cancelled.\n"
