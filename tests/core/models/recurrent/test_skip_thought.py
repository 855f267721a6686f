import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from themescope.core.errors import DataError, ReadError, TrainingError
from themescope.core.models import REGISTRY
from themescope.core.models.recurrent.data import (
    END,
    SPECIAL,
    UNKNOWN,
    GruDecoder,
    GruEncoder,
    RecurrentTrainingConfig,
    expanded,
    read_recurrent_weights,
    skip_data,
)
from themescope.core.models.recurrent.model import sampled_softmax, train_skip
from themescope.core.text.word_vectors import WordVectors
from themescope.core.types import SILENT, Corpus, Sentence

SMALL = RecurrentTrainingConfig(
    hidden=16, decoder=16, word_dim=12, negatives=40, batch_size=16, threads=1, device="cpu",
    learning_rate=0.01, epochs=3,
)  # fmt: skip


def running_text(articles=30, seed=0):
    """Articles whose sentences use the words of one theme."""
    random = np.random.default_rng(seed)
    sentences = []
    for article in range(articles):
        theme = [f"theme{article % 4}word{i}" for i in range(6)]
        for position in range(8):
            text = " ".join([*random.choice(theme, 4), f"common{random.integers(10)}"])
            sentences.append(Sentence(text, article_id=article, position=position))
    return sentences


def gap(vectors, sentences):
    """How much larger cosines are within a theme than between themes."""
    theme = np.array([s.article_id % 4 for s in sentences])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines, same = unit @ unit.T, theme[:, None] == theme
    return cosines[same].mean() - cosines[~same].mean()


def tokenised(sentences, vocabulary=1_000, most=30):
    return skip_data(sentences, vocabulary, most, lambda: None)


def numpy_gru(x, h, w, u, b, joint):
    """One step by the formulas; (W, U, b) of r, z and the candidate are concatenated."""
    size = len(h)
    gates, own = x @ w + b + joint, h @ u
    r, z = (1 / (1 + np.exp(-(gates[s] + own[s]))) for s in (slice(0, size), slice(size, 2 * size)))
    new = np.tanh(gates[2 * size :] + r * own[2 * size :])
    return (1 - z) * new + z * h


def test_the_decoder_adds_the_sentence_to_every_gate():
    torch.manual_seed(0)
    decoder = GruDecoder(3, 5, 4)
    words, sentence = torch.randn(1, 6, 3), torch.randn(1, 5)
    states = decoder(words, sentence)[0].detach().numpy()
    w, u, c = (layer.weight.T.detach().numpy() for layer in (decoder.words, decoder.recurrent, decoder.sentence))
    b = decoder.words.bias.detach().numpy()
    h = np.zeros(4)
    for x, state in zip(words[0].numpy(), states, strict=True):
        h = numpy_gru(x, h, w, u, b, sentence[0].numpy() @ c)
        assert np.allclose(h, state, atol=1e-6)


def test_padding_does_not_influence_the_encoder():
    torch.manual_seed(0)
    encoder = GruEncoder(3, 4)
    words = torch.randn(3, 7, 3)
    lengths = torch.tensor([7, 4, 0])
    whole = encoder(words, lengths)
    alone = encoder(words[1:2, :4], torch.tensor([4]))
    assert torch.allclose(whole[1:2], alone, atol=1e-6) and not whole[2].any() and encoder.width == 8
    backwards = encoder.backward_(words[:1].flip(1))[0][:, -1]
    assert torch.allclose(whole[:1, 4:], backwards, atol=1e-6)


def test_sampled_softmax_over_all_words_equals_softmax():
    logits = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))
    wanted = torch.tensor([0, 3, 8, 2, 2])
    drawn = torch.arange(9)
    found = sampled_softmax(logits[torch.arange(5), wanted], logits, wanted.unsqueeze(1) == drawn)
    assert torch.allclose(found, torch.nn.functional.cross_entropy(logits, wanted, reduction="none"), atol=1e-6)


def test_neighbours_are_of_the_same_article_and_rare_words_share_a_row():
    texts = [("a b", 1, 0), ("a c", 1, 1), ("", 1, 2), ("a a d", 2, 3), ("loose", -1, 0), ("b e", 2, 4)]
    data = tokenised([Sentence(t, article_id=a, position=p) for t, a, p in texts], vocabulary=2, most=2)
    assert data.neighbours.tolist() == [[-1, 1], [0, -1], [1, -1], [-1, 5], [-1, -1], [3, -1]]
    assert data.usable.tolist() == [0, 1, 3, 5]
    assert data.words == ["a", "b"] and data.counts[END] == 6
    ids, lengths = data.padded(np.array([1, 3, 2]))
    assert ids.tolist() == [[SPECIAL, UNKNOWN], [SPECIAL, SPECIAL], [END, END]] and lengths.tolist() == [2, 2, 0]


@pytest.fixture(scope="module")
def running():
    return tokenised(running_text(6))


