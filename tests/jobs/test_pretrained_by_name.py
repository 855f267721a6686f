"""Pretrained models by name on a fresh store: every command that takes a model, and the jobs behind the pages."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import themescope
from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import WORDS, write_articles
from themescope.core.errors import ArtifactError, UnknownNameError
from themescope.core.models.artifact import read_info
from themescope.core.paths import DEFAULT, default_model, pretrained_folders
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.common.models import NOT_STORED, find_model, selectable_models
from themescope.jobs.queue.runner import run_here

DEFAULT_MODEL = default_model()

METHOD = read_info(pretrained_folders()[DEFAULT_MODEL])["method"]
NAMES = (DEFAULT, DEFAULT_MODEL, METHOD)
names = pytest.mark.parametrize("name", NAMES)


def call(*args: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*map(str, args), "--json"])
    assert result.exit_code == 0, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    return value


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_articles(tmp_path_factory.mktemp("files"), 8, sections=5, paragraphs=2)

    def fill(store: Store) -> None:
        for kind, args in (
            ("import-corpus", {"files": [str(path)], "corpus": "C"}),
            ("build-triplets", {"corpus": "C", "name": "T", "rules": {"min_tokens": 3}}),
            ("build-benchmark", {"corpus": "C", "name": "B", "splits": [split.value for split in Split]}),
        ):
            run_here(store, kind, args, quiet=True)

    return make_home(fill)


@pytest.fixture
def store(copy_home: CopyHome, home: Path) -> Store:
    """A store with a corpus "C", triplets "T" and a benchmark "B", but without any model."""
    return copy_home(home)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(f"The {word} was seen near the river." for word in WORDS), encoding="utf-8")
    return path


def test_pretrained_models_are_listed_before_and_after_their_first_use(sqlite_store: Store) -> None:
    row = call("list", "models")["models"][0]
    assert (row["name"], row["method"], row["pretrained"], row["created"]) == (DEFAULT_MODEL, METHOD, True, "")
    find_model(sqlite_store, DEFAULT)
    row = call("list", "models")["models"][0]
    assert (row["name"], row["pretrained"]) == (DEFAULT_MODEL, True) and row["created"]


def test_it_is_exported_and_built_upon(store: Store, tmp_path: Path) -> None:
    assert call("export", "model", DEFAULT, tmp_path / "out")["model"] == DEFAULT_MODEL
    call("train", "hybrid", "--model", DEFAULT, "--corpus", "C", "--name", "H")
    with store.reading() as r:
        assert {m.name for m in r.models.list()} == {DEFAULT_MODEL, "H"}


@names
def test_files_are_embedded_searched_and_clustered(name: str, lines: Path) -> None:
    call("embed", lines, "--method", name, "--out", lines.with_suffix(".npy"))
    vectors = np.load(lines.with_suffix(".npy"))
    expected = themescope.load(name if name != METHOD else DEFAULT).encode(lines.read_text("utf-8").splitlines())
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    near = call("similar", "A stone by the river.", "--in", lines, "--method", name, "--top", "1")["nearest"]
    assert "river" in near[0]["sentence"]
    found = call("cluster", lines, "--method", name, "--k", "2")
    with Path(found["file"]).open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(WORDS)


def test_jobs_find_it_by_name(store: Store) -> None:
    """Pages queue jobs with the name that they show."""
    shown = selectable_models(store)[0]
    assert (shown.name, shown.id) == (DEFAULT_MODEL, NOT_STORED)
    assert run_here(store, "embed", {"corpus": "C", "model": shown.name}, quiet=True)["embedded"] == 8
    shown = selectable_models(store)[0]
    assert shown == find_model(store, DEFAULT) and shown.id != NOT_STORED


def test_similar_reads_the_vectors_that_are_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus is embedded once, not at each call."""
    first = call("similar", "A stone by the river.", "--in", "C", "--top", "3")
    assert call("embed", "C")["cached"] and first["among"] == call("embed", "C")["sentences"]
    assert [one["cosine"] for one in first["nearest"]] == sorted((o["cosine"] for o in first["nearest"]), reverse=True)
    text = first["nearest"][0]["sentence"]
    monkeypatch.setattr(themescope.SentenceModel, "encode", None)
    assert call("similar", text, "--in", "C", "--top", "1")["nearest"] == [{"cosine": 1.0, "sentence": text}]


def test_one_that_was_added_under_another_name_is_found(store: Store) -> None:
    run_here(store, "add-model", {"folder": str(pretrained_folders()[DEFAULT_MODEL]), "name": "ours"}, quiet=True)
    assert find_model(store, DEFAULT).name == "ours"
    others = set(pretrained_folders()) - {DEFAULT_MODEL}
    assert {m.name for m in selectable_models(store)} == {"ours", *others}
    assert find_model(store, DEFAULT_MODEL).name == "ours"


def test_a_model_of_the_store_is_not_hidden_by_a_pretrained_one(store: Store) -> None:
    run_here(store, "train", {"method": "word-counts", "name": DEFAULT_MODEL}, quiet=True)
    assert find_model(store, DEFAULT_MODEL).method == "word-counts"
    assert find_model(store, DEFAULT).method == METHOD


def test_an_unknown_name_offers_the_pretrained_models(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'default'"):
        find_model(store, "defualt")
    refused = CliRunner().invoke(main, ["embed", "C", "--method", "triplets-sen-title"])
    assert refused.exit_code == 2 and "'triplets-sen-titles'" in refused.output


def test_an_installation_without_models_says_what_to_do(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("themescope.core.paths.DATA", tmp_path)
    with pytest.raises(ArtifactError, match="Install Themescope again"):
        find_model(store, DEFAULT)


def test_a_folder_is_used_by_its_path(store: Store, tmp_path: Path) -> None:
    shutil.copytree(pretrained_folders()[DEFAULT_MODEL], tmp_path / "copy")
    assert call("evaluate", "triplets", "T", "--method", tmp_path / "copy")["rows"][0]["model"] == "copy"
