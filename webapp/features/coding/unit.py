"""Surface Code of the page Code: one unit at a time, large, with the codes of the codebook and their keys.

The browser holds the next units of a queue, and shows the following one as soon as a key was pressed. Every action
names the unit that was drawn and what was shown of it: if that is not what the store says, nothing is written and the
page says so. Actions that the store cannot take at the moment stay in the browser, which sends them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, Field, SentenceChanges, StaleChangeError
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.operations import NONE_FITS, NOTE_LIMIT, Operation
from themescope.core.labelling.partition import (
    UNASSIGNED,
    Partition,
    allows_several,
    code_clusters,
    code_names,
    code_sets,
    has_code,
)
from themescope.core.records.stored import Sharing
from themescope.core.types import Ids
from themescope.db.records import ItemRecord, TaskRecord
from themescope.jobs.common.labelled import provenance_of
from themescope.jobs.services import tasks
from themescope.jobs.services.samples import places_of
from themescope.jobs.services.search import holds, parsed
from themescope.webapp.features.coding import READ_ONLY, SEARCH, SELECTION, UNSURE_QUEUE, WAVE_QUEUE, queries, rest
from themescope.webapp.features.coding.actions import HANDLERS, is_int
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.toolbar import bar_data, code_list, draw
from themescope.webapp.shared import compare_queries, labelling, people, selections
from themescope.webapp.shared import queries as records
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import succeeds
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.labelling import Task
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.text import shorten

Mask = npt.NDArray[np.bool_]
TASK, CODE = "My task: ", "Code: "
"""Beginnings of the names of queues."""
DISPUTED, UNCODED, EVERY = "Open disputes", "Without a code", "All units"
UNCERTAIN, SELECTED, SEARCHED = "Marked as uncertain", "Selected units", "Search"
_AHEAD, _BEHIND = 24, 2
"""Number of units that the browser holds after and before the one that is shown."""
_MOST_CHARACTERS = 60_000
_WORDS = {
    "loading": "Loading the next unit …",
    "of": "of",
    "none": "None fits",
    "suggested": "suggested",
    "show": "Show the unit",
    "note_help": "A note on this unit. Enter saves it, Esc cancels.",
    "skip_help": "Why does it stay without a code? Enter goes on; without a reason the unit comes again.",
    "press": "Press the key of a code.",
}


# --- queues -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class UnitQueue:
    """The units that a person goes through, in an order that stays; row i of every array is one unit."""

    name: str
    made_of: object
    """What the queue was made from; another one is made when that has changed."""
    ids: Ids
    task: Task | None = None
    items: Sequence[ItemRecord | None] = ()
    """(n,) items of the task."""
    methods: Mapping[int, str] = field(default_factory=dict)
    """How some units came into the queue, for the history; else its name."""
    acted: Mask = field(init=False)
    """(n,) units that were decided in this session."""
    judged: Mask | None = None
    """(n,) units of a task that began with codes which the person has placed or approved already."""
    at: int = 0
    """Row of the unit that is shown."""
    written: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Unit → number of the last action of this browser on it, and what was shown of the unit after that."""
    conflict: tuple[int, str] | None = None
    """The last unit that somebody else changed first, and what to say about it."""

    token: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        self.acted = np.zeros(len(self.ids), bool)
        self.row = {id: row for row, id in enumerate(self.ids.tolist())}

    def settled(self, partition: Partition) -> Mask:
        """Return the (n,) mask of the units about which nothing is left to decide here."""
        if self.name == DISPUTED:
            return ~partition.uncertain[partition.rows(self.ids)]
        if self.task is None and self.name != UNCODED:
            return self.acted
        coded = ~np.isin(self.ids, tasks.uncoded(partition))
        return coded if self.judged is None else coded & (self.judged | self.acted)

    def move_on(self, partition: Partition, after: int) -> None:
        """Show the next unit that is not settled after a row, from the end on again from the start."""
        left = np.flatnonzero(~self.settled(partition))
        later = left[left > after]
        self.at = int(later[0]) if len(later) else int(left[0]) if len(left) else -1


