"""Actions that a user dispatches with a button, a key or the mouse; each is applied once, in order.

The browser numbers actions and sends them again until they are acknowledged (``actions.js``). Buttons of
Streamlit are not suitable here: a timer of the page sends a pending press along with its own message, so that one press
counts twice; and two presses that arrive while the page is being drawn are merged into one.

What a browser shows and what an action changes are the same: an action names the units that were on the screen
(``ids``) and the clusters in which they were shown (``was``: a number of each, or one number for all). If they are
elsewhere now, nothing is written, and the page says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard
from urllib.parse import urlencode
from uuid import uuid4

import numpy as np

from themescope.core.errors import StoreUnavailableError, ThemescopeError
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.partition import Partition, allows_several, code_sets, free_name
from themescope.core.types import Ids
from themescope.jobs.services import failures as failure_service
from themescope.jobs.services.labelling.session import LabellingSession, cluster_name, place_of
from themescope.webapp.features.coding import LABELLING, NEEDS_MODEL
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import labelling, queries
from themescope.webapp.shared.compare_queries import CODE, SORT, TABLE

Handler = Callable[[RelabelState, Mapping[str, Any]], None]
"""Function that handles one action of the browser."""


def is_int(value: Any) -> TypeGuard[int]:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def ids_of(values: Any) -> Ids:
    """Return the integers among the values that the browser sent."""
    listed = values if isinstance(values, list) else []
    return np.array([v for v in listed if is_int(v) and abs(v) < 2**62], dtype=np.int64)


SELECT_FIRST = "Select units first: click them, or press Space."
UNSEEN = "Nothing was written: this is not what was shown when you pressed the key. Press it again if it fits."
_CODE, _SORT, _LISTS, _EVERY = (CODE,), (SORT,), (SORT, TABLE), (CODE, SORT, TABLE)


@dataclass(frozen=True, slots=True)
class Action:
    """An action on the unit that is shown, on the selected units or the one that has the focus, or on a code."""

    kind: str
    key: str
    """"" for one that the bar of a selection or the menu of a code offers only."""
    label: str
    help: str = ""
    """Description in the list of keys."""
    on: tuple[str, ...] = _LISTS
    """The surfaces that have it."""
    cluster: bool = False
    """Whether it is about the open code, whose menu has it."""
    moves: bool = False
    """Whether the units get another code."""
    in_bar: bool = False
    """Whether it stands in the bar of a selection without its menu."""
    hidden_when_blind: bool = False
    """Whether it reveals suggestions or other people's codes."""


ACTIONS = (
    Action("assign", "1 … 9, A …", "", "give the code beside which it stands", _EVERY),
    Action("find", "F", "Move to …", "give a code that you find by its name", _EVERY, in_bar=True),
    Action("accept", "Enter", "Confirm", "accept the suggestion, or confirm the code that is shown", _CODE),
    Action("accept", "Enter", "Accept suggestion", "accept the suggestion", moves=True, hidden_when_blind=True),
    Action("create", "N", "New", "make a code of the selected units, named by their words", in_bar=True),
    Action("none_fits", "0", "None fits", "none of the codes fits", _EVERY, moves=True),
    Action("unassign", "Backspace", "Unassign", "take the code away", _EVERY, moves=True),
    Action("uncertain", "X", "Uncertain", "mark as uncertain, or as certain again", _EVERY, in_bar=True),
    Action("note", "T", "Note", "write a note", _EVERY, in_bar=True),
    Action("skip", "J", "Skip", "skip, with a reason or for later", _CODE),
    Action("example", "", "Example"),
    Action("counter", "", "Counter-example of …"),
    Action("gold", "", "Gold item"),
    Action("collect", "", "Collect as errors", hidden_when_blind=True),
    Action("duplicates", "", "Units with the same text"),
    Action("rename", "F2", "Rename", "rename the open code", _SORT, cluster=True),
    Action("merge", "Alt+M", "Merge …", "merge it with others", _SORT, cluster=True),
    Action("recluster", "Alt+G", "Split …", "split it, or a part", _SORT, cluster=True, hidden_when_blind=True),
    Action("group", "Alt+S", "Put under a theme …", "put codes under a theme", _SORT, cluster=True),
    Action("move_out", "Alt+P", "Move out of its theme", "move it out of its theme", _SORT, cluster=True),
    Action("dissolve", "", "Dissolve the theme", "", _SORT, cluster=True),
    Action("codebook", "", "Codebook entry …", "", _SORT, cluster=True),
    Action("delete", "Alt+E", "Delete …", "delete it", _SORT, cluster=True),
    Action("walk", "↓ ↑", "", "the next unit, the one before"),
    Action("step", "→ ←", "", "the next unit, the one before", _CODE),
    Action("select", "Space", "", "select the unit; with Shift, up to it; Ctrl+A: all; Esc: none"),
    Action("codebook_panel", "Z", "Codebook", "open or close the codebook beside the units"),
    Action("undo", "U", "Undo", "undo your last change, also after a reload", _EVERY),
    Action("redo", "Y", "Redo", "redo it", _EVERY),
    Action("keys", "?", "Keys", "this list", _EVERY),
)
"""All actions of Code, Sort and Table by keys and buttons; a key means the same on all of them."""


