import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.core.models.triplet_network.themes import NO_WORDS, theme_data
from themescope.core.errors import ConfigError
from themescope.core.models.triplet_network import model
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.model import Inference
from themescope.core.models.triplet_network.network import (
    BiLstmAttention,
    bounded,
    epoch_batches,
    length_chunks,
    triplet_data,
)
from themescope.core.models.triplet_network.training import (
    TripletLoss,
    all_distances,
    distances,
    relations,
    section_loss,
    triplet_losses,
)
from themescope.core.text.word_vectors import TokenIds
from themescope.core.types import TripletTexts

LENGTHS = torch.tensor([7, 1, 4, 9, 9, 2])


@pytest.fixture
def net():
    torch.manual_seed(3)
    return BiLstmAttention(6, hidden=5, attention=4)


@pytest.fixture
def words():
    torch.manual_seed(4)
    return torch.randn(len(LENGTHS), 9, 6)


def packed(net):
    """The bidirectional LSTM of torch with the weights of ``net``."""
    lstm = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    weights = {name: net.onward.get_parameter(name) for name in names}
    weights |= {f"{name}_reverse": net.backward_.get_parameter(name) for name in names}
    lstm.load_state_dict({name: p.detach().clone() for name, p in weights.items()})
    return lstm


def test_states_and_gradients_equal_packed(net, words):
    lstm = packed(net)
    real = (torch.arange(9) < LENGTHS[:, None]).unsqueeze(2)
    sequence = nn.utils.rnn.pack_padded_sequence(words, LENGTHS, batch_first=True, enforce_sorted=False)
    theirs = nn.utils.rnn.pad_packed_sequence(lstm(sequence)[0], batch_first=True)[0]
    ours = net.states(words, LENGTHS) * real
    assert torch.allclose(ours, theirs, atol=1e-5)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    assert torch.allclose(net.backward_.weight_hh_l0.grad, lstm.weight_hh_l0_reverse.grad, atol=1e-5)


def test_attention_sums_to_one_over_the_tokens_and_padding_has_no_influence(net, words):
    weights = net.attention(net.states(words, LENGTHS), LENGTHS)
    assert torch.allclose(weights.sum(1), torch.ones(len(LENGTHS)))
    assert (weights[torch.arange(9) >= LENGTHS[:, None]] == 0).all()
    before = net(words, LENGTHS)
    noisy = torch.where((torch.arange(9) < LENGTHS[:, None]).unsqueeze(2), words, torch.randn_like(words) * 100)
    longer = torch.cat([noisy, torch.randn(len(LENGTHS), 13, 6)], dim=1)
    assert torch.allclose(before, net(longer, LENGTHS), atol=1e-5)


def test_the_default_size_is_that_of_the_paper_and_an_almost_constant_loss_is_refused():
    net = BiLstmAttention(300)
    assert net.width == 600
    counted = {name: p.numel() for name, p in net.named_parameters() if name.startswith(("onward", "backward"))}
    lstm = sum(size for name, size in counted.items() if "bias_hh" not in name)
    assert lstm == 2 * 4 * (300 * 300 + 300 * 300 + 300)
    assert (net.onward.bias_ih_l0[300:600] == 1).all() and (net.onward.bias_hh_l0[300:600] == 0).all()
    with pytest.raises(ConfigError, match="almost constant"):
        TripletNetConfig(distance="mean-l1", temperature=1.0)
    TripletNetConfig(distance="mean-l1", temperature=1.0, learned_scale=True)
    # With temperature 1 that of cosines has a floor: 1 − cos lies in [0, 2], so that 2σ(Δ) ≥ .238.
    vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    loss = TripletLoss("paper", "cosine")(vectors, torch.tensor([[0, 1, 2]]), torch.ones(1))
    assert float(loss) == pytest.approx(0.2384, abs=1e-4)


torch.manual_seed(0)
NET = BiLstmAttention(6, hidden=20, attention=5).eval()