def names(state: RelabelState) -> list[str]:
    """Return the names of the queues, the one to begin with first; tasks of the person are other codings."""
    blind, partition, task = state.record.blind, state.partition, labelling.of_labelling(state.record)
    own = [f"{TASK}{task.record.name}"] if task is not None else []
    disputed = [DISPUTED] if state.record.kind is Sharing.GOLD else []
    unsure = [UNSURE_QUEUE] if not blind and rest.newest(state) is not None else []
    waves = [] if blind else [f"{WAVE_QUEUE}{wave}" for wave in rest.waves(state)]
    left = bool(len(tasks.uncoded(partition)))
    first = [*own, *disputed, *unsure, *([UNCODED, EVERY] if left else [EVERY, UNCODED])]
    if selections.from_address(SELECTION) is not None:
        first.insert(0, SELECTED)
    others = [f"{TASK}{name}" for name in _tasks(state) if f"{TASK}{name}" not in own]
    named = [f"{CODE}{code.cluster.name}" for code in codes(partition)]
    return [*first, *waves, UNCERTAIN, SEARCHED, *named, *others]


def _queue(state: RelabelState, name: str, task: Task | None) -> UnitQueue:
    """Return the queue of a name: the one that this session holds, as long as nothing else makes another one."""
    record, partition = state.record, state.partition
    search = str(st.session_state.get(SEARCH, "")).strip() if name == SEARCHED else ""
    selection = selections.from_address(SELECTION) if name == SELECTED else None
    newest = rest.newest(state) if name == UNSURE_QUEUE else None
    made_of = (
        name,
        record.members,
        search,
        selection and tuple(selection.ids.tolist()),
        newest and newest.id,
        task and [(item.id, item.person) for item in task.of(state.session.person)] if name.startswith(TASK) else None,
    )
    held: UnitQueue | None = st.session_state.get(f"code_unit_{record.id}")
    if held is not None and held.made_of == made_of:
        return held
    every = state.texts.ids
    methods: Mapping[int, str] = {}
    if name == UNSURE_QUEUE:
        methods = dict(rest.unsure(state))
        found = np.array([*methods], np.int64)
    elif name == UNCODED:
        found = every[np.isin(every, tasks.uncoded(partition))]
    elif name.startswith(WAVE_QUEUE):
        of_wave = rest.waves(state).get(name.removeprefix(WAVE_QUEUE), every[:0])
        found = every[np.isin(every, of_wave) & np.isin(every, tasks.uncoded(partition))]
    elif name in (DISPUTED, UNCERTAIN):
        found = every[np.isin(every, partition.ids[partition.uncertain])]
    elif name == SELECTED and selection is not None:
        found = every[np.isin(every, selection.ids)]
    elif name == SEARCHED:
        query = parsed(search)
        found = every[np.array([bool(query) and holds(one.text, query) for one in state.texts.sentences], bool)]
    elif name.startswith(CODE):
        of = [number for number, one in code_clusters(partition).items() if one.name == name.removeprefix(CODE)]
        found = every[np.isin(every, partition.ids[has_code(partition, *of)])]
    else:
        found = every
    queue = UnitQueue(name, made_of, found, methods=methods)
    if task is not None and name.startswith(TASK):
        _of_task(state, queue, task)
    queue.move_on(partition, -1)
    st.session_state[f"code_unit_{record.id}"] = queue
    _keep_up(queue, partition)
    return queue


def _of_task(state: RelabelState, queue: UnitQueue, task: Task) -> None:
    """Add the items of the person, and what is settled of a labelling that began with codes."""
    own = task.of(state.session.person)
    of = {place: item for item in own for place in places_of([item.range])}
    where = [state.texts.sentences[state.texts.row[id]] for id in queue.ids.tolist()]
    queue.task, queue.items = task, [of.get((one.article_id, one.position)) for one in where]
    if task.record.settings.get("start") in (tasks.START_SECTIONS, tasks.START_RUN, tasks.START_LABELLING):
        made = records.read(lambda r: provenance_of(r, state.record, state.partition))
        queue.judged = made.judged[state.partition.rows(queue.ids)]


