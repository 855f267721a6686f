"""Distances between the rows of two matrices, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.errors import DataError
from core.types import Vectors

Distances = npt.NDArray[np.float32]


def cosine_distances(a: Vectors, b: Vectors) -> Distances:
    """(n,) 1 − cosine of row i of ``a`` and row i of ``b``; 1 where either row is zero."""
    _check(a, b)
    products = _row_sums(_product(a, b))
    norms = np.sqrt(_squares(a) * _squares(b))
    cosine = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return np.asarray(1 - cosine, np.float32)


def l1_distances(a: Vectors, b: Vectors) -> Distances:
    """(n,) sum of absolute differences of the rows, summed in float64."""
    _check(a, b)
    return np.asarray(_row_sums(abs(a - b)), np.float32)


def l2_distances(a: Vectors, b: Vectors) -> Distances:
    """(n,) Euclidean distance of the rows."""
    _check(a, b)
    return np.asarray(np.sqrt(_squares(a - b)), np.float32)


def bounded_rows(x: npt.NDArray[np.float32], bound: float) -> npt.NDArray[np.float32]:
    """(n, dim) rows, those longer than ``bound`` scaled to that length; 0 changes nothing."""
    if not bound:
        return x
    return np.asarray(x * (bound / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), bound)), np.float32)


def unit_length(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(n, dim) rows at length 1; the zero vector stays."""
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0), np.float32)


def _check(a: Vectors, b: Vectors) -> None:
    if a.shape != b.shape:
        raise DataError(f"Distances are row by row: {a.shape[0]} rows cannot be compared with {b.shape[0]}.")


def _product(a: Any, b: Any) -> Any:
    return a.multiply(b) if sparse.issparse(a) else a * b


def _row_sums(x: Vectors) -> npt.NDArray[np.float64]:
    return np.asarray(x.sum(axis=1, dtype=np.float64)).ravel()


def _squares(x: Vectors) -> npt.NDArray[np.float64]:
    return _row_sums(_product(x, x))
