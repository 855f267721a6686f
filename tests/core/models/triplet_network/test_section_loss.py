"""The section loss: which sentences are compared, and the definition of the loss."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.models.triplet_network.training import (
    TripletLoss,
    all_distances,
    distances,
    relations,
    section_loss,
)

SENTENCES = 12


@st.composite
def batches(draw):
    """Triplets of sentences of known sections, as the sampler draws them."""
    section = draw(st.lists(st.integers(0, 3), min_size=SENTENCES, max_size=SENTENCES))
    picks = st.tuples(*[st.integers(0, SENTENCES - 1)] * 3)
    drawn = draw(st.lists(picks, max_size=30))
    fit = [(a, b, c) for a, b, c in drawn if a != b and section[a] == section[b] != section[c]]
    return np.array(section), np.array(fit, np.int64).reshape(-1, 3)


@given(batches())
def test_relations_agree_with_the_sections_and_include_every_triplet(batch):
    section, triplets = batch
    together, apart = relations(triplets, SENTENCES)
    same = section[:, None] == section
    assert not (together & ~same).any()
    assert not (apart & same).any()
    assert np.array_equal(together, together.T) and np.array_equal(apart, apart.T)
    assert not together.diagonal().any()
    for pivot, positive, negative in triplets:
        assert together[pivot, positive] and apart[pivot, negative] and apart[positive, negative]


def test_a_triplet_is_compared_from_both_ends_of_its_pair():
    d = torch.tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    masks = [torch.from_numpy(m) for m in relations(np.array([[0, 1, 2]]), 3)]
    expected = (math.log1p(math.exp(1 - 3)) + math.log1p(math.exp(1 - 2))) / 2
    assert float(section_loss(d, *masks, torch.ones(3))) == pytest.approx(expected)


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
def test_the_loss_equals_its_definition(batch, seed):
    random = np.random.default_rng(seed)
    d, weights = random.uniform(0, 4, (SENTENCES, SENTENCES)), random.uniform(0.1, 1, SENTENCES)
    together, apart = relations(batch[1], SENTENCES)
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


def test_triplets_with_small_weights_count_less():
    x = torch.tensor([[0.0], [1.0], [1.5], [10.0], [11.0], [50.0]])
    triplets = torch.tensor([[0, 1, 2], [3, 4, 5]])  # the first is hard, the second easy
    hard, easy = (float(TripletLoss("section", "l1")(x, triplets, torch.tensor(w))) for w in ([1.0, 0.1], [0.1, 1.0]))
    assert hard > 2 * easy
