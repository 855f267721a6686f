"""Reading in a process of its own: the same items, and no file can stop the process of the job."""

import gzip
import os
import pickle
import re
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from scipy.sparse import csr_array

from tests.jobs import readings
from tests.jobs.readings import Order
from themescope.core.errors import Cancelled, ExecutorError, ReadError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.formats import preview, sample
from themescope.core.types import SILENT, Article, CodingUnit, NullReport, Report
from themescope.jobs.common import reading
from themescope.jobs.common.import_shards import ParseShard
from themescope.jobs.common.models import language_of_file
from themescope.jobs.common.reading import call_apart, each_apart, preview_of, read_files, time_limit
from themescope.jobs.executors import Failure, as_data, data_of

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")


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
    """Report that keeps the messages and the time of the last one, and cancels after a number of reports."""

    def __init__(self, most: int = 1_000) -> None:
        super().__init__()
        self.messages: list[str] = []
        self._most = most

    def progress(self, done: float, total: float, message: str = "") -> None:
        self.messages.append(message)
        self.last = time.monotonic()
        if len(self.messages) > self._most:
            raise Cancelled


def test_items_progress_and_result_come_from_another_process_unless_files_are_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = Watched()
    *numbers, process = items(readings.numbers, report)
    assert numbers == [0, 1, 2] and process != str(os.getpid())
    assert [m for m in report.messages if m] == ["number 0", "number 1", "number 2"]
    monkeypatch.setattr(reading, "SMALL_BYTES", 1)
    assert items(readings.numbers) == [0, 1, 2, str(os.getpid())]


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


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (readings.fails, "bad.txt, line 2: the line is damaged."),
        pytest.param(readings.fills_memory, "bad.txt: reading it needs more than 2.0 GB of memory.", marks=ON_LINUX),
        (readings.dies, "bad.txt: the process that read it ended unexpectedly (exit code 9)."),
    ],
)
def test_what_fails_while_files_are_read_is_told(read: Any, said: str) -> None:
    with pytest.raises(ReadError, match=f"^{re.escape(said)}"):
        items(read)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no interval timers")
def test_a_piece_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SILENCE_S", 0.2)
    with pytest.raises(ReadError, match=r"^slow\.md: reading was ended"), time_limit() as begin:
        begin(Path("slow.md"))
        re.match(r"(a|aa)+$", "a" * 60 + "b")


def test_in_other_threads_there_is_no_limit() -> None:
    def work() -> bool:
        with time_limit() as begin:
            begin(Path("file.md"))
        return True

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result()


