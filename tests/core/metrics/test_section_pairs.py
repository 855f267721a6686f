"""Accuracy by pair of section titles, against a plain count."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.metrics.triplets import fold_heading, section_pairs

TITLES = ["", "History", "history", " HISTORY ", "Early_life", "early  life", "Café", "Cafe\u0301", "Economy"]
ROWS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from([-1.5, 0.0, 2.0]), st.integers(-1, 4)),
    min_size=1,
    max_size=60,
)


def pairs_of(rows):
    own, other, margins, groups = (np.array(column) for column in zip(*rows, strict=True))
    return section_pairs(own.astype(np.int32), other.astype(np.int32), TITLES, margins, groups)


@given(rows=ROWS)
def test_equal_to_a_plain_count(rows):
    plain = defaultdict(list)
    for place, (own, other, margin, group) in enumerate(rows):
        key = tuple(sorted((fold_heading(TITLES[own]), fold_heading(TITLES[other]))))
        plain[key].append((place, 0.5 + 0.5 * np.sign(margin), group))
    found = pairs_of(rows)
    assert len(found) == len(plain)
    assert (np.diff(found.counts) <= 0).all()
    for row, names in enumerate(found.names):
        listed = plain[tuple(sorted(map(fold_heading, names)))]
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
    assert [tuple(map(fold_heading, names)) for names in found.names] == [
        ("economy", "history"),
        ("café", "early life"),
    ]
    assert found.names[0] == ("Economy", "History")
    assert found.counts.tolist() == [3, 2]
    assert found.find(("economy", "HISTORY")) == 0
    assert found.find(("Economy", "Geography")) is None


def test_columns_of_different_length_are_refused():
    one, none = np.zeros(1, np.int32), np.zeros(0, np.int32)
    for columns in ((one, one, [1.0, 2.0], one), (none, none, [], none), (one, none, [1.0], one)):
        with pytest.raises(DataError, match="two section titles"):
            section_pairs(columns[0], columns[1], TITLES, columns[2], columns[3])
