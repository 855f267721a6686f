"""The network: attention, padding, and equality with torch's packed bidirectional LSTM."""

import pytest
import torch
from torch import nn

from themescope.core.models.triplet_network.network import BiLstmAttention, reversal

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
    weights = {
        name: net.onward.get_parameter(name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    }
    weights |= {f"{name}_reverse": net.backward_.get_parameter(name) for name in list(weights)}
    lstm.load_state_dict({name: p.detach().clone() for name, p in weights.items()})
    return lstm


def packed_states(lstm, words):
    sequence = nn.utils.rnn.pack_padded_sequence(words, LENGTHS, batch_first=True, enforce_sorted=False)
    return nn.utils.rnn.pad_packed_sequence(lstm(sequence)[0], batch_first=True)[0]


def test_states_and_gradients_equal_packed(net, words):
    lstm = packed(net)
    real = (torch.arange(9) < LENGTHS[:, None]).unsqueeze(2)
    ours, theirs = net.states(words, LENGTHS) * real, packed_states(lstm, words)
    assert torch.allclose(ours, theirs, atol=1e-5)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    assert torch.allclose(net.backward_.weight_hh_l0.grad, lstm.weight_hh_l0_reverse.grad, atol=1e-5)


def test_padding_has_no_influence(net, words):
    before = net(words, LENGTHS)
    noisy = torch.where((torch.arange(9) < LENGTHS[:, None]).unsqueeze(2), words, torch.randn_like(words) * 100)
    longer = torch.cat([noisy, torch.randn(len(LENGTHS), 13, 6)], dim=1)
    assert torch.allclose(before, net(longer, LENGTHS), atol=1e-5)


def test_attention_sums_to_one_over_the_tokens(net, words):
    weights = net.attention(net.states(words, LENGTHS), LENGTHS)
    assert torch.allclose(weights.sum(1), torch.ones(len(LENGTHS)))
    assert (weights[torch.arange(9) >= LENGTHS[:, None]] == 0).all()


def test_a_sentence_without_words_is_zero(net, words):
    vectors = net(words, torch.tensor([7, 0, 4, 9, 9, 0]))
    assert torch.isfinite(vectors).all()
    assert (vectors[[1, 5]] == 0).all() and (vectors[0] != 0).any()


def test_reversal_keeps_the_padding_in_place():
    assert reversal(torch.tensor([3, 1]), 4).tolist() == [[2, 1, 0, 3], [0, 1, 2, 3]]


def test_the_default_size_is_that_of_the_paper():
    net = BiLstmAttention(300)
    assert net.width == 600
    counted = {name: p.numel() for name, p in net.named_parameters() if name.startswith(("onward", "backward"))}
    lstm = sum(size for name, size in counted.items() if "bias_hh" not in name)
    assert lstm == 2 * 4 * (300 * 300 + 300 * 300 + 300)
    assert (net.onward.bias_ih_l0[300:600] == 1).all() and (net.onward.bias_hh_l0[300:600] == 0).all()
