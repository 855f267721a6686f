"""Proposals for splitting a cluster: named sub-clusters of its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.clustering.iclust.sequential import Iclust, IclustConfig
from core.clustering.inputs import unit_rows
from core.errors import DataError
from core.types import Ids, Labels, Matrix

MOST = 4_000
"""Sentences that are compared all with all; the others join the part nearest to them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A proposed part: its sentences, the most central first."""

    name: str
    ids: Ids


def propose(ids: Ids, texts: Sequence[str], x: Matrix, k: int, seed: int = 0) -> list[Part]:
    """Divide (n,) sentences into ``k`` parts by Iclust on their (n, dim) vectors, the largest part first.

    Raises
    ------
    DataError
        If there are fewer sentences than parts.
    """
    from core.clustering.naming import theme_names, theme_words

    if len(ids) < k:
        raise DataError(f"{len(ids)} sentences cannot be split into {k} parts.")
    labels = _labels(x, k, seed)
    names = theme_names(theme_words(texts, labels, k))
    unit = unit_rows(x)
    parts = []
    for c in range(k):
        rows = np.flatnonzero(labels == c)
        inside = unit[rows]
        centre = np.asarray(inside.sum(axis=0)).ravel()
        order = np.argsort(-np.asarray(inside @ centre).ravel(), kind="stable")
        parts.append(Part(names[c], ids[rows[order]]))
    return sorted(parts, key=lambda part: -len(part.ids))


def _labels(x: Matrix, k: int, seed: int) -> Labels:
    n = x.shape[0]
    compared = np.sort(np.random.default_rng(seed).permutation(n)[:MOST])
    found = Iclust(IclustConfig(restarts=5)).fit_predict(x[compared], k, seed)
    if len(compared) == n:
        return found
    unit = unit_rows(x)
    membership = np.zeros((len(compared), k))
    membership[np.arange(len(compared)), found] = 1.0 / np.bincount(found, minlength=k)[found]
    labels: Labels = np.asarray(unit @ (unit[compared].T @ membership)).argmax(axis=1).astype(np.int32)
    labels[compared] = found
    return labels
