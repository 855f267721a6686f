"""Training data from labellings: must-link and cannot-link pairs, contradictions, triplets.

Only sentences that a person has placed are used, not those of the initial partition. Articles of the test split are
excluded: :func:`labelled_triplets` determines the split of an article by its title.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.clustering.inputs import cosine_matrix
from themescope.core.errors import DataError
from themescope.core.labelling.changes import ChangeSet, EntryChange, difference
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import UNASSIGNED, Entry, EntryKind, Partition, Rows
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.models.base import unit_length
from themescope.core.models.linear_metric import Directions, LinearMetricConfig, learn_directions
from themescope.core.types import Estimate, Floats, Ids, Matrix, Split, TripletRows, split_of_title

FINE_TUNING_SETTINGS: Mapping[str, Any] = {
    "loss": "log",
    "learning_rate": 1e-4,
    "epochs": 2,
    "evaluations_per_epoch": 2,
}
"""Settings for fine-tuning a triplet network on the few triplets of labels: at three times this learning rate the
section loss only lowers the accuracy (experiment log)."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Sentences of a labelling that users placed explicitly."""

    partition: Partition
    ids: Ids
    """(m,) ascending; each is assigned and not marked uncertain."""


@dataclass(frozen=True, slots=True)
class LabelContradiction:
    """Two sentences that some labellings put together and others apart."""

    first: int
    second: int
    together: tuple[int, ...]
    """Positions of the labellings that put them together."""
    apart: tuple[int, ...]


def contradictions(labellings: Sequence[Placed], most: int = 1_000) -> list[LabelContradiction]:
    """Return at most ``most`` contradictory pairs, in the order of their ids."""
    ids, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *(p.ids for p in labellings)]), return_counts=True)
    shared = ids[counts > 1]
    cluster = np.full((len(labellings), len(shared)), UNASSIGNED, dtype=np.int64)
    for row, placed in zip(cluster, labellings, strict=True):
        both, here, _ = np.intersect1d(shared, placed.ids, assume_unique=True, return_indices=True)
        row[here] = placed.partition.numbers[placed.partition.rows(both)]
    found: list[LabelContradiction] = []
    for place in range(len(shared)):
        later, own = cluster[:, place + 1 :], cluster[:, place, None]
        judged = (own != UNASSIGNED) & (later != UNASSIGNED)
        together, apart = judged & (later == own), judged & (later != own)
        for other in np.flatnonzero(together.any(axis=0) & apart.any(axis=0)):
            says = (tuple(np.flatnonzero(side[:, other]).tolist()) for side in (together, apart))
            found.append(LabelContradiction(int(shared[place]), int(shared[place + 1 + other]), *says))
            if len(found) == most:
                return found
    return found


def section_separation(x: Matrix, articles: Ids, sections: Ids) -> npt.NDArray[np.float64]:
    """Return the separation of sections by (n, dim) vectors, per sentence within its article.

    The (n,) values are, for each sentence, the share of pairs of a sentence of its section and one of another section
    of which the first is nearer by cosine; ties count half. NaN if there is no such pair.
    """
    shares = np.full(len(articles), np.nan)
    for article in np.unique(articles):
        rows = np.flatnonzero(articles == article)
        similarity, own = cosine_matrix(x[rows]), sections[rows]
        for place, row in enumerate(rows.tolist()):
            same, other = own == own[place], np.sort(similarity[place, own != own[place]])
            same[place] = False
            if same.any() and len(other):
                mine = similarity[place, same]
                beaten = np.searchsorted(other, mine, "left") + np.searchsorted(other, mine, "right")
                shares[row] = beaten.mean() / 2 / len(other)
    return shares


