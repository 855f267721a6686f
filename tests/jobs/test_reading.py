"""Reading in a process of its own: the same items, and no file can stop the process of the job."""

import os
import re
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs import readings
from themescope.core.errors import Cancelled, ReadError
from themescope.core.protocols import SILENT, NullReport, Report
from themescope.jobs.common.importing import reading
from themescope.jobs.common.importing.reading import call_apart, read_files, time_limit


@pytest.fixture(autouse=True)
def no_file_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES", 0)


def items(read: Callable[[Report], Generator[Any, None, Any]], report: Report = SILENT) -> list[Any]:
    """Return the items and, last, the result."""
    found: list[Any] = []

    def collected() -> Generator[Any]:
        found.append((yield from read_files([], read, report)))

    return [*collected(), *found]


class Watched(NullReport):
    """Report that keeps the messages, and cancels after a number of reports."""

    def __init__(self, most: int = 1_000) -> None:
        super().__init__()
        self.messages: list[str] = []
        self._most = most

    def progress(self, done: float, total: float, message: str = "") -> None:
        self.messages.append(message)
        if len(self.messages) > self._most:
            raise Cancelled


def test_items_progress_and_result_come_from_another_process() -> None:
    report = Watched()
    *numbers, process = items(readings.numbers, report)
    assert numbers == [0, 1, 2] and process != str(os.getpid())
    assert [m for m in report.messages if m] == ["number 0", "number 1", "number 2"]


def test_small_files_are_read_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES", 1)
    assert items(readings.numbers) == [0, 1, 2, str(os.getpid())]


def test_errors_are_passed_on() -> None:
    with pytest.raises(ReadError, match=r"^bad\.txt, line 2: the line is damaged\."):
        items(readings.fails)


def test_a_file_without_progress_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    read = read_files([], readings.hangs, SILENT)
    assert next(read) == 1  # the process has started
    monkeypatch.setattr(reading, "SILENCE_S", 1.0)
    with pytest.raises(ReadError, match=r"^bad\.txt: reading was ended, since it made no progress for 1 s\."):
        next(read)


def test_a_file_without_progress_can_be_cancelled() -> None:
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        items(readings.hangs, Watched(most=2))
    assert time.monotonic() - begun < 30


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_memory_is_limited() -> None:
    with pytest.raises(ReadError, match=r"^bad\.txt: reading it needs more than 4 GB of memory\."):
        items(readings.fills_memory)


def test_the_end_of_the_process_is_told() -> None:
    with pytest.raises(ReadError, match=r"^bad\.txt: the process that read it ended unexpectedly \(exit code 9\)\."):
        items(readings.dies)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no interval timers")
def test_a_piece_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SILENCE_S", 0.2)
    with pytest.raises(ReadError, match=r"^slow\.md: reading was ended"), time_limit() as begin:
        begin(Path("slow.md"))
        re.match(r"(a|aa)+$", "a" * 60 + "b")


def test_in_other_threads_there_is_no_limit() -> None:
    done: list[bool] = []

    def work() -> None:
        with time_limit() as begin:
            begin(Path("file.md"))
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done


def test_a_function_is_called_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a" * 10, "utf-8")
    assert call_apart(path, os.getpid) != os.getpid()
    with pytest.raises(ReadError, match=r"^a\.txt: it is bad\."):
        call_apart(path, readings.refuses, path)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_the_memory_of_a_called_function_is_limited(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(ReadError, match=r"^a\.txt: reading it needs more than 4 GB of memory\."):
        call_apart(tmp_path / "a.txt", bytes, 8 << 30)


def test_the_end_of_a_called_function_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(ReadError, match=r"^a\.txt: the process that read it ended unexpectedly \(exit code 9\)\."):
        call_apart(tmp_path / "a.txt", os._exit, 9)
    monkeypatch.setattr(reading, "SILENCE_S", 0.5)
    with pytest.raises(ReadError, match=r"^a\.txt: reading it takes more than 0 s\."):
        call_apart(tmp_path / "a.txt", time.sleep, 60)


def test_an_archive_is_as_large_as_what_it_holds(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "a" * 1_000_000)
    assert reading.unpacked_bytes(tmp_path / "a.zip") == 1_000_000
