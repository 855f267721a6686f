"""Questions of several people in a store: answers arrive, are undone, and come back from files."""

from collections.abc import Callable

import numpy as np

from tests.core.labelling.labellers import Labeller
from tests.db.texts import add_corpus
from themescope.core.labelling import operations as op
from themescope.core.labelling.answers import Answer, Effect, Question, QuestionKind, answers
from themescope.core.labelling.questions import QuestionState, merge_or_split, next_question, prepare, standing_answers
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import assistance, files, starts
from themescope.jobs.services.labelling.session import LabellingSession


def begin(store: Store) -> LabellingRecord:
    corpus = add_corpus(store)
    return starts.begin(
        store, NewLabelling(corpus.id, "towns", "ada", Sharing.SHARED, False, None), starts.from_sections
    )


def vectors(session: LabellingSession) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(len(session.partition.ids), 5)).astype(np.float32)


def state_of(session: LabellingSession) -> QuestionState:
    return assistance.question_state(session.partition, prepare(vectors(session)), None)


ASK = {"placement": next_question, "a3s": merge_or_split}
"""What asks by the name that is stored with an answer; the second one was a choice until version 0.3."""


def answer(session: LabellingSession, strategy: str, value: Callable[[Question], str]) -> None:
    state = state_of(session)
    question = ASK[strategy](state)
    assert question is not None
    assistance.commit_answer(session, state, Answer(question, value(question), strategy))


def labeller(session: LabellingSession) -> Labeller:
    themes = {int(i): n % 3 for n, i in enumerate(session.partition.ids)}
    return Labeller(themes, 0.1, np.random.default_rng(0))


def test_answers_of_two_people_arrive_and_each_undoes_the_own(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    ada, ben = (LabellingSession(sqlite_store, record.id, person) for person in ("ada", "ben"))
    value = labeller(ada).value
    answer(ada, "placement", value)
    before = ada.partition.to_bytes()
    ben.sync()
    answer(ben, "placement", value)
    ada.sync()
    assert list(answers(ada.partition)) == ["000001", "000002"]
    assert [step.person for step in ada.steps] == ["ada", "ben"]
    assert standing_answers(ada.steps)[-1].summary == ben.steps[-1].summary
    ben.undo()
    ada.sync()
    assert ada.partition.to_bytes() == before


def test_an_answer_is_made_to_what_another_person_changed_meanwhile(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    ada, ben = (LabellingSession(sqlite_store, record.id, person) for person in ("ada", "ben"))
    state = state_of(ada)
    question = merge_or_split(state)
    assert question is not None
    ben.do(op.unassign(ben.partition, ben.partition.ids[:4]))
    answer(ben, "placement", labeller(ben).value)
    step = assistance.commit_answer(ada, state, Answer(question, "yes", "a3s"))
    assert step is not None
    assert {a.strategy for a in answers(ada.partition).values()} == {"a3s", "placement"}


def test_answers_come_back_from_a_file_with_the_same_next_question(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    session = LabellingSession(sqlite_store, record.id, "ada")
    value = labeller(session).value
    for strategy in ("placement", "a3s", "placement"):
        answer(session, strategy, value)
    # What strategies of version 0.2 asked, which are no longer offered.
    first, second, third = (int(i) for i in session.partition.ids[-3:])
    closer, pair = (
        Question(QuestionKind.CLOSER, Effect.MOVE, (first, second, third)),
        Question(QuestionKind.PAIR, Effect.MOVE, (second, third)),
    )
    for given in (Answer(closer, "1", "closer"), Answer(pair, "yes", "cobra"), Answer(pair, "no", "random")):
        assistance.commit_answer(session, state_of(session), given)
    session.undo()
    lines = files.export_lines(sqlite_store, record.id).splitlines(True)
    again = files.import_lines(sqlite_store, record.corpus_id, lines, "x.jsonl")
    copied = LabellingSession(sqlite_store, again.id, "ada")
    assert copied.partition.to_bytes() == session.partition.to_bytes()
    assert len(answers(copied.partition)) == 5
    there, back = (next_question(state_of(one)) for one in (session, copied))
    assert there == back
    while session.undo():
        copied.undo()
    assert copied.partition.to_bytes() == session.partition.to_bytes()
    assert not answers(copied.partition)
