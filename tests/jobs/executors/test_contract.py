"""What every executor does, whatever its workers are, and jobs on them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.homes import MakeHome
from tests.jobs.executors import shards
from tests.jobs.executors.conftest import RAY
from tests.jobs.helpers import write_articles
from tests.jobs.test_kinds import do
from themescope.core.errors import Cancelled, DataError, ExecutorError, ReadError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.types import SILENT, NullReport, Shard, Split
from themescope.db.store import Store
from themescope.jobs.executors import MAX_DEATHS, ArrayRecords, LocalConfig, LocalExecutor, ShardExecutor, open_executor
from themescope.jobs.executors.ray_cluster import AHEAD


def numbers(count: int) -> list[Shard]:
    return [Shard(f"number {number}", number) for number in range(count)]


IN_ANOTHER_PROCESS = pytest.mark.parametrize("executor", ["local-2", RAY], indirect=True)
"""A single local worker is the process of the job, whose death ends the attempt."""


def test_results_come_in_order_and_again(executor: ShardExecutor) -> None:
    for _ in range(2):
        assert list(executor.map(shards.square, numbers(20), report=SILENT)) == [n * n for n in range(20)]
    assert list(executor.map(shards.square, [], report=SILENT)) == []
    counts = list(executor.map(shards.Loading(), numbers(12), report=SILENT))  # a worker keeps its function
    assert counts.count(1) <= executor.workers() and max(counts) > 1


def test_shards_are_read_a_few_ahead(executor: ShardExecutor) -> None:
    taken = 0

    def source() -> Iterator[Shard]:
        nonlocal taken
        for shard in numbers(100):
            taken += 1
            yield shard

    results = executor.map(shards.square, source(), report=SILENT)
    assert next(results) == 0 and taken < 20
    assert len(list(results)) == 99


def test_errors_of_a_shard_are_raised_with_its_name_whatever_their_arguments(executor: ShardExecutor) -> None:
    with pytest.raises(DataError, match="Five") as found:
        list(executor.map(shards.reject_five, numbers(8), report=SILENT))
    assert str(found.value) == "Five is not allowed." and "This happened in number 5." in found.value.__notes__
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        list(executor.map(shards.divide, numbers(8), report=SILENT))
    with pytest.raises(ReadError) as refused:
        list(executor.map(shards.reject_file, numbers(8), report=SILENT))
    assert str(refused.value) == "page.html, line 12: this is a list. Convert it."
    assert (refused.value.position, refused.value.advice) == ("line 12", "Convert it.")
    with pytest.raises((RuntimeError, shards.Unsendable), match="two arguments: 1, 2"):
        list(executor.map(shards.unsendable, numbers(8), report=SILENT))
    assert list(executor.map(shards.square, numbers(3), report=SILENT)) == [0, 1, 4]  # it works on


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
    list(executor.map(shards.slow, numbers(4), report=watch, total=4, unit="numbers"))
    assert watch.seen[-1] == (4, 4, "4 of 4 numbers")
    with pytest.raises(Cancelled):
        list(executor.map(shards.slow, numbers(1_000), report=Watch(stop_at=2)))


@IN_ANOTHER_PROCESS
def test_a_killed_worker_repeats_only_its_shards(executor: ShardExecutor, tmp_path: Path) -> None:
    fn = shards.Noting(tmp_path, fatal=4)
    results = list(executor.map(fn, numbers(12), report=SILENT))
    for number, found in enumerate(results):
        np.testing.assert_array_equal(found[0], np.arange(number))
    assert (tmp_path / "killed").exists()
    assert set(fn.calls()) == set(range(12))
    assert len(fn.calls()) <= 12 + 3 * executor.workers()  # those in progress, at most, ran twice


@IN_ANOTHER_PROCESS
def test_a_shard_that_kills_its_worker_fails_by_name(executor: ShardExecutor, tmp_path: Path) -> None:
    fn = shards.Noting(tmp_path, fatal=4, once=False)
    with pytest.raises(ExecutorError, match=f"died {MAX_DEATHS} times while it computed number 4, probably"):
        list(executor.map(fn, numbers(12), report=SILENT))


def test_a_resumed_map_computes_only_missing_shards(executor: ShardExecutor, tmp_path: Path) -> None:
    for folder in ("first", "second"):  # workers of the first map may still be ending when the second one begins
        (tmp_path / folder).mkdir()
    records, again = ArrayRecords(tmp_path / "records"), shards.Noting(tmp_path / "second")
    first = executor.map(shards.Noting(tmp_path / "first"), numbers(30), report=SILENT, records=records)
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


# --- jobs on every executor: the same results, also when workers die --------------------------------------------------

MODEL = "static-wikipedia"
SLOW_RAY = pytest.param("ray-2", marks=[*RAY.marks, pytest.mark.slow])
ALL = [split.value for split in Split]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Articles in a format whose files are read in pieces."""
    folder, lines = tmp_path_factory.mktemp("files"), []
    for found in READERS.build("headed-text").read(write_articles(folder, 40), SILENT):
        sections = [{"title": one.title, "paragraphs": [p.text for p in one.paragraphs]} for one in found.sections]
        lines.append(json.dumps({"title": found.title, "sections": sections}))
    path = folder / "articles.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def small_shards() -> Iterator[None]:
    """Cut little data into several shards, which workers compute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("themescope.jobs.kinds.import_corpus.SMALL_FILE", 0)
        patch.setattr("themescope.jobs.common.import_shards.SHARD_CHARACTERS", 20_000)
        patch.setattr("themescope.jobs.common.vectors.BATCH_SENTENCES", 500)
        patch.setattr("themescope.jobs.common.vectors.MANY_SENTENCES", 0)
        patch.setattr("themescope.core.tasks.scb.CHUNK", 8)
        yield


def results(store: Store, executor: ShardExecutor, file: Path) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("themescope.jobs.common.job.open_executor", lambda url: executor)
        imported = do(store, "import-corpus", files=[str(file)], corpus="C")
        triplets = do(store, "build-triplets", corpus="C", name="T", rules={"min_tokens": 3})
        do(store, "build-benchmark", corpus="C", name="B", splits=ALL)
        do(store, "embed", corpus="C", model=MODEL)
        clustered = do(store, "cluster", model=MODEL, clusterer="kmeans", benchmark="B")
        measured = do(store, "evaluate-triplets", model=MODEL, triplets="T", split="train")
    with store.reading() as r:
        articles = [a.id for a in r.corpora.articles(r.corpora.by_name("C").id, limit=100)]
        blocks = r.embeddings.get(r.models.by_name(MODEL).id, articles)
        labels = r.runs.labels(clustered["run_id"])
        margins = r.runs.margins(measured["run_id"], Split.TRAIN)[1]
    digests = [imported["digest"], triplets["digest"], clustered["scores"], measured["scores"]]
    vectors = np.concatenate([blocks[article] for article in articles])
    return [digests, np.concatenate([labels[article] for article in sorted(labels)]), vectors, margins]


@pytest.fixture(scope="module")
def expected(make_home: MakeHome, file: Path) -> list[Any]:
    found: list[Any] = []
    make_home(lambda store: found.extend(results(store, LocalExecutor(LocalConfig(1)), file)))
    return found


@pytest.mark.parametrize("executor", ["local-2", SLOW_RAY], indirect=True)
def test_all_workers_give_equal_results(
    executor: ShardExecutor, sqlite_store: Store, file: Path, expected: list[Any]
) -> None:
    digests, labels, vectors, margins = results(sqlite_store, executor, file)
    assert digests == expected[0]
    assert len(set(labels.tolist())) > 1
    np.testing.assert_array_equal(labels, expected[1])
    np.testing.assert_allclose(vectors, expected[2], atol=1e-6)
    np.testing.assert_allclose(margins, expected[3], atol=1e-6)


@pytest.mark.parametrize("executor", [SLOW_RAY], indirect=True)
def test_a_killed_node_repeats_only_its_shards(executor: ShardExecutor, tmp_path: Path, ray_cluster: Any) -> None:
    fn = shards.Noting(tmp_path)
    found = executor.map(fn, [Shard(f"number {n}", n) for n in range(60)], report=SILENT)
    first = [next(found) for _ in range(4)]
    ray_cluster.remove_node(ray_cluster.list_all_nodes()[-1], allow_graceful=False)
    ray_cluster.add_node(num_cpus=1)
    assert [len(arrays[0]) for arrays in [*first, *found]] == list(range(60))
    assert set(fn.calls()) == set(range(60)) and len(fn.calls()) <= 60 + AHEAD


# --- a cluster that is reached through its Ray Client server, from a process of its own as a worker would be ----------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of Ray
@pytest.mark.usefixtures("ray_cluster")
def test_shards_through_the_client_server(client_port: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", __name__, f"ray://127.0.0.1:{client_port}", str(tmp_path)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["results"] == list(range(12))
    assert set(found["calls"]) == set(range(12)) and len(found["calls"]) < 24
    assert found["error"] == "Five is not allowed."
    assert found["workers"] == 2


def main(url: str, folder: Path) -> None:
    """Compute shards, one of which kills its worker, and some with an error; print what happened as JSON."""
    fn = shards.Noting(folder, fatal=4)
    with open_executor(url) as executor:
        results = [len(a[0]) for a in executor.map(fn, [Shard(f"number {n}", n) for n in range(12)], report=SILENT)]
        try:
            list(executor.map(shards.reject_five, [Shard(f"number {n}", n) for n in range(8)], report=SILENT))
        except Exception as error:
            message = str(error)
        sys.stdout.write(
            json.dumps({"results": results, "calls": fn.calls(), "error": message, "workers": executor.workers()})
            + "\n"
        )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
