"""The measurements of a GPU, on a fake one: the processor takes its place, right and wrong."""

import json
from pathlib import Path

import pytest

from benchmarks import gpu
from benchmarks.training import synthetic_data
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here


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
