import dataclasses
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.core.models.triplet_network.themes import section_corpus, sections
from tests.tiny_encoder import NEEDS_ENCODER
from themescope.core.errors import ArtifactError, ConfigError
from themescope.core.models.artifact import load_model, save_model
from themescope.core.models.thematic_encoder import model as module
from themescope.core.models.thematic_encoder.model import ThematicEncoder, ThematicEncoderConfig
from themescope.core.text.encoders import load_encoder
from themescope.core.types import SILENT, Sentence

pytestmark = NEEDS_ENCODER
CONFIG = ThematicEncoderConfig(
    epochs=3, threads=1, device="cpu", learning_rate=0.02, articles_per_batch=2, rank=4, evaluations_per_epoch=1,
    precision="fp32",
)  # fmt: skip


@pytest.fixture
def installed(encoder, monkeypatch):
    monkeypatch.setattr(module, "installed_encoder", lambda feature: encoder)
    return encoder


def fit(report=SILENT, **changes):
    return ThematicEncoder(dataclasses.replace(CONFIG, **changes), 0).fit(section_corpus(), report)


def test_more_word_pieces_than_the_encoder_reads_are_refused_and_those_cut_off_counted(installed):
    with pytest.raises(ConfigError, match="600, but this encoder reads at most 512 word pieces"):
        fit(max_tokens=600)
    with pytest.warns(UserWarning, match="^144 sentences have more than 8 word pieces"):
        cut = fit(epochs=1, max_tokens=8)
    assert cut.metrics["sentences cut off"] == 144
    assert fit(epochs=1, max_tokens=9).metrics["sentences cut off"] == 0


def test_the_default_model_is_read_without_transformers():
    code = (
        "import sys, themescope; v = themescope.load('default').encode(['The bus is late.']); "
        "print(v.shape, sorted({'transformers', 'peft'} & {*sys.modules}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "(1, 384) []\n"


@pytest.mark.parametrize("adapter", ["lora", "full"])
def test_training_raises_the_precision_on_validation_articles_and_what_was_learned_is_saved(
    installed, tmp_path, adapter
):
    model = fit(adapter=adapter)
    values = [row["validation precision"] for row in model.history]
    assert model.metrics["validation precision"] == max(values) > values[0]
    assert np.linalg.norm(model.embed(sections(50, 1)), axis=1) == pytest.approx(1, abs=1e-5)
    assert all(("lora_" in name) == (adapter == "lora") for name in model._delta)
    assert not any("embeddings" in name or "pooler" in name for name in model._delta)
    save_model(model, "thematic-encoder", tmp_path, {})
    assert not (tmp_path / "model.safetensors").exists()
    delta = load_file(tmp_path / "delta.safetensors")
    assert {array.dtype for array in delta.values()} == {np.dtype(np.float16)}
    loaded = load_model(tmp_path)[0]
    # transformers trains it, and our own network reads it again
    assert np.abs(loaded.embed(sections(50, 1)) - model.embed(sections(50, 1))).max() < 1e-6


def test_the_encoder_of_a_folder_is_saved_whole_with_its_pooling(encoder, tmp_path):
    folder = shutil.copytree(encoder, tmp_path / "first")
    step = {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
    (folder / "modules.json").write_text(json.dumps([step]), "utf-8")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}), "utf-8")
    models = {"first": fit(folder=str(folder), epochs=1), "mean": fit(folder=str(encoder), epochs=1)}
    vectors = {pooling: model.embed(sections(50, 1)) for pooling, model in models.items()}
    assert vectors["first"] != pytest.approx(vectors["mean"], abs=1e-2)
    for pooling, model in models.items():
        saved = tmp_path / f"{pooling} saved"
        save_model(model, "thematic-encoder", saved, {})
        assert (saved / "model.safetensors").exists() and not (saved / "delta.safetensors").exists()
        text = "".join(path.read_text("utf-8") for path in saved.glob("*.json"))
        assert str(encoder) not in text and str(folder) not in text
        assert np.array_equal(load_model(saved)[0].embed(sections(50, 1)), vectors[pooling])


def test_vectors_do_not_depend_on_the_chunks_and_need_the_weights_of_the_encoder(installed, tmp_path, monkeypatch):
    model = fit(epochs=1)
    save_model(model, "thematic-encoder", tmp_path, {})
    sentences = [Sentence("river " * n) for n in range(1, 30)]
    expected = model.embed(sentences)
    model.config = dataclasses.replace(model.config, chunk_tokens=16)
    assert model.embed(sentences) == pytest.approx(expected, abs=1e-5)
    monkeypatch.setattr(module, "weights_digest", lambda folder: "other")
    with pytest.raises(ArtifactError, match="other weights"):
        load_model(tmp_path)


def test_long_texts_are_read_whole_and_a_prefix_is_read(installed, monkeypatch):
    model = fit(epochs=1, max_tokens=9)
    short, long = model.embed([Sentence("river"), Sentence("river " * 30 + "king queen war")])
    monkeypatch.setattr(module, "_WINDOW", 12)  # of which two mark the ends of a text
    again = model.embed([Sentence("river"), Sentence("river " * 30 + "king queen war"), Sentence("river " * 30)])
    assert again[0] == pytest.approx(short, abs=1e-6)
    assert again[1] != pytest.approx(again[2], abs=1e-3), "the end of the text counts"
    parts = model.embed([Sentence("river " * 10)] * 3 + [Sentence("king queen war")])
    mean = np.average(parts, axis=0, weights=[12, 12, 12, 5])
    assert again[1] @ mean / np.linalg.norm(mean) == pytest.approx(1, abs=0.01), long
    plain = model.embed([Sentence("river")])
    model.config = dataclasses.replace(model.config, prefix="query ")
    assert model.embed([Sentence("river")]) != pytest.approx(plain, abs=1e-3)


def test_loading_draws_no_progress_bar_and_opens_no_connection(installed, capfd, monkeypatch):
    from transformers.utils import logging

    load_encoder(installed, "The test")
    assert capfd.readouterr() == ("", "") and logging.is_progress_bar_enabled()

    def refuse(*_):
        raise AssertionError("A connection was opened.")

    monkeypatch.setattr("socket.socket.connect", refuse)
    assert load_encoder(installed, "The test").encode(["the queen"]).shape == (1, 16)
