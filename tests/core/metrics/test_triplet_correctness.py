import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.metrics.triplets import CorrectnessFilter, correctness_mask

MARGIN = st.sampled_from([-2.0, -0.5, 0.0, 0.5, 2.0, math.nan])
TABLES = st.integers(2, 4).flatmap(
    lambda m: st.lists(st.lists(MARGIN, min_size=m, max_size=m), min_size=1, max_size=30)
)


def by_hand(who: CorrectnessFilter, margins: list[float]) -> bool:
    known = [m for m in margins if not math.isnan(m)]
    right, wrong = [m > 0 for m in known], [m < 0 for m in known]
    return {
        CorrectnessFilter.ANY: any(right),
        CorrectnessFilter.ALL: bool(known) and all(right),
        CorrectnessFilter.NONE: bool(known) and not any(right),
        CorrectnessFilter.DIFFER: any(right) and any(wrong),
        CorrectnessFilter.AGAINST: margins[0] > 0 and margins[1] < 0,
    }[who]


@given(rows=TABLES, who=st.sampled_from(CorrectnessFilter))
def test_equal_to_asking_each_triplet(rows: list[list[float]], who: CorrectnessFilter) -> None:
    found = correctness_mask(who, np.array(rows, np.float32).T)
    assert found.dtype == bool
    assert found.tolist() == [by_hand(who, row) for row in rows]


def test_a_triplet_nobody_was_asked_about_is_never_chosen() -> None:
    unknown = np.full((2, 3), np.nan)
    assert not any(correctness_mask(who, unknown).any() for who in CorrectnessFilter)


@pytest.mark.parametrize(("who", "models"), [(CorrectnessFilter.ANY, 0), (CorrectnessFilter.AGAINST, 1)])
def test_models_must_be_named(who: CorrectnessFilter, models: int) -> None:
    with pytest.raises(DataError, match="Choose the models"):
        correctness_mask(who, np.zeros((models, 3)))
