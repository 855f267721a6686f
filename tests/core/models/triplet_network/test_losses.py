"""Triplet losses: definitions, gradients and numerical stability."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import ConfigError
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.network import bounded
from themescope.core.models.triplet_network.training import (
    TripletLoss,
    distances,
    gradient_share,
    triplet_losses,
)


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


def test_log_loss_keeps_a_gradient_far_on_the_wrong_side():
    delta = torch.tensor([30.0], requires_grad=True)
    triplet_losses(delta, "log").backward()
    assert float(delta.grad) == pytest.approx(1)


def test_distances_equal_their_definitions():
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


def test_settings_with_an_almost_constant_loss_are_refused():
    with pytest.raises(ConfigError, match="almost constant"):
        TripletNetConfig(distance="mean-l1", temperature=1.0)
    TripletNetConfig(distance="mean-l1", temperature=1.0, learned_scale=True)


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
        ours.set_temperature(7.0)
        assert float(ours(vectors, triplets, torch.ones(10))) == pytest.approx(float(plain), abs=1e-6)


@given(st.floats(0.1, 50), st.floats(0, 100))
def test_bounded_rows_keep_direction_and_are_no_longer_than_the_bound(bound, length):
    row = torch.tensor([[0.6, 0.8]]) * length
    found = bounded(row, bound)
    assert float(found.norm()) == pytest.approx(min(length, bound), rel=1e-5, abs=1e-6)
    assert torch.allclose(found, row * (min(1, bound / length) if length else 0), atol=1e-4)
    assert bounded(row, 0.0) is row


def test_with_temperature_1_the_cosine_loss_cannot_fall_below_its_floor():
    """1 − cos lies in [0, 2], so that 2σ(Δ) ≥ .238."""
    vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    loss = TripletLoss("paper", "cosine")(vectors, torch.tensor([[0, 1, 2]]), torch.ones(1))
    assert float(loss) == pytest.approx(0.2384, abs=1e-4)
