"""Ward's agglomerative clustering of unit vectors (Ward 1963); deterministic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.clustering.inputs import canonical_labels, checked, cosine_matrix
from core.config import Config
from core.types import Labels, Matrix

_DECIMALS = 12


@dataclass(frozen=True)
class WardConfig(Config):
    """Ward has no settings."""


class Ward:
    """Merge the two clusters that raise the within-cluster sum of squares least, until k are left."""

    def __init__(self, config: WardConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """(n,) labels 0…k-1, every cluster non-empty; ``seed`` is ignored."""
        from scipy.cluster.hierarchy import cut_tree, linkage
        from scipy.spatial.distance import squareform

        matrix, k = checked(x, k)
        cosines = cosine_matrix(matrix)
        if len(cosines) == 1:
            return np.zeros(1, np.int32)
        squares = np.diag(cosines)
        apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * cosines, 0.0))
        np.fill_diagonal(apart, 0.0)
        # Rounding makes ties exact: their last bits depend on the processor, and would choose what is merged first.
        tree = linkage(squareform(apart.round(_DECIMALS), checks=False), "ward")
        return canonical_labels(cut_tree(tree, n_clusters=k)[:, 0])