def _keep_up(queue: UnitQueue, partition: Partition) -> None:
    """Record the items of the task as done whose units are settled, and the one that is shown as begun."""
    if queue.task is None or queue.task.record.closed is not None:
        return
    settled = queue.settled(partition)
    left = {item.id for item, done in zip(queue.items, settled.tolist(), strict=True) if item and not done}
    done = [item for item in {one.id: one for one in queue.items if one}.values() if item.id not in left]
    shown = queue.items[queue.at] if queue.at >= 0 else None
    new = [item.id for item in done if item.done is None]
    begun = shown.id if shown is not None and shown.opened is None else None
    if not new and begun is None:
        return
    now = datetime.now(UTC)
    succeeds(lambda: tasks.record_progress(records.store(), new, begun))
    queue.items = [
        item and replace(item, opened=item.opened or now, done=item.done or (now if item.id in new else None))
        if item and (item.id in new or item.id == begun)
        else item
        for item in queue.items
    ]


# --- surface ----------------------------------------------------------------------------------------------------------


def _tasks(state: RelabelState) -> dict[str, TaskRecord]:
    with records.store().reading() as r:
        return {
            task.name: task
            for task in r.tasks.list(state.record.corpus_id)
            if any(member.person == state.session.person for member in r.tasks.members(task.id))
        }


def show(state: RelabelState, name: str) -> None:
    """Draw a queue, up to date with what others have committed."""
    if not code_clusters(state.partition):
        advice, view = "Write the codebook first: the codes and what belongs to each.", {"labelling": state.record.name}
        nothing("No codes yet.", advice, "codebook", "Open codebook", view)
        return
    task = labelling.of_labelling(state.record)
    if name == SEARCHED:
        st.text_input(
            "Search",
            key=SEARCH,
            bind="query-params",
            icon=":material/search:",
            placeholder='rent OR "new flats"',
            label_visibility="collapsed",
            width=280,
        )
    if task is not None and task.record.closed is not None:
        st.caption("This task is closed.")
    other = _tasks(state).get(name.removeprefix(TASK)) if name.startswith(TASK) else None
    if other is not None and (task is None or other.id != task.record.id):
        labelling.open_task(other.id)
    queue = _queue(state, name, task)
    draw(state, "unit", unit_data(state, queue), handle=partial(handle, queue))
    if queue.at < 0 and queue.task is not None:
        with st.container(horizontal=True):
            page_link("tasks", "Tasks")
            page_link("agreement", "Agreement", view={"scope": f"{compare_queries.TASK}{queue.task.record.name}"})
    elif queue.at < 0 and queue.name in (DISPUTED, UNCODED, EVERY):
        rest.offer(state)


def unit_data(state: RelabelState, queue: UnitQueue) -> dict[str, Any]:
    """Return what the browser needs: the codes, and the units around the one that is shown."""
    partition = state.partition
    settled = queue.settled(partition)
    if queue.at >= 0 and len(queue.ids) == 0:
        queue.at = -1
    left = np.flatnonzero(~settled)
    after = np.concatenate([left[left > queue.at], left[left <= queue.at]])[:_AHEAD].tolist()
    around = [row for row in range(queue.at - _BEHIND, queue.at + 2) if 0 <= row < len(queue.ids)]
    rows = list(dict.fromkeys([*([queue.at] if queue.at >= 0 else []), *around, *after]))
    texts = queries.unit_texts(state, queue.ids[rows])
    kept, total = list[int](), 0
    for row in rows:
        total += len(texts[int(queue.ids[row])]["text"])
        if total <= _MOST_CHARACTERS or len(kept) < _BEHIND + 3:
            kept.append(row)
    suggested = rest.suggestions(state, queue.ids[kept])
    return {
        **bar_data(state, compare_queries.CODE, _WORDS),
        "queue": queue.token,
        "at": int(queue.ids[queue.at]) if queue.at >= 0 else None,
        "total": len(queue.ids),
        "done": int(settled.sum()),
        "end": _end(queue),
        "units": [_unit(state, queue, row, bool(settled[row]), suggested) | texts[int(queue.ids[row])] for row in kept],
        "codes": code_list(state, tones(st.context.theme.type)),
        "conflict": queue.conflict and {"unit": queue.conflict[0], "text": queue.conflict[1]},
        "limit": NOTE_LIMIT,
    }


