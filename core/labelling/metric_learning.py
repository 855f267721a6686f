"""A metric learned from the judged pairs of a labelling, and its effect on other sentences and articles.

The effect is cross-validated: the metric is learned without some sentences (or articles), and measured on these. The
measure of a sentence is the share of its pairs of one sentence that belongs to it and one that does not, of which the
first is nearer by cosine (the area under the ROC curve; ties count half).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.labelling.changes import ChangeSet, EntryChange, difference
from themescope.core.labelling.learning import Flags, Pairs
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import Entry, EntryKind, Partition
from themescope.core.metrics.statistics.intervals import bootstrap_mean
from themescope.core.models.base import unit_length
from themescope.core.models.linear_metric.model import Directions, LinearMetricConfig, learn_directions
from themescope.core.types import Estimate, Floats, Ids

_Vectors = npt.NDArray[np.float32]
FOLDS = 10
FEWEST_ARTICLES = 5
"""Least number of articles with pairs from which the effect on other articles is measured."""


@dataclass(frozen=True, slots=True)
class MetricEffect:
    """A metric on sentences that it was not learned from."""

    before: float
    """Mean share of pairs in which the sentence that belongs to it is nearer, by the vectors as they were."""
    after: float
    difference: Estimate
    """After - before, over sentences or over articles."""


def learn_metric(pairs: Pairs, ids: Ids, x: _Vectors, config: LinearMetricConfig) -> Directions:
    """Return the metric of pairs of sentences; row i of ``x`` (n, dim) is the sentence ``ids[i]``, ids ascending."""
    sentences = pairs.sentences
    rows = unit_length(x[np.searchsorted(ids, sentences)])
    return learn_directions(rows, *pairs.rows(sentences), pairs.together, config)


def effect_on_sentences(
    pairs: Pairs, ids: Ids, x: _Vectors, config: LinearMetricConfig, seed: int = 0
) -> MetricEffect | None:
    """Return the effect on sentences that the metric was not learned from; None where too few can be measured.

    The others of its pairs are sentences that it was learned from, as when a person goes on labelling.
    """
    sentences = pairs.sentences
    fold = np.random.default_rng(seed).permutation(len(sentences)) % min(FOLDS, max(len(sentences), 1))
    return _effect(pairs, ids, x, config, fold, fold, across=True)


def effect_on_articles(
    pairs: Pairs, ids: Ids, x: _Vectors, config: LinearMetricConfig, articles: Ids, seed: int = 0
) -> MetricEffect | None:
    """Return the effect within articles that the metric was not learned from; None with too few articles.

    ``articles`` (n,) are those of ``ids``.
    """
    own = np.unique(articles[np.searchsorted(ids, pairs.sentences)], return_inverse=True)[1]
    count = int(own.max(initial=-1)) + 1
    if count < FEWEST_ARTICLES:
        return None
    fold = (np.random.default_rng(seed).permutation(count) % min(FOLDS, count))[own]
    return _effect(pairs, ids, x, config, fold, own, across=False)


_KEY = EntryKind.METRIC, "metric"


def metric_of(partition: Partition) -> Mapping[str, Any] | None:
    """Return the data of the metric that a labelling uses, with which :func:`use_metric` was called; None without."""
    entry = partition.entries.get(_KEY)
    return None if entry is None else entry.data


def use_metric(partition: Partition, data: Mapping[str, Any], after: Partition | None = None) -> Operation:
    """Use a metric, and move sentences as in ``after``, in one step. ``data`` has "name", and other JSON values."""
    moved = ChangeSet() if after is None else difference(partition, after)
    count = len(moved.sentences())
    more = f", {counted(count, 'sentence')} moved" if count else ""
    return _changed(partition, Entry(data), f"metric {data['name']} is used{more}", moved)


def stop_metric(partition: Partition) -> Operation:
    """Use no metric any more; clusters stay as they are."""
    return _changed(partition, None, "the learned metric is no longer used", ChangeSet())


def _changed(partition: Partition, entry: Entry | None, summary: str, moved: ChangeSet) -> Operation:
    old = partition.entries.get(_KEY)
    change = () if old == entry else (EntryChange(*_KEY, old, entry),)
    coder = "" if entry is None else str(entry.data["name"])
    return Operation(OperationKind.METRIC, summary, ChangeSet((*moved, *change)), coder)


def helps(*effects: MetricEffect | None) -> bool:
    """Return whether a metric is used: every measured effect, at least one, is above 0.

    On validation articles this keeps most of the gain, while a rule that requires an interval above 0 seldom uses a
    metric of few placed sentences (docs/experiments.md).
    """
    known = [effect for effect in effects if effect is not None]
    return bool(known) and all(effect.difference.value > 0 for effect in known)


def _effect(
    pairs: Pairs, ids: Ids, x: _Vectors, config: LinearMetricConfig, fold: Ids, unit: Ids, across: bool
) -> MetricEffect | None:
    """Return the effect on the sentences of each fold, of metrics learned from the pairs outside of it.

    ``fold`` and ``unit`` (m,) are of the sentences in pairs. With ``across`` a pair of one sentence inside and one
    outside the fold is measured, without it a pair of two inside.
    """
    sentences = pairs.sentences
    first, second = pairs.rows(sentences)
    base = unit_length(x[np.searchsorted(ids, sentences)])
    shares = np.full((2, len(sentences)), np.nan)
    for number in range(int(fold.max(initial=-1)) + 1):
        inside = fold == number
        learned = pairs.where(~(inside[first] | inside[second]))
        if not learned.both_kinds:
            continue
        measured = (inside[first] | inside[second]) if across else (inside[first] & inside[second])
        moved = unit_length(learn_metric(learned, sentences, base, config).apply(base))
        for row, vectors in enumerate((base, moved)):
            shares[row, inside] = _nearer(pairs.where(measured), sentences, vectors)[inside]
    usable = ~np.isnan(shares).any(axis=0)
    if len(np.unique(unit[usable])) < 2:
        return None
    before, after = shares[:, usable]
    groups = unit[usable] if not across else None
    return MetricEffect(float(before.mean()), float(after.mean()), bootstrap_mean(after - before, groups))


def _nearer(pairs: Pairs, ids: Ids, unit: _Vectors) -> Floats:
    """Return (n,) shares of the pairs of pairs of a sentence in which the one that belongs to it is nearer, or NaN."""
    first, second = pairs.rows(ids)
    cosines = np.einsum("ij,ij->i", unit[first], unit[second], dtype=np.float64)
    n = len(ids)
    similarity = np.full((n, n), np.nan)
    together: Flags = np.zeros((n, n), dtype=np.bool_)
    similarity[first, second] = similarity[second, first] = cosines
    together[first, second] = together[second, first] = pairs.together
    found = np.full(n, np.nan)
    for row in range(n):
        known = ~np.isnan(similarity[row])
        near, far = similarity[row, known & together[row]], np.sort(similarity[row, known & ~together[row]])
        if len(near) and len(far):
            found[row] = (
                (np.searchsorted(far, near, "left") + np.searchsorted(far, near, "right")).mean() / 2 / len(far)
            )
    return found
