"""Internal quality of a partition, computed from sums of clusters without a matrix of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from core.clustering.inputs import unit_rows
from core.types import Labels, Matrix

Floats = npt.NDArray[np.float64]


def fits(x: Matrix, labels: Labels, k: int) -> tuple[Floats, Floats]:
    """(n,) mean cosine of each row of (n, dim) ``x`` to the others of its cluster, and to the nearest other cluster.

    The first is 0 in a cluster of one; the second is -1 where there is no other cluster. Labels are 0…k-1.
    """
    unit: Any = unit_rows(x)
    n = len(labels)
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    membership = np.zeros((n, k))
    membership[np.arange(n), labels] = 1.0
    sums = np.asarray(unit @ (unit.T @ membership))
    selves = np.asarray((unit.multiply(unit) if hasattr(unit, "multiply") else unit * unit).sum(axis=1)).ravel()
    own = (sums[np.arange(n), labels] - selves) / np.maximum(sizes[labels] - 1, 1)
    others = sums / np.maximum(sizes, 1)
    others[:, sizes == 0] = -1.0
    others[np.arange(n), labels] = -1.0
    return own, others.max(axis=1)


def silhouette(x: Matrix, labels: Labels, k: int) -> float:
    """Mean silhouette in cosine distance, 0 for a sentence that is alone (Rousseeuw 1987); 0 for one cluster."""
    if k < 2:
        return 0.0
    own, other = fits(x, labels, k)
    a, b = 1 - own, 1 - other
    largest = np.maximum(a, b)
    values = np.divide(b - a, largest, out=np.zeros_like(a), where=largest > 0)
    values[np.bincount(labels, minlength=k)[labels] == 1] = 0.0
    return float(values.mean())


def gain(x: Matrix, labels: Labels, k: int) -> float:
    """Mean cosine inside the clusters beyond that of all sentences together: Iclust's ⟨s⟩ without the diagonal."""
    together, _ = fits(x, np.zeros_like(labels), 1)
    return float(fits(x, labels, k)[0].mean() - together.mean())
