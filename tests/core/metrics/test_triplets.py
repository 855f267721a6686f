from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.core.reports import Watched
from themescope.core.errors import Cancelled, DataError
from themescope.core.metrics import triplets as measures
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.types import SILENT, Sentence, TripletTexts, Vectors


class Numbers:
    """The text is a number, the vector is that number, the distance is the absolute difference."""

    def __init__(self) -> None:
        self.calls: list[list[Sentence]] = []

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        self.calls.append(list(sentences))
        return np.array([[float(s.text)] for s in sentences], dtype=np.float32)

    def distances(self, a: Vectors, b: Vectors) -> np.ndarray:
        return np.abs(a - b).sum(axis=1)


def triplets(rows: list[tuple[int, int, int, int]]) -> TripletTexts:
    columns = list(zip(*rows, strict=True))
    texts = ([str(x) for x in column] for column in columns[:3])
    return TripletTexts(*texts, np.array(columns[3], dtype=np.int64))


def test_right_wrong_and_tie() -> None:
    found = measures.triplet_accuracy(Numbers(), triplets([(0, 1, 5, 0), (0, 5, 1, 0), (0, 2, -2, 1)]), SILENT)
    np.testing.assert_array_equal(found.correct, [1.0, 0.0, 0.5])
    np.testing.assert_array_equal(found.margins, [4.0, -4.0, 0.0])
    assert found.estimate.value == 0.5 and found.estimate.n == 2


def test_batches_end_between_articles_or_anywhere_without_them_and_embed_a_sentence_once() -> None:
    rows = [(i % 7, i % 5, i % 3, [2, 0, 1][i % 3]) for i in range(60)]
    model = Numbers()
    small = measures.triplet_accuracy(model, triplets(rows), SILENT, batch=10)
    whole = measures.triplet_accuracy(Numbers(), triplets(rows), SILENT)
    np.testing.assert_array_equal(small.margins, whole.margins)
    assert small.estimate == whole.estimate
    groups = [{s.article_id for s in call} for call in model.calls]
    assert groups == [{0}, {1}, {2}]
    assert all(len({s.text for s in call}) == len(call) for call in model.calls)
    other = Numbers()
    found = measures.triplet_accuracy(other, triplets([(0, 1, 2, -1)] * 25), SILENT, batch=10)
    assert len(other.calls) == 3 and found.estimate.n == 25


def test_context_is_embedded_with_its_article() -> None:
    model = Numbers()
    asked: list[list[int]] = []

    def context(groups: Sequence[int]) -> dict[int, list[Sentence]]:
        asked.append(list(groups))
        return {group: [Sentence(str(100 + group)), Sentence("0")] for group in groups}

    rows = [(0, 1, 5, 3), (0, 5, 1, 4), (0, 1, 2, -1)]
    found = measures.triplet_accuracy(model, triplets(rows), SILENT, context=context)
    np.testing.assert_array_equal(found.correct, [1.0, 0.0, 1.0])
    assert asked == [[3, 4]]
    texts = {(s.article_id, s.text) for s in model.calls[0]}
    assert {(3, "103"), (3, "0"), (3, "5"), (4, "104"), (-1, "2")} < texts and len(texts) == len(model.calls[0])


def test_nothing_and_nonsense_are_refused_and_it_can_be_cancelled() -> None:
    with pytest.raises(DataError, match="no triplets"):
        measures.triplet_accuracy(Numbers(), TripletTexts([], [], [], np.empty(0, np.int64)), SILENT)
    with pytest.raises(DataError, match="not a number"):
        measures.accuracy_of_margins([0.1, float("nan")])
    with pytest.raises(Cancelled):
        measures.triplet_accuracy(Numbers(), triplets([(0, 1, 2, 0)]), Watched(at=2))


ROWS = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.integers(1, 4)), min_size=1, max_size=60)


@given(rows=ROWS)
def test_articles_are_means_of_their_triplets(rows: list[tuple[float, int]]) -> None:
    margins, groups = (np.array(column) for column in zip(*rows, strict=True))
    found = measures.accuracy_by_article(margins, groups)
    assert found.articles.tolist() == sorted(set(groups.tolist())) and found.triplets.sum() == len(rows)
    for article, accuracy in zip(found.articles, found.accuracy, strict=True):
        assert accuracy == pytest.approx((0.5 + 0.5 * np.sign(margins[groups == article])).mean())