@pytest.mark.parametrize(
    ("function", "argument", "said"),
    [
        (readings.refuses, Path("a.txt"), "a.txt: it is bad."),
        pytest.param(bytes, 8 << 30, "a.txt: reading it needs more than 2.0 GB of memory.", marks=ON_LINUX),
        (bytes, 100 << 20, "a.txt: its text is larger than 67 MB, which is implausible"),
        (os._exit, 9, "a.txt: the process that read it ended unexpectedly (exit code 9)."),
        (time.sleep, 60, "a.txt: reading it takes more than 0 s."),
    ],
)
def test_what_fails_in_a_called_function_is_told(
    function: Callable[[Any], Any], argument: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("a", "utf-8")
    if function is time.sleep:
        monkeypatch.setattr(reading, "ANSWER_S", 0.5)
    with pytest.raises(ReadError, match=f"^{re.escape(said)}"):
        call_apart(tmp_path / "a.txt", function, argument)


def test_an_archive_is_as_large_as_what_it_holds(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "a" * 1_000_000)
    assert reading.unpacked_bytes(tmp_path / "a.zip") == 1_000_000


def hostile_pdf(folder: Path, levels: int = 40) -> Path:
    """A PDF of a few kB: each form draws the next one twice, the last one a word."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"]
    resources = b"/Resources<</XObject<</F %d 0 R>>/Font<</H 4 0 R>>>>"
    objects.append(b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]" + resources % 6 + b"/Contents 5 0 R>>")
    objects += [b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>", b"<</Length 5>>stream\n/F Do\nendstream"]
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 99 99]%b/Length %d>>stream\n%b\nendstream"
    for level in range(levels):
        draws = b"/F Do /F Do" if level < levels - 1 else b"BT /H 9 Tf 9 9 Td (word) Tj ET"
        objects.append(form % (resources % (7 + level if level < levels - 1 else 6), len(draws), draws))
    file, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(file))
    path = folder / "hostile.pdf"
    path.write_bytes(file + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end)
    return path


class Memory:
    """The most memory that this process and those that it started had, in bytes, while it is entered."""

    def __enter__(self) -> "Memory":
        self.most, self._end = 0, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        me = psutil.Process()
        begun = me.memory_info().rss
        while not self._end.wait(0.05):
            sizes = [me.memory_info().rss - begun]
            for child in me.children(recursive=True):
                with suppress(psutil.Error):
                    # A fork also maps what this process had.
                    sizes.append(max(0, child.memory_info().rss - begun))
            self.most = max(self.most, sum(sizes))

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


@ON_LINUX
@pytest.mark.parametrize("way", ["preview", "language", "import"])
def test_a_pdf_that_draws_itself_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES", 1 << 18)
    monkeypatch.setattr(reading, "MEMORY_BYTES", 300 << 20)
    monkeypatch.setattr(reading, "ANSWER_S", 20.0)
    path = hostile_pdf(tmp_path)
    assert path.stat().st_size < 10_000
    begun = time.monotonic()
    with Memory() as memory:
        if way == "language":
            assert language_of_file(path) == "en"
        else:
            with pytest.raises(ReadError, match=r"^hostile\.pdf: reading it"):
                if way == "preview":
                    preview_of(path)
                else:
                    items_of_pdf(path, SILENT)
    assert memory.most < 900 << 20 and time.monotonic() - begun < 60


def items_of_pdf(path: Path, report: Report) -> list[Any]:
    return [*read_files([path], partial(readings.articles, path), report)]


def test_a_cancelled_pdf_is_given_up_within_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MEMORY_BYTES", 2 << 30)
    report = Watched(most=3)
    with pytest.raises(Cancelled):
        items_of_pdf(hostile_pdf(tmp_path), report)
    assert time.monotonic() - report.last < 2
    assert not [c for c in psutil.Process().children() if "spawn_main" in " ".join(c.cmdline())]


def test_several_files_are_previewed_together_and_one_that_ends_the_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MEMORY_BYTES", 300 << 20)
    monkeypatch.setattr(reading, "ANSWER_S", 20.0)
    begun: list[int] = []
    run = reading.subprocess.run
    monkeypatch.setattr(reading.subprocess, "run", lambda *args, **more: begun.append(1) or run(*args, **more))
    good = [tmp_path / f"{n}.docx" for n in range(3)]
    for path in good:
        path.write_bytes(sample("word"))
    (cut := tmp_path / "cut.docx").write_bytes(sample("word")[:-40])
    *found, refused = each_apart([*good, cut], preview)
    assert [len(one.articles) for one in found if not isinstance(one, ReadError)] == [1, 1, 1] and len(begun) == 1
    assert isinstance(refused, ReadError)
    *found, refused = each_apart([*good, hostile_pdf(tmp_path)], preview)
    assert not any(isinstance(one, ReadError) for one in found) and isinstance(refused, ReadError)


@pytest.mark.parametrize("packed", [False, True])
def test_texts_are_read_here_packed_ones_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES", 1 << 18)
    path = tmp_path / "a.txt"
    path.write_bytes(gzip.compress(b"A town.") if packed else b"A town.")
    assert (call_apart(path, os.getpid) != os.getpid()) is packed


def hostile_items(mark: Path, report: Report) -> Generator[Order, None, None]:
    yield Order(mark)


def hostile_failure(mark: Path) -> Failure:
    return Failure(pickle.dumps(Order(mark)), "It is bad.", "", defect=False)


def test_what_a_reading_process_answers_is_data(tmp_path: Path) -> None:
    path, mark = tmp_path / "a.txt", tmp_path / "taken-over"
    path.touch()
    with pytest.raises(ReadError, match="sent something else than its content"):
        call_apart(path, Order, mark)
    with pytest.raises(ReadError, match="sent something else than its content"):
        list(read_files([path], partial(hostile_items, mark), SILENT))
    with pytest.raises(ExecutorError, match=r"^It is bad\."):
        call_apart(path, hostile_failure, mark)
    # Pieces of files pass through the process of the job as bytes, to the one that parses them.
    parse = ParseShard([(path, READERS.build("plain"))], "en", CodingUnit.SENTENCE)
    with pytest.raises(ReadError, match="sent something else than its content"):
        parse(pickle.dumps([(0, Order(mark))]))
    assert not mark.exists()


def state_of(module: str, name: str, then: bytes = b"") -> bytes:
    """Return a pickle that gives what it names an attribute, after the opcodes ``then``."""
    return b"\x80\x04" + f"c{module}\n{name}\n".encode() + then + b"N}\x8c\x04evil\x8c\x04evils\x86b."


def forged_array() -> bytes:
    """Return the pickle of an array whose type says that it holds no pointers, and holds one: reading it is a fault."""

    class Kind:
        def __reduce__(self) -> tuple[Any, ...]:
            fields = {"a": (np.dtype("O"), 0)}
            return np.dtype, ("V8", False, True), (3, "|", None, ("a",), fields, 8, 1, 0)

    class Forged:
        def __reduce__(self) -> tuple[Any, ...]:
            return np.ndarray, ((1,), Kind(), b"AAAAAAAA")

    return pickle.dumps(Forged())


@pytest.mark.parametrize(
    "answer",
    [
        state_of("themescope.jobs.executors", "Failure"),
        state_of("collections", "Counter"),
        state_of("pathlib", "Path"),
        state_of("themescope.core.types", "CodingUnit", b"\x8c\x08sentence\x85R"),
        forged_array(),
    ],
)
def test_what_it_answers_changes_nothing_of_this_process(answer: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"^It changes|is no data\.$"):
        data_of(answer)
    assert not any(hasattr(one, "evil") for one in (Failure, Counter, Path, CodingUnit, CodingUnit.SENTENCE))


def test_data_comes_back_as_it_was_sent() -> None:
    article = Article("A", ())
    sent = {"a": [article, CodingUnit.DOCUMENT, Path("a"), np.float32(0.5), ReadError(Path("a"), "It is bad.")]}
    back = data_of(as_data(sent))["a"]
    assert back[:4] == sent["a"][:4] and isinstance(back[3], np.float32)
    assert str(back[4]) == str(sent["a"][4])
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(data_of(as_data(vectors)), vectors)
    assert (data_of(as_data(csr_array(vectors))) != csr_array(vectors)).nnz == 0
    outside = csr_array(vectors)
    outside.indices[0] = 1 << 20
    with pytest.raises(ValueError, match="indices must be < 3"):
        data_of(as_data(outside))
