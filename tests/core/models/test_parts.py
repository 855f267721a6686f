"""Division of a batch among processes: nothing is lost, shared sentences stay together, the work is balanced."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.models.contrastive.sampling import Batch
from themescope.core.models.parts import balanced, triplet_parts

COUNTS = st.integers(1, 5)
TRIPLETS = st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=1, max_size=40).map(np.array)
LENGTHS = np.random.default_rng(0).integers(1, 60, 31)


@given(st.lists(st.floats(0, 100), max_size=40).map(np.array), COUNTS)
def test_every_item_is_in_one_part_and_none_is_far_above_the_mean(costs: np.ndarray, count: int) -> None:
    found = balanced(costs, count)
    assert len(found) == count
    assert sorted(np.concatenate(found).tolist()) == list(range(len(costs)))
    sums = [costs[part].sum() for part in found]
    assert max(sums) <= costs.sum() / count + costs.max(initial=0.0) + 1e-9


@given(TRIPLETS, COUNTS, st.booleans())
def test_every_triplet_is_in_one_part(triplets: np.ndarray, count: int, connected: bool) -> None:
    found = triplet_parts(triplets, LENGTHS, count, connected=connected)
    assert len(found) == count
    assert sorted(np.concatenate(found).tolist()) == list(range(len(triplets)))
    if connected:
        sentences = [set(triplets[part].ravel().tolist()) for part in found]
        assert sum(map(len, sentences)) == len(set().union(*sentences))


def test_neighbouring_triplets_stay_together_and_the_tokens_are_balanced() -> None:
    triplets = np.arange(300).reshape(100, 3)
    first, second = triplet_parts(triplets, np.full(300, 20), 2, connected=False)
    assert first.tolist() == list(range(50)) and second.tolist() == list(range(50, 100))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), COUNTS)
def test_articles_of_a_batch_stay_whole(sizes: list[int], count: int) -> None:
    articles = np.repeat(np.arange(len(sizes)), sizes)
    batch = Batch(rows=np.arange(len(articles)) + 100, articles=articles, sections=articles % 3)
    parts = batch.parts(count)
    assert sorted(np.concatenate([part.rows for part in parts]).tolist()) == batch.rows.tolist()
    for part in parts:
        whole = set(articles[part.rows - 100].tolist())
        assert len(part.rows) == sum(sizes[article] for article in whole)
        assert np.unique(part.articles).tolist() == list(range(len(whole)))
