import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.models.con_s2v.arrays import (
    alias_table,
    keep_probability,
    keep_thresholds,
    node_noise,
    probabilities,
    word_noise,
)
from themescope.core.models.con_s2v.kernels import draws


def weighed(drawn):
    """Weights from two bytes each: between 1e-3 and 1e6, one in eight of them 0."""
    numbers = np.frombuffer(drawn, np.uint16)
    return np.where(numbers % 8, 10 ** (numbers / 2**16 * 9 - 3), 0.0)


weights = st.integers(1, 200).flatmap(lambda n: st.binary(min_size=2 * n, max_size=2 * n)).map(weighed)


@given(weights)
def test_an_alias_table_has_the_given_distribution(given_weights):
    total = given_weights.sum()
    wanted = given_weights / total if total else np.full(len(given_weights), 1 / len(given_weights))
    assert np.allclose(probabilities(alias_table(given_weights)), wanted, atol=1e-8)


def test_draws_follow_the_distribution():
    table = alias_table(np.array([5.0, 0, 1, 3, 1]))
    share = np.bincount(draws(table, 100_000, 7), minlength=5) / 100_000
    assert share[1] == 0 and np.allclose(share, [0.5, 0, 0.1, 0.3, 0.1], atol=0.006)
    assert np.array_equal(draws(table, 50, 7), draws(table, 50, 7))


def test_noise_is_proportional_to_count_to_the_power_of_three_quarters():
    assert np.allclose(probabilities(word_noise(np.array([16, 1, 0]))), [8 / 9, 1 / 9, 0])
    # Sentence 0 stands in 15 lists, sentence 2 in none: one is added to every count.
    assert np.allclose(probabilities(node_noise(np.zeros(15, np.int32), 3)), [0.8, 0.1, 0.1])


def test_subsampling_uses_the_published_formula():
    counts, t = np.array([900_000, 99_990, 10]), 1e-4
    f = counts / counts.sum()
    assert np.allclose(keep_probability(counts, t), np.minimum(1, (np.sqrt(f / t) + 1) * t / f))
    assert (keep_probability(counts, 0) == 1).all()
    thresholds = keep_thresholds(counts, t)
    assert thresholds[2] == 1 << 32 and thresholds[0] < thresholds[1] < 1 << 32
