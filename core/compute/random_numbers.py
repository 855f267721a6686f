"""The random number generator SplitMix64 (Steele, Lea and Flood 2014), which gives the same numbers on every platform.

The functions are plain Python over numpy integers, so that this module loads without numba. Compiled code uses them as
``_mix = njit(cache=True, inline="always")(mix)``. Arithmetic is modulo 2**64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Increment of the generator's state: 2**64 divided by the golden ratio."""
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mix(x: Any) -> Any:
    """Return the random number of a state, or of each state in an (n,) array; all are uint64."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))
