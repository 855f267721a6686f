from pathlib import Path

import numpy as np
import pytest

import themescope
from themescope.core import paths
from themescope.core.clustering.inputs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.errors import ArtifactError, ConfigError, DataError, UnknownNameError
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import save_model
from themescope.core.tasks.density import load_calibration, save_calibration
from themescope.core.types import SILENT, Corpus, Sentence

TEXTS = ["The river runs to the sea.", "The stream flows into the ocean.", "Taxes rose again.", ""]


def test_strings_and_sentences_have_the_same_vectors_and_are_one_article(folder_of_means: Path, tmp_path: Path) -> None:
    model = themescope.load(folder_of_means)
    vectors = model.encode(TEXTS)
    assert vectors.shape == (4, 50) and vectors.dtype == np.float32
    assert (vectors == model.encode([Sentence(text) for text in TEXTS])).all()
    assert model.encode([]).shape == (0, 50)
    assert model.name == "means" and "mean-vectors" in repr(model)
    model = themescope.load(str(folder_of_means))
    found = model.similar(TEXTS[0], TEXTS[1:], top_k=2)
    assert [row for row, _ in found] == [0, 1] and found[0][1] > found[1][1]
    assert model.similar(TEXTS[0], []) == []
    mean = REGISTRY.build("doc-mean", {}, seed=0)
    mean.fit(Corpus(models=(themescope.load(folder_of_means).fitted,)), SILENT)
    save_model(mean, "doc-mean", tmp_path, {})
    assert np.ptp(themescope.load(tmp_path).encode(TEXTS[:3]), axis=0).max() < 1e-5


def test_themes_of_a_list_of_sentences(folder_of_means: Path) -> None:
    sentences = [f"The river {word} the sea." for word in ("meets", "joins", "feeds")]
    sentences += [f"The opera {word} a violin." for word in ("needs", "plays", "has")]
    found = themescope.find_themes(sentences, folder_of_means, k=2, settings={"words": 1})
    assert len({*found.labels[:3]}) == len({*found.labels[3:]}) == 1 and found.labels[0] != found.labels[3]
    assert {theme.size for theme in found.themes} == {3}
    verbs = ("meets", "has", "crosses", "fills", "leaves", "finds", "needs", "plays")
    text = [f"The {noun} {verb} the {noun}." for noun in ("river", "violin") for verb in verbs]
    assert themescope.find_themes(text, folder_of_means, k=2).order == 0.0
    assert themescope.find_themes(text, folder_of_means, k=2, in_order=True).order == 0.4
    with pytest.raises(ConfigError, match="no setting called 'word'"):
        themescope.find_themes(sentences, folder_of_means, settings={"word": 1})


def test_themes_of_known_vectors(folder_of_means: Path) -> None:
    sentences = [f"The {noun} {i}." for noun in ("river", "violin") for i in range(4)]
    vectors = themescope.encode(sentences, folder_of_means)
    found = themescope.find_themes(sentences, k=np.int64(2), vectors=vectors)
    assert found.labels.tolist() == [found.labels[0]] * 4 + [found.labels[4]] * 4 and len(found.themes) == 2
    with pytest.raises(DataError, match="model"):
        found.predict(["A river."])
    named = themescope.find_themes(sentences, folder_of_means, 2, vectors=vectors)
    assert named.predict(["A river."]).labels[0] == named.labels[0]
    left_out = themescope.find_themes(
        [*sentences, None], k=2, vectors=np.vstack([vectors, vectors[:1]]), invalid="drop"
    )
    assert left_out.labels.tolist() == [*found.labels.tolist(), -1]
    with pytest.raises(DataError, match="8 sentences and 7 vectors"):
        themescope.find_themes(sentences, k=2, vectors=vectors[1:])
    assert themescope.similarity(sentences[:2], sentences[4:7], folder_of_means).shape == (2, 3)


