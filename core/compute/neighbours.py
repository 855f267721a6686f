"""Nearest neighbours by cosine: exact, block by block, for dense and sparse vectors."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.errors import DataError
from themescope.core.types import Ids, Matrix

Floats = npt.NDArray[np.float32]
BLOCK = 8_192


def cosines(query: Matrix, vectors: Matrix) -> Floats:
    """Return the (n,) cosine of the (1, dim) ``query`` to each row of (n, dim) ``vectors``; 0 for zero rows.

    The rows, dense or CSR, may be float16: they are converted block by block, which takes a few megabytes.

    Raises :class:`DataError` if the dimensions differ.
    """
    if query.shape[1] != vectors.shape[1]:
        raise DataError(f"The vectors have {vectors.shape[1]} dimensions, the query has {query.shape[1]}.")
    wanted = _flat(query)
    wanted /= np.linalg.norm(wanted) or 1.0
    found = np.zeros(vectors.shape[0], dtype=np.float32)
    for start in range(0, vectors.shape[0], BLOCK):
        rows = vectors[start : start + BLOCK].astype(np.float32, copy=False)
        lengths = _lengths(rows)
        found[start : start + rows.shape[0]] = (rows @ wanted) / np.where(lengths > 0, lengths, 1.0)
    return found


def nearest_neighbours(query: Matrix, blocks: Iterable[tuple[Ids, Matrix]], top_k: int) -> list[tuple[int, float]]:
    """Return (id, cosine) of the ``top_k`` rows nearest to the (1, dim) ``query``, by falling cosine, then by id.

    ``blocks`` are (n,) ids with their (n, dim) rows; only one block is in memory at a time.
    """
    best: list[tuple[float, int]] = []
    for ids, rows in blocks:
        found = cosines(query, rows)
        near = np.argpartition(-found, top_k - 1)[:top_k] if len(found) > top_k else np.arange(len(found))
        if len(near):
            near = np.flatnonzero(found >= found[near].min())  # every tie, so that the id decides
        best = heapq.nlargest(top_k, [*best, *((float(found[i]), -int(ids[i])) for i in near)])
    return [(-negative, cosine) for cosine, negative in best]


def _flat(query: Matrix) -> Floats:
    row: Any = query.toarray() if isinstance(query, sparse.csr_array) else query
    return np.array(row, dtype=np.float32).ravel()


def _lengths(rows: Matrix) -> Floats:
    squares: Any = (
        rows.multiply(rows).sum(axis=1) if isinstance(rows, sparse.csr_array) else np.einsum("ij,ij->i", rows, rows)
    )
    return np.asarray(np.sqrt(np.asarray(squares, dtype=np.float32)).ravel(), dtype=np.float32)
