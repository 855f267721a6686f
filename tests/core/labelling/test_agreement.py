import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.labelling.agreement import (
    agreement_on_codes,
    common_codes,
    compare,
    dispute,
    pair_alpha,
    replacement_test,
)
from themescope.core.metrics.coding_agreement import Decision, set_alpha


def labels(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


ONE = np.zeros(6, dtype=np.int64)


def test_agreement_of_partitions_by_hand() -> None:
    a, b = labels(0, 0, 1, 1, 2, 2), labels(7, 7, 3, 3, 5, 5)
    found = compare(a, b, ONE)
    assert found.ari.value == pytest.approx(1.0)
    assert found.ami.value == pytest.approx(1.0)
    assert pair_alpha([a, b], ONE).value == pytest.approx(1.0)
    a, b = labels(0, 0, 1), labels(0, 1, 1)
    assert pair_alpha([a, b], ONE[:3]).value == pytest.approx(-0.25)
    # Total disagreement: one puts all together, the other all apart. N1 = N0 = 3, D_o = 1, D_e = 18/30.
    assert pair_alpha([labels(0, 0, 0), labels(0, 1, 2)], ONE[:3]).value == pytest.approx(1 - 30 / 18)
    found = compare(labels(0, 0, 0), labels(0, 1, 2), ONE[:3])
    assert found.ari is not None and found.ari.value == pytest.approx(0.0)


def test_missing_labels_are_left_out_and_articles_compared_one_by_one() -> None:
    a, b = labels(0, 0, 1, 1, -1, 2), labels(0, 0, 1, 1, 1, -1)
    found = compare(a, b, ONE)
    assert (found.shared, found.articles) == (4, 1)
    assert found.ari is not None and found.ari.value == pytest.approx(1.0)
    # Three raters, the third judged one pair only: together, with the others.
    three = pair_alpha([a, b, labels(3, 3, -1, -1, -1, -1)], ONE)
    assert three.value == pytest.approx(1.0)
    assert three.pairs == 6
    a, b = labels(0, 0, 1, 0, 0, 1), labels(0, 0, 1, 0, 1, 1)
    found = compare(a, b, np.array([1, 1, 1, 2, 2, 2]))
    assert found.articles == 2
    assert found.ari.low < found.ari.value < found.ari.high
    assert pair_alpha([a, b], np.array([1, 1, 1, 2, 2, 2])).pairs == 6


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (labels(0, 0, 0), labels(1, 1, 1), "both have only one code"),
        (labels(0, -1, -1), labels(-1, 0, 0), "no coded unit in common"),
        (labels(0, -1, -1), labels(2, -1, -1), "only one unit"),
    ],
)
def test_what_is_undefined_says_why(a: np.ndarray, b: np.ndarray, why: str) -> None:
    found = compare(a, b, ONE[:3])
    assert found.ari is None and found.ami is None
    assert why in found.undefined
    whole = pair_alpha([a, b], ONE[:3])
    assert whole.value is None
    assert whole.undefined


@given(st.lists(st.tuples(*[st.integers(-1, 3)] * 3), min_size=1, max_size=12), st.permutations(range(4)))
def test_alpha_knows_no_names_and_no_order(rows: list[tuple[int, int, int]], names: list[int]) -> None:
    raters = list(np.array(rows, dtype=np.int32).T)
    where = np.arange(len(rows)) % 2
    first = pair_alpha(raters, where)
    renamed = [np.array([names[x] if x >= 0 else -1 for x in raters[0]], dtype=np.int32), *raters[1:]]
    again = pair_alpha(renamed[::-1], where)
    assert first.pairs == again.pairs
    assert (first.value is None) == (again.value is None)
    if first.value is not None:
        assert first.value == pytest.approx(again.value)
        assert first.value <= 1.0 + 1e-12


def test_disputes_are_of_codes_or_of_matched_clusters() -> None:
    a, b, c = labels(0, 0, 1, 1, 2, -1), labels(5, 5, 3, 3, 3, 9), labels(1, 1, 2, 7, 7, -1)
    found = dispute([a, b, c])
    assert found[0] == found[5] == 0 and found[3] == pytest.approx(1 / 3)
    assert dispute([a, a[::-1].copy()]).max() <= 0.5
    swapped = labels(1, 1, 0, 0, 2, -1)
    assert dispute([a, swapped]).max() == 0, "clusters have no names"
    names = {0: "Politics", 1: "Religion", 2: "Economy"}
    assert dispute([a, swapped], [names, names]).tolist() == [0.5] * 4 + [0, 0], "codes have"


CODES = {1: "Politics", 2: "Religion", 3: "Economy"}