def test_the_calibration_of_a_model_decides_the_number_of_themes(folder_of_means: Path, tmp_path: Path) -> None:
    verbs = ("meets", "has", "crosses", "fills", "leaves", "finds")
    sentences = [f"The {noun} {verb} the sea." for noun in ("river", "violin", "tax") for verb in verbs]
    model = themescope.load(folder_of_means)
    assert model.calibration == DEFAULT_CALIBRATION
    save_model(model.fitted, "mean-vectors", tmp_path, {})
    save_calibration(tmp_path, PairCalibration(count_intercept=float(np.log(6)), count_slope=0.0))
    found = themescope.find_themes(sentences, tmp_path), themescope.find_themes(sentences, themescope.load(tmp_path))
    assert [len(themes.themes) for themes in found] == [7, 7]
    assert len(themescope.find_themes(sentences, folder_of_means).themes) < 7
    assert themescope.SentenceClusterer(tmp_path).fit(sentences).n_clusters_ == 7


def test_mistakes_are_told(folder_of_means: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no pretrained model"):
        themescope.load("no-such-model")
    for precision, said in (("int8", "cannot compute with 8 bits"), ("int4", "fp32 or int8")):
        with pytest.raises(ConfigError, match=said):
            themescope.load(folder_of_means, precision)
    with pytest.raises(UnknownNameError, match="Did you mean 'ed18'"):
        themescope.reproduce("ed19", folder=tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        themescope.lod  # noqa: B018
    assert set(themescope.__all__) <= set(dir(themescope))


def test_the_default_model_is_installed_or_said_to_be_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert paths.model_folder("default").name == paths.default_model()
    assert themescope.load("default").encode(TEXTS[:3]).shape[0] == 3
    assert load_calibration(paths.pretrained_folders()["thematic-wikipedia-2"]) != DEFAULT_CALIBRATION
    monkeypatch.setattr("themescope.core.paths.DATA", tmp_path)
    with pytest.raises(ArtifactError, match="folder of a saved model"):
        themescope.load()


def test_a_network_can_compute_with_bytes() -> None:
    network = "triplets-sen-titles-wikipedia"
    exact, rounded = (themescope.load(network, precision).encode(TEXTS[:3]) for precision in ("fp32", "int8"))
    cosines = (exact * rounded).sum(1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(rounded, axis=1)
    assert cosines.min() > 0.999


def test_options_of_encoding(folder_of_means: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = themescope.load(folder_of_means, device="cpu")
    plain = model.encode(TEXTS)
    assert (model.encode(TEXTS, batch_size=2, show_progress_bar=True, device="cpu:0") == plain).all()
    assert "Encode" in capsys.readouterr().err
    lengths = np.linalg.norm(themescope.encode(TEXTS, model, normalize_embeddings=True, precision="float32"), axis=1)
    assert lengths == pytest.approx([1, 1, 1, 0])  # the last one has no words
    assert model.device == "cpu" and model.encode(TEXTS[0], batch_size=1).shape == (50,)
    refused = {
        "batch_size must be a number from 1": {"batch_size": 0},
        "vectors are not quantised": {"precision": "int8"},
        "computes on 'cpu', not on 'cuda'": {"device": "cuda"},
    }
    for said, options in refused.items():
        with pytest.raises(ConfigError, match=said):
            model.encode(TEXTS, **options)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="auto, cpu or cuda, not 'tpu'"):
        themescope.load(folder_of_means, device="tpu")  # type: ignore[arg-type]


def test_encoders_of_other_packages_get_their_options_and_wrong_rows_are_told(folder_of_means: Path) -> None:
    class Other:
        def encode(self, sentences: str | list[str], **options: object) -> np.ndarray:
            assert options == {"batch_size": 7}
            return np.zeros((4, 3)) if isinstance(sentences, list) else np.zeros(3)

    assert themescope.encode(TEXTS, Other(), batch_size=7).shape == (4, 3)
    assert themescope.encode(TEXTS[0], Other(), batch_size=7).shape == (3,)

    class Wrong:
        def encode(self, sentences: list[str]) -> np.ndarray:
            return np.zeros(3)

    with pytest.raises(DataError, match=r"returned an array of shape \(3,\) for 4 sentences"):
        themescope.find_themes([*TEXTS[:3], "Rain"], Wrong(), 2)
