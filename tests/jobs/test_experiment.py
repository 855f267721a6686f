"""Experiments: every combination of settings and seeds of a TOML file, the curves of their trainings, and trackers."""

import csv
import json
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from tests.jobs.helpers import write_articles
from tests.jobs.test_kinds import do
from themescope.core.errors import ThemescopeError
from themescope.db.store import Store
from themescope.jobs.cli.experiment import trainings
from themescope.jobs.cli.main import main

FILE = """
method = "sen2vec"
name = "vectors"
corpus = "C"
seeds = [0, 1]

[settings]
dim = [4, 6]
epochs = 2
"""


@pytest.fixture
def store(sqlite_store: Store, tmp_path: Path) -> Store:
    do(sqlite_store, "import-corpus", files=[str(write_articles(tmp_path, 4))], corpus="C")
    return sqlite_store


def written(folder: Path, text: str = FILE) -> Path:
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["experiment", *map(str, words)])


def test_each_combination_is_trained_once_and_its_curves_are_written(store: Store, tmp_path: Path) -> None:
    file, curves = written(tmp_path), tmp_path / "curves.csv"
    done = run(file, "--curves", curves, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)["trainings"]
    names = [f"vectors, dim {dim}, seed {seed}" for dim in (4, 6) for seed in (0, 1)]
    assert [row["model"] for row in found] == names and [row["dim"] for row in found] == [4, 4, 6, 6]
    with store.reading() as r:
        models = {model.name: model for model in r.models.list()}
    assert {name: (m.config["dim"], m.seed) for name, m in models.items()} == {
        name: (dim, seed) for name, (dim, seed) in zip(names, [(4, 0), (4, 1), (6, 0), (6, 1)], strict=True)
    }
    with curves.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["model"] for row in rows} == {*names} and {row["curve"] for row in rows}
    assert run(file).exit_code == 0
    with store.reading() as r:
        assert {m.name: m.created for m in r.models.list()} == {n: m.created for n, m in models.items()}


def test_in_the_background_each_is_a_job(store: Store, tmp_path: Path) -> None:
    done = run(written(tmp_path), "--background", "--json")
    assert len({row["job"] for row in json.loads(done.stdout)["trainings"]}) == 4
    assert run(written(tmp_path), "--background", "--curves", tmp_path / "c.csv").exit_code == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("method = ", "experiment.toml is not TOML"),
        (FILE.replace("corpus", "corpuss"), "no key 'corpuss'"),
        (FILE.replace("[0, 1]", "3"), "`seeds` a list"),
        (FILE.replace("[4, 6]", "[4, 0]"), "dim"),
        (FILE.replace("sen2vec", "sen3vec"), "sen3vec"),
    ],
)
def test_nothing_runs_if_a_later_training_could_not(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ThemescopeError, match=problem):
        trainings(written(tmp_path, text))


class Client:
    """The part of the client of MLflow that is used."""

    points: ClassVar[list[tuple[str, float, int]]] = []
    ended: ClassVar[list[str]] = []

    def get_experiment_by_name(self, name: str) -> None:
        return None

    def create_experiment(self, name: str) -> str:
        return name

    def create_run(self, experiment: str, run_name: str) -> Any:
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r"))

    def log_param(self, run: str, name: str, value: str) -> None:
        assert len(value) <= 500

    def log_metric(self, run: str, name: str, value: float, step: int) -> None:
        self.points.append((name, value, step))

    def set_terminated(self, run: str) -> None:
        self.ended.append(run)


def test_curves_go_to_a_tracker_and_its_errors_stop_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "mlflow", types.SimpleNamespace(MlflowClient=Client))  # type: ignore[arg-type]
    do(store, "train", method="sen2vec", name="a", corpus="C", settings={"dim": 4, "epochs": 2})
    with store.reading() as r:
        job = r.jobs.list()[0]
        stored = [(p.name, p.value, round(1_000 * p.step)) for p in r.jobs.metrics(job.id)]
    assert sorted(Client.points) == sorted(stored) and stored and Client.ended == ["r"]
    monkeypatch.setitem(sys.modules, "mlflow", None)
    do(store, "train", method="sen2vec", name="b", corpus="C", settings={"dim": 5, "epochs": 2})
    assert "not tracked any more" in caplog.text
