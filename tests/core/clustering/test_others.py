import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from themescope.core.clustering import REGISTRY, kernels
from themescope.core.clustering.baselines import neighbour_graph
from themescope.core.clustering.iclust import IclustConfig, best_partition, objective
from themescope.core.clustering.inputs import cosine_matrix, gram_matrix, unit_rows


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


def test_spherical_assigns_by_cosine_and_an_empty_cluster_is_given_the_farthest_item() -> None:
    x = unit_rows(data())
    labels = REGISTRY.build("kmeans-spherical").fit_predict(x, 5, 0)
    centres = unit_rows(np.stack([x[labels == c].sum(axis=0) for c in range(5)]))
    np.testing.assert_array_equal((x @ centres.T).argmax(axis=1), labels)
    x = np.array([[0.0], [0.1], [0.2], [9.0]])
    labels = np.zeros(4, np.int64)
    kernels.lloyd_from(gram_matrix(x), labels, 2, 10, False)
    assert labels.tolist() == [0, 0, 0, 1]


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


def groups(n: int = 90, k: int = 4, dim: int = 12, noise: float = 0.6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    return rng.normal(size=(k, dim))[truth] * 2 + noise * rng.normal(size=(n, dim)), truth


@pytest.mark.parametrize("seed", range(4))
def test_ward_is_scikit_learns(seed: int) -> None:
    x, _ = groups(noise=1.5, seed=seed)
    theirs = AgglomerativeClustering(5, linkage="ward").fit_predict(unit_rows(x))
    assert adjusted_rand_score(theirs, REGISTRY.build("ward").fit_predict(x, 5, 0)) == pytest.approx(1.0)


def test_spectral_is_scikit_learns() -> None:
    x, truth = groups(noise=1.0)
    ours = REGISTRY.build("spectral", {"neighbours": 40}).fit_predict(x, 4, 0)
    cosines = np.maximum(cosine_matrix(x), 0)
    np.fill_diagonal(cosines, 0.0)
    kept = np.where(cosines >= np.sort(cosines, axis=1)[:, [-40]], cosines, 0.0)
    theirs = SpectralClustering(4, affinity="precomputed", random_state=0).fit_predict((kept + kept.T) / 2)
    assert adjusted_rand_score(theirs, ours) > 0.9
    assert adjusted_rand_score(truth, ours) > 0.9


def test_spectral_of_many_items_agrees_with_all_eigenvectors_of_the_graph() -> None:
    graph = neighbour_graph(cosine_matrix(groups()[0]), 5)
    assert np.allclose(graph, graph.T) and (graph >= 0).all()
    assert np.linalg.eigvalsh(graph)[-1] == pytest.approx(1.0)
    x, truth = groups(1_600, noise=0.8)
    assert adjusted_rand_score(truth, REGISTRY.build("spectral").fit_predict(x, 4, 0)) > 0.95


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
def test_the_objective_without_a_matrix_is_that_of_iclust(diagonal: bool, as_matrix: type) -> None:
    x, _ = groups()
    labels, best = best_partition(cosine_matrix(x), 4, IclustConfig(diagonal=diagonal), 0)
    assert objective(as_matrix(unit_rows(x)), labels, 4, diagonal=diagonal) == pytest.approx(best, abs=1e-12)


def test_blocks_come_close_to_the_whole_matrix_with_many_clusters_or_little_time() -> None:
    x, truth = groups(900, k=6, noise=2.0)
    _, best = best_partition(cosine_matrix(x), 6, IclustConfig(), 0)
    found = REGISTRY.build("iclust-blocks", {"block": 200}).fit_predict(x, 6, 0)
    assert objective(unit_rows(x), found, 6) > 0.97 * best
    assert adjusted_rand_score(truth, found) > 0.5
    x, _ = groups(300, k=40, dim=30, noise=0.2)
    labels = REGISTRY.build("iclust-blocks", {"block": 30, "restarts": 1}).fit_predict(x, 40, 0)
    assert set(labels) == set(range(40))
    x, _ = groups(400)
    hurried = REGISTRY.build("iclust-blocks", {"block": 50, "seconds": 1e-9}).fit_predict(x, 4, 0)
    assert set(hurried) == {0, 1, 2, 3}


def test_memory_of_many_sentences_is_that_of_their_vectors_and_a_block() -> None:
    x = groups(6_000, k=5, dim=20)[0]
    clusterer = REGISTRY.build("iclust-blocks", {"block": 500, "restarts": 1, "rounds": 2})
    clusterer.fit_predict(x[:600], 5, 0)
    tracemalloc.start()
    labels = clusterer.fit_predict(x, 5, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(labels) == 6_000 and peak < 12 * x.nbytes + 3 * 8 * 500**2 < 8 * 6_000**2 / 10
