"""What the view Questions asks in one browser session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from themescope.core.labelling.answers import Question
from themescope.jobs.services.labelling import assistance

if TYPE_CHECKING:
    from themescope.core.labelling.partition import Partition
    from themescope.core.labelling.questions.state import QuestionState, QuestionVectors


@dataclass
class Asking:
    """What a browser session asks about a labelling."""

    strategy: str
    vectors: QuestionVectors
    known: QuestionState | None = None
    """The last state, whose intermediate results the next one reuses."""
    question: Question | None = None
    """The question that is shown."""

    def state(self, partition: Partition) -> QuestionState:
        """Return the state of the present labelling."""
        self.known = assistance.question_state(partition, self.vectors, self.known)
        return self.known

    def ask(self, partition: Partition) -> Question | None:
        """Choose the next question and remember it."""
        self.question = assistance.next_question(self.state(partition), self.strategy)
        return self.question

    @property
    def token(self) -> str:
        """Name by which the browser refers to the question that is shown; "" without one."""
        shown = self.question
        return "-".join([shown.kind, shown.effect, *map(str, shown.sentences)]) if shown else ""
