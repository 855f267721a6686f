import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.labelling.agreement import PairTable
from themescope.core.labelling.consensus import (
    UNDETERMINED,
    CoAssignment,
    RaterModel,
    Reliability,
    co_assignment,
    consensus,
    disputed,
    expected_ari,
    fit,
    jackknife,
    support,
)
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig
from themescope.core.types import Ids, Labels

ARI = AdjustedRandIndex(MetricConfig())
ERRORS = (0.03, 0.1, 0.2, 0.35)


def simulated(seed: int, articles: int = 12, errors: tuple[float, ...] = ERRORS) -> tuple[Labels, list[Labels], Ids]:
    """Articles with 5 themes, and raters who put a share of the sentences into a random theme."""
    random = np.random.default_rng(seed)
    of = np.repeat(np.arange(articles), random.integers(15, 40, articles))
    truth = random.integers(0, 5, len(of)).astype(np.int32)
    raters = [np.where(random.random(len(of)) < e, random.integers(0, 5, len(of)), truth) for e in errors]
    return truth, [rater.astype(np.int32) for rater in raters], of.astype(np.int64)


def of_pairs(found: CoAssignment, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Probabilities of pairs of sentences; NaN where nobody has assigned one of them."""
    of = found.profiles.inverse
    probabilities = np.pad(found.between(np.arange(len(found.profiles.sizes))), (0, 1), constant_values=np.nan)
    return probabilities[of[i], of[j]]


def values(model: RaterModel) -> np.ndarray:
    return np.stack([model.rates.sensitivity, model.rates.specificity])


def balanced_rate(found: Reliability) -> float:
    return (found.sensitivity.value + found.specificity.value) / 2


def test_reliabilities_are_recovered_with_their_order() -> None:
    truth, raters, articles = simulated(0)
    model = fit(raters, articles)
    balanced = [balanced_rate(found) for found in model.reliabilities]
    assert balanced == sorted(balanced, reverse=True)
    for rater, found in zip(raters, model.reliabilities, strict=True):
        right = wrong = judged_apart = kept_apart = 0
        for article in np.unique(articles):
            i, j = np.triu_indices(int((articles == article).sum()), 1)
            same, said = (x[articles == article][i] == x[articles == article][j] for x in (truth, rater))
            right, wrong = right + int((same & said).sum()), wrong + int((same & ~said).sum())
            judged_apart, kept_apart = judged_apart + int((~same).sum()), kept_apart + int((~same & ~said).sum())
        assert found.sensitivity.value == pytest.approx(right / (right + wrong), abs=0.05)
        assert found.specificity.value == pytest.approx(kept_apart / judged_apart, abs=0.03)
        assert found.sensitivity.low <= found.sensitivity.value <= found.sensitivity.high
    assert model.intervals_over == "texts" and not model.undefined and not model.equal


def test_counts_are_those_of_all_pairs() -> None:
    _, raters, articles = simulated(2, articles=3)
    raters[0][::3] = -1
    counts = PairTable(raters, articles).counts()
    expected: dict[tuple[int, ...], float] = {}
    for article in np.unique(articles):
        own = [rater[articles == article] for rater in raters]
        i, j = np.triu_indices(len(own[0]), 1)
        said = np.stack([np.where((r[i] < 0) | (r[j] < 0), -1, r[i] == r[j]) for r in own], axis=1)
        said = said[(said >= 0).sum(axis=1) >= 2]
        for row in said:
            key = tuple(row.tolist())
            expected[key] = expected.get(key, 0.0) + 1 / np.sqrt(2 * len(said))
    found = {tuple(row.tolist()): w for row, w in zip(counts.judgements, counts.weights, strict=True)}
    assert found == pytest.approx(expected)
    assert counts.parts_of == "units"


def test_more_raters_than_fit_one_code() -> None:
    _, raters, articles = simulated(3, articles=2, errors=(0.1,) * 80)
    counts = PairTable(raters, articles).counts()
    few = PairTable(raters[:3], articles).counts()
    assert counts.judgements.shape[1] == 80
    assert counts.weights.sum() == pytest.approx(few.weights.sum())
    assert len(np.unique(counts.judgements, axis=0)) == len(counts.judgements)


def test_perfect_raters_leave_no_doubt() -> None:
    truth, _, articles = simulated(4)
    model = fit([truth, truth + 7, truth * 2], articles)
    rows = np.flatnonzero(articles == 0)
    own = [truth[rows]] * 3
    i, j = np.triu_indices(len(rows), 1)
    probabilities = of_pairs(co_assignment(model, own), i, j)
    together = truth[rows][i] == truth[rows][j]
    assert probabilities[together].min() > 0.999 and probabilities[~together].max() < 0.001
    assert ARI.score(truth[rows], consensus(co_assignment(model, own)).labels) == pytest.approx(1.0)


def test_the_better_rater_breaks_a_tie_and_the_posterior_is_calibrated() -> None:
    truth, raters, articles = simulated(5, articles=30)
    model = fit(raters, articles)
    of, same = [], []
    for article in range(30):
        rows = np.flatnonzero(articles == article)
        i, j = np.triu_indices(len(rows), 1)
        own = [raters[0][rows], np.full(len(rows), -1), raters[2][rows], raters[3][rows]]
        of.append(of_pairs(co_assignment(model, own), i, j))
        same.append(truth[rows][i] == truth[rows][j])
    p, z = np.concatenate(of), np.concatenate(same)
    tenth = np.minimum((p * 10).astype(int), 9)
    differences = [abs(p[tenth == b].mean() - z[tenth == b].mean()) * (tenth == b).mean() for b in np.unique(tenth)]
    assert sum(differences) < 0.03
    one = [np.array([0, 0], dtype=np.int32), np.array([0, 1], dtype=np.int32)]
    nobody = np.full(2, -1, dtype=np.int32)
    good_says_yes, good_says_no = (
        of_pairs(co_assignment(model, raters, share=0.3), np.array([0]), np.array([1]))
        for raters in ([one[0], nobody, nobody, one[1]], [one[1], nobody, nobody, one[0]])
    )
    assert good_says_yes[0] > 0.5 > good_says_no[0]


@pytest.mark.parametrize(
    ("raters", "why"),
    [
        ([[-1, -1, -1]], "nobody"),
        ([[0, 0, 1]], "only one person"),
        ([[0, 0, 1], [-1, -1, -1]], "only one person"),
        ([[0, 0, -1], [-1, -1, 1]], "no pair"),
        ([[0, 0, 0], [1, 1, 1]], "every pair together"),
        ([[0, 1, 2], [2, 1, 0]], "every pair apart"),
    ],
)
def test_what_is_undefined_says_why(raters: list[list[int]], why: str) -> None:
    model = fit([np.array(labels, dtype=np.int32) for labels in raters], np.zeros(3, dtype=np.int64))
    assert why in model.undefined
    assert all(r.sensitivity is None and r.specificity is None and why in r.undefined for r in model.reliabilities)


def test_people_are_taken_as_equal_where_nothing_tells_them_apart() -> None:
    truth, (good, _, _, bad), articles = simulated(6)
    alone = fit([good, bad], articles)
    assert alone.equal and not alone.undefined
    assert {found.undefined for found in alone.reliabilities} == {UNDETERMINED}
    assert alone.rates.sensitivity[0] == pytest.approx(alone.rates.sensitivity[1])
    gold = np.where(articles < 9, truth, -1)
    known = fit([good, bad, gold], articles, gold=[2])
    first, second, _ = known.reliabilities
    assert not known.equal and first.sensitivity is not None and second.sensitivity is not None
    assert balanced_rate(first) > balanced_rate(second) + 0.1
    few = np.array([0, 0, 1, 1, -1], dtype=np.int32)
    found = fit([few, few, np.array([0, 1, 1, 1, 0], dtype=np.int32)], np.zeros(5, dtype=np.int64))
    assert found.equal and not found.undefined
    assert all("by three people" in r.undefined and "two people alone" not in r.undefined for r in found.reliabilities)


def test_where_too_few_labels_overlap_there_is_no_value() -> None:
    _, raters, articles = simulated(1)
    none = [np.full(4, -1, dtype=np.int32) for _ in raters]
    assert np.isnan(support(co_assignment(fit(raters, articles), none))).all()
    assert support(co_assignment(fit(raters, articles), none)).shape == (len(raters), 4)
    _, raters, articles = simulated(7)
    raters[3][articles > 0] = -1
    raters[3][np.flatnonzero(articles == 0)[3:]] = -1
    *others, few = fit(raters, articles).reliabilities
    assert all(found.sensitivity is not None for found in others)
    assert few.sensitivity is None and "too few" in few.undefined


def test_few_articles_have_intervals_over_sentences() -> None:
    _, raters, articles = simulated(8, articles=4)
    model = fit(raters, articles)
    assert model.intervals_over == "units"
    found = [r.sensitivity for r in model.reliabilities if r.sensitivity is not None]
    assert len(found) == len(raters) and all(one.low < one.high for one in found)
    jackknifed = jackknife(0.8, np.full(9, 0.8))
    assert (jackknifed.low, jackknifed.value, jackknifed.high, jackknifed.n) == (0.8, 0.8, 0.8, 9)
    assert jackknife(0.8, np.array([0.7, 0.9, 0.8])).low < 0.7


@st.composite
def labelled(draw: st.DrawFn) -> tuple[list[Labels], Ids]:
    n, raters = draw(st.integers(4, 24)), draw(st.integers(3, 5))
    label = st.integers(-1, 3)
    found = [draw(st.lists(label, min_size=n, max_size=n)) for _ in range(raters)]
    articles = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return [np.array(row, dtype=np.int32) for row in found], np.array(articles, dtype=np.int64)


@settings(max_examples=40, deadline=None)
@given(labelled(), st.randoms(use_true_random=False))
def test_the_consensus_is_a_partition_and_names_and_the_order_of_raters_and_sentences_do_not_matter(
    given: tuple[list[Labels], Ids], random: object
) -> None:
    raters, articles = given
    names = [random.sample(range(9), 4) for _ in raters]  # type: ignore[attr-defined]
    renamed = [np.where(r < 0, -1, np.array(to)[r]).astype(np.int32) for r, to in zip(raters, names, strict=True)]
    before, after = fit(raters, articles), fit(renamed, articles)
    assert before.undefined == after.undefined
    assert values(after) == pytest.approx(values(before), abs=1e-6)
    i, j = np.triu_indices(len(articles), 1)
    one, other = (of_pairs(co_assignment(after, renamed), i, j), of_pairs(co_assignment(before, raters), i, j))
    assert one == pytest.approx(other, abs=1e-5, nan_ok=True)
    found = co_assignment(before, raters)
    every = np.arange(len(found.profiles.sizes))
    probabilities = found.between(every)
    assert probabilities == pytest.approx(probabilities.T)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    made = consensus(found)
    assigned = np.any([r >= 0 for r in raters], axis=0)
    assert ((made.labels >= 0) == assigned).all()
    assert ((made.certainty >= 0) & (made.certainty <= 1)).all() and made.expected_ari <= 1.0
    assert (disputed(found)[np.sum([r >= 0 for r in raters], axis=0) < 2] == 0).all()
    order = random.sample(range(len(raters)), len(raters))  # type: ignore[attr-defined]
    rows = np.array(random.sample(range(len(articles)), len(articles)))  # type: ignore[attr-defined]
    turned = fit([raters[r][rows] for r in order], articles[rows])
    assert values(turned) == pytest.approx(values(before)[:, order], abs=1e-6)


def test_the_consensus_has_the_highest_expected_ari_of_the_raters() -> None:
    truth, raters, articles = simulated(9)
    model = fit(raters, articles)
    rows = np.flatnonzero(articles == 2)
    found = co_assignment(model, [rater[rows] for rater in raters])
    made = consensus(found)
    for rater in raters:
        own = np.unique(rater[rows], return_inverse=True)[1]
        profile = np.zeros(len(found.profiles.sizes), dtype=np.int32)
        profile[found.profiles.inverse] = own
        together = found.between(np.arange(len(profile)))
        assert made.expected_ari >= expected_ari(profile, together, found.profiles.sizes) - 1e-12
    assert ARI.score(truth[rows], made.labels) >= ARI.score(truth[rows], raters[2][rows])


def test_the_expected_ari_of_certain_pairs_is_the_ari() -> None:
    truth, guess = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1], dtype=np.int32)
    certain = (truth[:, None] == truth[None, :]).astype(float)
    assert expected_ari(guess, certain, np.ones(5)) == pytest.approx(ARI.score(truth.astype(np.int32), guess))


def test_a_long_text_has_few_profiles() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 12, 60_000).astype(np.int32)
    raters = [np.where(random.random(len(truth)) < e, random.integers(0, 12, len(truth)), truth).astype(np.int32)
              for e in (0.1, 0.2)]  # fmt: skip
    model = fit(raters, np.zeros(len(truth), dtype=np.int64))
    made = consensus(co_assignment(model, raters))
    assert len(made.labels) == 60_000
    assert ARI.score(truth, made.labels) > 0.6
