"""The k-means variants against scikit-learn and plain definitions."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from themescope.core.clustering import REGISTRY, kernels
from themescope.core.clustering.inputs import gram_matrix, unit_rows


def data(n: int = 60, dim: int = 10, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, dim))[rng.integers(5, size=n)] + rng.normal(size=(n, dim))


@pytest.mark.parametrize("seed", range(4))
def test_lloyd_on_inner_products_is_lloyd_on_vectors(seed: int) -> None:
    x = data(seed=seed)
    chosen = kernels.plus_plus(gram_matrix(x), 5, 1, np.array([seed], np.uint64))
    theirs = KMeans(5, init=x[chosen], n_init=1, tol=0, algorithm="lloyd").fit(x)
    labels = ((x[:, None] - x[chosen]) ** 2).sum(axis=2).argmin(axis=1)
    total = kernels.lloyd_from(gram_matrix(x), labels, 5, 300, False)
    np.testing.assert_array_equal(labels, theirs.labels_)
    assert total == pytest.approx(theirs.inertia_, rel=1e-9)


@pytest.mark.parametrize("id", ["kmeans", "kmeans-raw"])
def test_ten_starts_are_as_good_as_scikit_learns(id: str) -> None:
    ratios = []
    for seed in range(10):
        x = data(seed=seed) + 5.0
        rows = unit_rows(x) if id == "kmeans" else x
        labels = REGISTRY.build(id).fit_predict(x, 5, seed)
        ours = sum(((rows[labels == c] - rows[labels == c].mean(axis=0)) ** 2).sum() for c in range(5))
        ratios.append(ours / KMeans(5, n_init=10, random_state=seed).fit(rows).inertia_)
    assert np.mean(ratios) < 1.01


def test_spherical_assigns_by_cosine_to_the_normalised_sum() -> None:
    x = unit_rows(data())
    labels = REGISTRY.build("kmeans-spherical").fit_predict(x, 5, 0)
    centres = unit_rows(np.stack([x[labels == c].sum(axis=0) for c in range(5)]))
    np.testing.assert_array_equal((x @ centres.T).argmax(axis=1), labels)


def test_greedy_seeding_starts_lower_than_plain() -> None:
    gram = gram_matrix(data(200))
    found = {}
    for name, candidates in (("greedy", 4), ("plain", 1)):
        totals = []
        for seed in range(50):
            chosen = kernels.plus_plus(gram, 5, candidates, np.array([seed], np.uint64))
            distances = np.diag(gram)[:, None] + np.diag(gram)[chosen] - 2 * gram[:, chosen]
            totals.append(distances.min(axis=1).sum())
        found[name] = np.mean(totals)
    assert found["greedy"] < found["plain"]


def test_empty_clusters_are_given_the_farthest_item() -> None:
    x = np.array([[0.0], [0.1], [0.2], [9.0]])
    labels = np.zeros(4, np.int64)
    kernels.lloyd_from(gram_matrix(x), labels, 2, 10, False)
    assert labels.tolist() == [0, 0, 0, 1]