FINITE = st.floats(-1e6, 1e6, width=32)


@given(margins=arrays(np.float32, st.integers(1, 200), elements=FINITE), bins=st.integers(1, 80))
def test_every_margin_is_counted_once_and_no_bar_crosses_zero(margins, bins):
    h = measures.margin_histogram(margins, bins)
    assert h.counts.sum() + h.below + h.above + h.tied == h.n == len(margins)
    assert (h.wrong, h.tied, h.right) == ((margins < 0).sum(), (margins == 0).sum(), (margins > 0).sum())
    assert 0.0 in h.edges
    assert (np.diff(h.edges) > 0).all()
    assert len(h.counts) <= bins + 3
    left = h.edges[:-1] < 0
    assert h.counts[left].sum() + h.below == h.wrong
    assert h.median == pytest.approx(float(np.median(margins.astype(np.float64))))


def test_bins_are_round_hold_what_they_say_and_are_not_squeezed_by_outliers():
    margins = np.random.default_rng(0).normal(0.3, 1, 5_000)
    h = measures.margin_histogram(margins)
    assert np.diff(h.edges) == pytest.approx(0.1)
    for low, high, count in zip(h.edges[:-1], h.edges[1:], h.counts, strict=True):
        assert count == ((margins >= low) & (margins < high)).sum()
    assert h.below + h.above <= 51
    margins = np.concatenate([np.random.default_rng(1).normal(0, 1, 1_000), [1e6]])
    assert np.diff(measures.margin_histogram(margins).edges)[0] < 1
    for margins in ([], [np.nan, 1.0], [np.inf]):
        with pytest.raises(DataError, match="finite"):
            measures.margin_histogram(margins)


TITLES = ["", "History", "history", " HISTORY ", "Early_life", "early  life", "Café", "Cafe\u0301", "Economy"]
SECTION_ROWS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from([-1.5, 0.0, 2.0]), st.integers(-1, 4)),
    min_size=1,
    max_size=60,
)


def pairs_of(rows):
    own, other, margins, groups = (np.array(column) for column in zip(*rows, strict=True))
    return measures.section_pairs(own.astype(np.int32), other.astype(np.int32), TITLES, margins, groups)


@given(rows=SECTION_ROWS)
def test_equal_to_a_plain_count(rows):
    plain = defaultdict(list)
    for place, (own, other, margin, group) in enumerate(rows):
        key = tuple(sorted((measures.fold_heading(TITLES[own]), measures.fold_heading(TITLES[other]))))
        plain[key].append((place, 0.5 + 0.5 * np.sign(margin), group))
    found = pairs_of(rows)
    assert len(found) == len(plain)
    assert (np.diff(found.counts) <= 0).all()
    for row, names in enumerate(found.names):
        listed = plain[tuple(sorted(map(measures.fold_heading, names)))]
        places, correct, groups = (list(column) for column in zip(*listed, strict=True))
        assert found.triplets(row).tolist() == places
        assert found.counts[row] == len(listed)
        assert found.articles[row] == len(set(groups))
        assert found.accuracy[row] == pytest.approx(np.mean(correct))
        assert found.find(names[::-1]) == row
        estimate = found.estimate(row)
        assert estimate == bootstrap_mean(correct, np.array(groups), 2_000)


def test_titles_are_folded_and_shown_as_they_are_written_most():
    found = pairs_of([(1, 8, 1.0, 0), (8, 1, -1.0, 1), (8, 2, 1.0, 1), (4, 6, 1.0, 0), (7, 5, 1.0, 0)])
    assert [tuple(map(measures.fold_heading, names)) for names in found.names] == [
        ("economy", "history"),
        ("café", "early life"),
    ]
    assert found.names[0] == ("Economy", "History")
    assert found.counts.tolist() == [3, 2]
    assert found.find(("economy", "HISTORY")) == 0
    assert found.find(("Economy", "Geography")) is None
    one, none = np.zeros(1, np.int32), np.zeros(0, np.int32)
    for columns in ((one, one, [1.0, 2.0], one), (none, none, [], none), (one, none, [1.0], one)):
        with pytest.raises(DataError, match="two section titles"):
            measures.section_pairs(columns[0], columns[1], TITLES, columns[2], columns[3])
