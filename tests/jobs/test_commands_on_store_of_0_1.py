"""Commands on a store written by version 0.1, and files exported by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.db.stores import expected, unpack
from themescope.jobs.cli.main import main

MEANS, NET = "island mean-vectors", "island triplets-sen"


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


def test_list_corpora() -> None:
    assert [row["name"] for row in call("list", "corpora")["corpora"]] == ["Islands", "Notices", "Suggestions"]


def test_list_models() -> None:
    names = {row["name"] for row in call("list", "models")["models"]}
    assert set(expected()["models"]) <= names


@pytest.mark.parametrize("what", ["triplets", "benchmarks", "runs", "maps"])
def test_list_everything_else(what: str) -> None:
    assert call("list", what)[what]


def test_similar() -> None:
    found = call("similar", "Every ferry crosses the bridge.", "--in", "Islands", "--method", MEANS)
    assert "ferry" in json.dumps(found)


def test_embed(tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("Every ferry crosses the bridge.\nNo king signed the treaty.\n", encoding="utf-8")
    call("embed", texts, "--method", NET, "--out", tmp_path / "vectors.npy")
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.shape == (2, expected()["models"][NET]["shape"][1]) and np.isfinite(vectors).all()


def test_evaluate_triplets() -> None:
    rows = call("evaluate", "triplets", "island triplets", "--method", MEANS, "--method", NET)["rows"]
    assert [row["model"] for row in rows] == [MEANS, NET]


def test_evaluate_scb() -> None:
    rows = call("evaluate", "scb", "island sections", "--method", NET, "--clusterer", "kmeans")["rows"]
    assert rows[0]["scores"]["ami"]["n"] == expected()["rows"]["benchmark_item"]


def test_labels_export(tmp_path: Path) -> None:
    for name in ("labels.jsonl", "labels.csv"):
        call("labels", "export", "Places on the islands", tmp_path / name)
    rows = (tmp_path / "labels.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(expected()["labelling"]["ids"]) + 1
    told = (tmp_path / "labels.jsonl").read_text(encoding="utf-8")
    assert "they belong together" in told


def test_labels_exported_by_0_1_are_imported(exported: Path) -> None:
    call("labels", "import", exported / "labelling.jsonl", "--corpus", "Islands")
    listed = call("labels", "list")["labellings"]
    assert "Places on the islands 2" in [row["name"] for row in listed]


def test_bundle_export(tmp_path: Path) -> None:
    call("bundle", "export", "Islands", tmp_path / "islands.zip", "--model", NET)
    told = call("bundle", "show", tmp_path / "islands.zip")
    assert told["articles"] == 8


def test_a_bundle_exported_by_0_1_is_imported(exported: Path) -> None:
    told = call("bundle", "import", exported / "bundle.zip")
    assert told["corpus"] == "Islands 2"
    assert len(call("labels", "list")["labellings"]) > 5


def test_jobs_list() -> None:
    jobs = call("jobs", "list", "--limit", "1000")["jobs"]
    assert len(jobs) == expected()["rows"]["job"]
    assert {job["status"] for job in jobs} == {"done", "failed", "cancelled", "queued"}


def test_export_model_and_add_model(tmp_path: Path) -> None:
    call("export-model", "island triplets-sen-titles", tmp_path / "model")
    assert call("add-model", tmp_path / "model", "--name", "again")["model"] == "again"
