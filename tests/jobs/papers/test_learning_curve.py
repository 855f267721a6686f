"""The learning curve: its fit, and the program on a tiny store, which measures what is there and trains what is not."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import gpu
from benchmarks.learning_curve import ARTICLES_OF_PAPER, figure, fitted, main, summary
from benchmarks.training import synthetic_data
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here

ROOT = Path(__file__).parents[3]
RECORD = ROOT / "benchmarks" / "records" / "learning-curve.json"
TINY = ("hidden=4", "attention=4", "epochs=1", "batch_size=32", "evaluations_per_epoch=2", "validation_limit=50")


def test_the_fit_finds_the_curve_that_the_scores_lie_on() -> None:
    rng, sizes = np.random.default_rng(0), (1_000, 4_000, 16_000, 64_000)
    of_article = rng.normal(0, 0.1, 400)
    of_article -= of_article.mean()
    expected = [0.75 - 2.0 * n**-0.4 for n in sizes]
    scores = [(value + of_article, np.ones(400)) for value in expected]
    found = fitted(sizes, scores)
    assert found is not None
    there = found[f"at {ARTICLES_OF_PAPER}"]
    assert there["value"] == pytest.approx(0.75 - 2.0 * ARTICLES_OF_PAPER**-0.4, abs=0.003)
    assert there["low"] < there["value"] < there["high"] and there["high"] - there["low"] < 0.05
    assert fitted(sizes[:3], scores[:3]) is None


def test_the_program_trains_what_is_missing_and_measures_all(corpus: Store, data: Path, tmp_path: Path) -> None:
    for name, profile in (("all", "all"), ("some", "max-signal")):
        run_here(corpus, "build-triplets", {"corpus": "C", "name": name, "rules": {"profile": profile}}, quiet=True)
    record, drawn = tmp_path / "curve.json", tmp_path / "curve.svg"
    command = ["--home", str(corpus.settings.home), "--triplets", "all", "--evaluated", "some"]
    command += ["--words", str(data / "words.txt"), "--record", str(record), "--figure", str(drawn)]
    for setting in TINY:
        command += ["--set", setting]
    main([*command, "--train", ".5"])
    alone = json.loads(record.read_text("utf-8"))
    assert len(alone["points"]) == 1 and not alone["others"]
    rules = {"profile": "all", "negative": "random_article"}
    run_here(corpus, "build-triplets", {"corpus": "C", "name": "random", "rules": rules}, quiet=True)
    settings = {**alone["settings"], "word_vectors": str(data / "words.txt")}
    other = {"method": "triplets-sen-rand-art", "name": "random", "triplets": "random", "settings": settings}
    run_here(corpus, "train", {**other, "keep_start": True}, quiet=True)
    main([*command, "--train", ".5", "1"])
    written = record.read_text("utf-8")
    half, whole = json.loads(written)["points"]
    assert half["articles"] < whole["articles"] and half["triplets"] <= whole["triplets"] / 2
    base, other = json.loads(written)["differences"]
    (beside,) = json.loads(written)["others"]
    assert (base["method"], other["method"]) == ("mean-vectors", beside["method"]) and beside["seed"] == 0
    assert other["ami"]["value"] == pytest.approx(whole["ami"]["value"] - beside["ami"]["value"])
    assert whole["passes"][-1][0] == 1.0 and whole["accuracy"]["low"] <= whole["accuracy"]["value"]
    ElementTree.parse(drawn)
    with corpus.reading() as r:
        before = [job.id for job in r.jobs.list(limit=1_000) if job.kind == "train" and not job.result.get("cached")]
    main([*command, "--train", ".5", "1"])
    assert record.read_text("utf-8") == written
    with corpus.reading() as r:
        jobs = [job.id for job in r.jobs.list(limit=1_000) if job.kind == "train" and not job.result.get("cached")]
    assert jobs == before


@pytest.mark.skipif(not RECORD.exists(), reason="no record of the learning curve: its networks are not trained yet")
def test_figure_and_text_are_those_of_the_record() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    assert (ROOT / "docs" / "images" / "learning-curve.svg").read_text("utf-8") == figure(record)
    text = (ROOT / "docs" / "experiments.md").read_text("utf-8")
    assert summary(record) in text and "](images/learning-curve.svg)" in text
    assert "](docs/images/learning-curve.svg)" in (ROOT / "README.md").read_text("utf-8")


# --- measurements of a GPU, on a fake one: the processor takes its place, right and wrong -----------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less to measure, and small networks."""
    monkeypatch.setattr(gpu, "synthetic_data", lambda articles, triplets: synthetic_data(min(articles, 11), 24))
    monkeypatch.setattr(gpu, "MODELS", ("static-wikipedia", "no such model"))
    published = gpu.settings() | {"hidden": 4, "attention": 4, "epochs": 3, "batch_size": 16}
    monkeypatch.setattr(gpu, "settings", lambda: published)


@pytest.mark.slow
def test_results_speed_and_training_of_a_device(
    small: None, corpus: Store, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, profile in (("all", "all"), ("some", "max-signal")):
        run_here(corpus, "build-triplets", {"corpus": "C", "name": name, "rules": {"profile": profile}}, quiet=True)
    arrays, record, weights = (tmp_path / name for name in ("arrays.npz", "gpu.json", "weights.safetensors"))
    gpu.main(["--prepare", str(corpus.settings.home), "all", "some", str(data / "words.txt"), str(arrays)])
    given = ["--data", str(arrays), "--record", str(record), "--weights", str(weights), "--seconds", "60"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu, "_TURNS", 600)  # a tenth of a second for each measurement of speed
        gpu.main(given, device="cpu")
    found = json.loads(record.read_text("utf-8"))
    assert set(found["equal"]) == {"encode", "triplet training step", "CON-S2V step", "Iclust"}
    assert all(one["equal"] for one in found["equal"].values())
    assert found["speed"]["BiLSTM, training, fp32"]["triplets per second"] > 0
    assert found["speed"]["static-wikipedia"]["sentences per second"] > 0
    assert "no such model" in found["speed"]["no such model"]["not measured"]
    training = found["training"]
    assert training["passes"] == 3 and 1 <= training["validation accuracy"][-1][0] <= 3
    assert 0.0 <= training["test accuracy"] <= 1.0 and weights.stat().st_size > 1_000
    capsys.readouterr()


def test_a_device_that_computes_something_else_is_an_error(
    small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, calls = gpu.Step.vectors, []

    def wrong(self, rows):
        calls.append(len(rows))
        return right(self, rows) * (1.1 if len(calls) == 2 else 1.0)

    monkeypatch.setattr(gpu.Step, "vectors", wrong)
    with pytest.raises(SystemExit, match=r"^Not equal on the GPU: encode\.$"):
        gpu.main(["--record", str(tmp_path / "gpu.json"), "--seconds", "1"], device="cpu")
    found = json.loads((tmp_path / "gpu.json").read_text("utf-8"))["equal"]
    assert found["encode"] == {"difference": pytest.approx(0.1, abs=1e-4), "equal": False}
    capsys.readouterr()


def test_without_a_gpu_nothing_is_measured(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    gpu.main(["--record", str(tmp_path / "gpu.json")])
    assert capsys.readouterr().out == "This machine has no CUDA GPU: nothing was measured.\n"
    assert not (tmp_path / "gpu.json").exists()
