"""What a browser session holds of a labelling: the desk, what is selected, and what became of the last change.

Every change is written in a callback, against what the page showed when the person acted. The page says "saved" only
after the store has said so; what could not be written is kept here, so that it can be tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.errors import ThemescopeError
from core.labelling import operations as op
from core.labelling.changes import StaleChangeError
from core.labelling.history import Kind, Step
from core.labelling.partition import Partition
from core.labelling.suggestions import Suggestions, suggest
from core.types import Ids, Matrix
from db.label_records import LabellingRecord
from db.records import ModelRecord
from jobs.services.labelling.session import Conflict, Desk
from webapp.map_view.mapping import Units
from webapp.shared import label_queries, queries
from webapp.shared.people import current_person
from webapp.shared.text import count

NOTHING: Ids = np.empty(0, dtype=np.int64)
QUEUE = "next most uncertain"
_NAMED_FROM = 20_000
"""Sentences whose words are looked at to name a new cluster."""
Make = Callable[[Partition], op.Operation]


@dataclass(frozen=True, slots=True)
class Change:
    """Something to be done to the labelling, whatever is selected by then."""

    make: Make
    why: str = ""
    how: str = ""
    """How what it is done to was selected."""
    keep: bool = False
    """Whether the selection stays."""


@dataclass(frozen=True, slots=True)
class Unsaved:
    """A change that the store did not take, and why."""

    change: Change
    told: str


@dataclass(frozen=True, slots=True)
class Plane:
    """Points that a person sees and can draw around; row i of every array is one sentence."""

    ids: Ids
    units: Units
    categories: npt.NDArray[np.int64]
    """-1 is "other"."""
    kinds: int
    """How many categories there are; the browser gives "other" this number."""


@dataclass
class Bench:
    """One labelling as this session works on it."""

    desk: Desk
    selected: Ids = field(default_factory=lambda: NOTHING)
    how: str = ""
    """How the selection was made; it goes into the history."""
    generation: int = 0
    """Grows when the selection changes from elsewhere, so that no widget keeps an old one."""
    heard: int = 0
    """The number of the last deed of the browser that is known; see :mod:`webapp.features.relabel.actions`."""
    hearing: Lock = field(default_factory=Lock)
    asked: str = ""
    """The dialog that is to be opened."""
    saved: datetime | None = None
    said: str = ""
    """The last thing that was done here."""
    unsaved: Unsaved | None = None
    conflict: Conflict | None = None
    notice: str = ""
    """Something that was refused, in a sentence."""
    digits: int = 0
    """Which nine clusters the number keys stand for, from 0."""
    twins: bool = False
    """Whether sentences that say the same, word for word, are labelled together."""
    model: int | None = None
    """The model that makes suggestions."""
    alike: int | None = None
    """The sentence whose likes are looked at."""
    line: tuple[str, Ids] | None = None
    """A queue that is in view, by name, and its sentences in their order."""
    planes: dict[str, Plane] = field(default_factory=dict)
    """The last maps that were drawn, by digest: a shape may come when the page has been drawn anew."""
    session: str = field(default_factory=lambda: uuid4().hex)
    _suggested: tuple[object, Suggestions] | None = None

    @property
    def record(self) -> LabellingRecord:
        """The labelling."""
        return self.desk.record

    @property
    def partition(self) -> Partition:
        """Its state as the page shows it."""
        return self.desk.partition

    @cached_property
    def texts(self) -> label_queries.Texts:
        """Its sentences; which they are never changes."""
        return label_queries.texts(self.record.id, self.record.created)

    # --- selecting --------------------------------------------------------------------------------------------------

    def select(self, ids: Iterable[int] | Ids, how: str) -> None:
        """Make a selection from elsewhere than the widget that shows it."""
        found = np.unique(np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64))
        known: Ids = found[np.isin(found, self.partition.ids)]
        if not np.array_equal(known, self.selected):
            self.generation += 1
        self.selected, self.how = known, how

    def clear(self) -> None:
        """Select nothing."""
        self.select(NOTHING, "")

    @property
    def chosen(self) -> Ids:
        """The selection, with sentences that say the same where that is asked for."""
        if not self.twins or not len(self.selected):
            return self.selected
        return op.with_duplicates(self.selected, self.desk.texts)

    def telling_name(self, ids: Ids) -> str:
        """A name for these sentences by the words that set them apart from the others."""
        from core.clustering.naming import theme_words

        inside = set(ids.tolist())
        texts = self.desk.texts
        others = [i for i in texts if i not in inside]
        kept = [*ids.tolist(), *others[: max(_NAMED_FROM - len(inside), 0)]]
        labels = np.array([0 if i in inside else 1 for i in kept], dtype=np.int32)
        words = theme_words([texts[i] for i in kept], labels, 2)[0]
        return " · ".join(words) or "New cluster"

    # --- changing ---------------------------------------------------------------------------------------------------

    def act(self, make: Make, why: str = "", *, keep: bool = False) -> Step | None:
        """Do something and save it; with ``keep`` the selection stays. For callbacks: nothing is raised.

        What could not be saved before goes first; as long as it cannot, nothing else is done.
        """
        how = f"{self.how}, with identical sentences" if self.twins and self.how else self.how
        if self.unsaved is not None:
            self.again()
            if self.unsaved is not None or self.conflict is not None:
                self.notice = "This was not done, because what you did before is not saved yet."
                return None
        return self._save(Change(make, why, how, keep))

    def act_on_chosen(self, make: Callable[[Partition, Ids], op.Operation], *, keep: bool = False) -> Step | None:
        """The same to what is selected now, also when it is saved only later."""
        chosen = self.chosen
        return self.act(lambda p: make(p, chosen), keep=keep)

    def again(self) -> None:
        """Try to save what could not be saved."""
        if self.unsaved is not None:
            self._save(self.unsaved.change)

    def leave(self) -> None:
        """Give up what could not be saved."""
        self.unsaved = None

    def _save(self, change: Change) -> Step | None:
        self.notice, self.unsaved = "", None
        try:
            operation = change.make(self.partition)
        except ThemescopeError as error:
            self.notice = str(error)
            return None
        try:
            step = self.desk.do(operation, change.why, change.how)
        except StaleChangeError as error:
            self.conflict = self.desk.conflict(operation, error, change.why, change.how)
            return None
        except ThemescopeError as error:
            self.unsaved = Unsaved(change, str(error))
            return None
        self._done(step, change.keep)
        return step

    def travel(self, go: Callable[[Desk], Step | None], nothing: str) -> None:
        """Undo, redo, or go back; a step that others have built on is refused and says so."""
        if self.unsaved is not None:
            self.leave()
            self.notice = "What could not be saved was left. Nothing else was undone."
            return
        self.notice = ""
        try:
            step = go(self.desk)
        except StaleChangeError as error:
            self.desk.sync()
            self.notice = f"{error} Undo only takes back what is still as you left it; see the history."
            return
        except ThemescopeError as error:
            self.notice = str(error)
            return
        if step is None:
            self.notice = nothing
            return
        self.saved, self.said = datetime.now(UTC), told(step)
        self.generation += 1

    def settle(self, mine: bool) -> None:
        """End a conflict: write what was wanted over what is there, or leave that."""
        conflict, self.conflict = self.conflict, None
        if conflict is None or not mine:
            self.clear()
            return
        try:
            step = self.desk.insist(conflict)
        except StaleChangeError as error:
            self.conflict = self.desk.conflict(conflict.operation, error, conflict.why, conflict.how)
            return
        except ThemescopeError as error:
            self.notice = str(error)
            return
        self._done(step, keep=False)

    def _done(self, step: Step | None, keep: bool) -> None:
        queued = self.how == (self.line[0] if self.line is not None else QUEUE)
        if step is None:
            self.notice = "Nothing changed: it was so already."
            return
        self.saved, self.said = datetime.now(UTC), step.said
        if keep:
            self.generation += 1
            return
        last = self.selected
        self.clear()
        if queued and len(last) == 1:
            self.go_on(after=int(last[0]))

    # --- suggestions ------------------------------------------------------------------------------------------------

    @property
    def model_record(self) -> ModelRecord | None:
        """The chosen model; None without one."""
        return next((m for m in queries.models() if m.id == self.model), None) if self.model is not None else None

    @property
    def vectors(self) -> Matrix | None:
        """(n, dim) vectors by the chosen model; None without one."""
        model = self.model_record
        return label_queries.matrix(model.id, model.digest, self.record.id, self.record.created) if model else None

    def likeness(self, query: str | int) -> label_queries.Likeness | None:
        """(n,) cosines, by the chosen model, to typed words or to a sentence; None without a model."""
        model = self.model_record
        if model is None:
            return None
        return label_queries.likeness(model, model.digest, self.record.id, self.record.created, query)

    def look_alike(self, sentence: int | None) -> None:
        """Show the sentences most like one, or no longer."""
        if sentence is not None and self.model is None:
            self.notice = "Choose a model for suggestions first: it says which sentences are alike."
        else:
            self.alike = sentence

    @property
    def suggestions(self) -> Suggestions | None:
        """What the chosen model makes of the state that is shown; None without a model."""
        key = (self.model, self.desk.shown.step)
        if self._suggested is None or self._suggested[0] != key:
            x = self.vectors
            if x is None:
                return None
            self._suggested = (key, suggest(self.partition, x))
        return self._suggested[1]

    def go_on(self, after: int | None = None, back: bool = False) -> None:
        """Select the next sentence of the queue in view, else the one whose place is least clear; or the one before."""
        queue = self._queue()
        if queue is None:
            self.notice = "Choose a model for suggestions first: it says which sentences are the least clear."
            return
        at = int(after if after is not None else self.selected[0]) if after is not None or len(self.selected) else None
        name, ids = queue
        seen = self._seen(name)
        if at is not None and at not in seen:
            seen.append(at)
        if back:
            earlier = [i for i in seen if i != at]
            if earlier:
                seen[:] = earlier
                self.select([earlier[-1]], name)
            return
        coming = next((i for i in ids.tolist() if i not in seen), None)
        if coming is None and len(ids):
            seen.clear()
            self.notice = "You have seen every sentence of this queue; it begins again."
            coming = int(ids[0])
        if coming is None:
            self.notice = "This queue is empty."
            return
        self.select([coming], name)

    def _queue(self) -> tuple[str, Ids] | None:
        if self.line is not None:
            return self.line
        found = self.suggestions
        return None if found is None else (QUEUE, found.queue(self.partition))

    def _seen(self, queue: str) -> list[int]:
        seen: list[int] = st.session_state.setdefault(f"seen-{self.record.id}-{self.session}-{queue}", [])
        return seen

    def suggestion(self, sentence: int) -> int | None:
        """The cluster that the model would put a sentence in, where that is another than its own."""
        return self.suggested(int(self.partition.rows([sentence])[0]))

    def suggested(self, place: int) -> int | None:
        """The same for the sentence at a place of the partition."""
        found = self.suggestions
        if found is None:
            return None
        best = int(found.best[place])
        return best if best in self.partition.clusters and best != self.partition.numbers[place] else None

    def accept(self) -> None:
        """Put every selected sentence where the model would."""
        wanted: dict[int, list[int]] = {}
        for sentence in self.selected.tolist():
            number = self.suggestion(sentence)
            if number is not None:
                wanted.setdefault(number, []).append(sentence)
        if not wanted:
            self.notice = "There is no suggestion for what is selected."
            return
        self.act(lambda p: op.accept(p, {n: np.array(ids, dtype=np.int64) for n, ids in wanted.items()}))

    def ask(self, dialog: str) -> None:
        """Have a dialog opened when the page is drawn."""
        self.asked = dialog

    def describe(self) -> str:
        """What is selected, in words."""
        chosen = self.chosen
        more = len(chosen) - len(self.selected)
        return count(len(self.selected), "sentence") + (f" and {count(more, 'identical one')}" if more else "")


def told(step: Step) -> str:
    """What a step did, in words."""
    return step.said if step.kind is Kind.DO else f"{step.kind.value}: {step.said}"


def bench(record: LabellingRecord) -> Bench:
    """The bench of this session for a labelling, and for whoever is at the keyboard now."""
    key, person = f"bench-{record.id}", current_person()
    held = st.session_state.get(key)
    if not isinstance(held, Bench) or held.desk.person != person:
        held = Bench(Desk(queries.store(), record.id, person))
        st.session_state[key] = held
    return held
