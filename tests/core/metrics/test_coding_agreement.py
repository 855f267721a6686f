import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from tests.core.metrics.test_alternative_annotator import coding_of
from themescope.core.metrics import coding_agreement
from themescope.core.metrics.coding_agreement import Agreement, Coding, coefficients, masi, set_alpha

LABELS = st.integers(1, 20).flatmap(lambda n: st.tuples(*[st.lists(st.integers(-1, 3), min_size=n, max_size=n)] * 3))
SETS = st.frozensets(st.integers(0, 3), max_size=3)
CODINGS = st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.lists(st.none() | SETS, min_size=n, max_size=n)] * 2))


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding_agreement, "RESAMPLES", 50)


def single(values: str) -> np.ndarray:
    return np.array([-1 if value == "." else int(value) for value in values], dtype=np.int32)


def alpha(coders: list[np.ndarray], groups: np.ndarray | None = None) -> Agreement:
    return coefficients(coders, groups).alpha


def kappa(coders: list[np.ndarray], groups: np.ndarray | None = None, seed: int = 0) -> Agreement:
    return coefficients(coders, groups, seed).kappa


def test_alpha_of_the_examples_of_krippendorff() -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", sections A (.095) and C (.743)."""
    two = alpha([single("0100000010"), single("1110010000")])
    assert two.estimate is not None and abs(two.estimate.value - 0.095) < 5e-4
    data = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    found = alpha([single(row.replace(" ", "")) for row in data])
    assert found.estimate is not None and abs(found.estimate.value - 0.743) < 5e-4 and found.cases == 11
    assert "two people" in alpha([single("1."), single(".1")]).undefined
    assert "the same code" in alpha([single("11"), single("11")]).undefined


def test_masi_of_passonneaus_definition() -> None:
    a, ab, bc, d = (frozenset(x) for x in ({1}, {1, 2}, {2, 3}, {4}))
    assert masi(ab, ab) == 0 and masi(ab, d) == 1 and masi(frozenset(), d) == 1 and masi(frozenset(), frozenset()) == 0
    assert math.isclose(masi(a, ab), 1 - 1 / 2 * 2 / 3) and math.isclose(masi(ab, bc), 1 - 1 / 3 * 1 / 3)


def several_codes(seed: int, empty: bool) -> list[Coding]:
    """Sets of up to three of five codes from three coders who often agree, and miss some of 30 cases."""
    random = np.random.default_rng(seed)
    shared = random.random((30, 5)) < 0.3
    coders = []
    for _ in range(3):
        given = shared ^ (random.random((30, 5)) < 0.1)
        if not empty:
            given[~given.any(axis=1), 0] = True
        missing = random.random(30) < 0.15
        coders.append([None if missing[n] else frozenset(np.flatnonzero(given[n]).tolist()) for n in range(30)])
    return coders


@pytest.mark.parametrize("seed", range(5))
def test_alpha_with_masi_is_that_of_nltk(seed: int) -> None:
    """An independent implementation; it knows no empty sets."""
    agreement = pytest.importorskip("nltk.metrics.agreement")
    distance = pytest.importorskip("nltk.metrics.distance")
    codings = several_codes(seed, empty=False)
    rows = [
        (f"coder {i}", case, value) for i, coding in enumerate(codings) for case, value in enumerate(coding) if value
    ]
    assert value(set_alpha(codings)) == pytest.approx(agreement.AnnotationTask(rows, distance.masi_distance).alpha())
    for category in range(5):
        binary = [(coder, case, category in given) for coder, case, given in rows]
        found = alpha([coding_agreement.given(coding, category) for coding in codings])
        assert value(found) == pytest.approx(agreement.AnnotationTask(binary).alpha())


@pytest.mark.parametrize("seed", range(5))
def test_alpha_with_masi_is_one_minus_observed_over_expected_distance(seed: int) -> None:
    """By the definition: all ordered pairs of values within a case, and all of values of any cases."""
    codings = several_codes(seed, empty=True)
    cases = [[v for v in case if v is not None] for case in zip(*codings, strict=True)]
    cases = [case for case in cases if len(case) > 1]
    values = [v for case in cases for v in case]
    observed = sum(masi(a, b) / (len(case) - 1) for case in cases for a in case for b in case) / len(values)
    expected = sum(masi(a, b) for a in values for b in values) / len(values) / (len(values) - 1)
    assert value(set_alpha(codings)) == pytest.approx(1 - observed / expected)


@given(CODINGS)
def test_agreement_is_symmetric_at_most_one_and_ignores_the_order_of_cases(codings: tuple[Coding, Coding]) -> None:
    first, second = codings
    equal = set_alpha([first, first])
    assert equal.undefined or value(equal) == 1.0

    def binary(one: Coding, other: Coding) -> coding_agreement.Agreement:
        return kappa([coding_agreement.given(one, 1), coding_agreement.given(other, 1)])

    for measure in (lambda a, b: set_alpha([a, b]), binary):
        found, swapped, turned = measure(first, second), measure(second, first), measure(first[::-1], second[::-1])
        assert found.undefined == swapped.undefined == turned.undefined
        assert (found.estimate is None) == bool(found.undefined)
        if found.estimate is not None:
            values = [f.estimate.value for f in (found, swapped, turned) if f.estimate is not None]
            assert max(values) - min(values) < 1e-9 and found.estimate.value <= 1 + 1e-9
            assert found.estimate.low <= found.estimate.high


