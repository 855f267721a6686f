"""The order of sentences as a prior: inner products are weighted means of cosines and of a curve over distances."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.test_models import corpus, sentences
from tests.contracts.test_models import trained_nets as net
from themescope.core.errors import DataError
from themescope.core.models.composite.hybrid import WithOrder, WithOrderConfig, position_rows
from themescope.core.types import Corpus, Sentence


def made(weight: float) -> WithOrder:
    return WithOrder(WithOrderConfig(weight=weight), 0).fit(dataclasses.replace(corpus(), models=(net(3),)))


def cosines(x):
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return x @ x.T


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=30), st.floats(1, 100))
def test_positions_of_an_article_have_the_similarity_of_the_curve(positions, reach):
    rows = position_rows([Sentence("x", article_id=4, position=p) for p in positions], reach)
    distances = np.subtract.outer(positions, positions)
    assert np.allclose((rows @ rows.T).toarray(), np.exp(-(distances**2) / (2 * reach**2)), atol=2e-3)


@given(st.integers(1, 10**9), st.integers(1, 5_000))
def test_positions_of_the_next_articles_are_not_similar(article, position):
    given = [Sentence("x", article_id=article + n, position=position) for n in range(3)]
    assert np.allclose((position_rows(given, 6.0) @ position_rows(given, 6.0).T).toarray(), np.eye(3), atol=1e-6)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_inner_products_are_weighted_means(weight):
    given = [s for s in sentences() if net(3).embed([s]).any()]
    rows = position_rows(given, 6.0)
    wanted = (cosines(net(3).embed(given)) + weight * (rows @ rows.T).toarray()) / (1 + weight)
    found = made(weight).embed(given)
    assert np.allclose((found @ found.T).toarray(), wanted, atol=1e-5)


def test_missing_models_are_explained():
    with pytest.raises(DataError, match="Name one or more"):
        WithOrder(WithOrderConfig(), 0).fit(Corpus())
    with pytest.raises(DataError, match="not fitted yet"):
        WithOrder(WithOrderConfig(), 0).embed([Sentence("A town.")])
