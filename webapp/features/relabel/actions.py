"""What a person can do with a button, a key or the mouse while they relabel; each deed is done once, in its order.

The browser numbers deeds and sends all of them again until it is told that they were heard (``action_queue.js``). A
button of Streamlit's own would not do here: a timer of the page sends a pending press along with its own message, so
that one press counts twice; and two presses that meet while the page is being redrawn are folded into one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from core.labelling import operations as op
from core.labelling.partition import UNASSIGNED, Cluster
from core.types import Ids
from webapp.features.relabel.state import Bench
from webapp.map_view import mapping

NINE = 9
SELECT_FIRST = "Select sentences first: click them, draw around them on the map, or press J."
COLUMNS, DRAGGED, LASSO, POINTED = "in the columns", "dragged", "by lasso on the map", "on the map"
Act = Callable[[Bench, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that has a button and a key."""

    name: str
    key: str
    label: str
    told: str
    """What the key map says of it."""
    group: str
    seeing: bool = False
    """Not in blind work: it tells what others think."""
    stays: bool = False
    """It happens in the browser; nothing is told to the server."""


DEEDS = (
    Deed("undo", "U", "Undo", "undo your last step, also after a reload", "steps"),
    Deed("redo", "Y", "Redo", "do it again", "steps"),
    Deed("keys", "?", "Keys", "this list", "steps", stays=True),
    Deed("unassign", "0", "Unassigned", "take the selection out of its cluster", "selection"),
    Deed("create", "N", "New cluster", "new cluster from the selection, named by its words", "selection"),
    Deed("uncertain", "X", "Uncertain", "mark the selection uncertain", "selection"),
    Deed("certain", "V", "Certain", "mark it certain again", "selection"),
    Deed("note", "T", "Note", "write a note on the selection", "selection"),
    Deed("accept", "A", "Accept", "put the selection where the model suggests", "selection", seeing=True),
    Deed("twins", "D", "Identical too", "label identical sentences together, or no longer", "selection"),
    Deed("none", "L", "Select none", "select nothing", "selection"),
    Deed("name", "F", "Rename", "name and colour of the cluster of the selection", "clusters"),
    Deed("merge", "M", "Merge", "merge clusters", "clusters"),
    Deed("split", "S", "Split", "split a cluster, with a preview", "clusters"),
    Deed("delete", "E", "Delete", "delete a cluster", "clusters"),
    Deed("recluster", "G", "Re-cluster", "cluster again around what people placed", "clusters", seeing=True),
    Deed("next", "J", "Next", "next sentence of the queue in view, or the least certain one", "queue"),
    Deed("previous", "K", "Previous", "back to the one before", "queue"),
    Deed("alike", "W", "Alike", "see the sentences most like the selected one", "queue", seeing=True),
)
TURN = Deed("turn", "B", "Next nine", "the number keys stand for the next nine clusters", "clusters")


def hear(bench: Bench, told: Any) -> None:
    """Do what the browser tells, each deed once and in its order; what was heard already is passed over."""
    if not isinstance(told, Mapping) or told.get("session") != bench.session:
        return
    deeds = [deed for deed in told.get("deeds") or () if isinstance(deed, Mapping) and _number(deed.get("number"))]
    with bench.hearing:
        for deed in sorted(deeds, key=lambda one: int(one["number"])):
            act = ACTS.get(str(deed.get("kind")))
            if deed["number"] > bench.heard:
                bench.heard = int(deed["number"])
                if act is not None:
                    act(bench, deed)


def _number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def ids_of(values: Any) -> Ids:
    """The whole numbers among what the browser sent."""
    listed = values if isinstance(values, list) else []
    return np.array([v for v in listed if _number(v) and abs(v) < 2**62], dtype=np.int64)


def window(bench: Bench) -> list[Cluster]:
    """The clusters that the number keys stand for now."""
    clusters = [bench.partition.clusters[n] for n in sorted(bench.partition.clusters)]
    start = bench.digits * NINE if bench.digits * NINE < len(clusters) else 0
    return clusters[start : start + NINE]


def current(bench: Bench) -> Cluster | None:
    """The cluster of the first selected sentence that has one."""
    numbers = bench.partition.numbers[bench.partition.rows(bench.selected)]
    return next((bench.partition.clusters[int(n)] for n in numbers if n != UNASSIGNED), None)


# ---------------------------------------------------------------- what each of them does


def _selected(go: Callable[[Bench], object]) -> Act:
    """Something that is done to a selection, and refused without one."""

    def act(bench: Bench, deed: Mapping[str, Any]) -> None:
        if len(bench.selected):
            go(bench)
        else:
            bench.notice = SELECT_FIRST

    return act


def _asked(dialog: str) -> Act:
    """Something that needs a second look: a dialog is opened when the page is drawn."""

    def act(bench: Bench, deed: Mapping[str, Any]) -> None:
        bench.ask(dialog)

    return act


