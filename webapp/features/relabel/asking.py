"""State of the mode Questions in one browser session, and what its actions do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from themescope.core.errors import ThemescopeError
from themescope.core.labelling.answers import Answer, Question
from themescope.core.labelling.changes import StaleChangeError
from themescope.jobs.services.labelling import questions as service
from themescope.webapp.features.relabel.state import READ_ONLY

if TYPE_CHECKING:
    from themescope.core.labelling.operations import Operation
    from themescope.core.labelling.partition import Partition
    from themescope.core.labelling.questions.state import QuestionState, QuestionVectors
    from themescope.webapp.features.relabel.editing import RelabelState

DIFFERENT = "This question was answered already, or the labelling has changed. Here is the present one."
TAKEN_BACK = "The answer was taken back. What it had moved stays; use Undo or move the sentences to change that."


@dataclass
class Asking:
    """What a browser session asks about a labelling."""

    strategy: str
    vectors: QuestionVectors
    known: QuestionState | None = None
    """The last state, whose intermediate results the next one reuses."""
    question: Question | None = None
    """The question that is shown."""

    def state(self, state: RelabelState) -> QuestionState:
        """Return the state of the present labelling."""
        self.known = service.question_state(state.partition, self.vectors, self.known)
        return self.known

    def ask(self, state: RelabelState) -> Question | None:
        """Choose the next question and remember it."""
        self.question = service.next_question(self.state(state), self.strategy)
        return self.question


def token(question: Question) -> str:
    """Return the name by which the browser refers to a question."""
    return "-".join([question.kind, question.effect, *map(str, question.sentences)])


def answer(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Commit the answer of an action, if it is about the question that is shown."""
    asking = state.asking
    if state.read_only:
        state.notice = READ_ONLY
        return
    question = asking.question if asking is not None else None
    if asking is None or question is None or action.get("question") != token(question):
        state.notice = DIFFERENT
        return
    if action.get("value") not in question.values():
        return
    given = Answer(question, str(action["value"]), asking.strategy)
    state.notice = ""
    try:
        step = service.commit_answer(state.session, asking.state(state), given)
    except StaleChangeError:
        state.notice = DIFFERENT
        return
    except ThemescopeError as error:
        state.notice = f"Not saved. {error}"
        return
    asking.question = None
    if step is not None:
        state.saved_at, state.last_summary = datetime.now(UTC), step.summary


def take_back(state: RelabelState, key: str) -> None:
    """Take back an answer."""
    state.travel(lambda session: service.take_back(session, key), "This answer was taken back already.")
    state.notice = state.notice or TAKEN_BACK


def make_small_clusters(state: RelabelState, count: int) -> None:
    """Replace all clusters by small ones."""
    asking = state.asking
    if asking is not None:
        texts = state.session.texts

        def make(_: Partition) -> Operation:
            return service.make_small_clusters(asking.state(state), texts, count, state.session.next_number)

        state.apply(make, keep_selection=True)
