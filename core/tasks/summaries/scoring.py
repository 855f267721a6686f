"""Summaries from sentence scores, and their ROUGE-1 with intervals over documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.metrics.rouge import RougeSettings, rouge_1
from core.metrics.statistics.intervals import bootstrap_mean
from core.tasks.lexrank import Scores, ranked
from core.tasks.summaries.documents import SummaryDocument
from core.types import Estimate

Floats = npt.NDArray[np.float64]

MEASURES = ("recall", "precision", "f1")


@dataclass(frozen=True, slots=True)
class Summary:
    """An extract: its text, and the positions of its sentences, the best first (the last one may be cut)."""

    text: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SummaryScores:
    """ROUGE-1 of many summaries; row i of each (n,) array is document ``ids[i]``."""

    ids: tuple[str, ...]
    values: dict[str, Floats]
    """By measure of :data:`MEASURES`."""
    means: dict[str, Estimate]
    """With 95 % intervals over documents."""


def extract(sentences: Sequence[str], scores: Scores, words: int = 100) -> Summary:
    """Concatenate sentences by descending score (ties by position) and cut at ``words`` whitespace words; 0: no limit.

    Raises :class:`DataError` when sentences and scores differ in number.
    """
    if len(sentences) != len(scores):
        raise DataError(f"{len(sentences)} sentences come with {len(scores)} scores.")
    text: list[str] = []
    positions: list[int] = []
    for position in ranked(scores):
        if words and len(text) >= words:
            break
        own = sentences[position].split()
        text += own[: words - len(text)] if words else own
        positions.append(int(position))
    return Summary(" ".join(text), tuple(positions))


def score_summaries(
    documents: Sequence[SummaryDocument], summaries: Sequence[str], settings: RougeSettings, seed: int = 0
) -> SummaryScores:
    """ROUGE-1 of the ``summaries`` of ``documents``, in the same order; those without references are left out.

    Raises :class:`DataError` when no document has references.
    """
    judged = [(d, text) for d, text in zip(documents, summaries, strict=True) if d.references]
    if not judged:
        raise DataError("No document has a summary by people to compare with, so nothing can be scored.")
    counts = [rouge_1(text, document.references, settings) for document, text in judged]
    values = {name: np.array([getattr(c, name) for c in counts], np.float64) for name in MEASURES}
    means = {name: bootstrap_mean(column, seed=seed) for name, column in values.items()}
    return SummaryScores(tuple(d.id for d, _ in judged), values, means)