@given(size=st.integers(1, 40), wanted=st.integers(0, 200), seed=st.integers(0, 5))
def test_an_epoch_contains_every_sentence_once(running, size, wanted, seed):
    rows = np.concatenate(running.batches(size, wanted, seed, 0))
    assert len(set(rows.tolist())) == len(rows) == min(wanted or len(running.usable), len(running.usable))
    assert set(rows.tolist()) <= set(running.usable.tolist())


def test_it_learns_which_sentences_follow_each_other():
    sentences = running_text(20)
    settings = SMALL.to_dict() | {"vocabulary_limit": 10, "epochs": 5, "batch_size": 32, "learning_rate": 0.06}
    model = REGISTRY.build("skip-thought", settings, seed=1).fit(Corpus(sentences=sentences))
    vectors = model.embed(sentences)
    assert gap(vectors, sentences) > 0.5
    assert model.metrics["sentences/s"] > 0 and model.metrics["loss"] < 3.2


def test_a_corpus_without_running_text_is_refused():
    with pytest.raises(TrainingError, match="two consecutive sentences"):
        train_skip(SMALL, 1, tokenised([Sentence("a b"), Sentence("c d")]), SILENT)
    with pytest.raises(DataError, match="has none"):
        REGISTRY.build("skip-thought", {"vocabulary_limit": 10}, seed=0).fit(Corpus(), SILENT)


def test_words_that_were_not_learned_are_mapped_where_there_are_common_words():
    random = np.random.default_rng(0)
    names = [f"w{i}" for i in range(40)]
    table = WordVectors(names, random.normal(size=(40, 5)).astype(np.float32))
    turn, shift = random.normal(size=(5, 7)), random.normal(size=7)
    own = WordVectors([*names[:30], "only here"], np.vstack([table.table[:30] @ turn + shift, np.ones((1, 7))]))
    words = expanded(own, table)
    vectors, known = words.of_words(["w35", "w3", "only here", "nowhere"])
    assert known.tolist() == [True, True, True, False] and not vectors[3].any()
    assert np.allclose(vectors[:3], [table.table[35] @ turn + shift, own.table[3], np.ones(7)], atol=1e-3)
    own, table = WordVectors(["a"], np.ones((1, 3), np.float32)), WordVectors(["b"], np.ones((1, 2), np.float32))
    assert not expanded(own, table).of_words(["b"])[0].any()


def released(hidden=4, dim=5, prefixes=("encoder_", "encoder_r_")):
    random = np.random.default_rng(1)
    shapes = {"W": (dim, 2 * hidden), "b": (2 * hidden,), "U": (hidden, 2 * hidden), "Wx": (dim, hidden),
              "bx": (hidden,), "Ux": (hidden, hidden)}  # fmt: skip
    return {p + n: random.normal(size=s).astype(np.float32) for p in prefixes for n, s in shapes.items()}


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_published_weights_are_read_in_the_order_of_gates(tmp_path, ending):
    arrays = released()
    path = tmp_path / ("weights" + ending)
    np.savez(path, **arrays) if ending == ".npz" else save_file(arrays, path)
    encoder = read_recurrent_weights(path, 5)
    words = np.random.default_rng(2).normal(size=(6, 5)).astype(np.float32)
    found = encoder(torch.from_numpy(words[None]), torch.tensor([6]))[0].detach().numpy()
    for half, (prefix, order) in enumerate((("encoder_", words), ("encoder_r_", words[::-1]))):
        pairs = (("W", "Wx"), ("U", "Ux"), ("b", "bx"))
        w, u, b = (np.concatenate([arrays[prefix + first], arrays[prefix + second]], -1) for first, second in pairs)
        h = np.zeros(4)
        for x in order:
            h = numpy_gru(x, h, w, u, b, 0.0)
        assert np.allclose(found[4 * half : 4 * half + 4], h, atol=1e-5)


def test_published_weights_can_be_used_as_a_model(tmp_path):
    path = tmp_path / "weights.safetensors"
    save_file(released(hidden=6, dim=50, prefixes=("encoder_",)), path)
    settings = {"weights": str(path), "vocabulary_limit": 3_000, "threads": 1, "device": "cpu"}
    model = REGISTRY.build("skip-thought", settings, seed=0).fit(Corpus())
    vectors = model.embed([Sentence("The city of the north"), Sentence("qqxx")])
    assert vectors.shape == (2, 6) and vectors[0].any() and not vectors[1].any()
    model.save(tmp_path)
    assert np.array_equal(type(model).load(tmp_path).embed([Sentence("The city of the north")]), vectors[:1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"encoder_U": None}, "'encoder_U' is missing"),
        ({"encoder_W": np.zeros((3, 8), np.float32)}, "shape"),
        (released(hidden=3, prefixes=("encoder_r_",)), "directions have 4 and 3 units"),
    ],
)
def test_weights_that_do_not_fit_are_explained(tmp_path, change, said):
    path = tmp_path / "weights.safetensors"
    save_file({n: a for n, a in (released() | change).items() if a is not None}, path)
    with pytest.raises(ReadError, match=said):
        read_recurrent_weights(path, 5)
    (tmp_path / "x.npz").write_bytes(b"nonsense")
    with pytest.raises(ReadError, match="cannot be read"):
        read_recurrent_weights(tmp_path / "x.npz", 5)
