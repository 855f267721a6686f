"""Compact files of saved models."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.core.models.triplet_network.themes import theme_triplets
from themescope.core.errors import ArtifactError
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import load_model, read_tensors, save_model
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.model import TripletNet
from themescope.core.paths import pretrained_folders
from themescope.core.protocols import SILENT
from themescope.core.types import Corpus, Sentence, Split

SENTENCES = [Sentence(text) for text in ("The river runs to the sea.", "Taxes rose by 3 %.", "Unheardof wordings.", "")]
MOST_BYTES = 35_000_000


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same model, saved exactly and compactly."""
    model = REGISTRY.build("mean-vectors", {"vocabulary_limit": 3_000}, seed=0).fit(Corpus(), SILENT)
    home = tmp_path_factory.mktemp("models")
    save_model(model, "mean-vectors", home / "exact", {})
    save_model(model, "mean-vectors", home / "small", {}, small=True)
    return home / "exact", home / "small"


def test_a_compact_model_is_smaller_and_has_nearly_the_same_vectors(folders: tuple[Path, Path]) -> None:
    exact, small = (np.asarray(load_model(folder)[0].embed(SENTENCES)) for folder in folders)
    assert cosines(exact[:3], small[:3]).min() > 0.995 and not small[3].any()
    assert size(folders[1]) < 0.6 * size(folders[0])


def test_a_compact_network_too(tmp_path: Path) -> None:
    config = TripletNetConfig(hidden=8, attention=4, epochs=1, vocabulary_limit=500, threads=1)
    net = TripletNet(config, 0).fit(
        Corpus(triplets={split: theme_triplets(4) for split in (Split.TRAIN, Split.VALIDATION)}), SILENT
    )
    save_model(net, "triplets-sen", tmp_path, {}, small=True)
    loaded, _ = load_model(tmp_path)
    assert cosines(np.asarray(net.embed(SENTENCES[:2])), np.asarray(loaded.embed(SENTENCES[:2]))).min() > 0.99


def test_damage_of_a_compact_file_is_told(folders: tuple[Path, Path], tmp_path: Path) -> None:
    for content in (b"not compressed", b"\x1f\x8b\x08\x00"):
        (tmp_path / "weights.safetensors.gz").write_bytes(content)
        with pytest.raises(ArtifactError, match="damaged"):
            read_tensors(tmp_path / "weights.safetensors")
    words = next(folders[1].glob("*words.txt.gz"))
    assert words.name in json.loads((folders[1] / "model.json").read_text("utf-8"))["files"]


def test_all_pretrained_models_take_little_space() -> None:
    assert sum(size(folder) for folder in pretrained_folders().values()) <= MOST_BYTES
    assert size(pretrained_folders()["triplets-sen-titles-wikipedia"]) <= 10_000_000
