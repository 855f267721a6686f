"""Two-dimensional maps of sentence vectors by UMAP (McInnes, Healy, Melville 2018).

Neighbours are found exactly, block by block, and the layout is umap-learn's own. Every stage reports progress and can
be cancelled, and the same seed gives the same map. Of more sentences than ``landmarks`` a random sample is laid out,
and each of the others is placed between its nearest landmarks, so that time grows linearly with their number.

umap-learn compiles its loops in every process, for about ten seconds, so :func:`load_umap` lets numba cache them on
disk. pynndescent, which umap-learn imports for an approximate search that is not used here, caches its own functions;
:mod:`core.precompile` fills both caches.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.config import Config, option
from core.errors import Cancelled, DataError
from core.protocols import Report, SubReport
from core.types import Matrix, Points

Floats = npt.NDArray[np.float32]
Neighbours = npt.NDArray[np.int64]  # (n, k) rows, nearest first

FEW = 64
"""Number of points below which the layout starts from principal axes, since the spectral start needs more points."""
_BLOCK = 2048
_SHARE = {"neighbours": 0.3, "graph": 0.4}  # progress after each stage
_PLACING = 0.6  # progress after the layout of the landmarks
_BETWEEN = 5  # number of landmarks that the position of another sentence is interpolated from


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
        150_000,
        "Maximum number of sentences in the layout; each of the others is placed between its nearest ones.",
        low=1_000,
    )


def project(vectors: Matrix, config: UmapConfig, seed: int, report: Report) -> Points:
    """Return (n, 2) float32 coordinates of the (n, dim) rows, dense or CSR, n ≥ 0.

    Raises :class:`DataError` for values that are not finite, and :class:`Cancelled` within about a second (except while
    umap-learn is compiled, once on a machine).
    """
    rows = _prepared(vectors, config, seed)
    if len(rows) <= config.landmarks:
        return _laid_out(rows, config, seed, report)
    chosen = np.random.default_rng(seed).permutation(len(rows))
    marks, others = np.sort(chosen[: config.landmarks]), np.sort(chosen[config.landmarks :])
    points = np.empty((len(rows), 2), dtype=np.float32)
    points[marks] = _laid_out(rows[marks], config, seed, SubReport(report, 0.0, _PLACING))
    points[others] = _placed(rows[others], rows[marks], points[marks], SubReport(report, _PLACING, 1.0))
    return points


def _laid_out(rows: Floats, config: UmapConfig, seed: int, report: Report) -> Points:
    """Return the layout of umap-learn."""
    if len(rows) < 4:
        return _in_a_row(len(rows))
    report.progress(0.0, 1.0, "nearest neighbours")
    k = min(config.n_neighbors, len(rows))
    neighbours, distances = _nearest(rows, rows, k, report)
    report.progress(_SHARE["neighbours"], 1.0, "neighbourhood graph")
    umap = load_umap()
    random_state = np.random.RandomState(seed % 2**32)  # the type that umap-learn takes
    graph, _, _ = umap.fuzzy_simplicial_set(
        rows, k, random_state, "euclidean", knn_indices=neighbours, knn_dists=_as_metric(distances, config.metric)
    )
    report.progress(_SHARE["graph"], 1.0, "layout")
    return _layout(umap, rows, graph, config, random_state, report)


def _placed(rows: Floats, landmarks: Floats, at: Points, report: Report) -> Points:
    """Return (n, 2) positions of rows, interpolated between their nearest landmarks."""
    found = []
    for start in range(0, len(rows), _BLOCK):
        near, distances = _nearest(landmarks, rows[start : start + _BLOCK], min(_BETWEEN, len(landmarks)))
        beyond = distances - distances[:, :1]
        weights = np.exp(-beyond / np.maximum(beyond.mean(axis=1, keepdims=True), 1e-12))
        weights /= weights.sum(axis=1, keepdims=True)
        found.append(np.einsum("ij,ijk->ik", weights, at[near]))
        report.progress(min(start + _BLOCK, len(rows)), len(rows), "placing the others")
    return np.concatenate(found).astype(np.float32)


def faithfulness(
    vectors: Matrix, points: Points, k: int = 15, sample: int = 2000, seed: int = 0, metric: str = "cosine"
) -> float:
    """Return the share of the true ``k`` nearest neighbours that are among the ``k`` nearest on the map, 0…1.

    The share is averaged over ``sample`` random points; neighbours are searched among all points, by the map's
    ``metric`` on the full vectors. It is 1 for fewer than three points.
    """
    n = len(points)
    if vectors.shape[0] != n:
        raise DataError(f"There are {vectors.shape[0]} vectors but {n} points.")
    k = min(k, n - 2)
    if k < 1:
        return 1.0
    rows = _rows(vectors, metric)
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:sample])
    true = _others(_nearest(rows, rows[chosen], k + 1)[0], chosen)
    shown = _others(_nearest(np.asarray(points, dtype=np.float32), points[chosen], k + 1)[0], chosen)
    kept = [len(np.intersect1d(a, b)) for a, b in zip(true, shown, strict=True)]
    return float(np.mean(kept)) / k


def _rows(vectors: Matrix, metric: str) -> Any:
    """Return dense or CSR rows, of unit length for cosines, so that Euclidean neighbours are cosine neighbours."""
    from sklearn.preprocessing import normalize

    values = vectors.data if sparse.issparse(vectors) else vectors
    if not np.isfinite(values).all():
        raise DataError("The vectors contain values that are not finite. Embed the sentences again.")
    return normalize(vectors) if metric == "cosine" and vectors.shape[0] else vectors


def _prepared(vectors: Matrix, config: UmapConfig, seed: int) -> Floats:
    """Return dense rows, reduced to principal components if there are many points or the input is sparse."""
    from sklearn.decomposition import PCA, TruncatedSVD

    rows, wanted = _rows(vectors, config.metric), config.reduce_to
    if sparse.issparse(rows) and min(rows.shape) <= wanted:
        rows = rows.toarray()
    if sparse.issparse(rows):
        rows = TruncatedSVD(wanted, random_state=seed % 2**32).fit_transform(rows)
    elif rows.shape[0] > max(config.reduce_above, wanted) and rows.shape[1] > wanted:
        rows = PCA(wanted, random_state=seed % 2**32, svd_solver="covariance_eigh").fit_transform(rows)
    return np.ascontiguousarray(rows, dtype=np.float32)


def _nearest(rows: Any, queries: Any, k: int, report: Report | None = None) -> tuple[Neighbours, Floats]:
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


def _as_metric(distances: Floats, metric: str) -> Floats:
    """Return the distances in the metric of the config: 1 - cos = ‖a - b‖²/2 for unit vectors.

    The computed distance of a sentence to itself or an equal one is about 1e-8. It must be exactly 0, because the
    neighbourhood graph uses the smallest positive distance as that to the nearest neighbour.
    """
    exact = np.where(distances <= 1e-6 * distances.max(), 0.0, distances)
    return np.asarray(exact**2 / 2 if metric == "cosine" else exact, dtype=np.float32)


def _layout(
    umap: Any, rows: Floats, graph: Any, config: UmapConfig, random_state: np.random.RandomState, report: Report
) -> Points:
    a, b = umap.find_ab_params(1.0, config.min_dist)
    bar = {"disable": False, "file": _Epochs(report), "bar_format": "{n_fmt} {total_fmt}", "mininterval": 0.2}
    points, _ = umap.simplicial_set_embedding(
        rows,
        graph,
        n_components=2,
        initial_alpha=1.0,
        a=a,
        b=b,
        gamma=1.0,
        negative_sample_rate=5,
        n_epochs=config.epochs or (500 if len(rows) <= 10_000 else 200),
        init=_start(rows),
        random_state=random_state,
        metric="euclidean",
        metric_kwds={},
        densmap=False,
        densmap_kwds={},
        output_dens=False,
        tqdm_kwds=bar,
    )
    return np.asarray(points, dtype=np.float32)


def _start(rows: Floats) -> str:
    """Choose the initialisation of the layout; equal rows have no principal axes."""
    if not np.ptp(rows, axis=0).any():
        return "random"
    return "pca" if len(rows) < FEW else "spectral"


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


def _in_a_row(n: int) -> Points:
    """Return coordinates of up to three points, for which UMAP is undefined."""
    return np.stack([np.arange(n), np.zeros(n)], axis=1).astype(np.float32)


@cache
def load_umap() -> Any:
    """Import and return the module ``umap.umap_``; the first call in a process takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # umap-learn warns about optional packages that are not needed here
        import umap.layouts
        import umap.umap_
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    # A cancelled layout raises while tqdm holds its lock, so the lock is replaced by one that never blocks.
    tqdm.set_lock(threading.Semaphore(1_000_000))
    for module in (umap.umap_, umap.layouts):
        _cache_compiled(module)
    return umap.umap_


def _cache_compiled(module: ModuleType) -> None:
    """Let numba cache the compiled functions of a module, as ``njit(cache=True)`` does."""
    from numba.core.dispatcher import Dispatcher

    for function in vars(module).values():
        if isinstance(function, Dispatcher) and not function.signatures:
            with suppress(RuntimeError):  # raised without a writable folder for the cache
                function.enable_caching()
