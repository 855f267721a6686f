import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import pdist

from themescope.core.errors import Cancelled, DataError
from themescope.core.projection import Reduction, UmapConfig, faithfulness, fit, load_umap, project, sample
from themescope.core.types import SILENT, NullReport

FAST = UmapConfig(epochs=60)


def clusters(n: int, dim: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n)
    return truth, (6 * rng.normal(size=(4, dim))[truth] + rng.normal(size=(n, dim))).astype(np.float32)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 17, 63, 64, 200])
def test_every_size_gives_finite_points(n: int) -> None:
    _, x = clusters(n)
    points = project(x, FAST, 0, SILENT)
    assert points.shape == (n, 2) and points.dtype == np.float32 and np.isfinite(points).all()
    assert 0.0 <= faithfulness(x, points) <= 1.0


def test_every_seed_has_a_map_of_its_own_of_finite_values_by_cached_functions() -> None:
    _, x = clusters(150)
    np.testing.assert_array_equal(project(x, FAST, 3, SILENT), project(x, FAST, 3, SILENT))
    assert not np.array_equal(project(x, FAST, 3, SILENT), project(x, FAST, 4, SILENT))
    _, x = clusters(20)
    x[3, 3] = np.inf
    with pytest.raises(DataError, match="not finite"):
        project(x, FAST, 0, SILENT)
    assert load_umap().smooth_knn_dist.stats.cache_path


def test_equal_rows_have_the_same_places_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their eigenvectors are not determined; where the solver finds none at all, the start is a random one."""
    x = np.repeat(np.eye(6, 8, dtype=np.float32), 16, axis=0)
    points = project(x, FAST, 0, SILENT)
    assert len(np.unique(points, axis=0)) == len(x)
    np.testing.assert_array_equal(project(x, FAST, 0, SILENT), points)
    for same in (np.ones((30, 5), np.float32), np.zeros((30, 5), np.float32)):
        assert np.isfinite(project(same, FAST, 0, SILENT)).all()
    for values in (0.0, 1.0):
        wide = sparse.csr_array(([values], ([3], [7])), shape=(120, 200), dtype=np.float32)
        wide.eliminate_zeros()
        assert np.isfinite(project(wide, FAST, 0, SILENT)).all()
    monkeypatch.setattr(sparse.linalg, "eigsh", lambda graph, k, **options: (np.zeros(k), np.full((96, k), np.nan)))
    assert np.isfinite(project(x, FAST, 0, SILENT)).all()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_clusters_stay_together(metric: str) -> None:
    truth, x = clusters(200)
    points = project(x, UmapConfig(epochs=100, metric=metric), 0, SILENT)
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (truth[distances.argmin(axis=1)] == truth).mean() > 0.98


def test_sparse_rows_are_reduced_to_components_without_columns_of_no_value() -> None:
    _, x = clusters(120)
    points = project(sparse.csr_array(x * (x > 0)), UmapConfig(epochs=30, reduce_to=10), 0, SILENT)
    assert np.isfinite(points).all() and 0.3 < faithfulness(sparse.csr_array(x), points) < 1.0
    reduced = project(x, UmapConfig(epochs=30, reduce_to=10, reduce_above=100), 0, SILENT)
    assert not np.array_equal(reduced, project(x, UmapConfig(epochs=30, reduce_to=10), 0, SILENT))
    rng = np.random.default_rng(0)
    few = sparse.csr_array(rng.random((30, 3)) @ rng.random((3, 9)))
    wide = sparse.csr_array((few.data, few.indices * 1_000 + 7, few.indptr), shape=(30, 100_000))
    reduction = Reduction.fit(wide, UmapConfig(reduce_to=5, metric="euclidean"), 0)
    components = reduction.apply(wide)
    assert components.shape == (30, 5)
    np.testing.assert_allclose(pdist(components), pdist(few.toarray()), atol=1e-4)
    further = wide[[3]].tolil()
    further[0, 99] = 5.0
    np.testing.assert_allclose(reduction.apply(further.tocsr()), components[[3]], atol=1e-5)


def test_faithfulness_of_the_plane_itself_and_of_noise() -> None:
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(300, 2)).astype(np.float32)
    assert faithfulness(plane, plane, metric="euclidean") == 1.0
    noise = faithfulness(plane, rng.permutation(plane), metric="euclidean")
    assert noise == pytest.approx(15 / 299, abs=0.02)
    with pytest.raises(DataError, match="300 vectors but 299 points"):
        faithfulness(plane, plane[1:])


class StopAt(NullReport):
    def __init__(self, share: float) -> None:
        super().__init__()
        self.share, self.seen = share, []

    def progress(self, done: float, total: float, message: str = "") -> None:
        self.seen.append(done / total)
        if done / total > self.share:
            raise Cancelled


def test_progress_rises_and_a_cancel_in_the_layout_leaves_everything_usable() -> None:
    _, x = clusters(800)
    stop = StopAt(0.4)  # where the layout begins
    with pytest.raises(Cancelled):
        project(x, UmapConfig(epochs=10_000), 0, stop)
    assert stop.seen == sorted(stop.seen)
    finished: list[int] = []
    other = threading.Thread(target=lambda: finished.append(len(project(x[:100], FAST, 0, SILENT))), daemon=True)
    other.start()
    other.join(180)
    assert finished == [100]


def test_of_many_a_part_is_laid_out_and_the_others_stand_among_their_like() -> None:
    truth, x = clusters(1_400)
    config = UmapConfig(epochs=60, landmarks=1_000)
    stop = StopAt(2.0)
    points = project(x, config, 0, stop)
    np.testing.assert_array_equal(points, project(x, config, 0, SILENT))
    assert stop.seen == sorted(stop.seen) and stop.seen[-1] == 1.0
    placed = np.setdiff1d(np.arange(1_400), sample(1_400, 1_000, 0))
    distances = ((points[placed, None] - points[None]) ** 2).sum(axis=2)
    distances[np.arange(400), placed] = np.inf
    assert (truth[distances.argmin(axis=1)] == truth[placed]).mean() > 0.98
    assert faithfulness(x, points) > 0.5 * faithfulness(x, project(x, FAST, 0, SILENT))


@given(st.integers(0, 500), st.integers(1, 500), st.integers(0, 9))
def test_a_sample_has_one_of_each_part(n: int, size: int, seed: int) -> None:
    rows = sample(n, size, seed)
    assert len(rows) == min(n, size) and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, sample(n, size, seed))
    if n > size:
        bounds = np.arange(size + 1) * n // size
        assert ((rows >= bounds[:-1]) & (rows < bounds[1:])).all()


def test_a_fitted_map_places_a_shard_the_same_in_any_process() -> None:
    truth, x = clusters(500)
    fitted = fit(x[:300], FAST, 0, SILENT)
    placed = fitted((3, x[300:]))
    np.testing.assert_array_equal(placed, pickle.loads(pickle.dumps(fitted))((3, x[300:])))
    assert placed.shape == (200, 2) and placed.dtype == np.float32 and np.isfinite(placed).all()
    nearest = ((placed[:, None] - fitted.at[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (truth[:300][nearest] == truth[300:]).mean() > 0.98
    assert fitted((0, x[:0])).shape == (0, 2)
    again = fitted((0, x[:1]))  # a sentence of the sample comes back near its place
    assert ((again - fitted.at[:1]) ** 2).sum() < ((fitted.at - fitted.at.mean(axis=0)) ** 2).sum(axis=1).mean()