def _of_clusters(dialog: str, least: int) -> Act:
    def act(bench: Bench, deed: Mapping[str, Any]) -> None:
        if len(bench.partition.clusters) < least:
            bench.notice = f"This needs {'a cluster' if least == 1 else 'two clusters'}: make one from sentences first."
        else:
            bench.ask(dialog)

    return act


def _assign(bench: Bench, deed: Mapping[str, Any]) -> None:
    number = deed.get("cluster")
    if _number(number):
        _selected(lambda b: b.act_on_chosen(lambda p, ids: op.assign(p, ids, number)))(bench, deed)


def _create(bench: Bench, deed: Mapping[str, Any]) -> None:
    """Make a cluster of the selection at once, named by its words; its name can be changed where it stands."""
    wanted = bench.telling_name(bench.chosen) if len(bench.selected) else "New cluster"
    bench.act_on_chosen(lambda p, ids: op.create(p, bench.desk.next_number, op.free_name(p, wanted), ids))


def _pick(bench: Bench, deed: Mapping[str, Any]) -> None:
    kept = np.setdiff1d(bench.selected, ids_of(deed.get("off")))
    bench.select(np.union1d(kept, ids_of(deed.get("on"))), COLUMNS)


def _area(bench: Bench, deed: Mapping[str, Any]) -> None:
    """Select what lies inside a shape that was drawn on the map."""
    plane, shape = bench.planes.get(str(deed.get("digest"))), mapping.shape_of(deed.get("corners"))
    if plane is None or not len(shape):
        return
    hidden = [-1 if kind == plane.kinds else int(kind) for kind in ids_of(deed.get("hidden"))]
    bench.select(plane.ids[mapping.inside_rows(plane.units, plane.categories, shape, hidden)], LASSO)


def _point(bench: Bench, deed: Mapping[str, Any]) -> None:
    """Select the point that was clicked, or no longer."""
    plane, row = bench.planes.get(str(deed.get("digest"))), deed.get("row")
    if plane is None or not _number(row) or not 0 <= row < len(plane.ids):
        return
    one = plane.ids[[row]]
    on = not np.isin(one, bench.selected).all()
    bench.select(np.union1d(bench.selected, one) if on else np.setdiff1d(bench.selected, one), POINTED)


def _move(bench: Bench, deed: Mapping[str, Any]) -> None:
    number = deed.get("cluster")
    if not _number(number):
        return
    bench.select(ids_of(deed.get("ids")), DRAGGED)
    if number == UNASSIGNED:
        bench.act_on_chosen(op.unassign)
    else:
        bench.act_on_chosen(lambda p, ids: op.assign(p, ids, number))


def _rename(bench: Bench, deed: Mapping[str, Any]) -> None:
    number, name = deed.get("cluster"), deed.get("name")
    if _number(number) and isinstance(name, str):
        bench.act(lambda p: op.rename(p, number, name), keep=True)


def _recolour(bench: Bench, deed: Mapping[str, Any]) -> None:
    number, colour = deed.get("cluster"), deed.get("colour")
    if _number(number) and _number(colour):
        bench.act(lambda p: op.recolour(p, number, colour), keep=True)


def _turn(bench: Bench, deed: Mapping[str, Any]) -> None:
    pages = max(-(-len(bench.partition.clusters) // NINE), 1)
    bench.digits = (bench.digits + 1) % pages


def _toggle_twins(bench: Bench, deed: Mapping[str, Any]) -> None:
    bench.twins = not bench.twins


def _refuse_name(bench: Bench, deed: Mapping[str, Any]) -> None:
    bench.notice = "Select a sentence of the cluster first; then its name and colour can be changed."


ACTS: dict[str, Act] = {
    "undo": lambda bench, _: bench.travel(lambda desk: desk.undo(), "There is nothing of yours to undo."),
    "redo": lambda bench, _: bench.travel(lambda desk: desk.redo(), "There is nothing to redo."),
    "assign": _assign,
    "unassign": _selected(lambda bench: bench.act_on_chosen(op.unassign)),
    "create": _create,
    "uncertain": _selected(lambda bench: bench.act_on_chosen(lambda p, ids: op.mark(p, ids, True), keep=True)),
    "certain": _selected(lambda bench: bench.act_on_chosen(lambda p, ids: op.mark(p, ids, False), keep=True)),
    "note": _selected(lambda bench: bench.ask("note")),
    "accept": _selected(lambda bench: bench.accept()),
    "twins": _toggle_twins,
    "none": lambda bench, _: bench.clear(),
    "name": _refuse_name,
    "merge": _of_clusters("merge", 2),
    "split": _of_clusters("split", 1),
    "delete": _of_clusters("delete", 1),
    "recluster": _asked("recluster"),
    "next": lambda bench, _: bench.go_on(),
    "previous": lambda bench, _: bench.go_on(back=True),
    "alike": _selected(lambda bench: bench.look_alike(int(bench.selected[0]))),
    "turn": _turn,
    "pick": _pick,
    "area": _area,
    "point": _point,
    "clear": lambda bench, _: bench.clear(),
    "move": _move,
    "rename": _rename,
    "recolour": _recolour,
}
