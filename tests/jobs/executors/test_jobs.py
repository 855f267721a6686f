"""Jobs on every executor: the same results, also when workers die."""

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
from tests.jobs.helpers import WORDS
from themescope.core.types import SILENT, Shard, Split
from themescope.db.store import Store
from themescope.jobs.executors import LocalConfig, LocalExecutor, ShardExecutor, open_executor
from themescope.jobs.executors.ray_cluster import AHEAD
from themescope.jobs.queue.runner import run_here

MODEL = "static-wikipedia"
SLOW_RAY = pytest.param("ray-2", marks=[*RAY.marks, pytest.mark.slow])
ALL = [split.value for split in Split]


def article(number: int) -> dict[str, Any]:
    sections = [
        {
            "title": f"Part {s}",
            "paragraphs": [
                f"The {theme} of number {number} was seen near the {theme} in year {p}. "
                f"Nobody there had thought of the {WORDS[(number + p) % len(WORDS)]} or of any {theme} before."
                for p in range(4)
            ],
        }
        for s, theme in enumerate(WORDS[:6])
    ]
    return {"title": f"Article {number}", "sections": sections}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "articles.jsonl"
    path.write_text("\n".join(json.dumps(article(number)) for number in range(40)), encoding="utf-8")
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

    def do(kind: str, **args: Any) -> dict[str, Any]:
        return run_here(store, kind, args, quiet=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("themescope.jobs.common.job.open_executor", lambda url: executor)
        imported = do("import-corpus", files=[str(file)], corpus="C")
        triplets = do("build-triplets", corpus="C", name="T", rules={"min_tokens": 3})
        do("build-benchmark", corpus="C", name="B", splits=ALL)
        do("embed", corpus="C", model=MODEL)
        clustered = do("cluster", model=MODEL, clusterer="kmeans", benchmark="B")
        measured = do("evaluate-triplets", model=MODEL, triplets="T", split="train")
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
