"""Two-dimensional projections of sentence vectors and the geometry of maps."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.inputs import canonical_labels
from themescope.core.config import Config, option
from themescope.core.errors import Cancelled, DataError
from themescope.core.types import Float32, Labels, Mask, Matrix, Points, Report, SubReport

# Two-dimensional maps of sentence vectors by UMAP (McInnes, Healy, Melville 2018)

Neighbours = npt.NDArray[np.int64]  # (n, k) rows, nearest first

FEW = 64
"""Number of points below which the layout starts from principal axes, since the spectral start needs more points."""
_BLOCK = 2048
_SHARE = {"neighbours": 0.3, "graph": 0.4}  # progress after each stage
_PLACING = 0.6  # progress after the layout of the landmarks
SHARD = 8_192
"""Number of sentences that are placed together."""
_PLACING_EPOCHS = 30  # of the numbers in ``UMAP.transform``, the one for many points
_LEARNING_RATE = 0.25  # a quarter of that of the layout, as in umap-learn
_NEGATIVES = 5.0


@dataclass(frozen=True)
class UmapConfig(Config):
    """Settings of a map."""

    n_neighbors: int = option(15, "Number of neighbours of each sentence that the map preserves.", low=2, high=200)
    min_dist: float = option(0.1, "Minimum distance of points; small values give dense clusters.", low=0.0, high=0.99)
    metric: str = option("cosine", "Metric of the vectors.", choices=("cosine", "euclidean"))
    reduce_to: int = option(
        50, "Number of principal components that neighbours are computed from, for many points.", low=2, high=1000
    )
    reduce_above: int = option(20_000, "Number of points above which vectors are reduced to components.", low=0)
    epochs: int | None = option(
        None, "Number of epochs of the layout; empty: 500 up to 10,000 points, otherwise 200.", low=1, high=10_000
    )
    landmarks: int = option(
        50_000,
        "Maximum number of sentences that the layout is fitted on; the others are placed by the fitted model.",
        low=1_000,
    )


def project(vectors: Matrix, config: UmapConfig, seed: int, report: Report) -> Points:
    """Return (n, 2) float32 coordinates of the (n, dim) rows, dense or CSR, n ≥ 0.

    Raises :class:`DataError` for values that are not finite, and :class:`Cancelled` within about a second (except while
    umap-learn is compiled, once on a machine).
    """
    n = vectors.shape[0]
    marks = sample(n, config.landmarks, seed)
    if len(marks) == n:
        return fit(vectors, config, seed, report).at
    fitted = fit(vectors[marks], config, seed, SubReport(report, 0.0, _PLACING))
    points = np.empty((n, 2), dtype=np.float32)
    points[marks] = fitted.at
    others = np.setdiff1d(np.arange(n), marks)
    placing = SubReport(report, _PLACING, 1.0)
    for number, start in enumerate(range(0, len(others), SHARD)):
        rows = others[start : start + SHARD]
        points[rows] = fitted((number, vectors[rows]))
        placing.progress(start + len(rows), len(others), "placing the others")
    return points


def sample(n: int, size: int, seed: int) -> Neighbours:
    """Return ascending rows 0…n-1, one at random of each of ``size`` equal parts; all rows if there are not more.

    Consecutive rows are sentences of an article, so that every article and section has its share.
    """
    if n <= size:
        return np.arange(n)
    bounds = np.arange(size + 1) * n // size
    return bounds[:-1] + (np.random.default_rng(seed).random(size) * np.diff(bounds)).astype(np.int64)


def fit(vectors: Matrix, config: UmapConfig, seed: int, report: Report) -> FittedMap:
    """Return the layout of (n, dim) vectors, dense or CSR, which places others; raises as :func:`project` does."""
    reduction = Reduction.fit(vectors, config, seed)
    rows = reduction.apply(vectors)
    return FittedMap(reduction, rows, laid_out(rows, config, seed, report), config, seed)


def laid_out(
    rows: Float32, config: UmapConfig, seed: int, report: Report, dimensions: int = 2, start: Points | None = None
) -> Points:
    """Return the (n, ``dimensions``) layout of (n, dim) rows, unit ones for cosines; fewer than 4 are on a line.

    ``start`` are known places to begin from.
    """
    if len(rows) < 4:
        n = len(rows)
        return np.stack([np.arange(n), np.zeros(n)], axis=1).astype(np.float32)
    report.progress(0.0, 1.0, "nearest neighbours")
    k = min(config.n_neighbors, len(rows))
    neighbours, distances = nearest(rows, rows, k, report)
    report.progress(_SHARE["neighbours"], 1.0, "neighbourhood graph")
    umap = load_umap()
    random_state = np.random.RandomState(seed % 2**32)  # the type that umap-learn takes
    graph, _, _ = umap.fuzzy_simplicial_set(
        rows, k, random_state, "euclidean", knn_indices=neighbours, knn_dists=as_metric(distances, config.metric)
    )
    report.progress(_SHARE["graph"], 1.0, "layout")
    a, b = umap.find_ab_params(1.0, config.min_dist)
    usual = "pca" if len(rows) < FEW else "spectral"
    if not np.ptp(rows, axis=0).any():  # equal rows have no principal axes
        usual = "random"
    fixed = {"initial_alpha": 1.0, "gamma": 1.0, "negative_sample_rate": 5, "metric": "euclidean", "metric_kwds": {}}
    fixed |= {"densmap": False, "densmap_kwds": {}, "output_dens": False}
    bar = {"disable": False, "file": _Epochs(report), "bar_format": "{n_fmt} {total_fmt}", "mininterval": 0.2}
    with warnings.catch_warnings():  # of a small component without a spectral start, which then gets a random one
        warnings.filterwarnings("ignore", "Spectral initialisation failed")
        points, _ = umap.simplicial_set_embedding(
            rows,
            graph,
            n_components=dimensions,
            a=a,
            b=b,
            n_epochs=config.epochs or (500 if len(rows) <= 10_000 else 200),
            init=usual if start is None else start.copy(),
            random_state=random_state,
            tqdm_kwds=bar,
            **fixed,
        )
    return np.asarray(points, dtype=np.float32)


def faithfulness(vectors: Matrix, points: Points, seed: int = 0, metric: str = "cosine") -> float:
    """Return the share of the true 15 nearest neighbours that are among the 15 nearest on the map, 0…1.

    The share is averaged over 2,000 random points; neighbours are searched among all points, by the map's
    ``metric`` on the full vectors. It is 1 for fewer than three points.
    """
    n = len(points)
    if vectors.shape[0] != n:
        raise DataError(f"There are {vectors.shape[0]} vectors but {n} points.")
    k = min(15, n - 2)
    if k < 1:
        return 1.0
    rows = _rows(vectors, metric)
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:2_000])
    true = _others(nearest(rows, rows[chosen], k + 1)[0], chosen)
    shown = _others(nearest(np.asarray(points, dtype=np.float32), points[chosen], k + 1)[0], chosen)
    kept = [len(np.intersect1d(a, b)) for a, b in zip(true, shown, strict=True)]
    return float(np.mean(kept)) / k


def _rows(vectors: Matrix, metric: str) -> Any:
    """Return dense or CSR rows, of unit length for cosines, so that Euclidean neighbours are cosine neighbours."""
    from sklearn.preprocessing import normalize

    if not np.isfinite(vectors.data if sparse.issparse(vectors) else vectors).all():
        raise DataError("The vectors contain values that are not finite. Embed the sentences again.")
    return normalize(vectors) if metric == "cosine" and vectors.shape[0] else vectors


@dataclass(frozen=True, slots=True)
class Reduction:
    """Reduction of vectors to principal components, where there are many of them or they are sparse."""

    metric: str
    model: Any
    """The fitted PCA or truncated SVD of scikit-learn; None without reduction."""
    columns: Neighbours | None = None
    """(d,) columns of sparse vectors in which a fitted row has a value; the components are 0 in all others."""

    @classmethod
    def fit(cls, vectors: Matrix, config: UmapConfig, seed: int) -> Reduction:
        """Fit the reduction to (n, dim) vectors."""
        from sklearn.decomposition import PCA, TruncatedSVD

        rows, wanted, model, columns = _rows(vectors, config.metric), config.reduce_to, None, None
        if sparse.issparse(rows) and rows.shape[1] > wanted:
            columns = np.unique(rows.indices)  # mostly few: the others would cost time and change nothing
            if not len(columns):
                columns = np.zeros(1, dtype=np.int64)  # no row has a value: all are at one place
            elif rows.shape[0] > wanted and len(columns) > 1:
                model = TruncatedSVD(min(wanted, len(columns)), random_state=seed % 2**32).fit(rows[:, columns])
        elif not sparse.issparse(rows) and rows.shape[0] > max(config.reduce_above, wanted) and rows.shape[1] > wanted:
            model = PCA(wanted, random_state=seed % 2**32, svd_solver="covariance_eigh").fit(rows)
        return cls(config.metric, model, columns)

    def apply(self, vectors: Matrix) -> Float32:
        """Return the dense (m, d) reduced rows of (m, dim) vectors."""
        rows = _rows(vectors, self.metric)
        if self.columns is not None:
            rows = rows[:, self.columns]
        if self.model is not None:
            rows = self.model.transform(rows)
        elif sparse.issparse(rows):
            rows = rows.toarray()
        return np.ascontiguousarray(rows, dtype=np.float32)


def nearest(rows: Any, queries: Any, k: int, report: Report | None = None) -> tuple[Neighbours, Float32]:
    """Return the exact Euclidean neighbours of every query among the rows, nearest first, and their distances."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(rows)
    found = []
    for start in range(0, queries.shape[0], _BLOCK):
        found.append(index.kneighbors(queries[start : start + _BLOCK]))
        if report is not None:
            done = min(start + _BLOCK, queries.shape[0]) / queries.shape[0]
            report.progress(done * _SHARE["neighbours"], 1.0, "nearest neighbours")
    return np.concatenate([i for _, i in found]), np.concatenate([d for d, _ in found]).astype(np.float32)


