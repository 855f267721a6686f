"""Triplet accuracy: the share of triplets whose pivot is nearer to the positive (Ein Dor et al. 2018, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.metrics.statistics.intervals import bootstrap_mean
from themescope.core.protocols import Report
from themescope.core.types import Estimate, Ids, Sentence, TripletTexts, Vectors

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
    model: Comparing,
    triplets: TripletTexts,
    report: Report,
    seed: int = 0,
    batch: int = BATCH,
    context: Context | None = None,
) -> TripletAccuracy:
    """Embed the sentences of ``triplets`` and compare distances; every sentence of a batch is embedded once.

    Raises :class:`DataError` without triplets.
    """
    margins = np.empty(len(triplets), dtype=np.float32)
    done = 0
    report.progress(0, len(triplets), "triplets")
    for part in triplet_batches(triplets, batch, context):
        margins[part.rows] = margins_of_batch(model, part)
        done += len(part.rows)
        report.progress(done, len(triplets), "triplets")
    return accuracy_of_margins(margins, triplets.groups, seed)


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
    for rows in _batches(triplets.groups, batch):
        pivots, positives, negatives = (
            [found[row] for row in rows] for found in (triplets.pivots, triplets.positives, triplets.negatives)
        )
        texts = TripletTexts(pivots, positives, negatives, triplets.groups[rows])
        groups = [int(group) for group in np.unique(texts.groups) if group != -1]
        yield TripletBatch(rows, texts, {} if context is None else context(groups))


def _batches(groups: Ids, batch: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield batches of about ``batch`` rows ordered by group; only group -1 may be divided."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    start = 0
    while start < len(order):
        end = min(start + batch, len(order))
        while end < len(order) and ordered[end] != -1 and ordered[end] == ordered[end - 1]:
            end += 1
        yield order[start:end]
        start = end


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
