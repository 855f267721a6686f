"""Commands on a store written by version 0.1, and files exported by it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.db.stores import expected, unpack
from themescope.jobs.cli.main import main

MEANS, NET, LABELLING = "island mean-vectors", "island triplets-sen", "Places on the islands"


@pytest.fixture(autouse=True)
def home(themescope_home: Path) -> Path:
    """The environment points to an unpacked copy of the store; beside it are the exported files."""
    unpack(themescope_home.parent / f"{themescope_home.name}-unpacked")
    return (themescope_home.parent / f"{themescope_home.name}-unpacked" / "home").rename(themescope_home)


@pytest.fixture
def exported(home: Path) -> Path:
    """The folder of the files that version 0.1 exported."""
    return home.parent / f"{home.name}-unpacked"


def call(*args: str | Path) -> Any:
    result = CliRunner().invoke(main, [*map(str, args), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_its_content_is_listed_searched_and_measured(tmp_path: Path) -> None:
    jobs = call("jobs", "list", "--limit", "1000")["jobs"]
    assert len(jobs) == expected()["rows"]["job"]
    assert {job["status"] for job in jobs} == {"done", "failed", "cancelled", "queued"}
    assert [row["name"] for row in call("list", "corpora")["corpora"]] == ["Islands", "Notices", "Suggestions"]
    assert set(expected()["models"]) <= {row["name"] for row in call("list", "models")["models"]}
    for what in ("triplets", "benchmarks", "runs", "maps"):
        assert call("list", what)[what]
    found = call("similar", "Every ferry crosses the bridge.", "--in", "Islands", "--method", MEANS)
    assert "ferry" in json.dumps(found)
    texts = tmp_path / "texts.txt"
    texts.write_text("Every ferry crosses the bridge.\nNo king signed the treaty.\n", encoding="utf-8")
    call("embed", texts, "--method", NET, "--out", tmp_path / "vectors.npy")
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.shape == (2, expected()["models"][NET]["shape"][1]) and np.isfinite(vectors).all()
    rows = call("evaluate", "triplets", "island triplets", "--method", MEANS, "--method", NET)["rows"]
    assert [row["model"] for row in rows] == [MEANS, NET]
    rows = call("evaluate", "scb", "island sections", "--method", NET, "--clusterer", "kmeans")["rows"]
    assert rows[0]["scores"]["ami"]["n"] == expected()["rows"]["benchmark_item"]


def test_labellings_models_and_bundles_go_out_and_those_of_0_1_come_in(exported: Path, tmp_path: Path) -> None:
    for name in ("labels.jsonl", "labels.csv"):
        call("labels", "export", LABELLING, tmp_path / name)
    rows = (tmp_path / "labels.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(expected()["labelling"]["ids"]) + 1
    assert "they belong together" in (tmp_path / "labels.jsonl").read_text(encoding="utf-8")
    call("labels", "import", exported / "labelling.jsonl", "--corpus", "Islands")
    assert f"{LABELLING} 2" in [row["name"] for row in call("labels", "list")["labellings"]]
    call("export-model", "island triplets-sen-titles", tmp_path / "model")
    assert call("add-model", tmp_path / "model", "--name", "again")["model"] == "again"
    call("bundle", "export", "Islands", tmp_path / "islands.zip", "--model", NET)
    assert call("bundle", "show", tmp_path / "islands.zip")["articles"] == 8
    assert call("bundle", "import", exported / "bundle.zip")["corpus"] == "Islands 2"
    assert len(call("labels", "list")["labellings"]) > 5
