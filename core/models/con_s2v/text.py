"""Training text: arrays, word ids of the training sentences, the vocabulary, and graphs of neighbouring sentences.

Neighbours are close by position in the document, or by similarity (Saha et al. 2017, section 3.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.text.languages import content_words
from themescope.core.text.word_vectors import numbered
from themescope.core.types import Float32, Index, Report, Sentence

# Arrays that the compiled loops work on: named tuples, tables of vectors, and noise distributions

Table = npt.NDArray[np.float32]  # (rows, width), contiguous
LEAST_RATE = 1e-4
"""Minimum of the learning rate, as a share of the initial one."""
_LINE = 16  # number of float32 in a cache line
_FLATTENED = 0.75  # noise is drawn with probability ∝ count to this power
_WHOLE = float(1 << 32)

AliasTable = npt.NDArray[np.uint64]
Sums = npt.NDArray[np.float64]  # content loss, content steps, neighbour loss, neighbour steps
BLOCK_WORDS = 40_000
"""Number of words that a thread processes between two reports."""


class Tables(NamedTuple):
    """Learned tables: (rows, dim) float32 each; a table that a training does not use has no rows."""

    sentences: Any
    """φ, vectors of sentences."""
    words: Any
    """w, output vectors of words."""
    nodes: Any
    """g, output vectors of sentences."""
    inputs: Any
    """Input vectors of words (modes reference, dm and fastsent)."""


class TextArrays(NamedTuple):
    """Text: sentence i has the words ``ids[starts[i]:starts[i + 1]]``; ``keep`` (words,) are subsampling thresholds."""

    ids: Any
    starts: Any
    keep: Any


class Context(NamedTuple):
    """Graph: the neighbours of sentence i are ``targets[starts[i]:starts[i + 1]]``."""

    targets: Any
    starts: Any


class Noise(NamedTuple):
    """Alias tables of noise words and noise sentences, and the number of draws in each step."""

    words: Any
    nodes: Any
    drawn: int


class Losses(NamedTuple):
    """Losses that are trained (Saha et al. 2017, section 3)."""

    content: bool
    neighbours: float
    """Learning rate of neighbour prediction as a share of the learning rate; 0 switches it off."""
    strength: float
    """Weight λ of proximity; 0 switches it off."""
    implicit: bool
    window: int
    """Size of the window in mode reference; 0 for mode paper."""


class Span(NamedTuple):
    """Sentences low ≤ i < high of one pass, and the progress of the whole training."""

    low: int
    high: int
    rate: float
    """Initial learning rate α₀."""
    done: int
    """Number of words in earlier passes."""
    total: int
    """Number of words in all passes."""
    seed: int


class Buffers(NamedTuple):
    """Buffers of a thread: (dim,) gradient and mean, (S + 1,) targets, (longest,) kept words, random state."""

    gradient: Any
    mean: Any
    targets: Any
    kept: Any
    state: Any


def empty_table(rows: int, dim: int) -> Table:
    """Return (rows, width) zeros; width is ``dim`` rounded up to whole cache lines, to which rows are aligned.

    The dimensions beyond ``dim`` stay 0 in training, because a step adds multiples of other rows only.
    """
    width = -(-dim // _LINE) * _LINE
    buffer = np.zeros(rows * width + _LINE, np.float32)
    offset = (-buffer.ctypes.data % (4 * _LINE)) // 4
    return buffer[offset : offset + rows * width].reshape(rows, width)


def random_table(rows: int, dim: int, random: np.random.Generator) -> Table:
    """Return a (rows, width) table with entries ~ U(-0.5/dim, 0.5/dim), and 0 beyond ``dim``."""
    table = empty_table(rows, dim)
    table[:, :dim] = (random.random((rows, dim), np.float32) - np.float32(0.5)) / np.float32(dim)
    return table


def word_noise(counts: npt.NDArray[np.int64]) -> AliasTable:
    """Return the alias table of noise words: ψ_c ∝ count^¾."""
    return alias_table(counts.astype(np.float64) ** _FLATTENED)


def node_noise(targets: npt.NDArray[np.int32], nodes: int) -> AliasTable:
    """Return the alias table of noise sentences: ψ_g ∝ (1 + c)^¾, c being the number of their neighbours."""
    return alias_table((1 + np.bincount(targets, minlength=nodes).astype(np.float64)) ** _FLATTENED)


def keep_thresholds(counts: npt.NDArray[np.int64], subsampling: float) -> AliasTable:
    """Return (words,) thresholds: a word is kept when a 32-bit random number is below 2³² · keep probability."""
    return np.asarray(np.rint(keep_probability(counts, subsampling) * _WHOLE), np.uint64)


def keep_probability(counts: npt.NDArray[np.int64], subsampling: float) -> npt.NDArray[np.float64]:
    """Return (words,) probabilities min(1, (√(f/t) + 1)·t/f), f being relative frequency; 1 where t is 0."""
    if not subsampling:
        return np.ones(len(counts))
    ratio = subsampling / (np.maximum(counts, 1) / max(int(counts.sum()), 1))
    return np.asarray(np.minimum(1.0, (np.sqrt(1 / ratio) + 1) * ratio))


def alias_table(weights: npt.NDArray[np.float64]) -> AliasTable:
    """Return the alias table of a distribution ∝ ``weights`` (items,), the uniform one where all are 0."""
    total = weights.sum()
    scaled = (weights / total if total > 0 else np.full(len(weights), 1 / max(len(weights), 1))) * len(weights)
    threshold, alias = np.ones(len(weights)), np.arange(len(weights))
    small = np.flatnonzero(scaled < 1).tolist()
    large = np.flatnonzero(scaled >= 1).tolist()
    left = scaled.tolist()
    while small and large:
        low, high = small.pop(), large[-1]
        threshold[low], alias[low] = left[low], high
        left[high] -= 1 - left[low]
        if left[high] < 1:
            small.append(large.pop())
    cells = np.minimum(threshold * _WHOLE, _WHOLE - 1).astype(np.uint64) << np.uint64(32)
    return np.asarray(cells | alias.astype(np.uint64))


FEWEST = 3
"""Minimum number of words of a training sentence (Saha et al. 2017)."""


@dataclass(frozen=True)
class CorpusVocabulary:
    """Words in order of falling count; ties in order of first appearance."""

    words: list[str]
    counts: Index
    """(words,) number of occurrences in the training text."""

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Word → row."""
        return {word: row for row, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def rows(self, text: str) -> list[int]:
        """Return the rows of the known words of ``text``, in order."""
        known = self.row_of
        return [known[word] for word in content_words(text) if word in known]


@dataclass(frozen=True)
class EncodedText:
    """The training sentences in corpus order; sentence i has the words ``ids[starts[i]:starts[i + 1]]``."""

    vocabulary: CorpusVocabulary
    ids: npt.NDArray[np.int32]
    starts: Index
    """(n + 1,)."""
    rows: Index
    """(n,) index of each in the sequence given to :func:`encode_text`."""
    articles: Index
    """(n,) article of each, or -1."""
    positions: Index
    """(n,) position in its article."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def words(self) -> int:
        """Total number of words."""
        return len(self.ids)


def encode_text(
    sentences: Sequence[Sentence], min_count: int = 0, tick: Callable[[], None] = lambda: None
) -> EncodedText:
    """Tokenise every sentence once; sentences with fewer than :data:`FEWEST` words are left out.

    Words that occur fewer than ``min_count`` times are removed first. ``tick`` is called every thousand sentences.
    """
    names, texts = numbered((content_words(sentence.text) for sentence in sentences), tick)
    kept = [word for word, count in Counter(texts.ids.tolist()).most_common() if count >= min_count]
    row_of = np.full(len(names), -1, np.int32)
    row_of[kept] = np.arange(len(kept), dtype=np.int32)
    ids = row_of[texts.ids]
    owners = np.repeat(np.arange(len(texts)), texts.lengths)[ids >= 0]
    ids = ids[ids >= 0]
    lengths = np.bincount(owners, minlength=len(texts))
    rows = np.flatnonzero(lengths >= FEWEST)
    ids = ids[lengths[owners] >= FEWEST]
    vocabulary = CorpusVocabulary([names[i] for i in kept], np.bincount(ids, minlength=len(kept)).astype(np.int64))
    places = [(sentences[i].article_id, sentences[i].position) for i in rows.tolist()]
    articles, positions = np.array(places, np.int64).reshape(-1, 2).T
    starts = np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64)
    return EncodedText(vocabulary, ids, starts, rows, articles.copy(), positions.copy())


SAME, ACROSS = 0.5, 0.8
"""Minimum cosine of neighbours in the same document, and in different documents (Saha et al. 2017)."""
MOST = 20
"""Number of most similar sentences that each sentence chooses; it may be chosen by more."""
_BLOCK = 2_048
_HEAD = 0.97  # share of the squared lengths that the axes of the bound explain
_SLACK = 1e-4  # tolerance for rounding errors of the bound
_DENSE, _GATHERED = 0.05, 65_536
"""Share of candidate pairs above which a whole block is multiplied, and number of pairs multiplied at once below."""

_Pairs: TypeAlias = tuple[Index, Index, Float32]
"""(pairs,) first sentences, second sentences and cosines."""


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
        """(n,) number of neighbours of each sentence."""
        return np.diff(self.starts)


def no_graph(nodes: int) -> Graph:
    """Return a graph without edges."""
    return Graph(np.zeros(0, np.int32), np.zeros(nodes + 1, np.int64))


def graph_of_pairs(first: Index, second: Index, nodes: int) -> Graph:
    """Return the undirected graph of (pairs,) edges; duplicates count once, and loops are removed."""
    apart = first != second
    ends = np.concatenate([first[apart], second[apart]]), np.concatenate([second[apart], first[apart]])
    sources, targets = np.divmod(np.unique(ends[0].astype(np.int64) * nodes + ends[1]), max(nodes, 1))
    starts = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=nodes))])
    return Graph(targets.astype(np.int32), starts.astype(np.int64))


def discourse_graph(articles: Index, positions: Index) -> Graph:
    """Return the graph of previous and next sentences of an article; both arrays are (n,), article -1 has none."""
    order = np.lexsort((positions, articles))
    follows = (articles[order][1:] == articles[order][:-1]) & (articles[order][1:] != -1)
    return graph_of_pairs(order[:-1][follows], order[1:][follows], len(articles))


def similarity_graph(vectors: Float32, articles: Index, report: Report) -> Graph:
    """Return the graph in which each sentence chooses its 20 most similar ones.

    Candidates have a cosine of at least .5 in the same article or .8 in another. ``vectors`` are (n, dim), ``articles``
    (n,). The zero vector has no neighbours. The result is exact, but only pairs that may reach .8 are computed in full:
    on the principal axes u·v ≤ head·head + |tail||tail| (Cauchy–Schwarz), one product of short rows. Memory is bounded
    by a few n × 20 pairs and one block of products.
    """
    n = len(vectors)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors, np.float32), where=lengths > 0)
    best, order = _Best(n), np.argsort(articles, kind="stable")
    order = order[articles[order] != -1]
    for members in np.split(order, np.flatnonzero(np.diff(articles[order])) + 1):
        for rows, columns in _block_pairs(members):
            best.offer(*_similar(unit, unit, rows, columns, SAME))
    values, axes = np.linalg.eigh((unit.T @ unit).astype(np.float64))
    share = np.cumsum(values[::-1]) / max(float(values.sum()), 1e-12)
    kept = int(np.searchsorted(share, _HEAD)) + 1
    turned = unit @ axes[:, ::-1].astype(np.float32)
    # Rows whose products bound the cosines: principal axes, then the length of the rest.
    bounding = np.hstack([turned[:, :kept], np.linalg.norm(turned[:, kept:], axis=1, keepdims=True)])
    pairs = _block_pairs(np.arange(n))
    for done, (rows, columns) in enumerate(pairs):
        report.progress(done, len(pairs), "comparing sentences")
        first, second, cosines = _similar(unit, bounding, rows, columns, ACROSS)
        apart = (articles[first] != articles[second]) | (articles[first] == -1)
        best.offer(first[apart], second[apart], cosines[apart])
    best.keep()
    return graph_of_pairs(best.first, best.second, n)


def _block_pairs(items: Index) -> list[tuple[Index, Index]]:
    """Return pairs of blocks of ascending ``items``: each block with itself and with every later one."""
    blocks = [items[low : low + _BLOCK] for low in range(0, len(items), _BLOCK)]
    return [(rows, columns) for i, rows in enumerate(blocks) for columns in blocks[i:]]


def _similar(unit: Float32, bounding: Float32, rows: Index, columns: Index, least: float) -> _Pairs:
    """Return the pairs (first < second) of two blocks with a cosine of at least ``least``."""
    first, second = np.nonzero(bounding[rows] @ bounding[columns].T >= least - _SLACK)
    if len(first) > _DENSE * len(rows) * len(columns):
        cosines = (unit[rows] @ unit[columns].T)[first, second]
        first, second = rows[first], columns[second]
    else:
        first, second = rows[first], columns[second]
        parts = range(0, len(first), _GATHERED)
        ends = ((unit[first[i : i + _GATHERED]], unit[second[i : i + _GATHERED]]) for i in parts)
        products = [np.einsum("ij,ij->i", x, y) for x, y in ends]
        cosines = np.concatenate([*products, np.zeros(0, np.float32)])
    fit = (cosines >= least) & (first < second)
    return first[fit], second[fit], cosines[fit]


class _Best:
    """The most similar sentences of each sentence among the pairs offered so far; ties go to the lower index."""

    def __init__(self, nodes: int) -> None:
        self.first, self.second = np.zeros(0, np.int64), np.zeros(0, np.int64)
        """(pairs,) choosing and chosen sentences."""
        self._cosines = np.zeros(0, np.float32)
        self._least = np.full(nodes, -np.inf, np.float32)  # minimum cosine of a pair to be kept
        self._waiting: list[_Pairs] = []
        self._held, self._limit = 0, max(2 * MOST * nodes, 1_000_000)

    def offer(self, first: Index, second: Index, cosines: Float32) -> None:
        """Add pairs, in both directions."""
        for chooser, chosen in ((first, second), (second, first)):
            able = cosines >= self._least[chooser]
            self._waiting.append((chooser[able], chosen[able], cosines[able]))
            self._held += len(self._waiting[-1][0])
        if self._held > self._limit:
            self.keep()

    def keep(self) -> None:
        """Drop all but the best pairs."""
        parts = [(self.first, self.second, self._cosines), *self._waiting]
        first, second, cosines = (np.concatenate([part[i] for part in parts]) for i in range(3))
        order = np.lexsort((second, -cosines, first))
        first, second, cosines = first[order], second[order], cosines[order]
        rank = np.arange(len(first)) - np.searchsorted(first, first)
        full = rank == MOST - 1
        self._least[first[full]] = cosines[full]
        best = rank < MOST
        self.first, self.second, self._cosines = first[best], second[best], cosines[best]
        self._waiting, self._held = [], 0
