"""Triplet accuracy with a small model whose distances are known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from themescope.core.errors import Cancelled, DataError
from themescope.core.metrics.triplets import accuracy_of_margins, triplet_accuracy
from themescope.core.protocols import SILENT, NullReport, Report
from themescope.core.types import Corpus, Sentence, TripletTexts, Vectors


class Numbers:
    """The text is a number, the vector is that number, the distance is the absolute difference."""

    def __init__(self, config: Any = None, seed: int = 0) -> None:
        self.calls: list[list[Sentence]] = []

    def fit(self, corpus: Corpus, report: Report) -> None: ...

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        self.calls.append(list(sentences))
        return np.array([[float(s.text)] for s in sentences], dtype=np.float32)

    def distances(self, a: Vectors, b: Vectors) -> Any:
        return np.abs(a - b).sum(axis=1)

    def save(self, folder: Path) -> None: ...

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls()


def triplets(rows: list[tuple[int, int, int, int]]) -> TripletTexts:
    columns = list(zip(*rows, strict=True))
    texts = ([str(x) for x in column] for column in columns[:3])
    return TripletTexts(*texts, np.array(columns[3], dtype=np.int64))


def test_right_wrong_and_tie() -> None:
    found = triplet_accuracy(Numbers(), triplets([(0, 1, 5, 0), (0, 5, 1, 0), (0, 2, -2, 1)]), SILENT)
    np.testing.assert_array_equal(found.correct, [1.0, 0.0, 0.5])
    np.testing.assert_array_equal(found.margins, [4.0, -4.0, 0.0])
    assert found.estimate.value == 0.5 and found.estimate.n == 2


def test_batches_end_between_articles_and_embed_a_sentence_once() -> None:
    rows = [(i % 7, i % 5, i % 3, [2, 0, 1][i % 3]) for i in range(60)]
    model = Numbers()
    small = triplet_accuracy(model, triplets(rows), SILENT, batch=10)
    whole = triplet_accuracy(Numbers(), triplets(rows), SILENT)
    np.testing.assert_array_equal(small.margins, whole.margins)
    assert small.estimate == whole.estimate
    groups = [{s.article_id for s in call} for call in model.calls]
    assert groups == [{0}, {1}, {2}]
    assert all(len({s.text for s in call}) == len(call) for call in model.calls)


def test_triplets_without_articles_are_cut_anywhere() -> None:
    model = Numbers()
    found = triplet_accuracy(model, triplets([(0, 1, 2, -1)] * 25), SILENT, batch=10)
    assert len(model.calls) == 3 and found.estimate.n == 25


def test_context_is_embedded_with_its_article() -> None:
    model = Numbers()
    asked: list[list[int]] = []

    def context(groups: Sequence[int]) -> dict[int, list[Sentence]]:
        asked.append(list(groups))
        return {group: [Sentence(str(100 + group)), Sentence("0")] for group in groups}

    rows = [(0, 1, 5, 3), (0, 5, 1, 4), (0, 1, 2, -1)]
    found = triplet_accuracy(model, triplets(rows), SILENT, context=context)
    np.testing.assert_array_equal(found.correct, [1.0, 0.0, 1.0])
    assert asked == [[3, 4]]
    texts = {(s.article_id, s.text) for s in model.calls[0]}
    assert {(3, "103"), (3, "0"), (3, "5"), (4, "104"), (-1, "2")} < texts and len(texts) == len(model.calls[0])


def test_cancel_between_batches() -> None:
    class Stop(NullReport):
        def progress(self, done: float, total: float, message: str = "") -> None:
            if done:
                raise Cancelled

    with pytest.raises(Cancelled):
        triplet_accuracy(Numbers(), triplets([(0, 1, 2, 0)]), Stop())


def test_nothing_and_nonsense() -> None:
    with pytest.raises(DataError, match="no triplets"):
        triplet_accuracy(Numbers(), TripletTexts([], [], [], np.empty(0, np.int64)), SILENT)
    with pytest.raises(DataError, match="not a number"):
        accuracy_of_margins([0.1, float("nan")])
