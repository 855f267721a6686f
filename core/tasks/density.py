"""Groups of the sentences of a list, without a given number of groups or with one.

Sentences are laid out in five dimensions by UMAP (McInnes, Healy, Melville 2018). Groups are dense regions there, found
by HDBSCAN (Campello, Moulavi, Sander 2013) with several minimum sizes, both by excess of mass and as the leaves of its
tree, or branches of Ward's tree. Sentences outside of all regions join the one with the nearest centre. The clearest
grouping is taken, that of the largest silhouette (Rousseeuw 1987) by cosine distance. Where none is clear, the
silhouette prefers a few large groups; then the leaves are taken, which divide such lists better, with a minimum size in
proportion to the list, so that their number does not grow with it. A given number of groups are the branches of Ward's
tree, on the vectors of two models side by side also of that by the latter alone, if its branches are clearer
(docs/experiments.md, section 29).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from themescope.core.clustering.inputs import unit_rows
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.config import config_from_dict
from themescope.core.models.artifact import read_json, write_json
from themescope.core.projection.maps import UmapConfig, laid_out
from themescope.core.protocols import SILENT, Report
from themescope.core.tasks.theme_counts import silhouette
from themescope.core.types import Labels, Matrix

LEAST = 60
"""Minimum number of sentences; fewer have no density."""
_DIMENSIONS, _SIZES = 5, (5, 7, 10, 13, 16, 20, 30)
_SMALL, _LEAF, _PART, _SHARE = 5, 13, 1 / 20, 0.03
"""Minimum size of leaves where no grouping is clear: 5 sentences up to 100, then a 20th up to 13, then 3 %."""
_BRANCHES, _EACH = 60, 6
"""Maximum number of branches, and least number of sentences for each."""
_NEARLY = 0.9
"""Share of the largest silhouette from which a grouping is nearly as clear."""
_CLEARER = 0.005
"""Least difference of the silhouettes by which the branches by the latter model alone are clearer."""
_WORDS, _SPEAKING = 15, 0.1
"""Least median of words of a sentence of an article, and largest share of them that have one of the words below."""
_SPEAKER = re.compile(r"\b(?:I|we|you|my|our|your|me)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class DenseGroups:
    """Groups of n sentences."""

    labels: Labels
    """(n,) 0 … k - 1."""
    k: int
    reason: str
    interval: tuple[int, int]
    """Numbers of groups of the groupings that are nearly as clear."""


def dense_groups(x: Matrix, calibration: PairCalibration, seed: int, report: Report, k: int = 0) -> DenseGroups | None:
    """Return the groups of (n, dim) vectors, ``k`` of them if it is given; the interval does not depend on it.

    None where the calibration of their model has no threshold for lists, and for fewer than :data:`LEAST` sentences.
    """
    from scipy.cluster.hierarchy import cut_tree, linkage
    from sklearn.cluster import HDBSCAN

    n = x.shape[0]
    if calibration.clear is None or sparse.issparse(x) or n < LEAST:
        return None
    unit = np.asarray(unit_rows(np.asarray(x, np.float32)), np.float32)
    points = laid_out(unit, UmapConfig(min_dist=0.0), seed, report, _DIMENSIONS)
    leaf = round(max(_SMALL, min(_LEAF, _PART * n), _SHARE * n))
    found = {
        (method, size): _joined(
            HDBSCAN(min_cluster_size=size, cluster_selection_method=method, copy=True).fit_predict(points), unit
        )
        for size in sorted({*_SIZES, leaf})
        if n > 2 * size
        for method in ("eom", "leaf")
    }
    tree = linkage(points, "ward")
    found |= {
        ("branches", number): cut_tree(tree, number).ravel().astype(np.int32)
        for number in range(2, min(_BRANCHES, n // _EACH) + 1)
    }
    found = {key: labels for key, labels in found.items() if labels.max() > 0}
    clear = {key: silhouette(unit, labels, int(labels.max()) + 1) for key, labels in found.items()}
    if not max(clear.values()) > 0:
        return None
    best = max(clear, key=clear.__getitem__)
    if clear[best] > calibration.clear or ("leaf", leaf) not in found:
        near = [int(found[key].max()) + 1 for key, value in clear.items() if value >= _NEARLY * clear[best]]
        others = f" Groupings that are nearly as clear have {min(near)} to {max(near)}." if len({*near}) > 1 else ""
        told = f"the clearest of {len(found)} groupings (silhouette {clear[best]:.2f}).{others}"
    else:
        near = [int(labels.max()) + 1 for (method, _), labels in found.items() if method == "leaf"]
        told = (
            f"the dense groups of at least {leaf} sentences. No grouping is clear (silhouette at most "
            f"{clear[best]:.2f}), so themes run into each other, and another number may serve as well."
        )
        best = "leaf", leaf
        near = sorted(near, key=lambda number: abs(number - int(found[best].max()) - 1))[:3]
    labels = cut_tree(tree, k).ravel().astype(np.int32) if k else found[best]
    if k and calibration.before:
        own = np.asarray(unit_rows(unit[:, calibration.before :]), np.float32)
        alone = linkage(laid_out(own, UmapConfig(min_dist=0.0), seed, SILENT, _DIMENSIONS), "ward")
        other = cut_tree(alone, k).ravel().astype(np.int32)
        labels = other if silhouette(unit, other, k) > silhouette(unit, labels, k) + _CLEARER else labels
    number = int(labels.max()) + 1
    return DenseGroups(labels, number, f"{number} themes: {told}", (min(near), max(near)))


def is_article(texts: Sequence[str], x: Matrix, calibration: PairCalibration) -> bool:
    """Return whether (n,) texts with (n, dim) vectors are sentences of an article, not a list.

    Those are long sentences on one subject in which nobody speaks of himself or to the reader; in answers to a question
    and in reviews, which are on one subject, too, people do.
    """
    if sparse.issparse(x) or len(texts) < 2:
        return False
    unit = unit_rows(np.asarray(x, np.float32))
    n, whole = len(unit), unit.sum(axis=0)
    alike = (float(whole @ whole) - n) / (n * (n - 1))
    speaking = sum(_SPEAKER.search(text) is not None for text in texts)
    words = float(np.median([len(text.split()) for text in texts]))
    return alike > calibration.one_subject and words >= _WORDS and speaking <= _SPEAKING * n


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
