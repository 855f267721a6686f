"""Questions of an editing session: the next question, what an answer changes, and small clusters to begin with.

All functions use the (n, dim) vectors of a labelling's sentences, in the order of the partition's ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from themescope.core.errors import ArtifactError
from themescope.core.labelling.answers import Answer, Question
from themescope.core.labelling.changes import StaleChangeError
from themescope.core.labelling.operations import Operation
from themescope.core.labelling.partition import Partition
from themescope.core.types import Ids, Matrix
from themescope.db.records import ModelRecord
from themescope.db.store import Store
from themescope.jobs.services.labelling.assistance import cluster_name

if TYPE_CHECKING:
    from themescope.core.labelling.changes import Step
    from themescope.core.labelling.questions.state import QuestionState, QuestionVectors
    from themescope.core.labelling.questions.strategies import Strategy
    from themescope.jobs.services.labelling.session import LabellingSession

METHOD = "question"
"""Selection method of the steps that answers are."""
_ATTEMPTS = 3


def strategies() -> list[Strategy]:
    """Return the strategies, the recommended one first."""
    from themescope.core.labelling.questions.strategies import STRATEGIES

    return list(STRATEGIES.values())


def prepare_vectors(store: Store, model: ModelRecord, x: Matrix) -> QuestionVectors:
    """Prepare the vectors of a model, with its calibration, or the general one if the model has no files here."""
    from themescope.core.clustering.pairs import DEFAULT_CALIBRATION
    from themescope.core.labelling.questions.state import prepare
    from themescope.core.tasks.pair_calibration import load_calibration

    try:
        calibration = load_calibration(store.artifacts.path(model.artifact))
    except ArtifactError:
        calibration = DEFAULT_CALIBRATION
    return prepare(x, calibration)


def question_state(partition: Partition, vectors: QuestionVectors, before: QuestionState | None) -> QuestionState:
    """Return the state of a labelling, which reuses results of ``before``, an earlier state with the same vectors."""
    from themescope.core.labelling.questions.state import QuestionState

    if before is None or before.vectors is not vectors:
        return QuestionState(partition, vectors)
    return before if before.partition is partition else before.after(partition)


def next_question(state: QuestionState, strategy: str) -> Question | None:
    """Return the next question of a strategy; None if there is nothing left to ask."""
    from themescope.core.labelling.questions.strategies import strategy as by_id

    return by_id(strategy).ask(state)


def commit_answer(session: LabellingSession, state: QuestionState, given: Answer) -> Step | None:
    """Commit an answer with what it changes, as one step.

    If another person has changed the same clusters meanwhile, the changes are made to their version.
    """
    from themescope.core.labelling.questions.strategies import answer

    def named(ids: Ids) -> str:
        return cluster_name(session.texts, ids) or "New cluster"

    for attempt in range(_ATTEMPTS):
        operation = answer(state, given, session.next_number, named)
        try:
            return session.do(operation, selection_method=METHOD)
        except StaleChangeError:
            if attempt == _ATTEMPTS - 1:
                raise
            session.sync()
            state = state.after(session.partition)
    return None


def take_back(session: LabellingSession, key: str) -> Step | None:
    """Take back an answer, so that its question can be asked again."""
    from themescope.core.labelling.questions.strategies import take_back as operation

    return session.do(operation(session.partition, key), selection_method=METHOD)


def small_cluster_count(state: QuestionState) -> int:
    """Return the suggested number of small clusters."""
    from themescope.core.labelling.questions.strategies import suggested_count

    return suggested_count(state)


def make_small_clusters(state: QuestionState, texts: Mapping[int, str], count: int, first_number: int) -> Operation:
    """Replace all clusters by small ones, which answers merge; raise ``DataError`` if there are too few sentences."""
    from themescope.core.labelling.questions.strategies import small_clusters

    return small_clusters(state, [texts[int(i)] for i in state.partition.ids], count, first_number)


def last_answer(steps: Iterable[Step]) -> str:
    """Return the summary of the last answer that was not undone; "" without one."""
    from themescope.core.labelling.questions.strategies import standing_answers

    found = standing_answers(steps)
    return found[-1].summary if found else ""


def stop_reason(steps: Iterable[Step]) -> str:
    """Return why it is suggested to stop; "" if it is not."""
    from themescope.core.labelling.questions.strategies import standing_answers
    from themescope.core.labelling.questions.strategies import stop_reason as reason

    return reason([step.size for step in standing_answers(steps)])