def test_clusters_with_the_same_name_are_one_code_and_without_common_names_there_is_no_agreement() -> None:
    a, b = labels(1, 1, 2, 2, 3, -1), labels(7, 7, 5, 5, 7, 7)
    found = common_codes([a, b], [CODES, {7: " politics", 5: "Religion"}])
    (first, second), codes, own = found.labels, found.names, found.own
    assert first.tolist() == [0, 0, 1, 1, 2, -1] and second.tolist() == [0, 0, 1, 1, 0, 0]
    assert codes == ["Politics", "Religion", "Economy"] and own == ["Economy"]
    a, b = labels(1, 1, 2, 2), labels(1, 1, 2, 2)
    assert agreement_on_codes([a, b], [CODES, {1: "bridge", 2: "river"}], ONE[:4]) is None
    assert agreement_on_codes([a, b], [{1: "", 2: ""}, {1: "", 2: ""}], ONE[:4]) is None
    one_of_four = {1: "bridge", 2: "river", 3: "Economy"}
    assert agreement_on_codes([labels(1, 2, 2, 3)] * 2, [CODES, one_of_four], ONE[:4]) is None


def test_people_agree_on_codes_one_by_one_whatever_their_partitions() -> None:
    a, b = labels(1, 1, 1, 2, 2, 2), labels(2, 2, 2, 1, 1, 1)
    assert pair_alpha([a, b], ONE).value == pytest.approx(1.0)
    found = agreement_on_codes([a, b], [CODES, CODES], ONE)
    assert found is not None and found.observed == 0
    assert found.kappa.estimate is not None and found.kappa.estimate.value == pytest.approx(-1.0)
    assert found.alpha.estimate is not None and found.alpha.estimate.value < 0
    a, b = labels(1, 1, 2, 2, 3, 3), labels(1, 1, 2, 3, 3, 2)
    found = agreement_on_codes([a, b], [CODES, CODES], ONE)
    assert found is not None and (found.coders, found.sentences, found.over) == (2, 6, "units")
    by_name = {code.name: code for code in found.codes}
    assert {name: (code.counts, code.both) for name, code in by_name.items()} == {
        "Politics": ((2, 2), 2), "Religion": ((2, 2), 1), "Economy": ((2, 2), 1),
    }  # fmt: skip
    kappas = {name: code.kappa.estimate.value for name, code in by_name.items() if code.kappa.estimate is not None}
    # Religion: equal 4 of 6, expected (2·2 + 4·4)/36, so kappa = (24 - 20)/(36 - 20).
    assert kappas == pytest.approx({"Politics": 1.0, "Religion": 0.25, "Economy": 0.25})
    a, b = np.tile(labels(1, 2, 3), 8), np.tile(labels(1, 2, 2), 8)
    found = agreement_on_codes([a, b], [CODES, CODES], np.repeat(np.arange(8), 3))
    assert found is not None and found.over == "texts"


def test_sets_of_codes_are_compared_whatever_their_clusters_are_called() -> None:
    """Ada's 4 and Ben's 9 are Politics and Religion; alpha is that of the sets, and a code is given or not."""
    a, b = labels(1, 4, 2, 3, 4), labels(1, 1, 2, 9, 9)
    names = [CODES | {4: "Politics + Religion"}, CODES | {9: "Religion + Politics"}]
    found = agreement_on_codes([a, b], names, ONE[:5], sets=[{4: frozenset({1, 2})}, {9: frozenset({2, 1})}])
    assert found is not None and found.several and found.observed == pytest.approx(3 / 5)
    p, r, e = (frozenset({code}) for code in (0, 1, 2))
    expected = set_alpha([[p, p | r, r, e, p | r], [p, p, r, p | r, p | r]])
    assert found.alpha.estimate.value == pytest.approx(expected.estimate.value)
    counts = {code.name: (code.counts, code.both) for code in found.codes}
    assert counts == {"Politics": ((3, 4), 3), "Religion": ((3, 3), 2), "Economy": ((1, 0), 0)}
    assert [code.name for code in found.codes if code.alpha.estimate and code.alpha.estimate.value == 1] == []
    alone = agreement_on_codes([a, b], names, ONE[:5])
    assert alone is None or not alone.several


def test_a_machine_that_leaves_out_what_is_hard_does_not_pass() -> None:
    """Codes of the same name have other numbers; where the machine abstains, it agrees with nobody."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 90).astype(np.int32)
    people = [np.where(random.random(90) < 0.1, (truth + 1) % 3, truth).astype(np.int32) for _ in range(3)]
    named, renumbered = {0: "a", 1: "b", 2: "c"}, {2: "A", 0: "b", 1: "c "}
    machine = np.array([2, 0, 1], np.int32)[truth]
    names = [named, named, named, renumbered]
    nowhere, hard = np.zeros(90, np.bool_), np.arange(90) % 3 == 0
    whole = replacement_test(people, machine, names, nowhere, 0.15)
    part = replacement_test(people, np.where(hard, -1, machine).astype(np.int32), names, hard, 0.15)
    not_asked = replacement_test(people, np.where(hard, -1, machine).astype(np.int32), names, nowhere, 0.15)
    assert (whole.verdict, part.verdict, not_asked.verdict) == (Decision.PASSED, Decision.FAILED, Decision.PASSED)
    assert [one.units for one in part.people] == [90] * 3 and [one.units for one in not_asked.people] == [60] * 3
    assert replacement_test(people, machine, [named, named, named, {0: "x", 1: "y", 2: "z"}], nowhere, 0.15) is None
