"""What the engine draws at random: noise words, noise sentences, and which frequent words it skips (F.2, F.4).

A distribution is kept as an alias table (Walker 1977; Vose 1991): one cell an item, drawn in two steps whatever the
number of items. A cell packs a 32-bit threshold (high half) and the item that answers above it (low half).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

AliasTable = npt.NDArray[np.uint64]
_FLATTENED = 0.75
_WHOLE = float(1 << 32)


def word_noise(counts: npt.NDArray[np.int64]) -> AliasTable:
    """ψ_c ∝ count^¾ over the vocabulary."""
    return alias_table(counts.astype(np.float64) ** _FLATTENED)


def node_noise(targets: npt.NDArray[np.int32], nodes: int) -> AliasTable:
    """ψ_g ∝ (1 + c)^¾ over sentences, c = in how many neighbour lists a sentence stands."""
    lists = np.bincount(targets, minlength=nodes).astype(np.float64)
    return alias_table((1 + lists) ** _FLATTENED)


def keep_thresholds(counts: npt.NDArray[np.int64], subsampling: float) -> AliasTable:
    """(words,) of 2³²: a word is kept when a 32-bit draw is below min(1, (√(f/t) + 1)·t/f); all are where t = 0."""
    share = keep_probability(counts, subsampling)
    return np.asarray(np.rint(share * _WHOLE), np.uint64)


def keep_probability(counts: npt.NDArray[np.int64], subsampling: float) -> npt.NDArray[np.float64]:
    """(words,) probability that an occurrence is trained on; f is a word's relative frequency."""
    frequency = np.maximum(counts, 1) / max(int(counts.sum()), 1)
    if not subsampling:
        return np.ones(len(counts))
    ratio = subsampling / frequency
    return np.asarray(np.minimum(1.0, (np.sqrt(1 / ratio) + 1) * ratio))


def alias_table(weights: npt.NDArray[np.float64]) -> AliasTable:
    """The alias table of a distribution ∝ ``weights`` (items,); with no weight at all, the uniform one."""
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


def probabilities(table: AliasTable) -> npt.NDArray[np.float64]:
    """(items,) the distribution that a table draws from, exact to 2⁻³²."""
    threshold = (table >> np.uint64(32)).astype(np.float64) / _WHOLE
    found = threshold.copy()
    np.add.at(found, (table & np.uint64(0xFFFFFFFF)).astype(np.int64), 1 - threshold)
    return found / len(table)
