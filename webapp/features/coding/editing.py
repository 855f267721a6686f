"""State of one browser session that edits a labelling.

Every change is written in a callback, against the snapshot that the page showed when the user acted. The page reports
a change as saved only after the store has committed it; a change that could not be written is kept for another try.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.clustering.inputs import with_duplicates
from themescope.core.errors import DuplicateNameError, ThemescopeError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import StaleChangeError, Step
from themescope.core.labelling.coding import accept_codes
from themescope.core.labelling.learning import Suggestions, suggest
from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import LabellingRecord, ModelRecord
from themescope.core.types import Ids, Matrix
from themescope.jobs.services.labelling.session import Conflict, LabellingSession
from themescope.webapp.features.coding import NONE_SELECTED, READ_ONLY, Make, ShownChange, Unsaved, step_summary
from themescope.webapp.features.coding import queries as page_queries
from themescope.webapp.shared import queries
from themescope.webapp.shared.compare_queries import SORT
from themescope.webapp.shared.components import Known
from themescope.webapp.shared.people import current_person, shown
from themescope.webapp.shared.unit_list import Sent


@dataclass
class RelabelState:
    """One labelling as one browser session edits it."""

    session: LabellingSession
    selected: Ids = field(default_factory=lambda: NONE_SELECTED)
    selection_method: str = ""
    """Method of selection, recorded in the history."""
    surface: str = SORT
    cluster: int | None = None
    """Number of the cluster that is open in Sort; None in other surfaces."""
    asked: int | None = None
    """Number of the cluster that the browser asked to open."""
    focused: int | None = None
    """Id of the unit that has the focus in the list."""
    focused_at: int = 0
    """Its place in the list: the next unit has the focus after it has left the list."""
    shown: int | None = None
    """Id of the unit that the list was last asked to show."""
    sent: Sent = field(default_factory=Sent)
    known: dict[str, Known] = field(default_factory=dict)
    """What the browser has of the components of the page."""
    acknowledged: int = 0
    """Number of the browser's last action that was dispatched; see ``relabel.actions``."""
    lock: Lock = field(default_factory=Lock)
    created: int | None = None
    """Number of the cluster that was created last, which the next name is for."""
    dialog: str = ""
    """Name of the open dialog."""
    saved_at: datetime | None = None
    last_summary: str = ""
    """Summary of the last change of this session."""
    unsaved: Unsaved | None = None
    conflict: Conflict | None = None
    notice: str = ""
    """Why the last action was refused."""
    include_duplicates: bool = False
    """Whether sentences with identical text are labelled together."""
    model_id: int | None = None
    """The model that makes suggestions."""
    similar_to: int | None = None
    """Id of the sentence whose nearest neighbours are shown."""
    reported_at: float = -math.inf
    """Monotonic time at which this session last reported its presence."""
    browser_session: str = field(default_factory=lambda: uuid4().hex)
    _suggested: tuple[object, Suggestions] | None = None
    _read_only: bool = True
    """Whether :attr:`read_only` has to be looked up; a change that is refused later is kept for another try."""

    @property
    def record(self) -> LabellingRecord:
        """The labelling."""
        return self.session.record

    @property
    def read_only(self) -> bool:
        """Whether this person may only read the labelling, as of when it was opened, or of now if it was so."""
        if self._read_only:
            role = queries.read(lambda r: r.people.role(self.session.person))
            self._read_only = not self.record.editable_by(self.session.person, role)
        return self._read_only

    @property
    def partition(self) -> Partition:
        """The partition as the page shows it."""
        return self.session.partition

    @property
    def texts(self) -> page_queries.Texts:
        """The sentences of the labelling as the page shows it; waves and corrections change them."""
        return page_queries.texts(self.record.id, self.record.members)

    def report_presence(self, after_s: float) -> None:
        """Report that the person has the labelling open, unless that was done within the last ``after_s`` seconds.

        Raises ``StoreError`` if the labelling was deleted.
        """
        if time.monotonic() - self.reported_at >= after_s:
            with queries.store().writing() as w:
                w.people.heartbeat(self.record.id, self.session.person, self.browser_session)
            self.reported_at = time.monotonic()

    # --- selection --------------------------------------------------------------------------------------------------

    def select(self, ids: Iterable[int] | Ids, method: str) -> None:
        """Replace the selection."""
        found = np.unique(np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64))
        self.selected, self.selection_method = found[np.isin(found, self.partition.ids)], method

    def sync(self) -> None:
        """Apply what was committed elsewhere; what somebody changed of the selection is said."""
        before = self.partition
        later = self.session.sync()
        if not later:
            return
        here = self.selected[np.isin(self.selected, self.partition.ids)]
        old, new = before.rows(here), self.partition.rows(here)
        differ = before.numbers[old] != self.partition.numbers[new]
        differ |= before.uncertain[old] != self.partition.uncertain[new]
        if len(here) < len(self.selected) or differ.any():
            who = {"you in another tab" if step.person == self.session.person else shown(step.person) for step in later}
            self.notice = f"Changed meanwhile by {' and '.join(sorted(who))}: {later[-1].summary}."
        self.select(here, self.selection_method)

    def clear_selection(self) -> None:
        """Select nothing."""
        self.select(NONE_SELECTED, "")

    @property
    def targets(self) -> Ids:
        """The selection, with identical sentences where :attr:`include_duplicates` is on."""
        if not self.include_duplicates or not len(self.selected):
            return self.selected
        return with_duplicates(self.selected, self.session.texts)

    # --- changes ----------------------------------------------------------------------------------------------------

    def apply(self, make: Make, reason: str = "", *, keep_selection: bool = False, method: str = "") -> Step | None:
        """Make a change and save it; for callbacks, nothing is raised.

        An unsaved change is saved first; as long as that fails, nothing else is done. ``method`` is recorded in place
        of the method of selection.
        """
        if self.read_only:
            self.notice = READ_ONLY
            return None
        if not method and self.selection_method:
            method = f"{self.selection_method}{', with duplicates' if self.include_duplicates else ''}"
        if self.unsaved is not None:
            self.retry()
            if self.unsaved is not None or self.conflict is not None:
                self.notice = "Not done: your previous change is not saved yet."
                return None
        return self._save(ShownChange(make, reason, method, keep_selection))

    def apply_to_selection(
        self, make: Callable[[Partition, Ids], op.Operation], *, keep_selection: bool = False
    ) -> Step | None:
        """Make a change to the present selection, also when it is saved only later."""
        targets = self.targets
        return self.apply(lambda p: make(p, targets), keep_selection=keep_selection)

    def accept_suggestions(self) -> None:
        """Assign every selected sentence to the cluster that the model suggests, if it is another one."""
        wanted: dict[int, list[int]] = {}
        for sentence, row in zip(self.selected.tolist(), self.partition.rows(self.selected).tolist(), strict=True):
            number = self.suggestion_for(row)
            if number is not None:
                wanted.setdefault(number, []).append(sentence)
        if not wanted:
            self.notice = "The model suggests no other code for the selection."
            return
        given = {number: np.array(ids, dtype=np.int64) for number, ids in wanted.items()}
        self.apply(lambda p: accept_codes(p, given, self.session.next_number))

    def retry(self) -> None:
        """Try again to save the change that was refused."""
        if self.unsaved is not None:
            self._save(self.unsaved.change)

    def discard(self) -> None:
        """Discard the change that was refused."""
        self.unsaved = None

    def _save(self, change: ShownChange) -> Step | None:
        self.notice, self.unsaved = "", None
        try:
            operation = change.make(self.partition)
        except ThemescopeError as error:
            self.notice = str(error)
            return None
        try:
            step = self.session.do(operation, change.reason, change.selection_method)
        except StaleChangeError as error:
            self.conflict = self.session.conflict(operation, error, change.reason, change.selection_method)
            return None
        except DuplicateNameError as error:
            self.session.sync()
            self.notice = str(error)
            return None
        except ThemescopeError as error:
            self.unsaved = Unsaved(change, str(error))
            return None
        self._saved(step, change.keep_selection)
        return step

    def _saved(self, step: Step | None, keep_selection: bool) -> None:
        if step is None:
            self.notice = "No change needed."
            return
        self.saved_at, self.last_summary = datetime.now(UTC), step.summary
        if not keep_selection:
            self.clear_selection()

    def travel(self, move: Callable[[LabellingSession], Step | None], if_none: str) -> None:
        """Undo, redo or restore; a step that later changes build on is refused with a notice."""
        if self.read_only:
            self.notice = READ_ONLY
            return
        if self.unsaved is not None:
            self.discard()
            self.notice = "The unsaved change was discarded. Nothing else was undone."
            return
        self.notice = ""
        try:
            step = move(self.session)
        except StaleChangeError as error:
            self.session.sync()
            self.notice = f"{error} A step can be undone until something that it changed is changed again."
            return
        except ThemescopeError as error:
            self.notice = str(error)
            return
        if step is None:
            self.notice = if_none
            return
        self.saved_at, self.last_summary = datetime.now(UTC), step_summary(step)

    def resolve_conflict(self, overwrite: bool) -> None:
        """Resolve a conflict: overwrite the present state with the refused change, or keep it."""
        conflict, self.conflict = self.conflict, None
        if conflict is None or not overwrite:
            self.clear_selection()
            return
        try:
            step = self.session.insist(conflict)
        except StaleChangeError as error:
            self.conflict = self.session.conflict(conflict.operation, error, conflict.reason, conflict.selection_method)
            return
        except ThemescopeError as error:
            self.notice = str(error)
            return
        self._saved(step, keep_selection=False)

    # --- suggestions and queues -------------------------------------------------------------------------------------

    @property
    def model(self) -> ModelRecord | None:
        """The chosen model; None without one."""
        return next((m for m in queries.models() if m.id == self.model_id), None) if self.model_id is not None else None

    @property
    def vectors(self) -> Matrix | None:
        """Vectors of the chosen model, of shape (n, dim), in the order of the partition's ids; None without a model."""
        model = self.model
        return page_queries.matrix(model.id, model.digest, self.record.id, self.record.members) if model else None

    def similarities(self, query: str | int) -> npt.NDArray[np.float32] | None:
        """Return (n,) cosines to typed words or to a sentence by its id; None without a model."""
        model = self.model
        if model is None:
            return None
        return page_queries.similarities(model, model.digest, self.record.id, self.record.members, query)

    @property
    def suggestions(self) -> Suggestions | None:
        """Suggestions of the chosen model for the present partition; None without a model."""
        key = (self.model_id, self.session.snapshot.step)
        if self._suggested is None or self._suggested[0] != key:
            x = self.vectors
            if x is None:
                return None
            self._suggested = (key, suggest(self.partition, x))
        return self._suggested[1]

    def suggestion_for(self, row: int) -> int | None:
        """Return the number of the cluster that is suggested for a row of the partition, if it is another one."""
        found = self.suggestions
        if found is None:
            return None
        best = int(found.best[row])
        return best if best != int(self.partition.numbers[row]) and best in self.partition.clusters else None


def relabel_state(record: LabellingRecord) -> RelabelState:
    """Return the state of this browser session for a labelling and the person who is present now."""
    key, person = f"code_state_{record.id}", current_person()
    held = st.session_state.get(key)
    if not isinstance(held, RelabelState) or held.session.person != person:
        held = RelabelState(LabellingSession(queries.store(), record.id, person))
        st.session_state[key] = held
    return held
