"""Compiled loops of Iclust and of Lloyd's algorithm, all on a similarity matrix.

They are in one file because numba's cache notices changes only in the file of the compiled function.
Shapes: ``s`` (n, n) float64 similarities; ``labels`` (n,) int64; ``sums`` (k, n), ``sums[c, i]`` = Σ_{j∈c} s[i, j]
(M of the specification, transposed so that a move touches two contiguous rows); ``within`` (k,), ``within[c]`` =
Σ_{i,j∈c} s[i, j]; ``sizes`` (k,). Random numbers are SplitMix64, so that results do not depend on the platform.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from themescope.core.compute import GOLDEN, mix

_TINY = 1e-12
_mix = njit(cache=True, inline="always")(mix)


@njit(cache=True)
def _next(state: Any) -> Any:
    state[0] += GOLDEN
    return _mix(state[0])


@njit(cache=True)
def _below(state: Any, bound: int) -> Any:
    return np.int64(_next(state) % np.uint64(bound))


@njit(cache=True)
def _shuffle(items: Any, state: Any) -> None:
    for i in range(len(items) - 1, 0, -1):
        j = _below(state, i + 1)
        items[i], items[j] = items[j], items[i]


@njit(cache=True)
def _less(a: float, b: float, scale: float) -> bool:
    """Return whether ``a`` is less than ``b`` by more than rounding errors of numbers of size ``scale``.

    Ties are then decided by order and not by rounding errors, which depend on the processor.
    """
    return a < b - _TINY * (1.0 + scale)


@njit(cache=True)
def random_partition(n: int, k: int, state: Any) -> Any:
    """Return (n,) labels: one random item for every cluster, the others uniform. ``n`` ≥ ``k``."""
    order = np.arange(n)
    _shuffle(order, state)
    labels = np.empty(n, np.int64)
    for place in range(n):
        labels[order[place]] = place if place < k else _below(state, k)
    return labels


@njit(cache=True)
def cluster_sums(s: Any, labels: Any, k: int) -> Any:
    """Compute ``sums``, ``within`` and ``sizes`` of a partition."""
    n = len(labels)
    sums, within, sizes = np.zeros((k, n)), np.zeros(k), np.zeros(k, np.int64)
    for i in range(n):
        sums[labels[i]] += s[i]
        sizes[labels[i]] += 1
    for i in range(n):
        within[labels[i]] += sums[labels[i], i]
    return sums, within, sizes


@njit(cache=True)
def move(s: Any, sums: Any, within: Any, sizes: Any, i: Any, source: Any, target: Any) -> None:
    """Update sums, within and sizes for moving item ``i`` from ``source`` to ``target``."""
    within[source] -= 2 * sums[source, i] - s[i, i]
    within[target] += 2 * sums[target, i] + s[i, i]
    sums[source] -= s[i]
    sums[target] += s[i]
    sizes[source] -= 1
    sizes[target] += 1


@njit(cache=True)
def _value(within: float, size: int, off: int, temperature: float, n: int) -> float:
    """Return the term of a cluster in n·F: S_c/(n_c - off) + T·n_c·ln(n_c/n). ``off`` is 1 without the diagonal."""
    value = within / (size - off) if size > off else 0.0
    if temperature > 0.0 and size > 0:
        value += temperature * size * np.log(size / n)
    return value


@njit(cache=True)
def sequential(s: Any, labels: Any, k: int, temperature: float, off: int, sweeps: int, state: Any) -> Any:
    """Move single items, changing ``labels`` in place, until a sweep moves none; return F, which never falls."""
    sums, within, sizes = cluster_sums(s, labels, k)
    return improve(s, labels, sums, within, sizes, temperature, off, sweeps, state)


@njit(cache=True)
def improve(
    s: Any, labels: Any, sums: Any, within: Any, sizes: Any, temperature: float, off: int, sweeps: int, state: Any
) -> Any:
    """Do the moves of :func:`sequential`, changing all of a partition; its clusters may have items beside these n."""
    n, k = len(labels), len(sizes)
    values = np.empty(k)
    for c in range(k):
        values[c] = _value(within[c], sizes[c], off, temperature, n)
    order = np.arange(n)
    for _ in range(sweeps):
        _shuffle(order, state)
        moved = False
        for i in order:
            a = labels[i]
            if sizes[a] == 1:
                continue
            own = s[i, i]
            left = _value(within[a] - 2 * sums[a, i] + own, sizes[a] - 1, off, temperature, n)
            best, target = values[a] - left, a
            for c in range(k):
                if c != a and sizes[c] > 0:
                    gain = _value(within[c] + 2 * sums[c, i] + own, sizes[c] + 1, off, temperature, n) - values[c]
                    if _less(best, gain, abs(gain)):
                        best, target = gain, c
            if target != a:
                move(s, sums, within, sizes, i, a, target)
                labels[i] = target
                values[a] = left
                values[target] = _value(within[target], sizes[target], off, temperature, n)
                moved = True
        if not moved:
            break
    return values.sum() / n


@njit(cache=True)
def iclust(s: Any, k: int, restarts: int, sweeps: int, temperature: float, off: int, seed: int) -> Any:
    """Return labels and F of the best of ``restarts`` random starts."""
    state = np.array([seed], np.uint64)
    best, best_labels = -np.inf, np.zeros(len(s), np.int64)
    for _ in range(restarts):
        labels = random_partition(len(s), k, state)
        found = sequential(s, labels, k, temperature, off, sweeps, state)
        if _less(best, found, abs(found)):
            best, best_labels = found, labels
    return best_labels, best


@njit(cache=True)
def plus_plus(gram: Any, k: int, candidates: int, state: Any) -> Any:
    """Return (k,) items drawn by k-means++, with probability proportional to the squared distance from those drawn.

    Of several ``candidates`` the one that lowers the sum of distances most is kept (greedy k-means++).
    """
    n = len(gram)
    diagonal = np.diag(gram).copy()
    chosen = np.empty(k, np.int64)
    chosen[0] = _below(state, n)
    nearest = np.maximum(diagonal + diagonal[chosen[0]] - 2 * gram[chosen[0]], 0.0)
    nearest[chosen[0]] = 0.0
    for c in range(1, k):
        cumulated = np.cumsum(nearest)
        best, kept = np.inf, nearest
        for _ in range(candidates):
            if cumulated[-1] > 0.0:
                uniform = np.float64(_next(state) >> np.uint64(11)) / 9007199254740992.0
                item = min(np.searchsorted(cumulated, uniform * cumulated[-1], side="right"), n - 1)
            else:
                item = _below(state, n)
            left = np.minimum(nearest, np.maximum(diagonal + diagonal[item] - 2 * gram[item], 0.0))
            left[item] = 0.0
            total = left.sum()
            if _less(total, best, total):
                best, kept, chosen[c] = total, left, item
        nearest = kept
    return chosen


@njit(cache=True)
def _distance(gram: Any, sums: Any, within: Any, sizes: Any, i: int, c: int, spherical: bool) -> Any:
    """Return the squared Euclidean distance of item and centre, or 1 - cosine for spherical k-means."""
    if sizes[c] == 0:
        return np.inf
    if spherical:
        return 1.0 - sums[c, i] / np.sqrt(within[c]) if within[c] > _TINY else 1.0
    return gram[i, i] - 2 * sums[c, i] / sizes[c] + within[c] / sizes[c] ** 2


@njit(cache=True)
def _fill_empty(labels: Any, distances: Any, sizes: Any) -> None:
    """Move to every empty cluster the item farthest from its centre among clusters with several items."""
    for c in range(len(sizes)):
        if sizes[c] > 0:
            continue
        farthest, chosen = -np.inf, -1
        for i in range(len(labels)):
            if sizes[labels[i]] > 1 and _less(farthest, distances[i], distances[i]):
                farthest, chosen = distances[i], i
        sizes[labels[chosen]] -= 1
        sizes[c] = 1
        labels[chosen] = c
        distances[chosen] = 0.0


@njit(cache=True)
def lloyd_from(gram: Any, labels: Any, k: int, iterations: int, spherical: bool) -> Any:
    """Run Lloyd's algorithm from a partition, in place; return the sum of distances. No cluster is empty at the end.

    Centres are not computed: ‖x_i - μ_c‖² = g_ii - 2 Σ_{j∈c} g_ij/n_c + Σ_{j,l∈c} g_jl/n_c².
    """
    n = len(labels)
    distances = np.zeros(n)
    for _ in range(iterations):
        sums, within, sizes = cluster_sums(gram, labels, k)
        changed = False
        counts = np.zeros(k, np.int64)
        for i in range(n):
            target = labels[i]
            nearest = _distance(gram, sums, within, sizes, i, target, spherical)
            for c in range(k):
                distance = _distance(gram, sums, within, sizes, i, c, spherical)
                if _less(distance, nearest, gram[i, i]):
                    nearest, target = distance, c
            changed = changed or target != labels[i]
            labels[i], distances[i] = target, nearest
            counts[target] += 1
        _fill_empty(labels, distances, counts)
        if not changed:
            break
    sums, within, sizes = cluster_sums(gram, labels, k)
    total = 0.0
    for i in range(n):
        total += _distance(gram, sums, within, sizes, i, labels[i], spherical)
    return total


@njit(cache=True)
def lloyd(gram: Any, k: int, restarts: int, iterations: int, candidates: int, spherical: bool, seed: int) -> Any:
    """Return labels and the sum of distances of the best of ``restarts`` k-means++ starts."""
    state = np.array([seed], np.uint64)
    n = len(gram)
    best, best_labels = np.inf, np.zeros(n, np.int64)
    for _ in range(restarts):
        centres = plus_plus(gram, k, candidates, state)
        labels = np.empty(n, np.int64)
        distances = np.empty(n)
        sizes = np.zeros(k, np.int64)
        for i in range(n):
            distances[i] = np.inf
            for c in range(k):
                apart = gram[i, i] + gram[centres[c], centres[c]] - 2 * gram[i, centres[c]]
                if _less(apart, distances[i], gram[i, i]):
                    labels[i], distances[i] = c, apart
            sizes[labels[i]] += 1
        _fill_empty(labels, distances, sizes)
        found = lloyd_from(gram, labels, k, iterations, spherical)
        if _less(found, best, found):
            best, best_labels = found, labels
    return best_labels, best
