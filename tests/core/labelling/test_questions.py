"""Questions and answers: labellings stay labellings, answers are respected, and everything can be undone."""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.core.labelling.labellers import (
    Labeller,
    asked,
    first_clusters,
    states_after,
)
from themescope.core.errors import DataError
from themescope.core.labelling import questions
from themescope.core.labelling.answers import NO, SKIP, YES, Answer, Effect, Question, QuestionKind
from themescope.core.labelling.changes import Kind, Step, apply, replay, rewind
from themescope.core.labelling.partition import UNASSIGNED, Cluster, start
from themescope.core.labelling.questions import QuestionState, merge_or_split, next_question, prepare
from themescope.core.metrics import REGISTRY as METRICS

Ask = Callable[[QuestionState], Question | None]
ARI = METRICS.build("ari", {})


def articles(sizes: tuple[int, ...], noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, 8) vectors around one centre for each theme, and the themes."""
    random = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    return (np.eye(8)[truth] + noise * random.normal(size=(len(truth), 8))).astype(np.float32), truth


def state_of(x: np.ndarray, numbers: list[int]) -> QuestionState:
    clusters = [Cluster(n, f"Cluster {n}", 0) for n in sorted({*numbers} - {UNASSIGNED})]
    return QuestionState(start(np.arange(len(x)), np.array(numbers), clusters), prepare(x))


def answered(state: QuestionState, question: Question, value: str) -> QuestionState:
    operation = questions.answer(state, Answer(question, value), max(state.partition.clusters) + 1, lambda ids: "New")
    return state.after(apply(state.partition, operation.change_set))


def check(state: QuestionState) -> None:
    """Check that every sentence has a cluster, and that all answers that contradict no earlier one are respected."""
    numbers = state.partition.numbers
    assert set(numbers.tolist()) <= {*state.partition.clusters, UNASSIGNED}
    for one, other in state.constraints.must_links:
        assert state.cluster_of(one) == state.cluster_of(other)
    for one, other in state.constraints.cannot_links:
        assert state.cluster_of(one) != state.cluster_of(other) or state.cluster_of(one) == UNASSIGNED


@pytest.mark.parametrize("ask", [next_question, merge_or_split])
@settings(max_examples=12, deadline=None)
@given(
    sizes=some.lists(some.integers(1, 6), min_size=2, max_size=4).map(tuple),
    noise=some.sampled_from([0.05, 0.4, 1.5]),
    seed=some.integers(0, 99),
    error=some.sampled_from([0.0, 0.4]),
    small=some.booleans(),
)
def test_every_answer_keeps_a_partition_respects_answers_and_can_be_undone(
    ask: Ask, sizes: tuple[int, ...], noise: float, seed: int, error: float, small: bool
) -> None:
    x, truth = articles(sizes, noise, seed)
    first = first_clusters(prepare(x), seed, 3.0 if small else 1.0)
    labeller = Labeller(dict(enumerate(truth.tolist())), error, np.random.default_rng(seed))
    state, change_sets = first, []
    for _ in range(25):
        question = ask(state)
        if question is None:
            break
        # The question is a function of the labelling and its answers, so it is the same after a reload.
        again = QuestionState(state.partition, prepare(x), state.seed)
        assert ask(again) == question
        assert len(set(question.sentences)) == len(question.sentences)
        given_answer = Answer(question, labeller.value(question))
        operation = questions.answer(state, given_answer, max(state.partition.clusters) + 1, lambda ids: "New")
        after = apply(state.partition, operation.change_set)
        assert apply(after, operation.change_set.inverse()).to_bytes() == state.partition.to_bytes()
        change_sets.append(operation.change_set)
        state = state.after(after)
        check(state)
    assert replay(first.partition, change_sets).to_bytes() == state.partition.to_bytes()
    assert rewind(state.partition, change_sets).to_bytes() == first.partition.to_bytes()


@pytest.mark.parametrize("ask", [next_question, merge_or_split])
def test_right_answers_find_the_themes_and_then_nothing_is_left_to_ask(ask: Ask) -> None:
    x, truth = articles((6, 5, 4), 0.2, 1)
    first = first_clusters(prepare(x), times=7 / prepare(x).themes)
    labeller = Labeller(dict(enumerate(truth.tolist())), 0.0, np.random.default_rng(0))
    states = list(asked(first, ask, labeller.value))
    final = states[-1]
    assert not final.constraints.contradictions
    assert ARI.score(truth.astype(np.int32), final.partition.numbers.astype(np.int32)) > (
        0.8 if ask is merge_or_split else 0.99
    )
    assert ask(final) is None
    known = states_after(iter(states), first, (0, 1, 500))
    assert known[0] is first and known[1] is states[0] and known[500] is final


def test_yes_merges_two_clusters_and_no_splits_one() -> None:
    x, _ = articles((3, 3, 3), 0.1, 0)
    merge = Question(QuestionKind.PAIR, Effect.MERGE, (0, 3))
    state = answered(state_of(x, [0, 0, 0, 1, 1, 1, 2, 2, 2]), merge, YES)
    assert [c.name for c in state.partition.clusters.values()] == ["Cluster 0", "Cluster 2"]
    assert state.partition.numbers.tolist() == [0] * 6 + [2] * 3
    split = Question(QuestionKind.PAIR, Effect.SPLIT, (1, 4))
    state = answered(state, split, NO)
    assert state.partition.clusters[3].name == "Cluster 0 2"
    # Sentences 0 and 3 belong together, so they stay on one side.
    assert state.cluster_of(0) == state.cluster_of(3) and state.cluster_of(1) != state.cluster_of(4)
    check(state)


def test_a_placed_sentence_takes_along_what_belongs_together_with_it() -> None:
    x, _ = articles((3, 3), 0.1, 0)
    together = Question(QuestionKind.PAIR, Effect.MOVE, (0, 1))
    state = answered(state_of(x, [0, 0, 0, 1, 1, 1]), together, YES)
    state = answered(state, Question(QuestionKind.CLUSTER, Effect.MOVE, (0, 4, 2)), "1")
    assert state.partition.numbers[[0, 1]].tolist() == [1, 1]
    state = answered(state, Question(QuestionKind.CLUSTER, Effect.MOVE, (5, 4, 2)), NO)
    assert state.partition.clusters[2].name == "New" and state.cluster_of(5) == 2


def test_the_closer_of_two_sentences_moves_a_sentence_without_linking_it() -> None:
    x, _ = articles((3, 3), 0.1, 0)
    state = answered(state_of(x, [0, 0, 1, 1, 1, 1]), Question(QuestionKind.CLOSER, Effect.MOVE, (2, 0, 3)), "1")
    assert state.cluster_of(2) == 0 and not state.links.linked
    assert state.constraints.triplets == ((2, 0, 3),)


def test_an_answer_that_contradicts_earlier_ones_and_a_skipped_question_move_nothing() -> None:
    x, _ = articles((3, 3), 0.1, 0)
    pair = Question(QuestionKind.PAIR, Effect.MOVE, (0, 3))
    state = answered(state_of(x, [0, 0, 0, 1, 1, 1]), pair, YES)
    after = answered(state, pair, NO)
    assert (after.partition.numbers == state.partition.numbers).all()
    assert [found.answer for found in after.constraints.contradictions] == ["000002"]
    skipped = answered(state, Question(QuestionKind.PAIR, Effect.SPLIT, (4, 5)), SKIP)
    assert (skipped.partition.numbers == state.partition.numbers).all()
    back = questions.take_back(after.partition, "000001")
    assert not state.after(apply(after.partition, back.change_set)).constraints.contradictions
    with pytest.raises(DataError, match="taken back already"):
        questions.take_back(after.partition, "000007")


def test_answers_about_different_clusters_can_come_in_any_order() -> None:
    x, _ = articles((2, 2, 2, 2), 0.3, 3)
    first = state_of(x, [0, 0, 1, 1, 2, 2, 3, 3])
    one, other = (Question(QuestionKind.PAIR, Effect.MERGE, pair) for pair in ((0, 2), (4, 6)))
    there = answered(answered(first, one, YES), other, YES)
    back = answered(answered(first, other, YES), one, YES)
    assert there.partition.numbers.tolist() == back.partition.numbers.tolist()
    assert there.partition.clusters == back.partition.clusters


def test_questions_are_refused_for_other_sentences() -> None:
    x, _ = articles((2, 2), 0.1, 0)
    with pytest.raises(DataError, match="not part of the coding"):
        answered(state_of(x, [0, 0, 1, 1]), Question(QuestionKind.PAIR, Effect.MOVE, (0, 77)), YES)


def test_stopping_is_suggested_when_the_last_answers_moved_almost_nothing() -> None:
    def step(id: int, size: int, kind: Kind = Kind.DO, target: int | None = None) -> Step:
        return Step(id, kind, "answer", "", "", datetime.now(UTC), target, size=size)

    def sizes(given: list[Step]) -> list[int]:
        return [step.size for step in questions.standing_answers(given)]

    some_moved = [step(i, 2) for i in range(1, 21)]
    assert questions.stop_reason(sizes(some_moved)) == ""
    quiet = [*some_moved, *(step(i, 0) for i in range(21, 36))]
    assert "moved no unit" in questions.stop_reason(sizes(quiet))
    undone = [*quiet, step(40, 0, Kind.UNDO, 30)]
    assert len(sizes(undone)) == len(quiet) - 1
    assert len(sizes([*undone, step(41, 0, Kind.REDO, 30)])) == len(quiet)


def test_sparse_vectors_and_tiny_labellings_can_be_asked_about() -> None:
    from scipy import sparse

    x, _ = articles((5, 5), 0.1, 0)
    dense = first_clusters(prepare(sparse.csr_array(np.abs(x))))
    assert next_question(dense) is not None and merge_or_split(dense) is not None
    alone = state_of(x[:1], [0])
    assert next_question(alone) is None and merge_or_split(alone) is None
