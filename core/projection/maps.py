"""Two-dimensional maps of sentence vectors by UMAP (McInnes, Healy, Melville 2018).

Neighbours are found exactly, block by block, and the layout is umap-learn's own; so every stage reports progress and
can be cancelled, and the same seed gives the same map. Of more sentences than ``landmarks`` a random part is laid out,
and each of the others is put between those that are nearest to it: time then grows with the number of sentences, not
with its square, and nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.config import Config, option
from core.errors import Cancelled, DataError
from core.projection.umap_loader import load_umap
from core.protocols import Report, SubReport
from core.types import Matrix, Points

Floats = npt.NDArray[np.float32]
Neighbours = npt.NDArray[np.int64]  # (n, k) rows, nearest first

FEW = 64
"""Below this many points the start is their principal axes: the spectral start needs more."""
_BLOCK = 2048
_SHARE = {"neighbours": 0.3, "graph": 0.4}  # share of the whole that is done after each stage
_PLACING = 0.6  # share of the whole after which the rest is put between the landmarks
_BETWEEN = 5  # landmarks that a sentence is put between


@dataclass(frozen=True)
class UmapConfig(Config):
    """Settings of a map."""

    n_neighbors: int = option(15, "How many neighbours of each sentence the map tries to keep.", low=2, high=200)
    min_dist: float = option(0.1, "Smallest distance of points: small packs clusters tightly.", low=0.0, high=0.99)
    metric: str = option("cosine", "Which sentences are near in the vectors.", choices=("cosine", "euclidean"))
    reduce_to: int = option(
        50, "Principal components taken before neighbours are sought, for many points.", low=2, high=1000
    )
    reduce_above: int = option(20_000, "Number of points above which components are taken first.", low=0)
    epochs: int | None = option(
        None, "Rounds of the layout; empty: 500 up to 10,000 points, else 200.", low=1, high=10_000
    )
    landmarks: int = option(
        150_000,
        "Most sentences that are laid out; each of the others is put between the ones nearest to it.",
        low=1_000,
    )


def project(vectors: Matrix, config: UmapConfig, seed: int, report: Report) -> Points:
    """(n, 2) float32 coordinates of the (n, dim) rows, dense or CSR; n may be 0.

    Raises :class:`DataError` on values that are not finite, and :class:`Cancelled` within about a second of a request
    (not while umap-learn compiles, which takes some ten seconds once on a machine).
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
    """Share of the true ``k`` nearest neighbours that are among the ``k`` nearest on the map, 0…1.

    ``metric`` is the map's. Averaged over ``sample`` random points; neighbours are sought among all, in the vectors as
    they are (no components taken). 1 for fewer than three points.
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
    """Rows of unit length for cosines (then Euclidean neighbours are cosine neighbours), dense or CSR."""
    from sklearn.preprocessing import normalize

    values = vectors.data if sparse.issparse(vectors) else vectors
    if not np.isfinite(values).all():
        raise DataError("The vectors hold values that are not finite, so no map can be drawn. Embed them again.")
    return normalize(vectors) if metric == "cosine" and vectors.shape[0] else vectors


def _prepared(vectors: Matrix, config: UmapConfig, seed: int) -> Floats:
    """Dense rows, reduced to principal components where there are many points or the input is sparse."""
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
    """Exact Euclidean neighbours of every query among the rows, nearest first, and their distances."""
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
    """Neighbours without the point itself (which equal points may have pushed out of its own list)."""
    return [row[row != i][: neighbours.shape[1] - 1] for row, i in zip(neighbours, own, strict=True)]


def _as_metric(distances: Floats, metric: str) -> Floats:
    """Distances in the metric of the config: 1 - cos = ‖a - b‖²/2 for unit vectors.

    The distance of a sentence to itself or its like comes out as 1e-8 or so; it must be exactly 0, because the
    neighbourhood graph takes the smallest distance that is not for the one to the nearest other.
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
    """File that umap-learn's progress bar writes to: reports "12 200" as progress and raises ``Cancelled`` once."""

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
