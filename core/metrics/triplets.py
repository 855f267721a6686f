"""Triplet accuracy: the share of triplets whose pivot is nearer to the positive (Ein Dor et al. 2018, section 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.types import Estimate, Ids, Report, Sentence, TripletTexts, Vectors, fold_title

BATCH = 2048
Context = Callable[[Sequence[int]], Mapping[int, Sequence[Sentence]]]
"""Function from article ids to all sentences of these articles."""


class Comparing(Protocol):
    """Interface of models that order triplets."""

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors."""
        ...

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """Return (n,) distances of row i of ``a`` to row i of ``b``."""
        ...


@dataclass(frozen=True, slots=True)
class TripletAccuracy:
    """Accuracy of n triplets: (n,) ``correct`` is 1, 0 or ½ (tie), (n,) ``margins`` is d⁻ - d⁺."""

    correct: npt.NDArray[np.float32]
    margins: npt.NDArray[np.float32]
    estimate: Estimate
    """The mean of ``correct``, with its interval over articles."""


def accuracy_of_margins(margins: npt.ArrayLike, groups: Ids | None = None, seed: int = 0) -> TripletAccuracy:
    """Return the accuracy from (n,) margins d⁻ - d⁺; an exact tie counts ½."""
    found = np.asarray(margins, dtype=np.float32)
    if np.isnan(found).any():
        raise DataError("A triplet has a distance that is not a number, so its accuracy is not defined.")
    correct = correctness(found)
    return TripletAccuracy(correct, found, bootstrap_mean(correct, groups, seed=seed))


