"""Computation that the methods share: nearest neighbours and random numbers."""

from __future__ import annotations

import heapq
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.errors import DataError
from themescope.core.types import Float32, Ids, Matrix

BLOCK = 8_192


def cosines(query: Matrix, vectors: Matrix) -> Float32:
    """Return the (n,) cosine of the (1, dim) ``query`` to each row of (n, dim) ``vectors``; 0 for zero rows.

    The rows, dense or CSR, may be float16: they are converted block by block, which takes a few megabytes. Raises
    :class:`DataError` if the dimensions differ.
    """
    if query.shape[1] != vectors.shape[1]:
        raise DataError(f"The vectors have {vectors.shape[1]} dimensions, the query has {query.shape[1]}.")
    row: Any = query if isinstance(query, np.ndarray) else query.toarray()
    wanted = np.array(row, dtype=np.float32).ravel()
    wanted /= np.linalg.norm(wanted) or 1.0
    found = np.zeros(vectors.shape[0], dtype=np.float32)
    for start in range(0, vectors.shape[0], BLOCK):
        rows: Any = vectors[start : start + BLOCK].astype(np.float32, copy=False)
        squares = np.einsum("ij,ij->i", rows, rows) if isinstance(rows, np.ndarray) else rows.multiply(rows).sum(axis=1)
        lengths = np.sqrt(np.asarray(squares, dtype=np.float32)).ravel()
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


# The random number generator SplitMix64 (Steele, Lea and Flood 2014), which gives the same numbers on every platform

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Increment of the generator's state: 2**64 divided by the golden ratio."""
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mix(x: Any) -> Any:
    """Return the random number of a state, or of each state in an (n,) array; all are uint64."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def processor() -> str:
    """Return the name of the processor and its extensions for the numbers of neural networks (on Linux)."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    name = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "avx_vnni", "amx_bf16") if f" {flag} " in text]
    return f"{name[1] if name else platform.processor()} ({', '.join(known)})"
