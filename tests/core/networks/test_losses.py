"""Oracle J.1 and the numerics of the loss."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.networks.config import TrainingConfig
from core.networks.losses import TripletLoss, distances, gradient_share, triplet_losses


@given(st.floats(0, 40), st.floats(0, 40))
def test_paper_loss_equals_the_three_step_definition(near, far):
    p_near = math.exp(near) / (math.exp(near) + math.exp(far))
    p_far = math.exp(far) / (math.exp(near) + math.exp(far))
    ours = triplet_losses(torch.tensor([near - far], dtype=torch.float64), "paper")
    assert float(ours) == pytest.approx(abs(p_near) + abs(1 - p_far), abs=1e-6)


@pytest.mark.parametrize("loss", ["paper", "log"])
def test_huge_distances_do_not_overflow(loss):
    delta = torch.tensor([1e4, -1e4], requires_grad=True)
    values = triplet_losses(delta, loss)
    values.sum().backward()
    assert torch.isfinite(values).all() and torch.isfinite(delta.grad).all()
    assert values[1] == 0


def test_gradient_of_the_paper_loss_is_2p_times_1_minus_p():
    delta = torch.linspace(-6, 6, 25, requires_grad=True)
    triplet_losses(delta, "paper").sum().backward()
    assert torch.allclose(delta.grad, gradient_share(delta.detach()) / 2, atol=1e-6)


def test_log_loss_keeps_a_gradient_on_badly_wrong_triplets():
    delta = torch.tensor([30.0], requires_grad=True)
    triplet_losses(delta, "log").backward()
    assert float(delta.grad) == pytest.approx(1)


def test_distances_are_what_they_say():
    a, b = torch.randn(5, 7, dtype=torch.bfloat16), torch.randn(5, 7, dtype=torch.bfloat16)
    full_a, full_b = a.float(), b.float()
    assert distances(a, b, "l1").dtype == torch.float32
    assert torch.allclose(distances(a, b, "l1"), (full_a - full_b).abs().sum(1))
    assert torch.allclose(distances(a, b, "mean-l1"), (full_a - full_b).abs().mean(1))
    assert torch.allclose(distances(a, b, "l2"), (full_a - full_b).norm(dim=1), atol=1e-4)
    cosine = torch.nn.functional.cosine_similarity(full_a, full_b)
    assert torch.allclose(distances(a, b, "cosine"), 1 - cosine)


def test_equal_sentences_have_a_finite_gradient():
    a = torch.randn(3, 4, requires_grad=True)
    for kind in ("l1", "l2", "cosine"):
        distances(a, a.clone(), kind).sum().backward()
    assert torch.isfinite(a.grad).all()


def test_learned_scale_is_bounded_and_weights_count():
    loss = TripletLoss("paper", "l1", learned_scale=True)
    loss.set_temperature(2.0)
    with torch.no_grad():
        loss.theta.fill_(100.0)
    assert float(loss.temperature.detach()) == pytest.approx(2 * math.exp(-3))
    vectors = torch.tensor([[0.0], [1.0], [5.0]])
    triplets = torch.tensor([[0, 1, 2], [0, 2, 1]])
    right = loss(vectors, triplets, torch.tensor([1.0, 0.0]))
    wrong = loss(vectors, triplets, torch.tensor([0.0, 1.0]))
    assert right < 0.04 and wrong > 1.96


def test_a_flat_loss_is_refused():
    with pytest.raises(ConfigError, match="makes the loss flat"):
        TrainingConfig(distance="mean-l1", temperature=1.0)
    TrainingConfig(distance="mean-l1", temperature=1.0, learned_scale=True)
