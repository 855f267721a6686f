import numpy as np
import pytest

from tests.core.estimates.studies import Study
from themescope.core.errors import DataError
from themescope.core.estimates.planner import plan
from themescope.core.estimates.shares import CodedUnits, shares


def groups_of(n: int) -> list[str]:
    return np.array(["A", "A", "A", "B"])[np.arange(n) % 4].tolist()


def test_labels_as_planned_reach_the_margin() -> None:
    random, reached = np.random.default_rng(1), []
    for _ in range(20):
        units = Study(0.3, labels=120, documents=6000).draw(random)
        groups = np.array(groups_of(6000))
        planned = plan(units, groups.tolist(), 0.04)
        assert planned.more > 100 and max(planned.expected.values()) <= 0.04
        truth = random.random(6000) < np.where(units.codes == 1, 0.79, 0.045)
        labels, chances = np.full(6000, np.nan), np.zeros(6000)
        for stratum in planned.strata:
            where = np.flatnonzero((groups == stratum.group) & ((units.codes >= 0.5) == stratum.coded))
            assert stratum.units == len(where)
            sampled = random.choice(where, stratum.labels + stratum.more, replace=False)
            labels[sampled], chances[where] = truth[sampled], stratum.probability
        reached += [
            (e.corrected.high - e.corrected.low) / 2
            for e in shares(CodedUnits(labels, units.codes, chances), groups.tolist())
        ]
    assert np.mean(reached) == pytest.approx(0.04, rel=0.1)


def test_more_labels_where_the_machine_is_unsure() -> None:
    units = Study(0.5, 0.98, 0.3, labels=400, documents=6000).draw(np.random.default_rng(1))
    planned = plan(units, ["A"] * 6000, 0.02)
    no, yes = planned.strata
    assert (no.coded, yes.coded) == (False, True)
    assert (yes.labels + yes.more) / yes.units > 2 * (no.labels + no.more) / no.units


def test_without_labels_the_worst_case() -> None:
    n = 10_000
    planned = plan(CodedUnits(np.full(n, np.nan), None), groups_of(n), 0.03)
    assert [(s.group, s.labels, s.more) for s in planned.strata] == [("A", 0, 1068), ("B", 0, 1068)]


def test_labels_that_there_are_count_and_the_group_is_the_limit() -> None:
    units = CodedUnits(np.where(np.arange(400) < 100, np.arange(400) % 2, np.nan), None, np.full(400, 0.25))
    planned = plan(units, ["A"] * 200 + ["B"] * 180 + [""] * 20, 0.1)
    first, second = planned.strata
    assert first.labels == 100 and first.more == 0 and 90 < second.more < 100
    everything = plan(units, ["A"] * 200 + ["B"] * 180 + [""] * 20, 0.01)
    assert everything.more == 100 + 180 and everything.expected["A"] > 0.01
    with pytest.raises(DataError, match="margin"):
        plan(units, ["A"] * 400, 3)


def test_documents_cost_labels() -> None:
    alike = Study(0.3, documents=60, per_document=100, correlation=0.3, labels=300).draw(np.random.default_rng(5))
    apart = CodedUnits(alike.labels, alike.codes, alike.probabilities)
    assert plan(alike, ["A"] * 6000, 0.06).more > plan(apart, ["A"] * 6000, 0.06).more
