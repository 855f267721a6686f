from dataclasses import replace

import numpy as np
import pytest

from tests.core.estimates.studies import Study
from themescope.core.errors import DataError
from themescope.core.estimates.shares import NOT_RANDOM, CodedUnits, composition, difference, share, shares

STUDIES = {
    "balanced": Study(0.5, 0.95, 0.05),
    "rare": Study(0.02, 0.8, 0.01),
    "biased": Study(0.3, 0.95, 0.3),
    "useless": Study(0.3, 0.4, 0.4),
    "clustered": Study(0.3, 0.9, 0.1, documents=60, per_document=40, correlation=0.2),
    "unequal": Study(0.1, 0.8, 0.05, unequal=True),
}


@pytest.mark.parametrize("name", STUDIES)
def test_interval_covers_the_truth_and_is_no_wider_than_peoples(name: str) -> None:
    """With 95 % coverage, fewer than 105 of 120 are one in 2,500; benchmarks/estimates.py has 1,000 studies each."""
    study, random = STUDIES[name], np.random.default_rng(4)
    found = [share(study.draw(random)) for _ in range(120)]
    assert sum(one.corrected.low <= study.share <= one.corrected.high for one in found) >= 105
    widths = [sum(e.high - e.low for e in ends) for ends in zip(*((f.corrected, f.people) for f in found), strict=True)]
    assert widths[0] <= 1.05 * widths[1]
    if name == "balanced":
        assert widths[0] <= 0.7 * widths[1]
    if name in ("biased", "useless"):  # the naive estimate fails
        assert not any(one.machine.low <= study.share <= one.machine.high for one in found)


def test_labels_that_are_not_sampled_at_random_are_told_or_left_out() -> None:
    units = Study().draw(np.random.default_rng(1))
    found = share(units)
    assert found.warnings == () and (found.units, found.labels) == (3000, 300)
    assert 0.5 < found.tuning < 1
    unknown = CodedUnits(units.labels, units.codes, None, units.documents)
    assert share(unknown).warnings == (NOT_RANDOM,)
    assert share(unknown).corrected == found.corrected
    chosen = np.flatnonzero(np.isnan(units.labels))[:7]
    labels, probabilities = units.labels.copy(), units.probabilities.copy()
    labels[chosen], probabilities[chosen] = 1, np.nan
    found = share(CodedUnits(labels, units.codes, probabilities, units.documents))
    assert found.corrected == share(units).corrected
    assert found.warnings == ("7 labels were not sampled at random and left out.",)


def test_too_few_labels_to_tell_and_units_that_cannot_be_used() -> None:
    units = Study(labels=8).draw(np.random.default_rng(1))
    found = share(units)
    assert found.people is None and found.corrected is None and found.machine is not None
    assert "Too few labels to tell: 8 sampled labels in 8 documents" in found.warnings[0]
    same = replace(Study(labels=50, documents=1, per_document=100)).draw(np.random.default_rng(1))
    assert "50 sampled labels in 1 document" in share(same).warnings[0]
    labels = np.array([1.0, 0.0, np.nan])
    with pytest.raises(DataError, match="2 codes"):
        CodedUnits(labels, np.ones(2))
    with pytest.raises(DataError, match="between 0 and 1"):
        CodedUnits(labels, np.array([0, 1, np.nan]))
    with pytest.raises(DataError, match="probability 0"):
        CodedUnits(labels, None, np.zeros(3))
    with pytest.raises(DataError, match="no units"):
        share(CodedUnits(labels, None), np.zeros(3, dtype=bool))


def test_groups_and_units_without_a_machine() -> None:
    units = Study(labels=600, per_document=2).draw(np.random.default_rng(1))
    groups = np.array(["B", "A", ""])[np.arange(6000) % 3].tolist()
    found = shares(units, groups)
    assert [one.name for one in found] == ["A", "B"]
    assert found[0] == share(units, np.arange(6000) % 3 == 1, "A")
    assert found[0].units == 2000 and 150 < found[0].labels < 250
    units = Study().draw(np.random.default_rng(1))
    found = share(CodedUnits(units.labels, None, units.probabilities))
    assert found.machine is None and found.corrected == found.people and found.tuning == 0


def test_difference_of_two_groups() -> None:
    random, hits = np.random.default_rng(2), 0
    for _ in range(80):
        first, second = Study(0.3, labels=150).draw(random), Study(0.2, 0.8, 0.2, labels=150).draw(random)
        units = CodedUnits(
            np.r_[first.labels, second.labels], np.r_[first.codes, second.codes],
            np.r_[first.probabilities, second.probabilities], np.r_[first.documents, second.documents],
        )  # fmt: skip
        where = np.arange(6000) < 3000
        found = difference(units, where, ~where, "A − B").corrected
        hits += found.low <= 0.1 <= found.high
    assert hits >= 68
    with pytest.raises(DataError, match="common units"):
        difference(units, where, where)


def test_composition_of_a_code() -> None:
    """A third of the units are in the group, with share .4 instead of .2: half of the units with the code."""
    random, hits = np.random.default_rng(3), 0
    for _ in range(80):
        first, second = Study(0.4, labels=100, documents=1000).draw(random), Study(0.2, documents=2000).draw(random)
        units = CodedUnits(
            np.r_[first.labels, second.labels], np.r_[first.codes, second.codes],
            np.r_[first.probabilities, second.probabilities],
        )  # fmt: skip
        found = composition(units, np.arange(3000) < 1000)
        hits += found.corrected.low <= 0.5 <= found.corrected.high
        assert not found.machine.low <= 0.5 <= found.machine.high or found.machine.value > 0.4
    assert hits >= 68
    nothing = CodedUnits(np.zeros(50), np.zeros(50), np.ones(50))
    assert composition(nothing, np.arange(50) < 9).corrected is None


def test_open_units_count_with_the_labels_that_make_a_share_lowest_and_highest() -> None:
    units = Study(labels=200).draw(np.random.default_rng(1))
    given = ~np.isnan(units.labels)
    open_ = np.flatnonzero(given)[::10]
    part, labels = np.arange(3000) % 3 == 0, units.labels.copy()
    labels[open_] = np.nan
    left = replace(units, labels=labels, given=given)
    ends = [replace(units, labels=np.where(np.isin(np.arange(3000), open_), x, labels)) for x in (0, 1, part, ~part)]
    none, every, inside, outside = ends
    found = share(left)
    assert found.open == 20 and (found.least, found.most) == (share(none).corrected, share(every).corrected)
    assert found.corrected == share(replace(left, given=None)).corrected and share(replace(left, given=None)).open == 0
    apart = difference(left, part, ~part)
    assert (apart.least, apart.most) == tuple(difference(x, part, ~part).corrected for x in (outside, inside))
    of = composition(left, part)
    assert (of.least, of.most) == tuple(composition(x, part).corrected for x in (outside, inside))
    assert found.least.value < found.corrected.value < found.most.value and of.least.value < of.most.value
