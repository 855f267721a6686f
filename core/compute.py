"""Computation that the methods share: nearest neighbours and random numbers."""

from __future__ import annotations

import heapq
import platform
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.errors import ArtifactError, DataError, optional_module
from themescope.core.protocols import SILENT, Report
from themescope.core.types import Float32, Ids, Matrix

# Nearest neighbours by cosine: exact, block by block, and approximate by an index for very many dense vectors

BLOCK = 8_192


def cosines(query: Matrix, vectors: Matrix) -> Float32:
    """Return the (n,) cosine of the (1, dim) ``query`` to each row of (n, dim) ``vectors``; 0 for zero rows.

    The rows, dense or CSR, may be float16: they are converted block by block, which takes a few megabytes.

    Raises :class:`DataError` if the dimensions differ.
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


INDEX_FROM = 200_000
"""Number of vectors from which search uses an index; below, all cosines are computed."""
CANDIDATES = 100
"""Minimum number of candidates whose exact cosines are computed."""
SAMPLE, TOP = 200, 10
"""Number of queries by which the recall is measured, and the number of neighbours of each."""
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 64, 128
"""Edges per vector, and number of vectors that adding and searching keep in view; usearch documents the terms."""

Blocks = Callable[[], Iterable[tuple[Ids, Matrix]]]
"""Function that yields (n,) keys with their (n, dim) vectors; several calls yield the same."""


class NeighbourIndex:
    """Graph of the directions of vectors, each with an integer key. Zero vectors are left out."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    @classmethod
    def build(cls, blocks: Blocks, total: int, threads: int = 0, report: Report = SILENT) -> NeighbourIndex:
        """Add all vectors, about ``total``, on ``threads`` threads (0: all cores).

        Raises :class:`DataError` if there are no dense vectors, and :class:`MissingExtraError` without usearch.
        """
        graph: Any = None
        for keys, rows in blocks():
            if not isinstance(rows, np.ndarray):
                raise DataError("Only dense vectors have an index.")
            if graph is None:
                graph = _usearch()(
                    ndim=rows.shape[1], metric="cos", dtype="f16", connectivity=CONNECTIVITY,
                    expansion_add=EXPANSION_ADD, expansion_search=EXPANSION_SEARCH, enable_key_lookups=False,
                )  # fmt: skip
            units, used = _units(rows)
            graph.add(keys[used].astype(np.uint64), units[used], threads=threads)
            report.progress(len(graph), max(total, len(graph)), "vectors indexed")
        if graph is None:
            raise DataError("An index needs vectors; there are none.")
        return cls(graph)

    @classmethod
    def open(cls, path: Path) -> NeighbourIndex:
        """Map a saved index into memory; raise :class:`ArtifactError` if usearch cannot read it."""
        try:
            graph = _usearch().restore(path, view=True)
        except (RuntimeError, ValueError, OSError) as error:
            raise ArtifactError(f"The index {path.name} cannot be read: {error}. Embed the corpus again.") from error
        if graph is None:
            raise ArtifactError(f"The index {path.name} cannot be read. Embed the corpus again.")
        graph.expansion_search = EXPANSION_SEARCH
        return cls(graph)

    def save(self, path: Path) -> None:
        """Write the index to a file."""
        self._graph.save(path)

    def __len__(self) -> int:
        return len(self._graph)

    def candidates(self, query: Matrix, count: int = CANDIDATES) -> Ids:
        """Return up to ``count`` keys of vectors near the (1, dim) ``query``, in no particular order.

        Raises :class:`DataError` if the dimensions differ.
        """
        units, _ = _units(np.asarray(query))
        if units.shape[1] != self._graph.ndim:
            raise DataError(f"The index has {self._graph.ndim} dimensions, the query has {units.shape[1]}.")
        found = self._graph.search(units[0], max(count, CANDIDATES), threads=1)
        keys: Ids = np.asarray(found.keys).astype(np.int64)
        return keys

    def recall(self, blocks: Blocks, total: int, seed: int = 0) -> float:
        """Return recall@10 in 0…1: the share of the exact neighbours of sampled vectors that are candidates.

        Exact cosines decide the order of candidates, so that this is the recall of the whole search. The ``SAMPLE``
        queries are vectors of the index, each without itself.
        """
        chosen = np.sort(np.random.default_rng(seed).choice(total, min(SAMPLE, total), replace=False))
        first, parts = 0, []
        for ids, rows in blocks():
            low, high = np.searchsorted(chosen, [first, first + len(ids)])
            here = chosen[low:high] - first
            units, used = _units(np.asarray(rows)[here])
            parts.append((ids[here][used], units[used]))
            first += len(ids)
        keys, queries = (np.concatenate(part) for part in zip(*parts, strict=True))
        best = np.full((len(keys), TOP), -np.inf, dtype=np.float32)
        near = np.full((len(keys), TOP), -1, dtype=np.int64)
        for ids, rows in blocks():
            cosines = np.asarray(queries @ _units(rows)[0].T, dtype=np.float32)
            cosines[keys[:, None] == ids[None, :]] = -np.inf
            scores = np.concatenate([best, cosines], axis=1)
            names = np.concatenate([near, np.broadcast_to(ids, cosines.shape)], axis=1)
            order = np.argpartition(-scores, TOP - 1, axis=1)[:, :TOP]
            best, near = np.take_along_axis(scores, order, 1), np.take_along_axis(names, order, 1)
        hits, possible = 0, 0
        for query, true, score in zip(queries, near, best, strict=True):
            wanted = true[np.isfinite(score)]
            hits += int(np.isin(wanted, self.candidates(query[None], CANDIDATES + 1)).sum())
            possible += len(wanted)
        return hits / possible if possible else 1.0


def _usearch() -> Any:
    return optional_module("usearch.index", "An index of vectors", "usearch", "search").Index


def _units(rows: Matrix) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Return the rows with length 1, and which of them are not zero."""
    dense = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(dense, axis=1)
    return (dense / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(np.float32, copy=False), lengths > 0


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