def _others(neighbours: Neighbours, own: Neighbours) -> list[Neighbours]:
    """Return the neighbours without the point itself, which may be missing from its list if there are equal points."""
    return [row[row != i][: neighbours.shape[1] - 1] for row, i in zip(neighbours, own, strict=True)]


def as_metric(distances: Float32, metric: str) -> Float32:
    """Return the distances in the metric of the config: 1 - cos = ‖a - b‖²/2 for unit vectors.

    The computed distance of a sentence to itself or an equal one is about 1e-8. It must be exactly 0, because the
    neighbourhood graph uses the smallest positive distance as that to the nearest neighbour.
    """
    exact = np.where(distances <= 1e-6 * distances.max(), 0.0, distances)
    return np.asarray(exact**2 / 2 if metric == "cosine" else exact, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class FittedMap:
    """The layout of a sample, and the function that places other sentences on it, one shard per call.

    A sentence starts at the mean of its nearest landmarks, weighted by their membership strengths, and is then moved by
    stochastic gradient descent, as in ``UMAP.transform``, but with exact neighbours; the landmarks stay where they are.
    Every shard has a seed of its own, so that the result does not depend on the number of workers.
    """

    reduction: Reduction
    rows: Float32
    """(m, d) reduced vectors of the sample."""
    at: Points
    """(m, 2) coordinates of the sample."""
    config: UmapConfig
    seed: int

    @classmethod
    def of_points(cls, vectors: Matrix, at: Points, config: UmapConfig, seed: int) -> FittedMap:
        """Return the function for a layout that is known: (m, 2) positions ``at`` of (m, dim) vectors."""
        reduction = Reduction.fit(vectors, config, seed)
        return cls(reduction, reduction.apply(vectors), at, config, seed)

    def __call__(self, shard: tuple[int, Matrix]) -> Points:
        """Return the (n, 2) positions of the vectors of a shard: its number and (n, dim) vectors, dense or CSR.

        Raises :class:`DataError` for values that are not finite.
        """
        number, vectors = shard
        if not vectors.shape[0]:
            return np.empty((0, 2), dtype=np.float32)
        k = min(self.config.n_neighbors, len(self.rows))
        near, distances = nearest(self.rows, self.reduction.apply(vectors), k)
        umap, distances = load_umap(), as_metric(distances, self.config.metric)
        sigmas, rhos = umap.smooth_knn_dist(distances, float(k), local_connectivity=0.0)
        found = umap.compute_membership_strengths(near.astype(np.int32), distances, sigmas, rhos, bipartite=True)[2]
        strengths = np.asarray(found, dtype=np.float32).reshape(near.shape)
        # The means of the positions of landmarks, weighted; a sentence that equals a landmark starts there.
        weights = np.where(strengths[:, :1] == 1, np.eye(1, k), np.maximum(strengths, 1e-12))
        weights = weights / weights.sum(axis=1, keepdims=True)
        start = np.asarray(np.einsum("ij,ijk->ik", weights, self.at[near]), dtype=np.float32)
        weights = np.where(strengths < strengths.max() / _PLACING_EPOCHS, 0.0, strengths)
        head, neighbour = np.nonzero(weights)
        a, b = umap.find_ab_params(1.0, self.config.min_dist)
        random = np.random.RandomState([self.seed % 2**32, number])
        moved = umap.optimize_layout_euclidean(
            start,
            np.array(self.at, dtype=np.float32),
            head.astype(np.int32),
            near[head, neighbour].astype(np.int32),
            _PLACING_EPOCHS,
            len(self.rows),
            umap.make_epochs_per_sample(weights[head, neighbour], _PLACING_EPOCHS),
            a,
            b,
            random.randint(np.iinfo(np.int32).min + 1, np.iinfo(np.int32).max - 1, 3).astype(np.int64),
            1.0,
            _LEARNING_RATE,
            _NEGATIVES,
        )
        return np.asarray(moved, dtype=np.float32)


def _eigenvectors(*args: Any, **options: Any) -> tuple[Any, Any]:
    """Return what ``eigsh`` finds for the spectral start, the same each time.

    In a component of equal sentences ARPACK soon needs a new direction, which it draws from a generator without a seed.
    What has no finite value is an error, after which umap-learn starts from random places.
    """
    values, vectors = sparse.linalg.eigsh(*args, **options, rng=0)
    if not np.isfinite(vectors).all():
        raise sparse.linalg.ArpackError(-9)
    return values, vectors


class _Epochs:
    """Output file of umap-learn's progress bar: reports "12 200" as progress and raises ``Cancelled`` once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._cancelled = False

    def write(self, text: str) -> None:
        numbers = text.split()
        if self._cancelled or len(numbers) != 2:
            return
        done = int(numbers[0]) / max(int(numbers[1]), 1)
        try:
            self._report.progress(_SHARE["graph"] + (1 - _SHARE["graph"]) * done, 1.0, "layout")
        except Cancelled:
            self._cancelled = True
            raise

    def flush(self) -> None:
        """Do nothing; output is not buffered."""


@cache
def load_umap() -> Any:
    """Import and return the module ``umap.umap_``; the first call in a process takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # umap-learn warns about optional packages that are not needed here
        import umap.layouts
        import umap.spectral
        import umap.umap_
    linalg = SimpleNamespace(**{**vars(sparse.linalg), "eigsh": _eigenvectors})
    umap.spectral.scipy = SimpleNamespace(sparse=SimpleNamespace(**{**vars(sparse), "linalg": linalg}))
    # In a notebook, tqdm would draw a widget instead of writing to the file; its base class writes.
    umap.layouts.tqdm = [kind for kind in umap.layouts.tqdm.__mro__ if kind.__name__ == "tqdm"][-1]
    # A cancelled layout raises while tqdm holds its lock, so the lock is replaced by one that never blocks.
    umap.layouts.tqdm.set_lock(threading.Semaphore(1_000_000))
    for module in (umap.umap_, umap.layouts):
        # Let numba cache the compiled functions of a module, as ``njit(cache=True)`` does.
        from numba.core.dispatcher import Dispatcher

        for function in vars(module).values():
            if isinstance(function, Dispatcher) and not function.signatures:
                with suppress(RuntimeError):  # raised without a writable folder for the cache
                    function.enable_caching()
    return umap.umap_


# Geometry of maps: points inside polygons, and nested regions

Polygon = npt.NDArray[np.float64]  # (m, 2) corners in order; the last is connected to the first


def inside(points: npt.NDArray[np.floating | np.integer], polygon: npt.ArrayLike) -> Mask:
    """Return an (n,) mask of the (n, 2) points inside the (m, 2) polygon, by the even-odd rule.

    A point on an edge is inside if the area is above or to the right of it, so that it is in exactly one of two
    polygons that share the edge. There is no division, so that the result is exact for whole numbers up to 2**26. Fewer
    than three corners contain no points. Raises :class:`DataError` for corners that are not finite.
    """
    corners = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(corners).all():
        raise DataError("A corner of the shape is not a finite number. Draw the shape again.")
    found = np.zeros(len(points), dtype=bool)
    if len(corners) < 3:
        return found
    x, y = np.asarray(points, dtype=np.float64).reshape(-1, 2).T
    low, high = corners.min(axis=0), corners.max(axis=0)
    near = np.flatnonzero((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
    x, y, odd = x[near], y[near], np.zeros(len(near), dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y1 != y2:  # a horizontal ray does not cross a horizontal edge
            rows = np.flatnonzero((y1 > y) != (y2 > y))
            side = (y[rows] - y1) * (x2 - x1) - (x[rows] - x1) * (y2 - y1)
            odd[rows] ^= side > 0 if y2 > y1 else side < 0
    found[near] = odd
    return found


def box(corners: Sequence[float]) -> Polygon:
    """Return the four corners of the box between (x0, y0) and (x1, y1)."""
    x0, y0, x1, y1 = corners
    return np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], dtype=np.float64)


Places = npt.NDArray[np.floating]  # (n, 2) coordinates in the plane

_ROUNDS = 12


def regions(points: Places, k: int, seed: int = 0) -> Labels:
    """Return the region 0 … k - 1 of each of (n, 2) points; regions without points do not occur.

    The same points and seed give the same regions. Fewer regions than ``k`` are found where points are equal.
    """
    at = np.asarray(points, dtype=np.float64)
    distinct = np.unique(at[:, 0] + 1j * at[:, 1])
    chosen = np.random.default_rng(seed).permutation(len(distinct))[: max(k, 1)]
    centres = np.column_stack([distinct[chosen].real, distinct[chosen].imag])
    labels = _nearest(at, centres)
    for _ in range(_ROUNDS):
        sizes = np.bincount(labels, minlength=len(centres))
        sums = np.column_stack([np.bincount(labels, at[:, axis], len(centres)) for axis in (0, 1)])
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        labels = _nearest(at, centres)
    return canonical_labels(labels)


def _nearest(points: Places, centres: Places) -> npt.NDArray[np.intp]:
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(centres).query(points)[1] if len(points) else np.empty(0), dtype=np.intp)


def merged(centres: Places, weights: npt.NDArray[np.floating], counts: Sequence[int]) -> list[Labels]:
    """Return (m,) labels that merge (m, 2) parts of a plane into groups, for each of ``counts``, at most one per part.

    Counts fall, and every group is a union of groups of the labels before. ``weights`` (m,) are the numbers of points
    of the parts; at each step those two groups are merged whose merger increases the sum of squared distances to the
    group centres least (Ward's criterion).
    """
    groups = np.arange(len(centres))
    at, mass = np.asarray(centres, dtype=np.float64).copy(), np.asarray(weights, dtype=np.float64).copy()
    alive, found = np.ones(len(at), dtype=bool), []
    for count in counts:
        while alive.sum() > max(count, 1):
            # The two groups whose merger costs least, the first ones among equals.
            rows = np.flatnonzero(alive)
            distances = ((at[rows, None] - at[None, rows]) ** 2).sum(axis=2)
            costs = distances * (mass[rows, None] * mass[None, rows]) / (mass[rows, None] + mass[None, rows])
            costs[np.tril_indices(len(rows))] = np.inf
            one, other = rows[list(np.unravel_index(int(costs.argmin()), costs.shape))]
            total = mass[one] + mass[other]
            at[one] = (at[one] * mass[one] + at[other] * mass[other]) / total
            mass[one], alive[other] = total, False
            groups[groups == other] = one
        found.append(canonical_labels(groups))
    return found