def _end(queue: UnitQueue) -> str:
    if len(queue.ids):
        return {DISPUTED: "All disputes are settled.", EVERY: "That was the last unit."}.get(
            queue.name, "All units here are done."
        )
    return {
        SEARCHED: "Type words to find units.",
        UNCODED: "Every unit has a code.",
        DISPUTED: "No disputes are open.",
        UNSURE_QUEUE: "No prediction is left to check. Predict again to get the next units.",
    }.get(queue.name, "No units here.")


def _unit(
    state: RelabelState, queue: UnitQueue, row: int, settled: bool, suggested: Mapping[int, tuple[int, float]]
) -> dict[str, Any]:
    partition, id = state.partition, int(queue.ids[row])
    place, held = int(partition.rows([id])[0]), code_sets(partition)
    number, note = int(partition.numbers[place]), partition.notes.get(id, "")
    found: dict[str, Any] = {}
    if id in suggested:
        cluster, p = suggested[id]
        found = {"suggested": {"cluster": cluster, "codes": sorted(held[cluster]), "p": f"{p:.2f}".lstrip("0")}}
    if queue.name == DISPUTED:  # its note says who gave it what
        said = [part.rpartition(": ") for part in note.split(" · ")]
        found["said"] = [[who, given.split(" + ")] for who, _, given in said]
    return {
        "id": id,
        "row": row,
        "cluster": number,
        "codes": sorted(held[number]),
        "none": number == UNASSIGNED and note == NONE_FITS,
        "note": note,
        "uncertain": bool(partition.uncertain[place]),
        "settled": settled,
        "seen": _seen(partition, id),
        **found,
    }


def _seen(partition: Partition, id: int) -> str:
    """Return what is shown of a unit, besides its text, in a form that can be compared."""
    number = int(partition.numbers[partition.rows([id])[0]])
    return f"{sorted(code_sets(partition)[number])} {partition.notes.get(id, '')}"


# --- actions ----------------------------------------------------------------------------------------------------------


def handle(queue: UnitQueue, state: RelabelState, action: Mapping[str, Any]) -> None:
    """Handle an action of the browser on a unit of a queue."""
    kind, unit = str(action.get("kind")), action.get("unit")
    if kind == "keys":
        state.dialog = kind
    elif kind in ("undo", "redo"):
        _travel(state, queue, kind)
    elif kind == "show":
        row = queue.row.get(unit, -1) if is_int(unit) else action.get("row")
        if is_int(row) and 0 <= row < len(queue.ids):
            queue.at = row
            if queue.conflict is not None and queue.conflict[0] == queue.ids[row]:
                queue.conflict = None
    elif is_int(unit) and unit in queue.row:
        if state.read_only:
            state.notice = READ_ONLY
        else:
            _decide(state, queue, action, kind, int(unit))


def _travel(state: RelabelState, queue: UnitQueue, kind: str) -> None:
    """Undo or redo a step, and show the unit that it is about."""
    known = len(state.session.steps)
    state.session.sync()
    HANDLERS[kind](state, {})
    if state.notice or len(state.session.steps) == known:
        return
    step = state.session.steps[-1]
    changed = [queue.row[id] for id in queries.changes_of(step.id).sentences().tolist() if id in queue.row]
    if changed:
        queue.acted[changed] = kind == "redo"
        queue.at = min(changed)
        _keep_up(queue, state.partition)


