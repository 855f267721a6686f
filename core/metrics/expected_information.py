"""Expected mutual information under the hypergeometric model, compiled (Vinh, Epps, Bailey 2009, 2010)."""

from __future__ import annotations

from math import lgamma
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def expected_mutual_information(a: Any, b: Any) -> float:
    """Return E[MI] in nats of partitions with class sizes ``a`` (u,) and ``b`` (v,), both int64 with the same sum.

    It is exact: the sum over all overlaps of every pair of sizes, weighted with hypergeometric probabilities.
    """
    n = a.sum()
    factorial = np.empty(n + 1)  # ln i!
    logarithm = np.zeros(n + 1)
    for i in range(n + 1):
        factorial[i] = lgamma(i + 1.0)
        if i:
            logarithm[i] = np.log(i)
    total = 0.0
    for x in a:
        for y in b:
            fixed = factorial[x] + factorial[y] + factorial[n - x] + factorial[n - y] - factorial[n]
            for both in range(max(1, x + y - n), min(x, y) + 1):
                information = both / n * (logarithm[n] + logarithm[both] - logarithm[x] - logarithm[y])
                rest = factorial[both] + factorial[x - both] + factorial[y - both] + factorial[n - x - y + both]
                total += information * np.exp(fixed - rest)
    return total
