"""Re-clustering of a part of a labelling: the sentences of one cluster, or a selection, in named parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.inputs import canonical_labels, extended_labels, unit_rows
from themescope.core.errors import DataError
from themescope.core.registry import Card
from themescope.core.types import Ids, Labels, Matrix

MOST = 4_000
"""Maximum number of sentences that are clustered; the others are assigned to the nearest part."""
FEWEST = 2
"""Minimum number of sentences and of parts."""
_UNSUITABLE = frozenset({"no-vectors", "counts", "many-items"})


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """A proposed cluster, with its sentences, most central first."""

    name: str
    ids: Ids


def clusterers() -> list[Card]:
    """Return the clusterers that divide vectors into a given number of clusters."""
    return [card for card in CLUSTERERS if "needs-k" in card.tags and not card.tags & _UNSUITABLE]


def propose(
    ids: Ids, texts: Sequence[str], x: Matrix, k: int, clusterer: str = "iclust", seed: int = 0
) -> list[ClusterPart]:
    """Divide (n,) sentences by their (n, dim) vectors into at most ``k`` parts, the largest part first.

    Raises :class:`DataError` if there are fewer sentences than parts.
    """
    from themescope.core.clustering.naming import theme_names, theme_words

    if len(ids) < max(k, FEWEST):
        raise DataError(f"{len(ids)} sentences cannot be divided into {k} parts.")
    labels = _labels(x, k, clusterer, seed)
    found = int(labels.max()) + 1
    names = theme_names(theme_words(texts, labels, found))
    inside = [np.flatnonzero(labels == c) for c in range(found)]
    parts = [ClusterPart(name, by_centrality(ids[rows], x[rows])) for name, rows in zip(names, inside, strict=True)]
    return sorted(parts, key=lambda part: -len(part.ids))


def by_centrality(ids: Ids, x: Matrix) -> Ids:
    """Return (m,) sentences with (m, dim) vectors by falling cosine to the sum of their unit vectors."""
    unit: Any = unit_rows(x)
    centre = np.asarray(unit.sum(axis=0)).ravel()
    ordered: Ids = ids[np.argsort(-np.asarray(unit @ centre).ravel(), kind="stable")]
    return ordered


def _labels(x: Matrix, k: int, clusterer: str, seed: int) -> Labels:
    compared = np.sort(np.random.default_rng(seed).permutation(x.shape[0])[:MOST])
    found = canonical_labels(CLUSTERERS.build(clusterer).fit_predict(x[compared], k, seed))
    return extended_labels(x, compared, found, int(found.max()) + 1)
