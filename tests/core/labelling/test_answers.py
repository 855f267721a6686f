"""Answers about pairs of sentences, and what follows from them."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.labelling import learning as module
from themescope.core.labelling.answers import (
    NO,
    SKIP,
    YES,
    Answer,
    Contradiction,
    Effect,
    Question,
    QuestionKind,
    answer_of,
    answers,
    constraints,
    constraints_of,
)
from themescope.core.labelling.changes import ChangeSet, EntryChange, apply
from themescope.core.labelling.learning import Pairs, Placed, joined, pairs_of, pairs_of_answers, pairs_of_placed
from themescope.core.labelling.partition import Cluster, Entry, EntryKind, Partition, start


def pair(first: int, second: int, value: str) -> Answer:
    return Answer(Question(QuestionKind.PAIR, Effect.MOVE, (first, second)), value)


def numbered(*given: Answer) -> dict[str, Answer]:
    return {f"{place:06}": answer for place, answer in enumerate(given, 1)}


def with_answers(*given: Answer) -> Partition:
    changes = (EntryChange(EntryKind.ANSWER, key, None, a.entry()) for key, a in numbered(*given).items())
    return apply(start(range(20)), ChangeSet(tuple(changes)))


def test_entries_of_other_files_that_are_no_answers_are_left_out() -> None:
    def entry(*sentences: int) -> Entry:
        return Entry({"question": "pair", "effect": "move", "answer": NO}, sentences)

    found = {"000001": entry(3, 3), "mine": entry(3, 4), "000002": entry(5, 6), "000003": entry(5)}
    changes = [EntryChange(EntryKind.ANSWER, key, None, made) for key, made in found.items()]
    partition = apply(start(range(20)), ChangeSet(tuple(changes)))
    assert [*answers(partition)] == ["000002"]


def test_links_are_transitive_and_a_contradiction_names_the_answers_that_say_the_opposite() -> None:
    found = constraints_of(
        numbered(pair(1, 2, YES), pair(2, 3, YES), pair(3, 4, NO), pair(7, 4, YES), pair(1, 7, YES), pair(3, 1, NO))
    )
    assert found.links.are_together(1, 3) and found.links.are_apart(1, 7) and not found.links.are_apart(1, 8)
    assert found.links.members(2) == [1, 2, 3]
    assert found.contradictions == (
        Contradiction("000005", ("000001", "000002", "000003", "000004")),
        Contradiction("000006", ("000001", "000002")),
    )
    assert found.must_links == [(1, 2), (2, 3), (7, 4)] and found.cannot_links == [(3, 4)]


def test_a_choice_between_clusters_links_one_sentence_and_none_of_them_keeps_it_apart_from_all() -> None:
    question = Question(QuestionKind.CLUSTER, Effect.MOVE, (1, 2, 3, 4))
    assert question.values() == ("1", "2", "3", NO, SKIP)
    assert constraints_of(numbered(Answer(question, "2"))).must_links == [(1, 3)]
    assert constraints_of(numbered(Answer(question, NO))).cannot_links == [(1, 2), (1, 3), (1, 4)]
    assert constraints_of(numbered(Answer(question, SKIP))).cannot_links == []


def test_which_sentence_is_closer_gives_a_triplet() -> None:
    question = Question(QuestionKind.CLOSER, Effect.MOVE, (1, 2, 3))
    found = constraints(with_answers(Answer(question, "2"), Answer(question, SKIP)))
    assert found.triplets == ((1, 3, 2),) and not found.must_links and not found.cannot_links


def test_answers_are_entries_and_entries_of_other_programs_are_left_out() -> None:
    given = [pair(1, 2, YES), Answer(Question(QuestionKind.CLUSTER, Effect.MOVE, (5, 6, 7)), NO, "placement")]
    partition = with_answers(*given)
    assert list(answers(partition).values()) == given
    for data in ({}, {"question": "pair", "effect": "move", "answer": "7"}, {"question": "x"}):
        change = EntryChange(EntryKind.ANSWER, "000009", None, Entry(data, (1, 2)))
        assert list(answers(apply(partition, ChangeSet((change,)))).values()) == given


pairs = st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from([YES, NO])).filter(lambda p: p[0] != p[1])


@given(st.lists(pairs, max_size=25), st.randoms(use_true_random=False))
def test_consistent_answers_give_the_same_groups_in_any_order(drawn: list[tuple[int, int, str]], random) -> None:  # type: ignore[no-untyped-def]
    theme = [random.randrange(3) for _ in range(8)]
    given = [pair(a, b, YES if theme[a] == theme[b] else NO) for a, b, _ in drawn]
    one = constraints_of(numbered(*given))
    random.shuffle(given)
    other = constraints_of(numbered(*given))
    assert not one.contradictions and not other.contradictions
    for a in range(8):
        assert sorted(one.links.members(a)) == sorted(other.links.members(a))
        assert all(one.links.are_apart(a, b) == other.links.are_apart(a, b) for b in range(8))


@given(st.lists(pairs, max_size=25))
def test_kept_answers_contradict_nothing_and_every_contradiction_is_one(drawn: list[tuple[int, int, str]]) -> None:
    given = numbered(*(pair(*values) for values in drawn))
    found = constraints_of(given)
    links = found.links
    assert all(links.are_together(a, b) and not links.are_apart(a, b) for a, b in found.must_links)
    assert all(links.are_apart(a, b) and not links.are_together(a, b) for a, b in found.cannot_links)
    for contradiction in found.contradictions:
        involved = {key: given[key] for key in (*contradiction.others, contradiction.answer)}
        assert constraints_of(involved).contradictions == (contradiction,)
        assert all(
            not constraints_of({k: a for k, a in involved.items() if k != key}).contradictions for key in involved
        )


def test_entries_round_trip() -> None:
    answer = Answer(Question(QuestionKind.CLOSER, Effect.MOVE, (4, 9, 2)), "1", "placement")
    assert answer_of(answer.entry()) == answer


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
