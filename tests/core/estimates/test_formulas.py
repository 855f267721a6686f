import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from themescope.core.metrics import formulas


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 29, 500, 1000])
def test_quantile_of_t(degrees: int) -> None:
    assert formulas.t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)
    assert formulas.t_tail(1.7, degrees) == pytest.approx(stats.t.sf(1.7, degrees), rel=1e-9)
    # Beyond 1,000 degrees there is an expansion.
    assert formulas.t_quantile(1001) == pytest.approx(stats.t.ppf(0.975, 1001), abs=1e-5)


def example(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    label = (random.random(n) < 0.4).astype(float)
    code = np.where(random.random(n) < 0.2, 1 - label, label)
    weight = np.where(random.random(n) < 0.3, random.choice([2.0, 5.0], n), 0.0)
    return np.where(weight > 0, label, 0), code, weight, random.integers(0, 40, n)


def test_people_alone_is_the_weighted_mean_with_wilsons_interval() -> None:
    label, weight = np.array([1.0] * 30 + [0.0] * 70 + [0.0] * 900), np.array([10.0] * 100 + [0.0] * 900)
    found = formulas.mean(label, None, weight, np.arange(1000), 1000)
    assert found.value == pytest.approx(0.3)
    assert found.variance == pytest.approx(0.3 * 0.7 / 99)
    t = stats.t.ppf(0.975, 99)
    low, high = formulas.interval(found)
    # Wilson: the ends are the shares from which .3 is t standard errors away.
    for end in (low, high):
        assert abs(0.3 - end) == pytest.approx(t * np.sqrt(end * (1 - end) / 99), rel=1e-6)


@pytest.mark.parametrize(("n", "end"), [(21, 0.172), (100, 0.038)])
def test_all_or_none_is_no_proof_of_all_or_none(n: int, end: float) -> None:
    for label, ends in ((0.0, (0.0, end)), (1.0, (1 - end, 1.0))):
        found = formulas.mean(np.full(n, label), None, np.full(n, 1 / 0.7), np.arange(n), n)
        assert found.value == label and formulas.interval(found) == pytest.approx(ends, abs=1e-3)


def test_variance_is_that_of_clusters() -> None:
    label, _, weight, document = example()
    found = formulas.mean(label, None, weight, document, 40)
    shares = weight / weight.sum()
    sums = [(shares * (label - shares @ label))[document == d].sum() for d in range(40)]
    labelled = len(np.unique(document[weight > 0]))
    assert found.variance == pytest.approx(np.square(sums).sum() * labelled / (labelled - 1), rel=0.02)


def test_tuning_has_the_least_variance() -> None:
    label, code, weight, document = example()
    found = formulas.mean(label, code, weight, document, 40)
    assert 0 < found.tuning < 1
    shares = weight / weight.sum()

    def corrected(tuning: float) -> tuple[float, float]:
        rest = label - tuning * code
        parts = tuning * (code - code.mean()) / len(code) + shares * (rest - shares @ rest)
        return tuning * code.mean() + shares @ rest, np.square(np.bincount(document, parts)).sum()

    value, variance = corrected(found.tuning)
    assert found.value == pytest.approx(value)
    assert found.influence @ found.influence == pytest.approx(variance)
    # The added errors make it use the machine a little less than the labels alone suggest.
    best = min(np.linspace(0, 1, 201), key=lambda tuning: corrected(tuning)[1])
    assert best - 0.1 < found.tuning <= best + 0.005


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_mean_of_constant_codes_is_that_of_people(seed: int, constant: float) -> None:
    label, _, weight, document = example(80, seed)
    weight[:3] = 2.0
    people = formulas.mean(label, None, weight, document, 40)
    found = formulas.mean(label, np.full(80, constant), weight, document, 40)
    assert found.value == pytest.approx(people.value)
    low, high = formulas.interval(found)
    assert 0 <= low <= min(1, max(0, found.value)) <= high <= 1


def test_ratio_is_the_composition_of_the_code() -> None:
    label, code, weight, document = example(2000)
    part = (document < 15).astype(float)
    found = formulas.ratio(part, label, code, weight, document, 40)
    rest = label - found.tuning * code
    shares = weight / weight.sum()
    totals = [(x * found.tuning * code).mean() + shares @ (x * rest) for x in (part, np.ones(2000))]
    assert found.value == pytest.approx(totals[0] / totals[1])
    other = formulas.ratio(1 - part, label, code, weight, document, 40)
    assert found.value + other.value == pytest.approx(1, abs=1e-3)


def test_difference_of_independent_groups_is_newcombes() -> None:
    # Newcombe 1998, table II, example (a): 56/70 and 48/80, interval .0524 to .3339 with z; with t a little wider.
    first = formulas.mean(np.r_[np.ones(56), np.zeros(94)], None, np.r_[np.ones(70), np.zeros(80)], np.arange(150), 150)
    second = formulas.mean(
        np.r_[np.zeros(70), np.ones(48), np.zeros(32)], None, np.r_[np.zeros(70), np.ones(80)], np.arange(150), 150
    )
    value, low, high = formulas.difference(first, second)
    assert (value, low, high) == pytest.approx((0.2, 0.0524, 0.3339), abs=0.004)
    assert low < 0.0524 < 0.3339 < high


def test_documents_that_do_not_differ_are_no_proof_that_no_document_does() -> None:
    """Both units of a document have the same label: the difference is 0 in each of 30, so that the rule of three says
    that it is ± 1 in fewer than one document of ten."""
    label = np.repeat((np.arange(30) % 2).astype(float), 2)
    document, side = np.repeat(np.arange(30), 2), np.tile([1.0, 0.0], 30)
    value, low, high = formulas.difference(
        *(formulas.mean(label * of, None, of, document, 30) for of in (side, 1 - side))
    )
    assert value == 0 and high == -low and 0.06 < high < 0.12


@st.composite
def designs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Weights and documents of 1 to 500 labels: strata with probabilities .01 to 1, units alone or in documents."""
    n = draw(st.integers(1, 500))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    chances = np.array(draw(st.lists(st.floats(0.01, 1), min_size=1, max_size=4)))
    size = draw(st.sampled_from([1, 1, 2, 7, 500]))
    return 1 / chances[random.integers(0, len(chances), n)], np.arange(n) // size


@given(designs(), st.booleans(), st.booleans())
def test_a_unanimous_sample_leaves_open_what_could_have_given_it(
    design: tuple[np.ndarray, np.ndarray], machine: bool, repeated: bool
) -> None:
    weight, document = design
    n, documents = len(weight), len(np.unique(document))
    rest = 3 * n if machine else 0  # units without a label
    code = np.arange(n + rest) % 3 % 2.0 if machine else None
    weights, place = np.r_[weight, np.zeros(rest)], np.r_[document, np.full(rest, documents)]
    ends = []
    for given_ in (0.0, 1.0):
        label = np.r_[np.full(n, given_), np.zeros(rest)]
        mirrored = code if code is None or not given_ else 1 - code
        found = formulas.mean(label, mirrored, weights, place, documents + 1)
        assert found.value == given_
        ends.append(formulas.interval(found))
    (low, high), (below, above) = ends
    assert low == 0 and above == 1 and high == pytest.approx(1 - below) and 0 < high < 1
    # The share of each stratum that gives no unit with the code in 2.5 % of samples, if the others have none.
    for chance in np.unique(weight):
        if (weight == chance).sum() == n or documents == n:  # else documents have units of several strata
            inside = weight == chance
            drawn = len(np.unique(document[inside]))
            assert high >= inside.sum() * chance / weight.sum() * (1 - 0.025 ** (1 / drawn)) - 1e-9
    if repeated:  # weights that differ by rounding only
        noisy = weights * (1 + 1e-16 * np.arange(len(weights)))
        other = formulas.interval(formulas.mean(np.r_[np.ones(n), np.zeros(rest)], None, noisy, place, documents + 1))
        assert other == pytest.approx((below, above))


@given(designs(), st.integers(0, 10**6))
def test_intervals_have_a_width_and_a_mirror_image(design: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    weight, document = design
    random, n = np.random.default_rng(seed), len(weight)
    place = document, int(document.max()) + 1
    label, code, part = ((random.random(n) < p).astype(float) for p in random.choice([0, 0.02, 0.5, 1], 3))
    for f in (None, code):
        mirror = None if f is None else 1 - f
        pairs = [(formulas.mean(label, f, weight, *place), formulas.mean(1 - label, mirror, weight, *place))]
        pairs += [tuple(formulas.ratio(of, label, f, weight, *place) for of in (part, 1 - part))]
        for one, other in pairs:
            if np.isnan(one.value):
                continue
            (low, high), (below, above) = formulas.interval(one), formulas.interval(other)
            assert 0 <= low < high <= 1 and low <= min(1, max(0, one.value)) <= high
            assert (low, high) == pytest.approx((1 - above, 1 - below), abs=1e-6)
        value, low, high = formulas.difference(*pairs[0])
        assert low < high and low <= value <= high


@pytest.mark.parametrize("n", [5, 21, 160])
def test_documents_that_are_alike_say_no_more_than_their_number(n: int) -> None:
    """Half of the units of each document have the code, and the weights differ: rounding would make it certain."""
    label = np.tile([1.0, 0.0, 1.0, 0.0], n)
    weight = np.repeat(np.random.default_rng(n).choice([1 / 0.3, 1 / 0.07], n), 4)
    found = formulas.mean(label, None, weight, np.repeat(np.arange(n), 4), n)
    low, high = formulas.interval(found)
    assert found.value == pytest.approx(0.5) and high - low > 1.5 / np.sqrt(n)


def test_parts_of_a_rare_code_have_the_labels_with_the_code_only() -> None:
    """All 5 units with the code of 500 are in the group: that is 5 of 5, not 500 of 500."""
    label, n = (np.arange(500) < 5).astype(float), 500
    found = formulas.ratio((np.arange(n) < 100).astype(float), label, None, np.ones(n), np.arange(n), n)
    five = formulas.mean(np.ones(5), None, np.ones(5), np.arange(5), 5)
    assert found.value == 1 and formulas.interval(found) == pytest.approx(formulas.interval(five))