def labelled_triplets(
    placed: Placed,
    article_of: Mapping[int, int],
    titles: Mapping[int, str],
    without: Iterable[tuple[int, int]] = (),
    per_sentence: int = 5,
    seed: int = 0,
) -> dict[Split, TripletRows]:
    """Return triplets (a placed sentence, another of its cluster, one of another cluster) within single articles.

    The positive and the negative are placed sentences if there are any, otherwise other sentences of the cluster; pairs
    in ``without`` (contradictions) are not used. The title of an article determines its split; articles of the test
    split are excluded.

    Raises :class:`DataError` if an article has no title, so that its split is unknown.
    """
    random = np.random.default_rng(seed)
    barred = {frozenset(pair) for pair in without}
    rows: dict[Split, list[tuple[int, int, int, int]]] = {Split.TRAIN: [], Split.VALIDATION: []}
    known = set(placed.ids.tolist())
    by_article: dict[int, list[int]] = {}
    for sentence in placed.partition.ids.tolist():
        by_article.setdefault(article_of[sentence], []).append(sentence)
    for article, sentences in by_article.items():
        if article not in titles:
            raise DataError("An article has no title, so its split is unknown.")
        split = split_of_title(titles[article])
        if split in rows:
            rows[split] += _of_article(article, sentences, placed.partition, known, barred, per_sentence, random)
    return {split: _columns(found) for split, found in rows.items()}


def _of_article(
    article: int,
    sentences: list[int],
    partition: Partition,
    known: set[int],
    barred: set[frozenset[int]],
    per_sentence: int,
    random: np.random.Generator,
) -> list[tuple[int, int, int, int]]:
    numbers = dict(zip(sentences, partition.numbers[partition.rows(sentences)].tolist(), strict=True))
    found = []
    for pivot in (s for s in sentences if s in known):
        free = [s for s in sentences if s != pivot and numbers[s] != UNASSIGNED and frozenset((s, pivot)) not in barred]
        same = _surest([s for s in free if numbers[s] == numbers[pivot]], known)
        other = _surest([s for s in free if numbers[s] != numbers[pivot]], known)
        if not same or not other:
            continue
        for _ in range(min(per_sentence, len(same) * len(other))):
            found.append((article, pivot, same[random.integers(len(same))], other[random.integers(len(other))]))
    return list(dict.fromkeys(found))


def _surest(sentences: list[int], known: set[int]) -> list[int]:
    """Return the sentences that users placed, or all sentences if there are none."""
    return [s for s in sentences if s in known] or sentences


def _columns(rows: list[tuple[int, int, int, int]]) -> TripletRows:
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return TripletRows(np.zeros(len(table), dtype=np.int64), *(np.ascontiguousarray(table[:, c]) for c in range(4)))


# --- pairs ------------------------------------------------------------------------------------------------------------


MOST_SENTENCES = 400
"""Maximum number of placed sentences that pairs are made of; more are sampled. It bounds memory and time."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of sentences, each once, in ascending order of their ids; row i of every array is one pair."""

    first: Ids
    """(p,) ids."""
    second: Ids
    """(p,) ids, each larger than that of ``first``."""
    together: Flags
    """(p,) whether the two belong together."""

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sentences(self) -> Ids:
        """Return the (m,) ids of the sentences in pairs, ascending."""
        return np.unique(np.concatenate([self.first, self.second]))

    @property
    def both_kinds(self) -> bool:
        """Return whether some pairs belong together and some do not."""
        return bool(self.together.any() and not self.together.all())

    def only(self, ids: Ids) -> Pairs:
        """Return the pairs of two sentences of ``ids``."""
        return self.where(np.isin(self.first, ids) & np.isin(self.second, ids))

    def where(self, kept: Flags) -> Pairs:
        """Return the pairs of a (p,) mask."""
        return Pairs(self.first[kept], self.second[kept], self.together[kept])

    def rows(self, ids: Ids) -> tuple[Rows, Rows]:
        """Return the (p,) rows of both sentences in the ascending ``ids``, which contain all of them."""
        return np.searchsorted(ids, self.first), np.searchsorted(ids, self.second)


def pairs_of_placed(placed: Placed, among: Ids | None = None, seed: int = 0) -> Pairs:
    """Return all pairs of the placed sentences (of those in ``among``): together if they are in the same cluster.

    Of more than :data:`MOST_SENTENCES` sentences so many are drawn by the seed.
    """
    ids = placed.ids if among is None else placed.ids[np.isin(placed.ids, among)]
    if len(ids) > MOST_SENTENCES:
        ids = np.sort(np.random.default_rng(seed).choice(ids, MOST_SENTENCES, replace=False))
    numbers = placed.partition.numbers[placed.partition.rows(ids)]
    i, j = np.triu_indices(len(ids), 1)
    return Pairs(ids[i], ids[j], numbers[i] == numbers[j])


# A metric learned from the judged pairs of a labelling, and its effect on other sentences and articles

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
    more = f", {counted(count, 'unit')} moved" if count else ""
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
