"""Summaries of many documents by one method, embedded some thousand sentences at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from core.protocols import Model, Report
from core.tasks.lexrank import Scores
from core.tasks.summaries.documents import SummaryDocument
from core.tasks.summaries.scoring import Summary, extract
from core.types import Matrix, Sentence

_BLOCK = 4_096  # sentences embedded at once


def placed(document: SummaryDocument, number: int) -> list[Sentence]:
    """The sentences of a document outside the store, positioned; ``number`` tells documents apart."""
    return [Sentence(text, article_id=-2 - number, position=i) for i, text in enumerate(document.sentences)]


def summarize(
    documents: Sequence[SummaryDocument],
    ranker: Any,
    model: Model | None,
    *,
    words: int,
    seed: int,
    report: Report,
) -> list[Summary]:
    """Extracts of at most ``words`` words, in the order of ``documents``; ``model`` for rankers that need vectors.

    Document i is ranked with seed ``seed + i``.
    """
    found: list[Summary] = []
    for number, (document, vectors) in enumerate(_with_vectors(documents, model)):
        report.progress(number, len(documents), f"{number:,} of {len(documents):,} documents summarised")
        scores: Scores = np.asarray(ranker.scores(document.sentences, vectors, seed + number), np.float64)
        found.append(extract(document.sentences, scores, words))
    return found


def _with_vectors(
    documents: Sequence[SummaryDocument], model: Model | None
) -> Iterator[tuple[SummaryDocument, Matrix | None]]:
    if model is None:
        yield from ((document, None) for document in documents)
        return
    group: list[tuple[SummaryDocument, list[Sentence]]] = []
    for number, document in enumerate(documents):
        group.append((document, placed(document, number)))
        if number == len(documents) - 1 or sum(len(s) for _, s in group) >= _BLOCK:
            yield from _embedded(group, model)
            group = []


def _embedded(
    group: Sequence[tuple[SummaryDocument, list[Sentence]]], model: Model
) -> Iterator[tuple[SummaryDocument, Matrix]]:
    vectors: Any = model.embed([sentence for _, sentences in group for sentence in sentences])
    start = 0
    for document, sentences in group:
        yield document, vectors[start : start + len(sentences)]
        start += len(sentences)
