"""Tables of word vectors: compact storage and deterministic vectors of unknown words.

A table has (R, dim) rows of float32, float16, or int8 with one scale per row; several words may share a row. A word is
looked up unchanged, then in lower case, in title case, and with its digits replaced by "0" or "#". Each word that is
still unknown gets its own random vector from N(0, s²I), determined by a hash of the word, where s is the table's
standard deviation. A vector shared by all unknown words would confuse the names in an article.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.text.tokens import tokenize
from themescope.core.types import Float32, Index

Storage: TypeAlias = Literal["fp32", "fp16", "int8"]
STORAGES: tuple[Storage, ...] = ("fp32", "fp16", "int8")

_DIGIT = re.compile(r"\d")
_TICK = 1_000  # sentences between two reports


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors. Immutable; ``words[i]`` has row ``rows[i]``, or row i where ``rows`` is None."""

    words: Sequence[str]
    table: npt.NDArray[Any]
    """(R, dim) float32, float16, or int8 together with ``scales``."""
    scales: Float32 | None = None
    """(R,) factor of each int8 row."""
    rows: Index | None = None
    """(len(words),) row of each word, where words share rows."""
    spread: float = 0.0
    """Standard deviation s of the random vectors; 0 measures it on the table."""

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or not self.table.shape[1]:
            raise DataError(f"Word vectors need a table with rows and columns, not of shape {self.table.shape}.")
        count = len(self.table) if self.rows is None else len(self.rows)
        if len(self.words) != count:
            raise DataError(
                f"There are {len(self.words):,} words for {count:,} vectors; the files do not belong together."
            )
        if self.rows is not None and len(self.rows) and not 0 <= self.rows.min() <= self.rows.max() < len(self.table):
            raise DataError(f"The word list refers to rows outside the table of {len(self.table):,} rows.")
        if not self.spread:
            object.__setattr__(self, "spread", self._measured_spread())

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """Number of coordinates of a vector."""
        return int(self.table.shape[1])

    @property
    def storage(self) -> Storage:
        """Number format of the table."""
        if self.table.dtype == np.int8:
            return "int8"
        return "fp16" if self.table.dtype == np.float16 else "fp32"

    def row(self, word: str) -> int:
        """Return the row of ``word``, looked up unchanged → lower → title → digits as "0", then as "#"; or -1."""
        known = self._row_of
        for form in (word, word.lower(), word.title()):
            if form in known:
                return known[form]
        if _DIGIT.search(word):
            for mark in "0#":
                pattern = _DIGIT.sub(mark, word)
                for form in (pattern, pattern.lower()):
                    if form in known:
                        return known[form]
        return -1

    def vectors(self, rows: Index | slice) -> Float32:
        """Return the (n, dim) float32 vectors of table rows."""
        picked = self.table[rows].astype(np.float32)
        return picked if self.scales is None else picked * self.scales[rows, None]

    def of_words(self, words: Sequence[str]) -> tuple[Float32, npt.NDArray[np.bool_]]:
        """Return (n, dim) vectors of ``words``, random for unknown ones, and the (n,) mask of known words."""
        rows = np.fromiter((self.row(w) for w in words), np.int64, len(words))
        known = rows >= 0
        vectors = self.vectors(np.maximum(rows, 0)) if len(self.table) else np.zeros((len(words), self.dim), np.float32)
        unknown = np.flatnonzero(~known)
        if len(unknown):
            vectors[unknown] = random_vectors([words[i] for i in unknown.tolist()], self.dim, self.spread)
        return vectors, known

    def stored_as(self, storage: Storage) -> WordVectors:
        """Return the table in another number format. ``spread`` is kept, so unknown words keep their vectors."""
        if storage == self.storage:
            return self
        full = self.vectors(slice(None))
        if storage == "int8":
            scales = np.maximum(np.abs(full).max(axis=1), 1e-12) / 127
            codes = np.rint(full / scales[:, None]).astype(np.int8)
            return WordVectors(self.words, codes, scales.astype(np.float32), self.rows, self.spread)
        table = full.astype(np.float16 if storage == "fp16" else np.float32)
        return WordVectors(self.words, table, None, self.rows, self.spread)

    def first(self, limit: int) -> WordVectors:
        """Return the first ``limit`` words (tables are usually in order of falling frequency); 0 returns all."""
        if not limit or limit >= len(self.words):
            return self
        if self.rows is None:
            scales = None if self.scales is None else self.scales[:limit]
            return WordVectors(self.words[:limit], self.table[:limit], scales, None, self.spread)
        kept, rows = np.unique(self.rows[:limit], return_inverse=True)
        scales = None if self.scales is None else self.scales[kept]
        return WordVectors(self.words[:limit], self.table[kept], scales, rows.astype(np.int64), self.spread)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        rows: Sequence[int] = range(len(self.words)) if self.rows is None else self.rows.tolist()
        # Of duplicate words the first counts, and a dict keeps the last.
        return dict(zip(reversed(self.words), reversed(rows), strict=True))

    def _measured_spread(self) -> float:
        if not len(self.table):
            return 1.0
        sample = self.vectors(slice(0, 50_000))
        return float(np.sqrt(sample.var(axis=0, dtype=np.float64).mean())) or 1.0


