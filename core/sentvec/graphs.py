"""Who is whose neighbour: the sentences around one in its document, or those most similar to it (F.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.protocols import Report
from core.sentvec.text import Index

SAME, ACROSS = 0.5, 0.8
"""Least cosine of two neighbours in one document, and in two (SJH17)."""
MOST = 20
"""Most similar sentences that one chooses; being chosen by others may add more."""
_BLOCK = 2_048

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Graph:
    """An undirected graph of sentences; the neighbours of i are ``targets[starts[i]:starts[i + 1]]``, ascending."""

    targets: npt.NDArray[np.int32]
    starts: Index
    """(n + 1,)."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def degrees(self) -> Index:
        """(n,) neighbours of each."""
        return np.diff(self.starts)


def no_graph(nodes: int) -> Graph:
    """Nobody is anybody's neighbour."""
    return Graph(np.zeros(0, np.int32), np.zeros(nodes + 1, np.int64))


def graph_of_pairs(first: Index, second: Index, nodes: int) -> Graph:
    """The undirected graph of (pairs,) ends: a pair counts once in each direction, and nobody is his own neighbour."""
    apart = first != second
    ends = np.concatenate([first[apart], second[apart]]), np.concatenate([second[apart], first[apart]])
    keys = np.unique(ends[0].astype(np.int64) * nodes + ends[1])
    sources, targets = np.divmod(keys, max(nodes, 1))
    starts = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=nodes))])
    return Graph(targets.astype(np.int32), starts.astype(np.int64))


def discourse_graph(articles: Index, positions: Index) -> Graph:
    """Previous and next sentence of the same article among those given; (n,) each. A loose sentence has nobody."""
    order = np.lexsort((positions, articles))
    follows = (articles[order][1:] == articles[order][:-1]) & (articles[order][1:] != -1)
    return graph_of_pairs(order[:-1][follows], order[1:][follows], len(articles))


def similarity_graph(vectors: Float32, articles: Index, report: Report) -> Graph:
    """Each sentence chooses its 20 most similar of those with cosine ≥ .5 in its article or ≥ .8 elsewhere.

    ``vectors`` (n, dim), ``articles`` (n,). Works through pairs of blocks, so that memory stays at n × 20 choices
    and one block of products; the zero vector is similar to nobody.
    """
    n = len(vectors)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors, np.float32), where=lengths > 0)
    best = _Best(np.full((n, MOST), -np.inf, np.float32), np.full((n, MOST), -1, np.int64))
    blocks = [np.arange(low, min(low + _BLOCK, n)) for low in range(0, n, _BLOCK)]
    total, done = len(blocks) * (len(blocks) + 1) // 2, 0
    for i, rows in enumerate(blocks):
        for columns in blocks[i:]:
            report.progress(done, total, "comparing sentences")
            similar = unit[rows] @ unit[columns].T
            _drop_unfit(similar, articles[rows], articles[columns])
            if columns is rows:
                np.fill_diagonal(similar, -np.inf)
            else:
                best.offer(columns, similar.T, rows)
            best.offer(rows, similar, columns)
            done += 1
    chosen = np.flatnonzero(best.ids.ravel() >= 0)
    return graph_of_pairs(chosen // MOST, best.ids.ravel()[chosen], n)


def _drop_unfit(similar: Float32, left: Index, right: Index) -> None:
    """Set pairs below their threshold to -inf; loose sentences (article -1) are in no document."""
    low = similar < ACROSS
    if np.intersect1d(left[left != -1], right).size:
        same = (left[:, None] == right[None, :]) & (left[:, None] != -1)
        low &= ~same | (similar < SAME)
    similar[low] = -np.inf


@dataclass(frozen=True)
class _Best:
    """The most similar sentences found so far, in no order: (n, MOST) cosines and ids, -inf and -1 where none."""

    cosines: Float32
    ids: Index

    def offer(self, rows: Index, similar: Float32, columns: Index) -> None:
        """Take (rows, columns) cosines into account."""
        hit = np.flatnonzero((similar > self.cosines[rows].min(axis=1, keepdims=True)).any(axis=1))
        if not len(hit):
            return
        cosines = np.concatenate([self.cosines[rows[hit]], similar[hit]], axis=1)
        chosen = np.argpartition(-cosines, MOST - 1, axis=1)[:, :MOST]
        kept = np.take_along_axis(cosines, chosen, axis=1)
        old = self.ids[rows[hit]]
        ids = np.where(
            chosen < MOST,
            np.take_along_axis(old, np.minimum(chosen, MOST - 1), axis=1),
            columns[np.maximum(chosen - MOST, 0)],
        )
        self.cosines[rows[hit]] = kept
        self.ids[rows[hit]] = np.where(kept > -np.inf, ids, -1)
