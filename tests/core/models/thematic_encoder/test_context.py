import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.core.models.thematic_encoder.test_thematic_encoder import CONFIG as ENCODER
from tests.core.models.triplet_network.themes import SUBJECTS, section_corpus, sections
from tests.tiny_encoder import NEEDS_ENCODER, write_encoder
from themescope.core.errors import ArtifactError, ConfigError, DataError
from themescope.core.models import artifact
from themescope.core.models.artifact import built_on, load_model, save_model
from themescope.core.models.thematic_encoder.model import ContextEncoder, ContextEncoderConfig, ThematicEncoder

pytestmark = NEEDS_ENCODER
CONFIG = ContextEncoderConfig(
    epochs=6, threads=1, device="cpu", learning_rate=0.05, articles_per_batch=2, precision="fp32"
)


@pytest.fixture(scope="module")
def thematic(tmp_path_factory: pytest.TempPathFactory) -> ThematicEncoder:
    """An encoder over the words of the themes that was not trained much."""
    folder = write_encoder(tmp_path_factory.mktemp("encoder"), ["the", "of", "in", "it", *" ".join(SUBJECTS).split()])
    return ThematicEncoder(dataclasses.replace(ENCODER, folder=str(folder), epochs=1), 0).fit(section_corpus())


@pytest.fixture(scope="module")
def model(thematic: ThematicEncoder) -> ContextEncoder:
    return ContextEncoder(CONFIG, 0).fit(section_corpus(thematic))


def test_training_raises_the_precision_and_leaves_the_encoder_as_it_is(
    thematic: ThematicEncoder, model: ContextEncoder
) -> None:
    before = thematic.embed(sections(50, 1))
    values = [row["validation precision"] for row in model.history]
    assert model.metrics["validation precision"] == max(values) > values[0]
    ContextEncoder(CONFIG, 1).fit(section_corpus(thematic))
    assert np.array_equal(thematic.embed(sections(50, 1)), before) and thematic.context is None


def test_the_rest_of_the_article_changes_a_vector_and_its_order_does_not(model: ContextEncoder) -> None:
    article = sections(50, 1)
    whole, first, turned = (model.embed(part) for part in (article, article[:1], article[::-1]))
    assert abs(whole - turned[::-1]).max() < 1e-6 < 1e-4 < abs(whole[:1] - first).max()
    assert np.linalg.norm(whole, axis=1) == pytest.approx(1, abs=1e-5)
    assert not model.embed([dataclasses.replace(s, text="…") for s in sections(50, 1)]).any()


def test_it_needs_exactly_one_thematic_encoder_and_settings_that_it_can_read(
    thematic: ThematicEncoder, model: ContextEncoder
) -> None:
    for models in ((), (thematic, thematic), (model,)):
        with pytest.raises(DataError, match="exactly one fitted model, a thematic encoder"):
            ContextEncoder(CONFIG, 0).fit(section_corpus(*models))  # type: ignore[arg-type]
    for settings, error, text in (
        ({"max_tokens": 8_000}, ConfigError, "reads at most 512 word pieces"),
        ({"embedded_per_article": 2}, DataError, "Embed more sentences of each article"),
    ):
        with pytest.raises(error, match=text):
            ContextEncoder(dataclasses.replace(CONFIG, **settings), 0).fit(section_corpus(thematic))  # type: ignore[arg-type]


def test_an_encoder_whose_word_vectors_are_shorter_than_its_states_is_told() -> None:
    import transformers

    from themescope.core.models.thematic_encoder.network import reads_context

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.ElectraConfig(vocab_size=30, embedding_size=8, **sizes)
    network = transformers.ElectraModel(config).eval()
    assert not reads_context(network, 16)
    assert reads_context(transformers.BertModel(transformers.BertConfig(vocab_size=30, **sizes)).eval(), 16)


@pytest.mark.parametrize("name", ["Bert", "Roberta", "MPNet"])
def test_word_pieces_keep_their_positions_behind_the_context(name: str) -> None:
    """Also in encoders that count positions from the one after that of the padding."""
    import torch
    import transformers

    from themescope.core.models.thematic_encoder.network import _preceded

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(vocab_size=30, max_position_embeddings=20, **sizes)
    network = getattr(transformers, f"{name}Model")(config).eval()
    ids = torch.randint(5, 30, (2, 6))
    inputs = _preceded(network, ids, torch.ones_like(ids), torch.zeros(2, 16))
    with torch.inference_mode():
        given = network(
            inputs_embeds=inputs["inputs_embeds"][:, 1:], position_ids=inputs["position_ids"][:, 1:],
            attention_mask=inputs["attention_mask"][:, 1:],
        )  # fmt: skip
        usual = network(input_ids=ids, attention_mask=torch.ones_like(ids))
    assert torch.allclose(given.last_hidden_state, usual.last_hidden_state, atol=1e-6)


def test_a_small_file_names_the_pretrained_model_instead_of_copying_it(
    thematic: ThematicEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, folder = {"thematic": tmp_path / "thematic"}, tmp_path / "in-context"
    digest = save_model(thematic, "thematic-encoder", installed["thematic"], {"train_titles": ["00aa"]})
    monkeypatch.setattr(artifact, "pretrained_folders", lambda: installed)
    thematic = load_model(installed["thematic"])[0]  # type: ignore[assignment]
    model = ContextEncoder(CONFIG, 0).fit(section_corpus(thematic))
    save_model(model, "context-encoder", folder, {"train_titles": ["00ff"]}, small=True)
    installed["in-context"] = folder
    assert not [*folder.glob("base0-*")] and built_on(digest, "context-encoder") == folder
    small, info = load_model(folder)
    assert info["record"]["train_titles"] == ["00aa", "00ff"]  # also those that the encoder was trained on
    assert np.sum(small.embed(sections(50, 1)) * model.embed(sections(50, 1)), axis=1).min() > 0.999
    save_model(small, "context-encoder", tmp_path / "whole", {})
    assert np.array_equal(load_model(tmp_path / "whole")[0].embed(sections(50, 1)), small.embed(sections(50, 1)))
    monkeypatch.setattr(artifact, "pretrained_folders", lambda: {"in-context": folder})
    assert built_on("0" * 16, "context-encoder") is None
    with pytest.raises(ArtifactError, match="pretrained model that this version does not have"):
        load_model(folder)
