"""Input and output of clusterers: checks, unit vectors, similarity matrices, labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.errors import ConfigError, DataError
from themescope.core.types import Floats, Labels, Matrix

Square = npt.NDArray[np.float64]  # (n, n)
MOST_ITEMS = 12_000
"""Maximum number of items of a similarity matrix, which then takes 1.2 GB."""


def check_items(n: int, k: int | None, most: int = MOST_ITEMS) -> int:
    """Return ``k``; raise an error if it is missing, or if there are too few or too many items."""
    if k is None:
        raise ConfigError("This clusterer does not choose the number of clusters itself. Give k.")
    if k < 1:
        raise ConfigError(f"The number of clusters must be at least 1, not {k}.")
    if n < k:
        raise DataError(f"{n} sentences cannot be divided into {k} non-empty clusters. Use a smaller k.")
    if n > most:
        raise DataError(
            f"{n:,} sentences are too many for a matrix of all similarities (at most {most:,}). Cluster them by "
            "article, or use iclust-blocks."
        )
    return k


def checked(x: Matrix, k: int | None, most: int = MOST_ITEMS) -> tuple[Matrix, int]:
    """Return the matrix as float64 (CSR stays sparse) and the number of clusters; raise an error if invalid."""
    if x.ndim != 2:
        raise DataError(f"A clusterer needs one row of numbers per sentence, not an array of shape {x.shape}.")
    k = check_items(x.shape[0], k, most)
    matrix: Matrix = sparse.csr_array(x, dtype=np.float64) if sparse.issparse(x) else np.asarray(x, dtype=np.float64)
    values = matrix.data if isinstance(matrix, sparse.csr_array) else matrix
    if not np.isfinite(values).all():
        raise DataError("The vectors contain values that are not finite. Embed the sentences again.")
    return matrix, k


def gram_matrix(x: Matrix) -> Square:
    """Return the (n, n) inner products of the rows, float64 and C-contiguous."""
    if not isinstance(x, sparse.csr_array):
        return np.ascontiguousarray(x @ x.T, dtype=np.float64)
    counts = np.bincount(x.indices, minlength=x.shape[1])
    full = counts > x.shape[0] / 2
    if 2 * counts[full].sum() < x.nnz:
        return np.ascontiguousarray((x @ x.T).toarray(), dtype=np.float64)
    # Columns in which most rows have a value, as the first ones of a hybrid, are multiplied many times faster densely.
    dense, rest = x[:, full].toarray(), x[:, ~full]
    return np.ascontiguousarray(dense @ dense.T + (rest @ rest.T).toarray(), dtype=np.float64)


def unit_rows(x: Matrix) -> Matrix:
    """Return the rows scaled to length 1; a zero row stays zero, so that its similarity to all rows is 0."""
    if isinstance(x, sparse.csr_array):
        lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64)).ravel()
        return sparse.csr_array(sparse.diags_array(_inverse(lengths)) @ x)
    return np.asarray(x * _inverse(np.linalg.norm(x, axis=1))[:, None])


def squared_lengths(x: Any) -> Floats:
    """Return the (n,) squared lengths of the rows of a dense or CSR matrix."""
    products = x.multiply(x) if sparse.issparse(x) else x * x
    return np.asarray(products.sum(axis=1), np.float64).ravel()


def cosine_matrix(x: Matrix) -> Square:
    """Return the (n, n) cosines of the rows of a dense or CSR matrix."""
    return gram_matrix(unit_rows(x))


def canonical_labels(labels: npt.ArrayLike) -> Labels:
    """Number the clusters of (n,) ``labels`` 0, 1, … in order of first appearance, as int32; -1 is kept.

    Otherwise numbers would follow the order in which random starts or eigenvectors find the clusters, which depends on
    rounding errors, and therefore on the processor.
    """
    found = np.asarray(labels)
    assigned = found >= 0
    _, first, place = np.unique(found[assigned], return_index=True, return_inverse=True)
    numbered = np.full(len(found), -1, np.int32)
    numbered[assigned] = first.argsort().argsort()[place]
    return numbered


def row_order(x: Matrix) -> npt.NDArray[np.int64]:
    """Return the (n,) rows of a dense or CSR matrix in ascending order of their bytes, whatever their order in it."""
    if isinstance(x, sparse.csr_array):
        sorted_x = x.sorted_indices()
        parts = [np.split(values, sorted_x.indptr[1:-1]) for values in (sorted_x.indices, sorted_x.data)]
        keys = [(columns.tobytes(), values.tobytes()) for columns, values in zip(*parts, strict=True)]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    rows = [row.tobytes() for row in np.ascontiguousarray(x)]
    return np.array(sorted(range(len(rows)), key=rows.__getitem__), np.int64)


def extended_labels(x: Matrix, rows: npt.NDArray[np.int64], labels: Labels, k: int) -> Labels:
    """Return labels of all rows of ``x``, given (m,) ``labels`` 0…k-1 of ``rows``.

    Every other row is assigned to the cluster with the highest mean cosine.
    """
    return labels if len(rows) == x.shape[0] else extended_unit(unit_rows(x), rows, labels, k)


def extended_unit(unit: Matrix, rows: npt.NDArray[np.int64], labels: npt.NDArray[np.integer], k: int) -> Labels:
    """Return :func:`extended_labels` for rows of length 1."""
    membership = np.zeros((len(rows), k))
    membership[np.arange(len(rows)), labels] = 1.0 / np.bincount(labels, minlength=k)[labels]
    extended: Labels = np.asarray(unit @ (unit[rows].T @ membership)).argmax(axis=1).astype(np.int32)
    extended[rows] = labels
    return extended


def kernel_seed(seed: int) -> Any:
    """Return a whole number modulo 2**64, as compiled functions take it."""
    return np.uint64(seed % 2**64)


def _inverse(lengths: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    inverse = np.zeros_like(lengths)
    np.divide(1.0, lengths, out=inverse, where=lengths > 0)
    return inverse