def _decide(state: RelabelState, queue: UnitQueue, action: Mapping[str, Any], kind: str, unit: int) -> None:
    """Write what a person decided about a unit, if the unit is still as it was shown."""
    state.session.sync()
    made = _MAKERS.get(kind)
    if made is None:
        return
    seen, earlier = _seen(state.partition, unit), action.get("after")
    expected = queue.written.get(unit) == (earlier, seen) if is_int(earlier) else action.get("seen") == seen
    operation = made(state, np.array([unit], np.int64), action) if expected else None
    if operation is not None:
        method = queue.methods.get(unit) or f"surface Code: {queue.name}"
        if kind == "accept":
            method = f"{method}, suggestion accepted"
        try:
            step = state.session.do(operation, "", method)
        except StaleChangeError:
            state.session.sync()
            expected = False
        else:
            state.saved_at = datetime.now(UTC)
            what = step.summary.removeprefix("1 unit").lstrip(" :") if step else "unchanged"
            state.last_summary = f"“{_name(state, unit)}” {what}"
    if not expected:
        queue.written.pop(unit, None)
        queue.conflict = (unit, _conflict(state, unit))
        return
    queue.written[unit] = (int(action["number"]), _seen(state.partition, unit))
    if queue.conflict is not None and queue.conflict[0] == unit:
        queue.conflict = None
    row = queue.row[unit]
    if kind in _GOING_ON and not (kind == "code" and allows_several(state.partition)):
        queue.acted[row] = kind != "skip" or bool(str(action.get("text", "")).strip())
        queue.move_on(state.partition, row)
    elif kind in ("code", "unassign"):
        queue.acted[row] = kind == "code"
    _keep_up(queue, state.partition)


def _name(state: RelabelState, unit: int) -> str:
    return shorten(state.session.texts.get(unit, ""), 48)


def _conflict(state: RelabelState, unit: int) -> str:
    """Return who changed a unit first, and what it has now."""
    partition = state.partition
    number = int(partition.numbers[partition.rows([unit])[0]])
    steps = records.read(lambda r: r.label_steps.of_sentence(state.record.id, unit))
    person = steps[-1].person if steps else ""
    who = "you, elsewhere" if person == state.session.person else people.shown(person)
    now = " + ".join(code_names(partition)[number]) or partition.notes.get(unit, "") or "no code"
    return f"Not saved: “{_name(state, unit)}” was changed by {who}, to {now}."


def _code(state: RelabelState, ids: Ids, action: Mapping[str, Any], named: str = "code") -> Operation | None:
    """Put a unit into a code, or with ``named`` "cluster" into the suggested one, or confirm the one that it has.

    Its mark stays if the person has marked it as uncertain just before.
    """
    number, partition = action.get(named), state.partition
    if not is_int(number) or number not in partition.clusters:
        state.notice = "That code no longer exists."
        return None
    if named == "code" and allows_several(partition):
        return coding.toggle_code(partition, ids, number, state.session.next_number)
    here = int(partition.numbers[partition.rows(ids)][0]) == number
    made = op.approve(partition, ids) if here else op.assign(partition, ids, number)
    if not action.get("uncertain"):
        return made
    kept = (
        change
        for change in made.change_set
        if not (isinstance(change, SentenceChanges) and change.field is Field.UNCERTAIN)
    )
    return replace(made, change_set=ChangeSet(tuple(kept)))


def _note(state: RelabelState, ids: Ids, action: Mapping[str, Any]) -> Operation:
    return op.note(state.partition, ids, str(action.get("text", ""))[:NOTE_LIMIT])


_MAKERS: Mapping[str, Callable[[RelabelState, Ids, Mapping[str, Any]], Operation | None]] = {
    "code": _code,
    "accept": partial(_code, named="cluster"),
    "none_fits": lambda state, ids, _: op.none_fits(state.partition, ids),
    "unassign": lambda state, ids, _: op.unassign(state.partition, ids),
    "uncertain": lambda state, ids, action: op.mark(state.partition, ids, bool(action.get("on"))),
    "note": _note,
    "skip": lambda state, ids, action: _note(state, ids, action) if str(action.get("text", "")).strip() else None,
    "go": lambda state, ids, _: None,
}
"""What the actions of the browser change; None for one that changes nothing."""
_GOING_ON = {"code", "accept", "none_fits", "skip", "go"}
"""Actions after which the next unit is shown."""
