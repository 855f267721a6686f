"""Hash-based random choices that depend only on the seed and the item.

Every choice is a hash of (seed, article title, what it is about). So neither the order of files, nor what else is
in the corpus, nor the ids of the store can change it, and whole columns are drawn at once.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from core.random_numbers import GOLDEN, mix
from core.types import fold_title

Keys = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]


def text_key(text: str) -> int:
    """Return the 64-bit hash of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def article_key(title: str, seed: int) -> int:
    """Return the 64-bit seed of an article, from its title."""
    return text_key(f"{seed}\n{fold_title(title)}")


def keys(base: int, purpose: str, *columns: Indices) -> Keys:
    """(n,) hashes, one for each row of the (n,) columns; different purposes give independent ones."""
    start = np.uint64(base ^ text_key(purpose))
    mixed = np.full(columns[0].shape, start, dtype=np.uint64)
    for column in columns:
        mixed = mix(mixed + GOLDEN + column.astype(np.uint64))
    return mixed


def below(drawn: Keys, bound: Indices) -> Indices:
    """(n,) whole numbers 0…bound-1 from hashes; ``bound`` must be positive."""
    return (drawn % bound.astype(np.uint64)).astype(np.int64)


def two_below(first: Keys, second: Keys, which: Indices, bound: Indices) -> Indices:
    """Take the ``which``-th (0 or 1) of two different numbers below ``bound``; with a bound of 1 both are 0."""
    start = below(first, bound)
    step = 1 + below(second, np.maximum(bound - 1, 1))
    return (start + which * step) % bound


def smallest_per_group(drawn: Keys, groups: Indices, most: int) -> Indices:
    """Sorted indices of a uniform sample of at most ``most`` rows of every group."""
    order = np.lexsort((drawn, groups))
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.empty(0, np.int64)
    sizes = np.diff(np.r_[starts, len(ordered)])
    rank = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return np.sort(order[rank < most])
