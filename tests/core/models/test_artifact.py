import hashlib
import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from tests.core.models.triplet_network.themes import theme_triplets
from themescope.core.config import digest_of
from themescope.core.errors import ArtifactError, UnknownNameError
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import (
    load_model,
    load_submodels,
    read_tensors,
    save_model,
    saw_title,
    title_digests,
)
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.model import TripletNet
from themescope.core.paths import pretrained_folders
from themescope.core.types import SILENT, Corpus, Sentence, Split, split_of_title


@pytest.fixture
def folder(tmp_path):
    model = REGISTRY.build("tfidf", {}, seed=1).fit(Corpus())
    save_model(model, "tfidf", tmp_path / "model", {"train_titles": title_digests(["Adelaide", "São Paulo"])})
    return tmp_path / "model"


def edit(folder, **changes):
    info = json.loads((folder / "model.json").read_text(encoding="utf-8")) | changes
    info["digest"] = digest_of({name: value for name, value in info.items() if name != "digest"})
    (folder / "model.json").write_text(json.dumps(info), encoding="utf-8")


def test_the_record_lists_the_training_articles_and_its_changes_are_noticed(folder):
    _, info = load_model(folder)
    assert saw_title(info, "Adelaide") and saw_title(info, "São_Paulo")
    assert not saw_title(info, "Perth")
    assert not saw_title({"record": {}}, "Adelaide")
    path = folder / "model.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"seed": 1', '"seed": 2'), encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"model\.json has changed since it was saved"):
        load_model(folder)
    shaped = folder / "embedder.json"
    deep = "[" * 50_000 + "]" * 50_000
    for text in ('{"config": "x", "seed": 0}', '{"config": {}, "seed": 1e999}', f'{{"config": {deep}}}'):
        shaped.write_text(text, encoding="utf-8")
        edit(folder, files={})
        with pytest.raises(ArtifactError, match="damaged"):
            load_model(folder)


SPELLINGS = [unicodedata.normalize(form, f"São{space}Tomé{space}(island)") for form in ("NFC", "NFD") for space in " _"]


@pytest.mark.parametrize("learned", SPELLINGS, ids=ascii)
def test_a_training_article_is_recognised_by_every_spelling_that_shares_its_split(learned):
    info = {"record": {"train_titles": title_digests([learned])}}
    for spelling in SPELLINGS:
        assert split_of_title(spelling) is split_of_title(learned)
        assert saw_title(info, spelling), ascii(spelling)
    assert title_digests(SPELLINGS) == title_digests([learned])
    assert not saw_title(info, "Sao Tome (island)")
    # Records of version 0.1 have the digest of the title as it was written.
    as_written = hashlib.blake2b(learned.replace("_", " ").encode("utf-8"), digest_size=6).hexdigest()
    assert all(saw_title({"record": {"train_titles": [as_written]}}, spelling) for spelling in SPELLINGS)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": 2}, "reads format 1"),
        ({"method": "triplet-sen"}, "Did you mean 'triplets-sen'"),
        ({"files": None}, "damaged"),
        ({"config": []}, "damaged"),
        ({"seed": [1]}, "the seed in model.json is no number"),
        ({"seed": 1 << 63}, "the seed in model.json is no number"),
        ({"record": {"metrics": 1}}, "the metrics in model.json are no table"),
        ({"record": {"train_titles": ["a", 1]}}, "'train_titles' is no list of texts"),
    ],
)
def test_an_unreadable_model_is_explained(folder, changes, said):
    edit(folder, **changes)
    with pytest.raises(ArtifactError, match=said):
        load_model(folder)


@pytest.mark.parametrize("models", [{"methods": 3}, {"methods": ["mean-vectors"], "pretrained": [[]]}])
def test_models_that_are_built_on_no_list_of_others_are_explained(models, tmp_path):
    (tmp_path / "base.json").write_text(json.dumps(models), encoding="utf-8")
    with pytest.raises(ArtifactError, match="is no list of texts"):
        load_submodels(tmp_path)


def test_what_is_no_saved_model_is_told(folder, tmp_path):
    (folder / "embedder.json").unlink()
    with pytest.raises(ArtifactError, match=r"embedder.json is missing"):
        load_model(folder)
    with pytest.raises(ArtifactError, match="not a saved model"):
        load_model(tmp_path)
    with pytest.raises(UnknownNameError):
        save_model(REGISTRY.build("tfidf", {}, seed=1), "tf-idf", tmp_path, {})


SENTENCES = [Sentence(text) for text in ("The river runs to the sea.", "Taxes rose by 3 %.", "Unheardof wordings.", "")]


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    model = REGISTRY.build("mean-vectors", {"vocabulary_limit": 3_000}, seed=0).fit(Corpus(), SILENT)
    home = tmp_path_factory.mktemp("models")
    save_model(model, "mean-vectors", home / "exact", {})
    save_model(model, "mean-vectors", home / "small", {}, small=True)
    return home / "exact", home / "small"


def test_a_compact_model_is_smaller_and_has_nearly_the_same_vectors(folders: tuple[Path, Path], tmp_path: Path) -> None:
    exact, small = (np.asarray(load_model(folder)[0].embed(SENTENCES)) for folder in folders)
    assert cosines(exact[:3], small[:3]).min() > 0.995 and not small[3].any()
    assert size(folders[1]) < 0.6 * size(folders[0])
    config = TripletNetConfig(hidden=8, attention=4, epochs=1, vocabulary_limit=500, threads=1)
    corpus = Corpus(triplets=dict.fromkeys((Split.TRAIN, Split.VALIDATION), theme_triplets(4)))
    net = TripletNet(config, 0).fit(corpus, SILENT)
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
    assert sum(size(folder) for folder in pretrained_folders().values()) <= 35_000_000
    assert size(pretrained_folders()["triplets-sen-titles-wikipedia"]) <= 10_000_000
