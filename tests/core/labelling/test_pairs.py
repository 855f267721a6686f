"""Pairs of sentences: canonical, without contradictions, from labels or from answers."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.labelling import learning as module
from themescope.core.labelling.answers import Answer, Effect, Question, QuestionKind, constraints_of
from themescope.core.labelling.learning import Pairs, Placed, joined, pairs_of, pairs_of_answers, pairs_of_placed
from themescope.core.labelling.partition import Cluster, start

judgement = st.tuples(st.integers(1, 6), st.integers(1, 6), st.booleans())


def of(rows: list[tuple[int, int, bool]]) -> Pairs:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return pairs_of(table[:, 0], table[:, 1], table[:, 2].astype(bool))


def listed(found: Pairs) -> list[tuple[int, int, bool]]:
    return list(zip(found.first.tolist(), found.second.tolist(), found.together.tolist(), strict=True))


@given(st.lists(judgement, max_size=12), st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_matters_and_contradictions_are_left_out(
    rows: list[tuple[int, int, bool]], random: Random
) -> None:
    found = of(rows)
    again = [*rows, *rows[:3]]
    random.shuffle(again)
    assert listed(of([(b, a, t) for a, b, t in again])) == listed(found)
    said: dict[tuple[int, int], set[bool]] = {}
    for a, b, t in rows:
        if a != b:
            said.setdefault((min(a, b), max(a, b)), set()).add(t)
    assert listed(found) == [(*pair, *said[pair]) for pair in sorted(said) if len(said[pair]) == 1]


def test_placed_sentences_give_all_their_pairs_and_many_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = start([3, 5, 8, 9], [1, 1, 2, 2], [Cluster(1, "a", 0), Cluster(2, "b", 1)])
    placed = Placed(partition, np.array([3, 5, 9]))
    found = pairs_of_placed(placed)
    assert listed(found) == [(3, 5, True), (3, 9, False), (5, 9, False)] and found.both_kinds
    assert listed(pairs_of_placed(placed, among=np.array([3, 5]))) == [(3, 5, True)]
    assert found.sentences.tolist() == [3, 5, 9]
    assert [rows.tolist() for rows in found.rows(partition.ids)] == [[0, 0, 1], [1, 3, 3]]
    monkeypatch.setattr(module, "MOST_SENTENCES", 2)
    assert len(pairs_of_placed(placed)) == 1
    assert listed(pairs_of_placed(placed, seed=1)) == listed(pairs_of_placed(placed, seed=1))


def test_parts_are_joined_without_what_they_contradict() -> None:
    both = joined([of([(1, 2, True), (2, 3, False)]), of([(2, 1, False), (3, 4, True)])])
    assert listed(both) == [(2, 3, False), (3, 4, True)]


def test_answers_give_their_pairs_and_what_follows_from_them() -> None:
    def answer(first: int, second: int, value: str) -> Answer:
        return Answer(Question(QuestionKind.PAIR, Effect.MERGE, (first, second)), value)

    said = [answer(1, 2, "yes"), answer(2, 3, "yes"), answer(3, 4, "no"), answer(5, 6, "skip"), answer(1, 4, "yes")]
    found = pairs_of_answers(constraints_of({str(key): one for key, one in enumerate(said)}))
    assert listed(found) == [(1, 2, True), (1, 3, True), (1, 4, False), (2, 3, True), (2, 4, False), (3, 4, False)]
    assert not len(pairs_of_answers(constraints_of({})))