@given(SETS, SETS)
def test_masi_is_a_symmetric_dissimilarity(one: frozenset[int], other: frozenset[int]) -> None:
    found = masi(one, other)
    assert found == masi(other, one) and 0 <= found <= 1 and (found == 0) == (one == other)


def pair(table: list[list[int]]) -> list[np.ndarray]:
    """Return the codes of two coders with a contingency table."""
    cells = [(row, column) for row, counts in enumerate(table) for column, n in enumerate(counts) for _ in range(n)]
    return list(np.array(cells, dtype=np.int32).T)


def value(found: coding_agreement.Agreement) -> float:
    return found.estimate.value


def test_coefficients_of_a_table_of_four_codes_by_hand() -> None:
    """25 of 30 equal; the codes of the two are 3, 3, 12, 12 and 4, 4, 11, 11.

    kappa = (750 - 288) / (900 - 288), with 288 = 3·4 + 3·4 + 12·11 + 12·11;
    alpha = 1 - (10/60) / (1 - sum of t(t - 1) / (60 · 59)) with t = 7, 7, 23, 23.
    """
    codes = pair([[3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 10, 2], [1, 1, 1, 9]])
    assert value(kappa(codes)) == pytest.approx(462 / 612) and f"{462 / 612:.3f}" == "0.755"
    expected = 1 - (1 / 6) / (1 - (2 * 7 * 6 + 2 * 23 * 22) / (60 * 59))
    assert value(alpha(codes)) == pytest.approx(expected) and f"{expected:.3f}" == "0.759"


def test_kappa_of_three_coders_is_the_mean_over_pairs() -> None:
    a, b, c = single("0011220120"), single("0012220110"), single(".01122012.")
    known = c >= 0
    pairs = [cohen_kappa_score(a, b), cohen_kappa_score(a[known], c[known]), cohen_kappa_score(b[known], c[known])]
    assert value(kappa([a, b, c])) == pytest.approx(np.mean(pairs))


@given(LABELS, st.permutations(range(4)))
def test_coefficients_are_those_of_scikit_learn_and_of_sets_whatever_the_names_and_the_order(
    rows: tuple[list[int], ...], names: list[int]
) -> None:
    coders = [np.array(row, dtype=np.int32) for row in rows]
    both = (coders[0] >= 0) & (coders[1] >= 0)
    of_two = kappa(coders[:2])
    if of_two.estimate is not None:
        assert value(of_two) == pytest.approx(cohen_kappa_score(coders[0][both], coders[1][both]))
    else:
        assert not both.any() or len(np.unique(np.concatenate([coders[0][both], coders[1][both]]))) == 1
    nominal, of_sets = alpha(coders), set_alpha([coding_of(labels) for labels in coders])
    assert (nominal.cases, nominal.undefined) == (of_sets.cases, of_sets.undefined)
    assert nominal.estimate == of_sets.estimate or value(nominal) == pytest.approx(value(of_sets))
    renamed = [np.where(labels < 0, -1, np.array(names)[labels]).astype(np.int32) for labels in coders[::-1]]
    for measure in (alpha, kappa):
        found, again = measure(coders), measure(renamed)
        assert found.undefined == again.undefined and found.cases == again.cases
        if found.estimate is not None:
            assert value(found) == pytest.approx(value(again)) and value(found) <= 1 + 1e-9
            assert found.estimate.low <= found.estimate.high


@given(LABELS, st.booleans())
def test_coefficients_of_a_code_are_those_of_it_against_all_others(rows: tuple[list[int], ...], grouped: bool) -> None:
    coders = [np.array(row, dtype=np.int32) for row in rows]
    groups = np.arange(len(rows[0])) // 3 if grouped else None
    found = coefficients(coders, groups)
    for code, both in found.codes.items():
        one = [np.where(labels < 0, -1, labels == code).astype(np.int32) for labels in coders]
        for mine, expected in zip(both, (alpha(one, groups), kappa(one, groups)), strict=True):
            assert (mine.cases, mine.undefined) == (expected.cases, expected.undefined)
            if mine.estimate is not None:
                assert value(mine) == pytest.approx(value(expected))


def test_the_interval_covers_the_true_kappa_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two coders who give the true one of three codes with probability .8; 100 sentences, 200 studies."""
    monkeypatch.setattr(coding_agreement, "RESAMPLES", 400)
    random, hits = np.random.default_rng(5), 0
    equal = 0.8**2 + 2 * 0.1**2
    true = (equal - 1 / 3) / (1 - 1 / 3)
    for seed in range(200):
        truth = random.integers(0, 3, 100)
        coders = [
            np.where(random.random(100) < 0.8, truth, (truth + random.integers(1, 3, 100)) % 3).astype(np.int32)
            for _ in range(2)
        ]
        found = kappa(coders, seed=seed).estimate
        hits += found.low <= true <= found.high
    assert 180 <= hits <= 198


def test_whole_groups_are_drawn_and_their_intervals_are_wider() -> None:
    """Units of a group are all equal, so there is no more information than groups."""
    first, second = single("01010101"), single("01010110")
    groups = np.repeat(np.arange(8), 20)
    wide, narrow = (kappa([first.repeat(20), second.repeat(20)], of).estimate for of in (groups, None))
    single_units = kappa([first, second]).estimate
    assert wide.value == pytest.approx(single_units.value)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    codings = several_codes(1, empty=True)
    alone, grouped = set_alpha(codings), set_alpha(codings, groups=np.repeat(np.arange(5), 6))
    assert value(alone) == pytest.approx(value(grouped)) and alone.estimate != grouped.estimate
