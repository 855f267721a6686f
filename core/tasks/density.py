"""Groups of the sentences of a list, without a given number of groups or with one.

Sentences are laid out in five dimensions by UMAP (McInnes, Healy, Melville 2018), where density becomes distance.
Groups are the branches of Ward's tree there (Ward 1963), of vectors of two models side by side also those by the latter
alone if they are clearer. Their number is that of the clearest branches, those of the largest silhouette (Rousseeuw
1987) by cosine distance. Where none are clear, the silhouette prefers a few large groups; then the number is the usual
one for so many sentences. A number has the same groups whether it is given or suggested (docs/experiments.md, section
29).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from themescope.core.clustering.inputs import unit_rows
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.config import config_from_dict
from themescope.core.models.artifact import read_json, write_json
from themescope.core.projection.maps import UmapConfig, laid_out
from themescope.core.protocols import Report, SubReport
from themescope.core.tasks.theme_counts import silhouette
from themescope.core.types import Float32, Labels, Matrix

LEAST = 60
"""Minimum number of sentences; fewer have no density."""
_DIMENSIONS = 5
_BRANCHES, _EACH = 60, 8
"""Maximum number of branches, and least mean number of sentences of them."""
_USUAL = 1.2
"""Number of groups where none are clear, for each unit of the logarithm of the number of sentences."""
_UNSURE = 0.5, 1.5
"""Interval of that number, in shares of it: nine of ten validation lists are inside."""
_NEARLY = 0.9
"""Share of the largest silhouette from which branches are nearly as clear."""
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
    """Numbers of groups that are nearly as clear, or where none are clear, the usual ones."""


def dense_groups(x: Matrix, calibration: PairCalibration, seed: int, report: Report, k: int = 0) -> DenseGroups | None:
    """Return the groups of (n, dim) vectors, ``k`` of them if it is given; the interval does not depend on it.

    None where the calibration of their model has no threshold for lists, and for fewer than :data:`LEAST` sentences.
    """
    n = x.shape[0]
    if calibration.clear is None or sparse.issparse(x) or n < LEAST:
        return None
    unit = np.asarray(unit_rows(np.asarray(x, np.float32)), np.float32)
    numbers = range(2, min(_BRANCHES, n // _EACH) + 1)
    found = _branches(unit, (*numbers, k or 2), seed, SubReport(report, 0.0, 0.5))
    clear = {number: silhouette(unit, found[number], number) for number in numbers}
    best = max(clear, key=clear.__getitem__)
    if not clear[best] > 0:
        return None
    if clear[best] > calibration.clear:
        near = [number for number, value in clear.items() if value >= _NEARLY * clear[best]]
        others = f" Numbers that are nearly as clear are {min(near)} to {max(near)}." if len(near) > 1 else ""
        told = f"the clearest of {len(clear)} numbers (silhouette {clear[best]:.2f}).{others}"
    else:
        told = (
            f"the usual number for {n:,} sentences. No grouping is clear (silhouette at most {clear[best]:.2f}), so "
            "themes run into each other, and another number may serve as well."
        )
        best = min(round(_USUAL * math.log(n)), numbers[-1])
        near = [round(share * best) for share in _UNSURE]
    number = k or best
    labels = found[number]
    if calibration.before:
        own = np.asarray(unit_rows(unit[:, calibration.before :]), np.float32)
        alone = _branches(own, (number,), seed, SubReport(report, 0.5, 1.0))[number]
        labels = alone if silhouette(unit, alone, number) > silhouette(unit, labels, number) + _CLEARER else labels
    return DenseGroups(labels, number, f"{number} themes: {told}", (max(min(near), 2), max(near)))


def _branches(unit: Float32, numbers: Sequence[int], seed: int, report: Report) -> dict[int, Labels]:
    """Return number → (n,) labels of so many branches of Ward's tree of the layout of unit rows."""
    from scipy.cluster.hierarchy import cut_tree, linkage

    tree = linkage(laid_out(unit, UmapConfig(min_dist=0.0), seed, report, _DIMENSIONS), "ward")
    return dict(zip(numbers, cut_tree(tree, numbers).T.astype(np.int32), strict=True))


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