def tokens_of(lengths: list[int]) -> TokenIds:
    random = np.random.default_rng(len(lengths))
    ids = random.integers(0, 30, sum(lengths)).astype(np.int32)
    table = random.normal(size=(30, 6)).astype(np.float32)
    return TokenIds(ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), table)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_equal_to_the_network(lengths: list[int]) -> None:
    tokens = tokens_of(lengths)
    ids, counts = tokens.padded(np.arange(len(tokens)))
    with torch.inference_mode():
        expected = NET(torch.from_numpy(tokens.table[ids]), torch.from_numpy(counts)).numpy()
    assert np.abs(Inference(NET).encode(tokens, lambda: None) - expected).max() < 2e-6


def test_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tokens_of([3, 0, 7, 1, 1, 9, 4])
    whole = Inference(NET).encode(tokens, lambda: None)
    monkeypatch.setattr(model, "BATCH", 2)
    calls: list[int] = []
    assert np.allclose(Inference(NET).encode(tokens, lambda: calls.append(1)), whole, atol=1e-6)
    assert len(calls) == 3


def test_int8_is_close_to_fp32_and_another_precision_is_refused() -> None:
    tokens = tokens_of([5, 9, 2, 30, 12] * 8)
    exact, rounded = (Inference(NET, p).encode(tokens, lambda: None) for p in model.PRECISIONS)
    cosines = (exact * rounded).sum(1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(rounded, axis=1)
    assert cosines.min() > 0.995 and (exact != rounded).any()
    with pytest.raises(ConfigError, match="fp32 or int8"):
        Inference(NET, "int4")  # type: ignore[arg-type]


@pytest.mark.parametrize("batching", ["by-article", "shuffled"])
def test_an_epoch_contains_every_triplet_once(batching):
    data = theme_data(7, per_article=23)
    config = TripletNetConfig(batching=batching, batch_size=10, run_length=6)
    first, again, other = (epoch_batches(data, config, 1, epoch) for epoch in (0, 0, 1))
    assert sorted(np.concatenate(first)) == list(range(len(data)))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(np.concatenate(first), np.concatenate(other))
    assert max(map(len, first)) <= 10


def test_an_epoch_can_be_a_sample_and_a_limit_keeps_whole_articles():
    config = TripletNetConfig(batch_size=10, triplets_per_epoch=25)
    drawn = np.concatenate(epoch_batches(theme_data(), config, 1, 0))
    assert len(drawn) == len(set(drawn)) == 25
    data = theme_data(7, per_article=10)
    config = TripletNetConfig(batch_size=8, training_limit=35)
    first, second = (np.sort(np.concatenate(epoch_batches(data, config, 1, epoch))) for epoch in (0, 1))
    assert np.array_equal(first, second)
    assert sorted(np.unique(data.groups[first], return_counts=True)[1]) == [10, 10, 10]
    other = np.concatenate(epoch_batches(data, config, 2, 0))
    assert set(data.groups[other]) != set(data.groups[first])
    alone = np.concatenate(epoch_batches(data, TripletNetConfig(training_limit=1), 1, 0))
    assert len(set(data.groups[alone])) == 1


def test_by_article_shares_sentences():
    def texts(shift):
        return [f"article{a} sentence{i + shift}" for a in range(6) for i in range(38) for _ in range(4)]

    data = triplet_data(TripletTexts(texts(0), texts(1), texts(2), np.repeat(np.arange(6), 38 * 4)), NO_WORDS)
    assert len(data.tokens) == 240

    def distinct(batching):
        config = TripletNetConfig(batching=batching, batch_size=64, run_length=32)
        return np.mean([len(np.unique(data.triplets[b])) / len(b) for b in epoch_batches(data, config, 1, 0)])

    assert distinct("by-article") < distinct("shuffled") / 2


def test_balance_gives_articles_the_same_weight():
    data = theme_data(3, per_article=4)
    groups = np.array([0] * 9 + [1] * 2 + [2])
    weights = type(data)(data.tokens, data.triplets, groups).weights(1.0)
    sums = np.bincount(groups, weights)
    assert sums == pytest.approx(np.full(3, 4.0)) and weights.mean() == pytest.approx(1)
    assert (data.weights(0.0) == 1).all()


@given(st.lists(st.integers(0, 60), max_size=80), st.integers(1, 400))
def test_chunks_contain_every_row_once_within_the_limit(lengths, tokens):
    lengths = np.array(lengths, np.int64)
    chunks = length_chunks(lengths, tokens)
    assert sorted(np.concatenate([*chunks, []])) == list(range(len(lengths)))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * max(lengths[chunk].max(), 1) <= tokens


def test_padded_ids_are_the_words_and_a_limit_samples_triplets():
    data = triplet_data(TripletTexts(["a b c"], ["a"], [""], np.array([0])), NO_WORDS)
    ids, lengths = data.tokens.padded(np.array([0, 1, 2]))
    assert lengths.tolist() == [3, 1, 0]
    assert ids.tolist() == [[0, 1, 2], [0, 0, 0], [0, 0, 0]]
    texts = TripletTexts(list("abcdef"), list("ghijkl"), list("mnopqr"), np.arange(6))
    data = triplet_data(texts, NO_WORDS, limit=3, seed=1)
    assert len(data) == 3 and len(data.tokens) == 9


@given(st.floats(0, 40), st.floats(0, 40))
def test_paper_loss_equals_the_three_step_definition(near, far):
    p_near = math.exp(near) / (math.exp(near) + math.exp(far))
    p_far = math.exp(far) / (math.exp(near) + math.exp(far))
    ours = triplet_losses(torch.tensor([near - far], dtype=torch.float64), "paper")
    assert float(ours) == pytest.approx(abs(p_near) + abs(1 - p_far), abs=1e-6)


@pytest.mark.parametrize("loss", ["paper", "log"])
def test_losses_of_huge_distances_are_finite_and_the_log_loss_keeps_a_gradient(loss):
    delta = torch.tensor([1e4, -1e4], requires_grad=True)
    values = triplet_losses(delta, loss)
    values.sum().backward()
    assert torch.isfinite(values).all() and torch.isfinite(delta.grad).all()
    assert values[1] == 0
    delta = torch.tensor([30.0], requires_grad=True)
    triplet_losses(delta, "log").backward()
    assert float(delta.grad) == pytest.approx(1)


def test_distances_equal_their_definitions_with_a_finite_gradient():
    a, b = torch.randn(5, 7, dtype=torch.bfloat16), torch.randn(5, 7, dtype=torch.bfloat16)
    full_a, full_b = a.float(), b.float()
    assert distances(a, b, "l1").dtype == torch.float32
    assert torch.allclose(distances(a, b, "l1"), (full_a - full_b).abs().sum(1))
    assert torch.allclose(distances(a, b, "mean-l1"), (full_a - full_b).abs().mean(1))
    assert torch.allclose(distances(a, b, "l2"), (full_a - full_b).norm(dim=1), atol=1e-4)
    cosine = torch.nn.functional.cosine_similarity(full_a, full_b)
    assert torch.allclose(distances(a, b, "cosine"), 1 - cosine)
    a = torch.randn(3, 4, requires_grad=True)
    for kind in ("l1", "l2", "cosine"):
        distances(a, a.clone(), kind).sum().backward()
    assert torch.isfinite(a.grad).all()


def test_learned_scale_is_bounded_and_weights_count():
    loss = TripletLoss("paper", "l1", learned_scale=True)
    loss.tau.fill_(2.0)
    with torch.no_grad():
        loss.theta.fill_(100.0)
    assert float(loss.temperature.detach()) == pytest.approx(2 * math.exp(-3))
    vectors = torch.tensor([[0.0], [1.0], [5.0]])
    triplets = torch.tensor([[0, 1, 2], [0, 2, 1]])
    right = loss(vectors, triplets, torch.tensor([1.0, 0.0]))
    wrong = loss(vectors, triplets, torch.tensor([0.0, 1.0]))
    assert right < 0.04 and wrong > 1.96
    x = torch.tensor([[0.0], [1.0], [1.5], [10.0], [11.0], [50.0]])
    rows = torch.tensor([[0, 1, 2], [3, 4, 5]])  # the first is hard, the second easy
    hard, easy = (float(TripletLoss("section", "l1")(x, rows, torch.tensor(w))) for w in ([1.0, 0.1], [0.1, 1.0]))
    assert hard > 2 * easy


@pytest.mark.parametrize("margin", [0.0, 0.2, 1.0])
def test_facenet_is_the_margin_between_squared_distances_of_unit_vectors(margin):
    vectors = torch.randn((30, 5), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    triplets = torch.arange(30).reshape(10, 3)
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    x, near, far = (unit[triplets[:, part]] for part in range(3))
    squared = (x - near).square().sum(1) - (x - far).square().sum(1)
    plain = (squared + margin).clamp(min=0).mean()
    for distance in ("l1", "cosine"):
        ours = TripletLoss("facenet", distance, margin=margin)
        ours.tau.fill_(7.0)
        assert float(ours(vectors, triplets, torch.ones(10))) == pytest.approx(float(plain), abs=1e-6)


@given(st.floats(0.1, 50), st.floats(0, 100))
def test_bounded_rows_keep_direction_and_are_no_longer_than_the_bound(bound, length):
    row = torch.tensor([[0.6, 0.8]]) * length
    found = bounded(row, bound)
    assert float(found.norm()) == pytest.approx(min(length, bound), rel=1e-5, abs=1e-6)
    assert torch.allclose(found, row * (min(1, bound / length) if length else 0), atol=1e-4)
    assert bounded(row, 0.0) is row


SENTENCES = 12


@st.composite
def batches(draw):
    """Triplets of sentences of known sections, as the sampler draws them."""
    section = draw(st.lists(st.integers(0, 3), min_size=SENTENCES, max_size=SENTENCES))
    picks = st.tuples(*[st.integers(0, SENTENCES - 1)] * 3)
    drawn = draw(st.lists(picks, max_size=30))
    fit = [(a, b, c) for a, b, c in drawn if a != b and section[a] == section[b] != section[c]]
    return np.array(section), np.array(fit, np.int64).reshape(-1, 3)


def by_definition(d, together, apart, weights):
    total = shares = 0.0
    for i in range(len(d)):
        pairs, others = np.flatnonzero(together[i]), np.flatnonzero(apart[i])
        if len(pairs) and len(others):
            below = sum(math.exp(-d[i, k]) for k in others)
            total += weights[i] * np.mean([-math.log(math.exp(-d[i, j]) / (math.exp(-d[i, j]) + below)) for j in pairs])
            shares += weights[i]
    return total / shares if shares else 0.0


@given(batches(), st.integers(0, 99))
def test_relations_agree_with_the_sections_and_the_loss_with_its_definition(batch, seed):
    section, triplets = batch
    together, apart = relations(triplets, SENTENCES)
    same = section[:, None] == section
    assert not (together & ~same).any()
    assert not (apart & same).any()
    assert np.array_equal(together, together.T) and np.array_equal(apart, apart.T)
    assert not together.diagonal().any()
    for pivot, positive, negative in triplets:
        assert together[pivot, positive] and apart[pivot, negative] and apart[positive, negative]
    random = np.random.default_rng(seed)
    d, weights = random.uniform(0, 4, (SENTENCES, SENTENCES)), random.uniform(0.1, 1, SENTENCES)
    ours = section_loss(*map(torch.from_numpy, (d, together, apart, weights)))
    assert float(ours) == pytest.approx(by_definition(d, together, apart, weights), abs=1e-9)


@pytest.mark.parametrize("kind", ["l1", "l2", "cosine", "mean-l1"])
def test_all_distances_are_the_distances_of_rows(kind):
    x = torch.randn(6, 5)
    rows = torch.cartesian_prod(torch.arange(6), torch.arange(6))
    rows = rows[rows[:, 0] != rows[:, 1]]
    every = all_distances(x, kind)
    assert torch.allclose(every[rows[:, 0], rows[:, 1]], distances(x[rows[:, 0]], x[rows[:, 1]], kind), atol=1e-5)


@pytest.mark.parametrize("kind", ["l1", "l2", "cosine"])
def test_equal_and_distant_sentences_have_a_finite_gradient(kind):
    x = torch.tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1e4, -1e4]], requires_grad=True)
    loss = TripletLoss("section", kind)(x, torch.tensor([[0, 1, 3], [1, 2, 3]]), torch.ones(2))
    loss.backward()
    assert torch.isfinite(loss) and torch.isfinite(x.grad).all()
