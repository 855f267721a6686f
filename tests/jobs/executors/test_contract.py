"""What every executor does, whatever its workers are."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.jobs.executors import shards as fns
from tests.jobs.executors.conftest import RAY
from themescope.core.errors import Cancelled, DataError, ExecutorError, ReadError
from themescope.core.types import SILENT, NullReport, Shard
from themescope.jobs.executors import MAX_DEATHS, ArrayRecords, LocalConfig, LocalExecutor, ShardExecutor


def numbers(count: int) -> list[Shard]:
    return [Shard(f"number {number}", number) for number in range(count)]


IN_ANOTHER_PROCESS = pytest.mark.parametrize("executor", ["local-2", RAY], indirect=True)
"""A single local worker is the process of the job, whose death ends the attempt."""


def test_results_come_in_order_and_again(executor: ShardExecutor) -> None:
    for _ in range(2):
        assert list(executor.map(fns.square, numbers(20), report=SILENT)) == [n * n for n in range(20)]
    assert list(executor.map(fns.square, [], report=SILENT)) == []
    counts = list(executor.map(fns.Loading(), numbers(12), report=SILENT))  # a worker keeps its function
    assert counts.count(1) <= executor.workers() and max(counts) > 1


def test_shards_are_read_a_few_ahead(executor: ShardExecutor) -> None:
    taken = 0

    def source() -> Iterator[Shard]:
        nonlocal taken
        for shard in numbers(100):
            taken += 1
            yield shard

    results = executor.map(fns.square, source(), report=SILENT)
    assert next(results) == 0 and taken < 20
    assert len(list(results)) == 99


def test_errors_of_a_shard_are_raised_with_its_name_whatever_their_arguments(executor: ShardExecutor) -> None:
    with pytest.raises(DataError, match="Five") as found:
        list(executor.map(fns.reject_five, numbers(8), report=SILENT))
    assert str(found.value) == "Five is not allowed." and "This happened in number 5." in found.value.__notes__
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        list(executor.map(fns.divide, numbers(8), report=SILENT))
    with pytest.raises(ReadError) as refused:
        list(executor.map(fns.reject_file, numbers(8), report=SILENT))
    assert str(refused.value) == "page.html, line 12: this is a list. Convert it."
    assert (refused.value.position, refused.value.advice) == ("line 12", "Convert it.")
    with pytest.raises((RuntimeError, fns.Unsendable), match="two arguments: 1, 2"):
        list(executor.map(fns.unsendable, numbers(8), report=SILENT))
    assert list(executor.map(fns.square, numbers(3), report=SILENT)) == [0, 1, 4]  # it works on


def test_progress_and_cancellation(executor: ShardExecutor) -> None:
    class Watch(NullReport):
        seen: list[tuple[float, float, str]]

        def __init__(self, stop_at: float) -> None:
            super().__init__()
            self.seen, self.stop_at = [], stop_at

        def progress(self, done: float, total: float, message: str = "") -> None:
            self.seen.append((done, total, message))
            if done >= self.stop_at:
                raise Cancelled

    watch = Watch(stop_at=100)
    list(executor.map(fns.slow, numbers(4), report=watch, total=4, unit="numbers"))
    assert watch.seen[-1] == (4, 4, "4 of 4 numbers")
    with pytest.raises(Cancelled):
        list(executor.map(fns.slow, numbers(1_000), report=Watch(stop_at=2)))


@IN_ANOTHER_PROCESS
def test_a_killed_worker_repeats_only_its_shards(executor: ShardExecutor, tmp_path: Path) -> None:
    fn = fns.Noting(tmp_path, fatal=4)
    results = list(executor.map(fn, numbers(12), report=SILENT))
    for number, found in enumerate(results):
        np.testing.assert_array_equal(found[0], np.arange(number))
    assert (tmp_path / "killed").exists()
    assert set(fn.calls()) == set(range(12))
    assert len(fn.calls()) <= 12 + 3 * executor.workers()  # those in progress, at most, ran twice


@IN_ANOTHER_PROCESS
def test_a_shard_that_kills_its_worker_fails_by_name(executor: ShardExecutor, tmp_path: Path) -> None:
    fn = fns.Noting(tmp_path, fatal=4, once=False)
    with pytest.raises(ExecutorError, match=f"died {MAX_DEATHS} times while it computed number 4, probably"):
        list(executor.map(fn, numbers(12), report=SILENT))


def test_a_resumed_map_computes_only_missing_shards(executor: ShardExecutor, tmp_path: Path) -> None:
    for folder in ("first", "second"):  # workers of the first map may still be ending when the second one begins
        (tmp_path / folder).mkdir()
    records, again = ArrayRecords(tmp_path / "records"), fns.Noting(tmp_path / "second")
    first = executor.map(fns.Noting(tmp_path / "first"), numbers(30), report=SILENT, records=records)
    next(first)
    first.close()  # type: ignore[attr-defined]
    missing = [n for n in range(30) if f"number {n}" not in records]
    assert 0 < len(missing) < 30
    results = list(executor.map(again, numbers(30), report=SILENT, records=records))
    assert again.calls() == missing
    for number, found in enumerate(results):
        np.testing.assert_array_equal(found[0], np.arange(number))
        np.testing.assert_array_equal(found[1], [number, number])


def test_a_record_is_complete_or_absent(tmp_path: Path) -> None:
    records = ArrayRecords(tmp_path / "new")
    assert "x" not in records
    records["x"] = []
    (tmp_path / "new" / "y.partial").write_bytes(b"half")
    assert "x" in records and records["x"] == [] and "y" not in records
    records["x"] = [np.arange(3), np.zeros((0, 2), np.float32)]
    assert [part.shape for part in records["x"]] == [(3,), (0, 2)]


def test_zero_workers_mean_one_per_core() -> None:
    assert LocalExecutor(LocalConfig(0)).workers() >= 1