def correctness(margins: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return (n,) values: 1 for a margin above 0, 0 below, ½ for an exact tie."""
    return (0.5 + 0.5 * np.sign(margins)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class TripletBatch:
    """Triplets that are measured at once: (n,) ``rows`` of all triplets, their texts, and all sentences by article."""

    rows: npt.NDArray[np.int64]
    texts: TripletTexts
    articles: Mapping[int, Sequence[Sentence]]
    """Empty unless a model is to embed whole articles."""


def triplet_accuracy(
    model: Comparing, triplets: TripletTexts, report: Report, batch: int = BATCH, context: Context | None = None
) -> TripletAccuracy:
    """Embed the sentences of ``triplets``, once in a batch, and compare distances; raise ``DataError`` without any."""
    margins = np.empty(len(triplets), dtype=np.float32)
    done = 0
    report.progress(0, len(triplets), "triplets")
    for part in triplet_batches(triplets, batch, context):
        margins[part.rows] = margins_of_batch(model, part)
        done += len(part.rows)
        report.progress(done, len(triplets), "triplets")
    return accuracy_of_margins(margins, triplets.groups)


def triplet_batches(
    triplets: TripletTexts, batch: int = BATCH, context: Context | None = None
) -> Iterator[TripletBatch]:
    """Yield batches of about ``batch`` triplets.

    A batch ends between two articles, so that a method whose vectors depend on the other sentences of an article (tag
    ``per-article``) receives all of them that occur in triplets, and with ``context`` the whole article. Raises
    :class:`DataError` without triplets.
    """
    if len(triplets) == 0:
        raise DataError("There are no triplets to measure. Choose another split or triplet set.")
    order = np.argsort(triplets.groups, kind="stable")
    ordered, end = triplets.groups[order], 0
    while end < len(order):
        start, end = end, min(end + batch, len(order))
        while end < len(order) and ordered[end] != -1 and ordered[end] == ordered[end - 1]:
            end += 1
        rows = order[start:end]
        columns = triplets.pivots, triplets.positives, triplets.negatives
        pivots, positives, negatives = ([column[row] for row in rows] for column in columns)
        texts = TripletTexts(pivots, positives, negatives, triplets.groups[rows])
        groups = [int(group) for group in np.unique(texts.groups) if group != -1]
        yield TripletBatch(rows, texts, {} if context is None else context(groups))


def margins_of_batch(model: Comparing, batch: TripletBatch) -> npt.NDArray[np.float32]:
    """Return (n,) margins d⁻ - d⁺ of a batch."""
    keys = ((group, sentence.text) for group, article in batch.articles.items() for sentence in article)
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    index = np.empty((3, len(batch.texts)), dtype=np.int64)
    for column, texts in enumerate((batch.texts.pivots, batch.texts.positives, batch.texts.negatives)):
        for i, (group, text) in enumerate(zip(batch.texts.groups.tolist(), texts, strict=True)):
            index[column, i] = places.setdefault((group, text), len(places))
    sentences = [
        Sentence(text, article_id=group, position=i, opens_paragraph=True) for i, (group, text) in enumerate(places)
    ]
    vectors = model.embed(sentences)
    pivots, positives, negatives = (vectors[index[column]] for column in range(3))
    return model.distances(pivots, negatives) - model.distances(pivots, positives)


# Analysis of triplet accuracy: by article, by pair of section titles, and by margin

RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class ArticleAccuracy:
    """Accuracy of each of (a,) articles, in ascending order of their ids."""

    articles: Ids
    triplets: Ids
    accuracy: npt.NDArray[np.float64]


def accuracy_by_article(margins: npt.ArrayLike, groups: Ids) -> ArticleAccuracy:
    """Return the mean of right (1), wrong (0) and undecided (½) over the triplets of every article of ``groups``."""
    correct = correctness(np.asarray(margins, dtype=np.float32))
    articles, place, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return ArticleAccuracy(articles, counts, np.bincount(place, weights=correct, minlength=len(articles)) / counts)


Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SectionPairs:
    """Accuracy by pair of folded titles; row p of every (p,) array is one pair, most frequent first."""

    names: list[tuple[str, str]]
    """Pairs of titles in their most frequent spelling, in alphabetical order."""
    counts: Ids
    """Number of triplets."""
    articles: Ids
    """Number of articles of these triplets."""
    accuracy: npt.NDArray[np.float64]
    correct: npt.NDArray[np.float32]
    """(n,) 1, 0 or ½ of each triplet."""
    groups: Ids
    """(n,) its article."""
    order: Ids
    """(n,) positions of the triplets by pair; those of pair p begin at ``starts[p]`` (p + 1,)."""
    starts: Ids

    def __len__(self) -> int:
        return len(self.names)

    def triplets(self, row: int) -> Ids:
        """Return the positions of the triplets of one pair, ascending."""
        return self.order[self.starts[row] : self.starts[row + 1]]

    def find(self, titles: Sequence[str]) -> int | None:
        """Return the row of two titles in any order and spelling; None if no triplet has them."""
        wanted = sorted(map(fold_heading, titles))
        found = (row for row, names in enumerate(self.names) if sorted(map(fold_heading, names)) == wanted)
        return next(found, None)

    def estimate(self, row: int) -> Estimate:
        """Return the accuracy of a pair with its interval over articles; a single article has no interval."""
        chosen = self.triplets(row)
        return bootstrap_mean(self.correct[chosen], self.groups[chosen], RESAMPLES)


def fold_heading(title: str) -> str:
    """Return the normalised form of a section title: NFC, single spaces, case folded."""
    return " ".join(fold_title(title).casefold().split())


def section_pairs(own: Codes, other: Codes, titles: Sequence[str], margins: npt.ArrayLike, groups: Ids) -> SectionPairs:
    """Group n triplets by the unordered pair of their titles; ``own`` and ``other`` (n,) are indices into ``titles``.

    ``margins`` (n,) above 0 are correct, an exact tie counts ½; ``groups`` (n,) are article ids. Raises
    :class:`DataError` without triplets or if the columns differ in length.
    """
    values = np.asarray(margins, dtype=np.float32)
    if not len(values) or not len(values) == len(own) == len(other) == len(groups):
        raise DataError("Every triplet needs a margin, an article and two section titles.")
    # The code of the folded form of each title, and the most frequent spelling of every form.
    forms: dict[str, int] = {}
    folded = np.fromiter((forms.setdefault(fold_heading(t), len(forms)) for t in titles), np.int32, len(titles))
    uses = np.bincount(np.concatenate([own, other]), minlength=len(titles))
    spelled = [""] * len(forms)
    for place in np.argsort(uses, kind="stable").tolist():  # the most frequent spelling is last and is kept
        spelled[folded[place]] = " ".join(fold_title(titles[place]).split())
    a, b = folded[own].astype(np.int64), folded[other].astype(np.int64)
    keys = np.minimum(a, b) * len(spelled) + np.maximum(a, b)
    distinct, pair, counts = np.unique(keys, return_inverse=True, return_counts=True)
    rank = np.argsort(-counts, kind="stable")
    pair = np.argsort(rank, kind="stable")[pair]
    correct, counts = correctness(values), counts[rank]
    both = ((spelled[key // len(spelled)], spelled[key % len(spelled)]) for key in distinct[rank].tolist())
    _, first_seen = np.unique(pair * (int(groups.max()) + 2) + groups + 1, return_index=True)
    return SectionPairs(
        names=[(a, b) if (a.casefold(), a) <= (b.casefold(), b) else (b, a) for a, b in both],
        counts=counts,
        articles=np.bincount(pair[first_seen], minlength=len(counts)),
        accuracy=np.bincount(pair, weights=correct) / counts,
        correct=correct,
        groups=np.asarray(groups),
        order=np.argsort(pair, kind="stable"),
        starts=np.concatenate([[0], np.cumsum(counts)]),
    )


_CUT = 0.005
"""Maximum share of the margins beyond either end of the chart."""


@dataclass(frozen=True, slots=True)
class MarginHistogram:
    """Histogram of margins: bin i counts ``edges[i]`` ≤ margin < ``edges[i + 1]``; ties (exactly 0) are in no bin.

    0 is an edge, so that no bin mixes right and wrong triplets.
    """

    edges: npt.NDArray[np.float64]
    """(b + 1,) in the units of the margins."""
    counts: npt.NDArray[np.int64]
    """(b,)."""
    below: int
    above: int
    """Number of margins beyond the right end."""
    wrong: int
    tied: int
    right: int
    median: float
    spread: float
    """Standard deviation of the margins."""

    @property
    def n(self) -> int:
        """Number of triplets."""
        return self.wrong + self.tied + self.right


def margin_histogram(margins: npt.ArrayLike, bins: int = 60) -> MarginHistogram:
    """Count (n,) margins in at most about ``bins`` bins of a round width, with up to .5 % beyond either end.

    Raises :class:`DataError` without margins or if one is not finite.
    """
    values = np.asarray(margins, dtype=np.float64)
    if not len(values) or not np.isfinite(values).all():
        raise DataError("A histogram needs margins that are finite numbers.")
    low, high = np.quantile(values, [_CUT, 1 - _CUT])
    width = _round_width((max(high, 0.0) - min(low, 0.0)) / max(bins - 2, 1))
    first, last = np.floor(min(low, 0.0) / width), np.floor(max(high, 0.0) / width) + 1
    edges = np.arange(first, last + 1) * width
    untied = values[values != 0]
    place = np.searchsorted(edges, untied, side="right") - 1
    inside = place[(place >= 0) & (place < len(edges) - 1)]
    return MarginHistogram(
        edges,
        np.bincount(inside, minlength=len(edges) - 1),
        below=int((place < 0).sum()),
        above=int((place >= len(edges) - 1).sum()),
        wrong=int((values < 0).sum()),
        tied=len(values) - len(untied),
        right=int((values > 0).sum()),
        median=float(np.median(values)),
        spread=float(values.std()),
    )


def _round_width(least: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that is at least ``least``; 1 if all are tied."""
    if least <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(least))
    steps = (1.0, 2.0, 2.5, 5.0, 10.0)
    return float(next(step * power for step in steps if step * power >= least * (1 - 1e-12)))
