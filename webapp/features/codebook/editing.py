"""State of one browser session that reads or edits the codebook of a labelling."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.labelling.changes import StaleChangeError, Step
from themescope.core.labelling.operations import Operation
from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import LabellingRecord
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.codebook.state import STATE
from themescope.webapp.shared import queries
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import partition_queries

READ_ONLY = "This labelling is read-only for you. Make your own copy on the Relabel page to change it."


@dataclass
class CodebookState:
    """The codebook of one labelling as one browser session sees it."""

    session: LabellingSession
    notice: str = ""
    """Why the last action was refused."""
    saved: str = ""
    """Summary of the last change of this session."""

    @property
    def record(self) -> LabellingRecord:
        """The labelling."""
        return self.session.record

    @property
    def partition(self) -> Partition:
        """The labelling as the page shows it."""
        return self.session.partition

    @property
    def read_only(self) -> bool:
        """Whether this person may only read the labelling; reads the role from the store."""
        role = queries.read(lambda r: r.people.role(self.session.person))
        return not self.record.editable_by(self.session.person, role)

    def texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Return sentences by id."""
        return partition_queries.sentence_texts(list(ids))

    def apply(self, make: Callable[[Partition], Operation]) -> Step | None:
        """Make a change and save it; for callbacks, nothing is raised.

        After a conflict the page shows the other person's version, and saving again replaces it.
        """
        if self.read_only:
            self.notice = READ_ONLY
            return None
        return self._move(lambda: self.session.do(make(self.partition)), "Nothing has changed.")

    def undo(self) -> None:
        """Undo this person's last change of the labelling; for callbacks."""
        self._move(self.session.undo, "You have nothing to undo.")

    def redo(self) -> None:
        """Redo the change that was undone last; for callbacks."""
        self._move(self.session.redo, "You have nothing to redo.")

    def _move(self, move: Callable[[], Step | None], if_none: str) -> Step | None:
        self.notice = self.saved = ""
        try:
            step = move()
        except StaleChangeError as error:
            self.session.sync()
            self.notice = f"{error} The page now shows that version. Save again to replace it."
            return None
        except ThemescopeError as error:
            self.notice = str(error)
            return None
        if step is None:
            self.notice = if_none
        else:
            self.saved = step.summary if step.target is None else f"{step.kind.value}: {step.summary}"
        return step


def codebook_state(record: LabellingRecord) -> CodebookState:
    """Return the state of this browser session for a labelling and the person who is present now, up to date."""
    key, person = f"{STATE}_{record.id}", current_person()
    held = st.session_state.get(key)
    if not isinstance(held, CodebookState) or held.session.person != person:
        held = CodebookState(LabellingSession(queries.store(), record.id, person))
        st.session_state[key] = held
    held.session.sync()
    return held
