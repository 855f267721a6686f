import numpy as np
import pytest
from scipy import stats

from themescope.core.errors import DataError
from themescope.core.metrics.coding_agreement import (
    Coding,
    Decision,
    _exact_p,
    alternative_annotator_test,
    replacement_p,
)
from themescope.core.metrics.statistics import benjamini_yekutieli


def coding_of(labels: np.ndarray) -> Coding:
    return [frozenset([code]) if code >= 0 else None for code in labels.tolist()]


def coder(random: np.random.Generator, truth: np.ndarray, error: float) -> np.ndarray:
    """The right one of four codes, or with the probability ``error`` any of the others."""
    wrong = (truth + random.integers(1, 4, len(truth))) % 4
    return np.where(random.random(len(truth)) < error, wrong, truth)


def codings(n: int, errors: list[float], seed: int = 0) -> list[Coding]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, n)
    return [coding_of(coder(random, truth, error).astype(np.int32)) for error in errors]


def test_by_hand() -> None:
    """40 units, three people. Against person 0 the machine is closer on 4 units, as close on 32 and less close on 4."""
    person, other, third = [0] * 40, [0] * 36 + [1] * 4, [0] * 36 + [1] * 4
    machine = [2] * 4 + [0] * 32 + [1] * 4
    people = [coding_of(np.array(x, dtype=np.int32)) for x in (person, other, third)]
    found = alternative_annotator_test(people, coding_of(np.array(machine, dtype=np.int32)), 0.2, q=0.03)
    first = found.people[0]
    assert (first.units, first.machine, first.human) == (40, 36 / 40, 36 / 40)
    # The differences have mean 0 and the sample variance 8/39: t = -.2 / sqrt(8/39/40).
    t = -0.2 / np.sqrt(8 / 39 / 40)
    assert t == pytest.approx(-2.793, abs=1e-3)
    assert first.p == pytest.approx(stats.t.cdf(t, 39))
    # Against person 1: on the first 4 units the machine is alone; on the last 4 persons 0 and 2 have 0 and 1: as close.
    second = found.people[1]
    assert (second.machine, second.human) == (36 / 40, 1.0)
    assert second.p == pytest.approx(stats.t.cdf((0.1 - 0.2) / np.sqrt(0.1 * 0.9 * 40 / 39 / 40), 39))
    # Benjamini and Yekutieli: three p, harmonic sum 11/6; the largest two are equal.
    assert [one.corrected for one in found.people] == pytest.approx(
        [min(first.p * 3, second.p) * 11 / 6] + [second.p * 11 / 6] * 2
    )
    assert found.winning_rate == 1 / 3 and found.advantage == pytest.approx(0.9)
    assert found.verdict is Decision.TOO_FEW and "With 40 units" in found.reason


def test_benjamini_yekutieli_is_scipys() -> None:
    ps = np.random.default_rng(0).random(12) ** 3
    assert benjamini_yekutieli(ps) == pytest.approx(stats.false_discovery_control(ps, method="by"))
    assert benjamini_yekutieli([]) == []


def test_a_machine_as_good_as_people_passes_a_bad_one_fails_and_few_labels_do_not_tell() -> None:
    *people, good, bad = codings(150, [0.2, 0.2, 0.25, 0.15, 0.6])
    passed = alternative_annotator_test(people, good)
    assert passed.verdict is Decision.PASSED and passed.winning_rate == 1 and passed.advantage > 0.85
    failed = alternative_annotator_test(people, bad)
    assert failed.verdict is Decision.FAILED and failed.winning_rate == 0
    *people, wrong = codings(40, [0.05, 0.05, 0.05, 0.95])
    assert alternative_annotator_test(people, wrong).verdict is Decision.FAILED
    *people, good = codings(9, [0.2, 0.2, 0.2, 0.2])
    found = alternative_annotator_test(people, good)
    assert found.verdict is Decision.TOO_FEW and found.winning_rate is None
    assert "the most is 9" in found.reason and found.people[0].p is None


def test_units_that_a_person_or_the_others_have_not_judged_and_one_person() -> None:
    *people, machine = codings(60, [0.2, 0.2, 0.2, 0.2])
    people[0] = people[0][:20] + [None] * 40
    people[1] = people[1][:50] + [None] * 10
    people[2] = people[2][:45] + [None] * 15
    found = alternative_annotator_test(people, [None, *machine[1:]])
    assert [one.units for one in found.people] == [19, 44, 44]
    one, other = codings(20, [0.1, 0.1])
    with pytest.raises(DataError, match="at least two people"):
        alternative_annotator_test([one], other)
    with pytest.raises(DataError, match="different numbers"):
        alternative_annotator_test([one, other[:3]], other)


def test_several_codes_a_unit_are_compared_by_jaccard() -> None:
    sets = [frozenset({1, 2}), frozenset({1}), frozenset()]
    machine: Coding = [frozenset({1, 2}), frozenset({1, 3}), frozenset()] * 20
    own: Coding = [frozenset({1}), frozenset({1, 2, 3}), frozenset({4})] * 20
    found = alternative_annotator_test([own, sets * 20, sets * 20], machine)
    # Jaccard with the others: 1 against 1/2, 1/2 against 1/3, 1 (both empty) against 0.
    assert (found.people[0].machine, found.people[0].human) == (1, 0)
    assert found.people[0].wins


@pytest.mark.parametrize("n", [12, 20, 50])
def test_type_one_error(n: int) -> None:
    """People are better by exactly epsilon; the machine is found as good in at most 5 % of 20,000 draws."""
    random, epsilon = np.random.default_rng(1), 0.2
    for ties in (0.0, 0.4, 0.7):
        chances = [(1 - ties - epsilon) / 2, ties, (1 - ties + epsilon) / 2]
        counts, times = np.unique(random.multinomial(n, chances, 20_000), axis=0, return_counts=True)
        ps = np.array([replacement_p(np.repeat([-1, 0, 1], row), epsilon) for row in counts])
        rate = times[ps <= 0.05].sum() / times.sum()
        assert rate <= (0.05 if n < 30 else 0.06) + 3 * np.sqrt(0.05 * 0.95 / 20_000)


def test_exact_p_is_that_of_all_samples() -> None:
    """Brute force over all 3^n samples of four units, for each value of the unknown probability."""
    n, epsilon, samples = 4, 0.1, np.array(np.meshgrid(*[[-1, 0, 1]] * 4)).reshape(4, -1).T

    def t(values: np.ndarray) -> float:
        deviation = values.std(ddof=1) / np.sqrt(n)
        return (values.mean() - epsilon) / deviation if deviation else np.inf * np.sign(values.mean() - epsilon)

    observed = t(np.array([-1, -1, 0, 1]))
    extreme = samples[[t(row) <= observed + 1e-9 for row in samples]]
    largest = 0.0
    for share in np.linspace(0, (1 - epsilon) / 2, 201):
        chance = {-1: share, 0: 1 - 2 * share - epsilon, 1: share + epsilon}
        largest = max(largest, sum(np.prod([chance[x] for x in row]) for row in extreme.tolist()))
    assert _exact_p(2, 1, n, epsilon) == pytest.approx(largest)