def random_vectors(words: Sequence[str], dim: int, spread: float) -> Float32:
    """Return (n, dim) samples of N(0, spread²), each determined by its word alone (SHAKE-128, then Box–Muller)."""
    pairs = (dim + 1) // 2
    bits = b"".join(hashlib.shake_128(w.encode("utf-8", "surrogatepass")).digest(8 * pairs) for w in words)
    uniform = (np.frombuffer(bits, "<u4").reshape(len(words), 2, pairs) + 0.5) / 2**32
    radius, angle = np.sqrt(-2 * np.log(uniform[:, 0])), 2 * np.pi * uniform[:, 1]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :dim]
    return (spread * normal).astype(np.float32)


@dataclass(frozen=True)
class NumberedTexts:
    """Texts by number of word or word piece; text i is ``ids[starts[i]:starts[i + 1]]``."""

    ids: npt.NDArray[np.int32]
    starts: Index

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Index:
        """(n,) number of words of each text."""
        return np.diff(self.starts)

    def padded(self, rows: Index, padding: int = 0) -> tuple[Index, Index]:
        """Return (n, t) ids of ``rows``, filled up with ``padding``, and their (n,) lengths; t is at least 1."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        steps = np.arange(int(lengths.max(initial=1)))
        real = steps < lengths[:, None]
        places = np.where(real, self.starts[rows][:, None] + steps, 0)
        ids = self.ids[places] if len(self.ids) else np.zeros_like(places)
        return np.where(real, ids, padding).astype(np.int64), lengths

    def only(self, numbers: Index) -> NumberedTexts:
        """Replace number j by ``numbers[j]`` and leave out words that get −1."""
        replaced = numbers[self.ids].astype(np.int32)
        kept = replaced >= 0
        counts = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
        return NumberedTexts(replaced[kept], counts[self.starts])


def numbered(
    sentences: Iterable[Sequence[str]], tick: Callable[[], None] = lambda: None
) -> tuple[list[str], NumberedTexts]:
    """Return the distinct words of tokenised sentences, and the sentences by number of word.

    ``tick`` is called every thousand sentences and may raise ``Cancelled``.
    """
    index: dict[str, int] = {}
    ids: list[int] = []
    starts = [0]
    for number, words in enumerate(sentences):
        if number % _TICK == 0:
            tick()
        ids.extend([index.setdefault(word, len(index)) for word in words])
        starts.append(len(ids))
    return list(index), NumberedTexts(np.array(ids, np.int32), np.array(starts, np.int64))


@dataclass(frozen=True)
class TokenIds(NumberedTexts):
    """Tokenised texts with a table of the words they use."""

    table: Float32
    """(used words, dim)."""


class WordLookup(Protocol):
    """Interface of objects that return vectors of words."""

    def of_words(self, words: Sequence[str]) -> tuple[Float32, npt.NDArray[np.bool_]]:
        """Return (n, dim) vectors of ``words`` and the (n,) mask of known words."""
        ...


def token_ids(
    texts: Iterable[str], vectors: WordLookup, *, unknown: bool = True, tick: Callable[[], None] = lambda: None
) -> TokenIds:
    """Tokenise ``texts``. ``unknown`` False omits the words that ``vectors`` does not have."""
    return word_ids(map(tokenize, texts), vectors, unknown=unknown, tick=tick)


def word_ids(
    sentences: Iterable[Sequence[str]],
    vectors: WordLookup,
    *,
    unknown: bool = True,
    tick: Callable[[], None] = lambda: None,
) -> TokenIds:
    """Return token ids of tokenised ``sentences``; see :func:`token_ids` and :func:`numbered`."""
    distinct, texts = numbered(sentences, tick)
    table, known = vectors.of_words(distinct)
    if not unknown and not known.all():
        texts, table = texts.only(np.where(known, np.cumsum(known) - 1, -1)), table[known]
    return TokenIds(texts.ids, texts.starts, table)
