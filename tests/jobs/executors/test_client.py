"""A cluster that is reached through its Ray Client server, from a process of its own as a worker would be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.executors import shards
from themescope.core.types import SILENT, Shard
from themescope.jobs.executors import open_executor


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
