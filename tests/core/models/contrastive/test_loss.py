import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.models.contrastive.sampling import average_precision, contrastive_loss, section_masks


def loss_of(logits, articles, sections):
    masks = section_masks(torch.tensor(articles), torch.tensor(sections))
    return contrastive_loss(torch.as_tensor(logits), *masks).value


def loss_by_loops(logits, articles, sections):
    losses = []
    for i in range(len(articles)):
        others = [k for k in range(len(articles)) if k != i and articles[k] == articles[i]]
        positives = [k for k in others if sections[k] == sections[i]]
        if positives:
            total = sum(math.exp(logits[i][k]) for k in others)
            losses.append(-sum(math.log(math.exp(logits[i][p]) / total) for p in positives) / len(positives))
    return sum(losses) / len(losses) if losses else 0.0


@st.composite
def batches(draw):
    """Logits, articles and sections; the sections of different articles have different numbers."""
    places = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
    articles = [a for a, _ in places]
    sections = [10 * a + s for a, s in places]
    random = np.random.default_rng(draw(st.integers(0, 1_000)))
    return random.normal(0, 3, (len(places), len(places))), articles, sections


@given(batches())
def test_the_loss_equals_its_definition_whatever_other_articles_there_are(batch):
    assert float(loss_of(*batch)) == pytest.approx(loss_by_loops(*batch), abs=1e-4)
    logits, articles, sections = batch
    n = len(articles)
    wider = np.full((n + 2, n + 2), 50.0)
    wider[:n, :n] = logits
    added = loss_of(wider, [*articles, 8, 9], [*sections, 80, 90])
    assert float(added) == pytest.approx(float(loss_of(*batch)), abs=1e-4)


def test_without_positives_there_is_no_loss_and_no_gradient():
    logits = torch.zeros((4, 4), requires_grad=True)
    loss_of(logits, [0, 0, 0, 0], [0, 0, 1, 2]).backward()
    assert not logits.grad[2:].any() and logits.grad[:2].any()
    logits = torch.ones((3, 3), requires_grad=True)
    loss = loss_of(logits, [0, 0, 1], [0, 1, 2])
    loss.backward()
    assert float(loss.detach()) == 0 and not logits.grad.any()
    logits = 1e4 * np.array([[0, 1, -1], [1, 0, -1], [-1, -1, 0.0]])
    assert float(loss_of(logits, [0, 0, 0], [0, 0, 1])) == 0


def average_precision_by_loops(similarities, sections):
    found = []
    for i in range(len(sections)):
        ranked = sorted((k for k in range(len(sections)) if k != i), key=lambda k: -similarities[i][k])
        relevant = [sections[k] == sections[i] for k in ranked]
        if any(relevant) and not all(relevant):
            hits = [sum(relevant[: r + 1]) / (r + 1) for r in range(len(ranked)) if relevant[r]]
            found.append(sum(hits) / len(hits))
    return sum(found) / len(found) if found else math.nan


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 1_000))
def test_average_precision_equals_its_definition(sections, seed):
    similarities = np.random.default_rng(seed).normal(size=(len(sections), len(sections))).astype(np.float32)
    expected = average_precision_by_loops(similarities, sections)
    assert average_precision(similarities, np.array(sections)) == pytest.approx(expected, nan_ok=True)
