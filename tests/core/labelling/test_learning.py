import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import apply
from themescope.core.labelling.learning import Placed, contradictions, labelled_triplets, recluster, section_separation
from themescope.core.labelling.partition import UNASSIGNED, Cluster, start
from themescope.core.types import Split, split_of_title

CLUSTERS = [Cluster(1, "a", 0), Cluster(2, "b", 1), Cluster(3, "c", 2)]
TITLES = [f"Article {n}" for n in range(60)]


@given(st.lists(st.lists(st.sampled_from([None, 1, 2, 3]), min_size=6, max_size=6), min_size=1, max_size=4))
def test_contradictions_are_those_of_every_pair_compared(said: list[list[int | None]]) -> None:
    """``said``: by labelling, the cluster that each sentence was placed in, or None where nobody placed it."""
    labellings = [
        Placed(start(np.arange(6), [c or 1 for c in row], CLUSTERS), np.flatnonzero([c is not None for c in row]))
        for row in said
    ]
    wanted = []
    for a, b in itertools.combinations(range(6), 2):
        both = [(n, row[a] == row[b]) for n, row in enumerate(said) if row[a] and row[b]]
        sides = (tuple(n for n, same in both if same), tuple(n for n, same in both if not same))
        wanted += [(a, b, *sides)] if all(sides) else []
    assert [(c.first, c.second, c.together, c.apart) for c in contradictions(labellings)] == wanted
    assert len(contradictions(labellings, most=1)) == min(1, len(wanted))


def test_shares_of_nearer_sentences_are_those_of_every_pair_compared() -> None:
    random = np.random.default_rng(3)
    n = 40
    x, articles, sections = random.normal(size=(n, 5)), random.integers(0, 3, n), random.integers(0, 3, n)
    articles[-1] = 7  # alone in its article
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    for row, share in enumerate(section_separation(x, articles, sections)):
        near = [i for i in range(n) if i != row and articles[i] == articles[row]]
        pairs = [
            np.sign(unit[row] @ unit[a] - unit[row] @ unit[b]) / 2 + 0.5
            for a in near if sections[a] == sections[row] for b in near if sections[b] != sections[row]
        ]  # fmt: skip
        assert share == pytest.approx(np.mean(pairs)) if pairs else np.isnan(share)
    assert np.isnan(section_separation(x, articles, sections)[-1])
    assert np.nanmean(section_separation(np.ones((n, 2)), articles, sections)) == 0.5


@given(st.lists(st.sampled_from(TITLES), min_size=1, max_size=6, unique=True), st.integers(0, 99))
def test_test_articles_never_teach(titles: list[str], seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 6 * len(titles)
    partition = start(np.arange(n), random.choice([1, 2, UNASSIGNED], n), CLUSTERS)
    assigned = partition.ids[partition.numbers != UNASSIGNED]
    article_of = {i: i // 6 for i in range(n)}
    placed = Placed(partition, assigned[random.random(len(assigned)) < 0.7])
    barred = [(0, 1), (2, 3)]
    found = labelled_triplets(placed, article_of, dict(enumerate(titles)), barred, seed=seed)
    assert set(found) == {Split.TRAIN, Split.VALIDATION}
    number = dict(zip(partition.ids.tolist(), partition.numbers.tolist(), strict=True))
    for split, rows in found.items():
        listed = zip(rows.articles, rows.pivots, rows.positives, rows.negatives, strict=True)
        for article, pivot, positive, negative in listed:
            assert split_of_title(titles[article]) is split is not Split.TEST
            assert {article_of[int(s)] for s in (pivot, positive, negative)} == {int(article)}
            assert pivot in placed.ids
            assert pivot != positive
            assert number[int(pivot)] == number[int(positive)] != number[int(negative)] != UNASSIGNED
            for pair in barred:
                assert {int(pivot), int(positive)} != set(pair)
                assert {int(pivot), int(negative)} != set(pair)


def test_an_article_without_a_title_is_refused() -> None:
    placed = Placed(start([1, 2], [1, 2], CLUSTERS), np.array([1]))
    with pytest.raises(DataError, match="no title"):
        labelled_triplets(placed, {1: 7, 2: 7}, {})


@given(st.integers(0, 200))
def test_what_people_placed_stays_when_the_rest_is_clustered_again(seed: int) -> None:
    random = np.random.default_rng(seed)
    p = start(np.arange(20), random.choice([1, 2, 3, UNASSIGNED], 20), CLUSTERS)
    fixed = np.flatnonzero(random.random(20) < 0.4)
    after = recluster(p, random.normal(size=(20, 3)).astype(np.float32), fixed)
    assert np.array_equal(after.numbers[after.rows(fixed)], p.numbers[p.rows(fixed)])
    assert dict(after.clusters) == dict(p.clusters)
    assert set(p.numbers.tolist()) - {UNASSIGNED} <= set(after.numbers.tolist())


def test_the_rest_follows_what_was_placed() -> None:
    x = np.repeat(np.eye(2, dtype=np.float32), 5, axis=0) + 0.01
    p = start(np.arange(10), [2, 1, 1, 1, 1, 1, 1, 1, 1, 1], CLUSTERS[:2])
    p = apply(p, op.assign(p, np.array([5, 6]), 2).change_set)
    p = apply(p, op.assign(p, np.array([0]), 1).change_set)
    after = recluster(p, x, np.array([0, 5, 6]))
    assert after.numbers.tolist() == [1] * 5 + [2] * 5
    assert recluster(start([1, 2]), np.eye(2, dtype=np.float32), np.array([1])).numbers.tolist() == [UNASSIGNED] * 2
