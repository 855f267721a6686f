"""Groups of the sentences of a list by density, without a given number of groups.

Sentences are laid out in five dimensions by UMAP (McInnes, Healy, Melville 2018), and groups are dense regions there,
found by HDBSCAN (Campello, Moulavi, Sander 2013) with several minimum sizes, both by excess of mass and as the leaves
of its tree. Sentences outside of all groups join the one with the nearest centre. The clearest grouping is taken, that
of the largest silhouette (Rousseeuw 1987) by cosine distance. Where none is clear, the silhouette prefers a few large
groups; then the leaves are taken, which divide such lists better (docs/experiments.md, section 29).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from themescope.core.clustering.inputs import unit_rows
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.config import config_from_dict
from themescope.core.models.artifact import read_json, write_json
from themescope.core.projection.maps import UmapConfig, laid_out
from themescope.core.protocols import Report
from themescope.core.tasks.theme_counts import silhouette
from themescope.core.types import Labels, Matrix

LEAST = 60
"""Minimum number of sentences; fewer have no density."""
BASE_CALIBRATION = replace(DEFAULT_CALIBRATION, clear=0.13, one_subject=0.175, distinct=0.2)
"""Calibration of all-MiniLM-L6-v2 as published."""
_DIMENSIONS, _SIZES, _LEAF = 5, (5, 7, 10, 13, 16, 20, 30), 13
_NEARLY = 0.9
"""Share of the largest silhouette from which a grouping is nearly as clear."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseGroups:
    """Groups of n sentences."""

    labels: Labels
    """(n,) 0 … k - 1."""
    k: int
    reason: str
    interval: tuple[int, int]
    """Numbers of groups of the groupings that are nearly as clear."""


def dense_groups(x: Matrix, calibration: PairCalibration, seed: int, report: Report) -> DenseGroups | None:
    """Return the groups of (n, dim) vectors.

    None where the calibration of their model has no threshold for lists, for fewer than :data:`LEAST` sentences, and
    for sentences that are all on one subject, such as those of an article.
    """
    if calibration.clear is None or sparse.issparse(x) or x.shape[0] < LEAST:
        return None
    unit = np.asarray(unit_rows(np.asarray(x, np.float32)), np.float32)
    found = {key: labels for key, labels in _groupings(unit, seed, report).items() if labels.max() > 0}
    clear = {key: silhouette(unit, labels, int(labels.max()) + 1) for key, labels in found.items()}
    if not clear:
        return None
    best = max(clear, key=clear.__getitem__)
    if _mean_cosine(unit) > calibration.one_subject and clear[best] < calibration.distinct:
        return None
    if clear[best] > calibration.clear:
        near = [int(found[key].max()) + 1 for key, value in clear.items() if value >= _NEARLY * clear[best]]
        labels, interval = found[best], (min(near), max(near))
        k = int(labels.max()) + 1
        others = f" Groupings that are nearly as clear have {interval[0]} to {interval[1]}." if len({*near}) > 1 else ""
        told = f"the clearest of {len(found)} groupings by density (silhouette {clear[best]:.2f})"
        reason = f"{k} themes: {told}.{others}"
        return DenseGroups(labels, k, reason, interval)
    if ("leaf", _LEAF) not in found:
        return None
    labels = found["leaf", _LEAF]
    k = int(labels.max()) + 1
    leaves = [int(found[key].max()) + 1 for key in (("leaf", size) for size in (10, _LEAF, 16)) if key in found]
    reason = (
        f"{k} themes: the dense groups of at least {_LEAF} sentences. No grouping is clear (silhouette at most "
        f"{clear[best]:.2f}), so themes run into each other, and another number may serve as well."
    )
    return DenseGroups(labels, k, reason, (min(leaves), max(leaves)))


def is_list(x: Matrix, seed: int, report: Report) -> bool:
    """Return whether (n, dim) vectors of all-MiniLM-L6-v2 are of a list, not of sentences on one subject.

    Most lists are told by their mean cosine alone; only for the others, groups are looked for.
    """
    unit = unit_rows(np.asarray(x, np.float32))
    return (
        _mean_cosine(unit) <= BASE_CALIBRATION.one_subject
        or dense_groups(x, BASE_CALIBRATION, seed, report) is not None
    )


def _mean_cosine(unit: Any) -> float:
    n, whole = len(unit), unit.sum(axis=0)
    return (float(whole @ whole) - n) / (n * (n - 1))


def _groupings(unit: Any, seed: int, report: Report) -> dict[tuple[str, int], Labels]:
    """Return the groupings of (n, dim) unit vectors by method and minimum size."""
    from sklearn.cluster import HDBSCAN

    points = laid_out(unit, UmapConfig(min_dist=0.0), seed, report, _DIMENSIONS)
    return {
        (method, size): _joined(
            HDBSCAN(min_cluster_size=size, cluster_selection_method=method, copy=True).fit_predict(points), unit
        )
        for size in _SIZES
        if len(unit) > 2 * size
        for method in ("eom", "leaf")
    }


def _joined(labels: Labels, unit: Any) -> Labels:
    """Return the labels with the sentences outside of all groups (-1) in the group with the nearest centre."""
    k = int(labels.max()) + 1
    if not k:
        return np.zeros(len(labels), np.int32)
    inside, outside = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    centres = np.zeros((k, unit.shape[1]), np.float32)
    np.add.at(centres, labels[inside], unit[inside])
    joined = labels.astype(np.int32)
    joined[outside] = (unit[outside] @ unit_rows(centres).T).argmax(axis=1)
    return joined


# The calibration of a model: coefficients for pair probabilities and for the number of themes

FILE = "pair-calibration.json"


def save_calibration(folder: Path, calibration: PairCalibration) -> None:
    """Write the calibration of the model in ``folder``."""
    write_json(folder / FILE, calibration.to_dict())


def load_calibration(folder: Path) -> PairCalibration:
    """Return the calibration of the model in ``folder``, or the default where it has none."""
    path = folder / FILE
    return config_from_dict(PairCalibration, read_json(path)) if path.is_file() else DEFAULT_CALIBRATION


def copy_calibration(source: Path, target: Path) -> None:
    """Write the calibration of the model in ``source``, if it has one, for the same model in ``target``."""
    if (source / FILE).is_file():
        save_calibration(target, load_calibration(source))
