"""Accuracy by article."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.metrics.triplets import accuracy_by_article

ROWS = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.integers(1, 4)), min_size=1, max_size=60)


@given(rows=ROWS)
def test_articles_are_means_of_their_triplets(rows: list[tuple[float, int]]) -> None:
    margins, groups = (np.array(column) for column in zip(*rows, strict=True))
    found = accuracy_by_article(margins, groups)
    assert found.articles.tolist() == sorted(set(groups.tolist())) and found.triplets.sum() == len(rows)
    for article, accuracy in zip(found.articles, found.accuracy, strict=True):
        assert accuracy == pytest.approx((0.5 + 0.5 * np.sign(margins[groups == article])).mean())
