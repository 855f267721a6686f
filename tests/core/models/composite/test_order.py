"""The order of sentences as a prior: inner products are those of a curve over distances."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.models.composite.hybrid import position_rows
from themescope.core.types import Sentence


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=30), st.floats(1, 100))
def test_positions_of_an_article_have_the_similarity_of_the_curve(positions, reach):
    rows = position_rows([Sentence("x", article_id=4, position=p) for p in positions], reach)
    distances = np.subtract.outer(positions, positions)
    assert np.allclose((rows @ rows.T).toarray(), np.exp(-(distances**2) / (2 * reach**2)), atol=2e-3)


@given(st.integers(1, 10**9), st.integers(1, 5_000))
def test_positions_of_the_next_articles_are_not_similar(article, position):
    given = [Sentence("x", article_id=article + n, position=position) for n in range(3)]
    assert np.allclose((position_rows(given, 6.0) @ position_rows(given, 6.0).T).toarray(), np.eye(3), atol=1e-6)