def actions_of(state: RelabelState, surface: str) -> list[Action]:
    """Return the actions that a surface offers; blind work offers none that shows the opinion of others."""
    return [one for one in ACTIONS if surface in one.on and not (one.hidden_when_blind and state.record.blind)]


def dispatch(state: RelabelState, message: Any, handle: Handler | None = None) -> None:
    """Handle the actions of a message from the browser in their order; those handled before are skipped.

    One that the store cannot take at the moment is not acknowledged, nor are those after it: they come again.
    """
    if not isinstance(message, Mapping) or message.get("session") != state.browser_session:
        return
    sent = [one for one in message.get("actions") or () if isinstance(one, Mapping) and is_int(one.get("number"))]
    with state.lock:
        for action in sorted(sent, key=lambda one: int(one["number"])):
            if action["number"] <= state.acknowledged:
                continue
            try:
                (handle or _handle)(state, action)
            except StoreUnavailableError as error:
                state.notice = f"Not saved yet. {error}"
                return
            except ThemescopeError as error:
                state.notice = f"Not saved. {error}"
            state.acknowledged = int(action["number"])


def _handle(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Select the units that an action names, and handle it; only a notice if they are not as they were shown."""
    handler = HANDLERS.get(str(action.get("kind")))
    if handler is None:
        return
    if "ids" in action and "was" in action:
        ids, was = ids_of(action["ids"]), action["was"]
        shown = np.full(len(ids), was, np.int64) if is_int(was) else ids_of(was)
        p = state.partition
        if len(shown) != len(ids) or not np.isin(ids, p.ids).all() or (p.numbers[p.rows(ids)] != shown).any():
            state.notice = UNSEEN
            return
        state.select(ids, str(action.get("method", "in the list")))
    handler(state, action)


def clusters_of_selection(state: RelabelState) -> list[int]:
    """Return the codes of the selected units, each once; without such, the open cluster."""
    numbers, sets = state.partition.numbers[state.partition.rows(state.selected)], code_sets(state.partition)
    found = list(dict.fromkeys(code for n in dict.fromkeys(numbers.tolist()) for code in sorted(sets[n])))
    return found or [n for n in (state.cluster,) if n is not None and n in state.partition.clusters]


def _on_selection(act: Callable[[RelabelState], object]) -> Handler:
    """Return a handler that needs units."""

    def handle(state: RelabelState, action: Mapping[str, Any]) -> None:
        if len(state.selected):
            act(state)
        else:
            state.notice = SELECT_FIRST

    return handle


def _opens(dialog: str, clusters: int = 0) -> Handler:
    """Return a handler that opens a dialog about the open cluster, provided that there are so many clusters."""

    def handle(state: RelabelState, action: Mapping[str, Any]) -> None:
        if len(state.partition.clusters) < clusters:
            needed = "a code" if clusters == 1 else "two codes"
            state.notice = f"This needs {needed}. Make one of selected units first (N)."
            return
        if is_int(action.get("cluster")):
            state.cluster = action["cluster"]
        state.dialog = dialog

    return handle


def _assign(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Put the units into a cluster; where several codes are allowed, give them the code or take it away."""
    number = action.get("cluster")
    if not is_int(number):
        return

    def place(p: Partition, ids: Ids) -> op.Operation:
        several = allows_several(p)
        return coding.toggle_code(p, ids, number, state.session.next_number) if several else op.assign(p, ids, number)

    _on_selection(lambda state: state.apply_to_selection(place))(state, action)


def _create(state: RelabelState, action: Mapping[str, Any]) -> None:
    name = (cluster_name(state.session.texts, state.targets) if len(state.selected) else "") or "New code"
    known = set(state.partition.clusters)
    state.apply_to_selection(lambda p, ids: coding.create_code(p, state.session.next_number, free_name(p, name), ids))
    state.created = max(set(state.partition.clusters) - known, default=None)


def _name_created(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Give the cluster that was created last the name that was typed meanwhile."""
    number, name = state.created, action.get("name")
    if number is not None and number in state.partition.clusters and isinstance(name, str) and name.strip():
        state.apply(lambda p: op.rename(p, number, name), keep_selection=True)


def _rename(state: RelabelState, action: Mapping[str, Any]) -> None:
    number, name = action.get("cluster"), action.get("name")
    if is_int(number) and isinstance(name, str):
        state.apply(lambda p: op.rename(p, number, name), keep_selection=True)


def _recolour(state: RelabelState, action: Mapping[str, Any]) -> None:
    number, colour = action.get("cluster"), action.get("colour")
    if is_int(number) and is_int(colour):
        state.apply(lambda p: op.recolour(p, number, colour), keep_selection=True)


def _mark(state: RelabelState) -> None:
    """Mark units as uncertain; if all of them are, as certain."""
    uncertain = bool(state.partition.uncertain[state.partition.rows(state.selected)].all())
    state.apply_to_selection(lambda p, ids: op.mark(p, ids, not uncertain), keep_selection=True)


def _counter_example(state: RelabelState, action: Mapping[str, Any]) -> None:
    number = action.get("cluster")
    if is_int(number):
        state.apply_to_selection(
            lambda p, ids: codebook.add_examples(p, number, ids.tolist(), counter=True), keep_selection=True
        )


def _toggle_duplicates(state: RelabelState, action: Mapping[str, Any]) -> None:
    state.include_duplicates = not state.include_duplicates
    state.notice = f"Units with the same text are {'included' if state.include_duplicates else 'left alone'} now."


def _merge_into(state: RelabelState, action: Mapping[str, Any]) -> None:
    numbers, into = ids_of(action.get("clusters")).tolist(), action.get("into")
    if is_int(into):
        state.apply(lambda p: op.merge(p, [p.cluster(n).number for n in (*numbers, into)], into))


def _put_under(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Put clusters that were dragged under a theme; a sub-theme stands for its theme."""
    numbers, theme = ids_of(action.get("clusters")).tolist(), action.get("theme")
    if is_int(theme) and theme in state.partition.clusters:
        state.apply(lambda p: coding.put_under(p, numbers, coding.theme_of(p.clusters, theme)), keep_selection=True)


def _on_cluster(make: Callable[[Partition, int], op.Operation]) -> Handler:
    """Return a handler that changes the cluster of the action."""

    def handle(state: RelabelState, action: Mapping[str, Any]) -> None:
        number = action.get("cluster")
        if is_int(number):
            state.apply(lambda p: make(p, p.cluster(number).number), keep_selection=True)

    return handle


def _collect(state: RelabelState) -> None:
    """Collect the selected sentences as failures, with their clusters and what the model suggests."""
    model = queries.model_by_id(state.model_id)
    name, placed = model.name if model is not None else "", dict[int, str]()
    for id in map(int, state.selected):
        placed[id], row = f"in {place_of(state.partition, id)}", int(state.partition.rows([id])[0])
        other, found = state.suggestion_for(row), state.suggestions
        if other is not None and found is not None:
            suggested = state.partition.clusters[other].name
            placed[id] += f"; {name} suggests {suggested} (margin {found.margin[row]:.2f})"
    source = f"coding {state.record.name}"
    about = (failure_service.SENTENCE, source, placed, f"code?{urlencode({LABELLING: state.record.name})}")
    models = (name,) if name else ()
    collect = partial(failure_service.sentences, queries.store(), list(placed), *about, models, of_people=True)
    labelling.collect(state.record.corpus_id, source, collect)


def _similar(state: RelabelState) -> None:
    if state.model_id is None:
        state.notice = NEEDS_MODEL
    else:
        state.similar_to = int(state.selected[0])


def _open(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Open a cluster in Sort."""
    if is_int(action.get("cluster")):
        state.similar_to = state.focused = None
        state.focused_at = 0
        state.asked = action["cluster"]


def _go_to(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Open the cluster of a unit in Sort, and give the unit the focus."""
    id = action.get("unit")
    if is_int(id) and id in state.partition.ids:
        state.similar_to, state.focused, state.shown = None, id, id
        state.asked = int(state.partition.numbers[state.partition.rows([id])[0]])


HANDLERS: dict[str, Handler] = {
    "keys": lambda state, _: setattr(state, "dialog", "keys"),
    "open": _open,
    "goto": _go_to,
    "undo": lambda state, _: state.travel(LabellingSession.undo, "You have nothing to undo."),
    "redo": lambda state, _: state.travel(LabellingSession.redo, "You have nothing to redo."),
    "assign": _assign,
    "unassign": _on_selection(lambda state: state.apply_to_selection(op.unassign)),
    "create": _create,
    "name_created": _name_created,
    "uncertain": _on_selection(_mark),
    "none_fits": _on_selection(lambda state: state.apply_to_selection(op.none_fits)),
    "note": _on_selection(lambda state: setattr(state, "dialog", "note")),
    "collect": _on_selection(_collect),
    "accept": _on_selection(lambda state: state.accept_suggestions()),
    "duplicates": _toggle_duplicates,
    "example": _on_selection(lambda state: state.apply_to_selection(codebook.add_own_examples, keep_selection=True)),
    "counter": _counter_example,
    "gold": _on_selection(
        lambda state: state.apply_to_selection(
            lambda p, ids: codebook.choose_training(p, (uuid4().hex for _ in ids), ids.tolist()), keep_selection=True
        )
    ),
    "similar": _on_selection(_similar),
    "codebook": _opens("codebook", clusters=1),
    "merge": _opens("merge", clusters=2),
    "delete": _opens("delete", clusters=1),
    "recluster": _opens("recluster"),
    "group": _opens("group", clusters=1),
    "rename": _rename,
    "recolour": _recolour,
    "merge_into": _merge_into,
    "put_under": _put_under,
    "move_out": _on_cluster(lambda p, number: coding.move_out(p, [number])),
    "dissolve": _on_cluster(coding.dissolve),
}
