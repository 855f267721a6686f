"""Histograms of margins: nothing is lost, zero is an edge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from themescope.core.errors import DataError
from themescope.core.metrics.triplets import margin_histogram

FINITE = st.floats(-1e6, 1e6, width=32)


@given(margins=arrays(np.float32, st.integers(1, 200), elements=FINITE), bins=st.integers(1, 80))
def test_every_margin_is_counted_once_and_no_bar_crosses_zero(margins, bins):
    h = margin_histogram(margins, bins)
    assert h.counts.sum() + h.below + h.above + h.tied == h.n == len(margins)
    assert (h.wrong, h.tied, h.right) == ((margins < 0).sum(), (margins == 0).sum(), (margins > 0).sum())
    assert 0.0 in h.edges
    assert (np.diff(h.edges) > 0).all()
    assert len(h.counts) <= bins + 3
    left = h.edges[:-1] < 0
    assert h.counts[left].sum() + h.below == h.wrong
    assert h.median == pytest.approx(float(np.median(margins.astype(np.float64))))


def test_bins_are_round_and_hold_what_they_say():
    margins = np.random.default_rng(0).normal(0.3, 1, 5_000)
    h = margin_histogram(margins)
    assert np.diff(h.edges) == pytest.approx(0.1)
    for low, high, count in zip(h.edges[:-1], h.edges[1:], h.counts, strict=True):
        assert count == ((margins >= low) & (margins < high)).sum()
    assert h.below + h.above <= 51


def test_a_few_outliers_do_not_squeeze_the_rest():
    margins = np.concatenate([np.random.default_rng(1).normal(0, 1, 1_000), [1e6]])
    assert np.diff(margin_histogram(margins).edges)[0] < 1


def test_what_has_no_histogram_is_refused():
    for margins in ([], [np.nan, 1.0], [np.inf]):
        with pytest.raises(DataError, match="finite"):
            margin_histogram(margins)
