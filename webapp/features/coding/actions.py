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
from datetime import UTC, datetime
from typing import Any, TypeGuard
from urllib.parse import urlencode

import numpy as np

from themescope.core.errors import ThemescopeError
from themescope.core.labelling import cluster_changes, coding, hierarchy
from themescope.core.labelling import operations as op
from themescope.core.labelling.answers import Answer
from themescope.core.labelling.changes import StaleChangeError
from themescope.core.labelling.code_sets import allows_several, code_clusters, code_sets
from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.partition import UNASSIGNED, Cluster, free_name
from themescope.core.types import Ids
from themescope.jobs.services import failures as failure_service
from themescope.jobs.services.labelling import assistance
from themescope.jobs.services.labelling.session import place_of
from themescope.webapp.features.coding import LABELLING, MERGES, OUTLIERS, READ_ONLY
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.map_view.parts import part_of
from themescope.webapp.shared import queries
from themescope.webapp.shared.labelling import failures

Handler = Callable[[RelabelState, Mapping[str, Any]], None]
"""Function that handles one action of the browser."""


def is_int(value: Any) -> TypeGuard[int]:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def ids_of(values: Any) -> Ids:
    """Return the integers among the values that the browser sent."""
    listed = values if isinstance(values, list) else []
    return np.array([v for v in listed if is_int(v) and abs(v) < 2**62], dtype=np.int64)


CLUSTERS_PER_KEY_PAGE = 9
SELECT_FIRST = "Select sentences first: click them, lasso them on the map, or press J."
SUGGESTION = "suggestion"
"""Group of the actions that answer a suggestion, which are drawn above the clusters."""
TOP_LEVEL = -1
"""Stands for no theme, where a browser moves a cluster out of its theme."""
NO_MERGE = "No merge is suggested."
UNSEEN = "Nothing was written: this is not what was shown when you pressed the key. Press it again if it fits."
DIFFERENT = "This question was answered already, or the labelling has changed. Here is the present one."
IN_LIST, IN_COLUMNS, DRAGGED, LASSO, CLICKED_ON_MAP = (
    "in the list",
    "in the columns",
    "dragged",
    "by lasso on the map",
    "on the map",
)


@dataclass(frozen=True, slots=True)
class Action:
    """An action with a button and a key."""

    name: str
    key: str
    """A key alone acts on the selection or shows something; what changes whole clusters takes Alt."""
    label: str
    help: str
    """Description in the list of shortcuts and the tooltip."""
    group: str
    hidden_when_blind: bool = False
    """Whether it reveals suggestions or other people's labels."""
    in_browser: bool = False
    """Whether the browser handles it alone."""
    views: tuple[str, ...] = ()
    """The views of the layout Clusters in which it is offered; empty for all layouts."""


ACTIONS = (
    Action("undo", "U", "Undo", "undo your last change, also after a reload", "history"),
    Action("redo", "Y", "Redo", "redo the change that you undid last", "history"),
    Action("shortcuts", "?", "Keys", "show all keyboard shortcuts", "history", in_browser=True),
    Action("unassign", "0", "Unassign", "remove the selection from its cluster", "selection"),
    Action("create", "N", "New cluster", "create a cluster from the selection, named by its words", "selection"),
    Action("uncertain", "X", "Uncertain", "mark the selection as uncertain", "selection"),
    Action("certain", "V", "Certain", "remove the uncertain mark", "selection"),
    Action("none_fits", "E", "None fits", "say that none of the codes fits the selection", "selection"),
    Action("note", "T", "Note", "add a note to the selection", "selection"),
    Action("accept", "A", "Accept", "accept the model's suggestion for the selection", "selection", True),
    Action("collect", "O", "Collect as errors", "collect the selection as errors of a model", "selection", True),
    Action("example", "Q", "Pin example", "add the selection to the codebook as examples", "selection"),
    Action("clear", "L", "Clear", "clear the selection", "selection"),
    Action("duplicates", "D", "Include duplicates", "label sentences with identical text together", "selection"),
    Action("next", "J", "Next", "next sentence of the queue, or the least certain one", "queue"),
    Action("previous", "K", "Previous", "previous sentence of the queue", "queue"),
    Action("similar", "W", "Find similar", "find the sentences most similar to the selected one", "queue", True),
    Action("name", "F", "Rename", "rename or recolour the cluster of the selection", "clusters"),
    Action("merge", "Alt+M", "Merge", "merge clusters", "clusters"),
    Action("delete", "Alt+E", "Delete", "delete a cluster", "clusters"),
    Action("recluster", "Alt+G", "Re-cluster", "re-cluster a part, after a preview", "clusters", True),
    Action("codebook", "Z", "Codebook", "show or hide the codebook entry of a cluster", "clusters"),
    Action("group", "Alt+S", "Group", "put clusters under a theme, as its sub-themes", "clusters"),
    Action("move_out", "Alt+P", "Move out", "make the chosen sub-themes themes", "clusters"),
    Action("merge_pair", "Alt+I", "Merge pair", "merge the two clusters of the suggestion", SUGGESTION, True,
           views=(MERGES,)),
    Action("dismiss", "H", "Dismiss", "dismiss the suggested merge, or leave the selected outliers", SUGGESTION, True,
           views=(MERGES, OUTLIERS)),
)  # fmt: skip
NEXT_KEY_PAGE = Action("key_page", "B", "Next nine", "assign the number keys to the next nine clusters", "clusters")


def dispatch(state: RelabelState, message: Any) -> None:
    """Handle the actions of a message from the browser in their order; those handled before are skipped."""
    if not isinstance(message, Mapping) or message.get("session") != state.browser_session:
        return
    sent = [one for one in message.get("actions") or () if isinstance(one, Mapping) and is_int(one.get("number"))]
    with state.lock:
        for action in sorted(sent, key=lambda one: int(one["number"])):
            handler = HANDLERS.get(str(action.get("kind")))
            if action["number"] > state.acknowledged:
                state.acknowledged = int(action["number"])
                if handler is not None and _aim(state, action):
                    handler(state, action)


def _aim(state: RelabelState, action: Mapping[str, Any]) -> bool:
    """Select the units that an action names; False, with a notice, if they are not as the browser showed them."""
    if "ids" not in action or "was" not in action:
        return True
    ids, was = ids_of(action["ids"]), action["was"]
    shown = np.full(len(ids), was, np.int64) if is_int(was) else ids_of(was)
    p = state.partition
    if len(shown) != len(ids) or not np.isin(ids, p.ids).all() or (p.numbers[p.rows(ids)] != shown).any():
        state.notice = UNSEEN
        return False
    state.select(ids, str(action.get("method", IN_LIST)))
    return True


def clusters_with_keys(state: RelabelState) -> list[Cluster]:
    """Return the clusters that the number keys assign to: the key of a code is its place in the codebook."""
    clusters = [code.cluster for code in codes(state.partition)]
    start = state.key_page * CLUSTERS_PER_KEY_PAGE
    start = start if start < len(clusters) else 0
    return clusters[start : start + CLUSTERS_PER_KEY_PAGE]


def clusters_of_selection(state: RelabelState) -> list[int]:
    """Return the codes of the selected sentences, each once; without such, the chosen clusters."""
    numbers, sets = state.partition.numbers[state.partition.rows(state.selected)], code_sets(state.partition)
    found = list(dict.fromkeys(code for n in dict.fromkeys(numbers.tolist()) for code in sorted(sets[n])))
    return found or [n for n in state.clusters.numbers if n in state.partition.clusters]


def sub_themes_of_selection(state: RelabelState) -> list[int]:
    """Return those of the clusters of the selection that are sub-themes."""
    return [n for n in clusters_of_selection(state) if state.partition.clusters[n].parent is not None]


def current_cluster(state: RelabelState) -> Cluster | None:
    """Return the first cluster of the selection."""
    numbers = clusters_of_selection(state)
    return state.partition.clusters[numbers[0]] if numbers else None


# ---------------------------------------------------------------- handlers


def _on_selection(act: Callable[[RelabelState], object]) -> Handler:
    """Return a handler that needs a selection: the one that the browser showed."""

    def handle(state: RelabelState, action: Mapping[str, Any]) -> None:
        if action.get("turn", state.turn) != state.turn:
            state.notice = UNSEEN
        elif len(state.selected):
            act(state)
        else:
            state.notice = SELECT_FIRST

    return handle


def _opens(dialog: str, clusters: int = 0) -> Handler:
    """Return a handler that opens a dialog, provided that there are so many clusters."""

    def handle(state: RelabelState, action: Mapping[str, Any]) -> None:
        if len(state.partition.clusters) < clusters:
            needed = "a cluster" if clusters == 1 else "two clusters"
            state.notice = f"This needs {needed}. Create one from selected sentences first (N)."
        else:
            state.dialog = dialog

    return handle


def _assign(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Put the selection into a cluster; where several codes are allowed, give it the code or take it away."""
    number = action.get("cluster")
    if not is_int(number):
        return
    if not allows_several(state.partition):
        _on_selection(lambda s: s.apply_to_selection(lambda p, ids: op.assign(p, ids, number)))(state, action)
        return
    # The selection stays, for the next code.
    _on_selection(
        lambda s: s.apply_to_selection(
            lambda p, ids: coding.toggle_code(p, ids, number, s.session.next_number), keep_selection=True
        )
    )(state, action)


def _finish(state: RelabelState, action: Mapping[str, Any]) -> None:
    if action.get("turn", state.turn) != state.turn:
        state.notice = UNSEEN
    elif state.finish is not None:
        state.finish()


def _create(state: RelabelState, action: Mapping[str, Any]) -> None:
    if action.get("turn", state.turn) != state.turn:
        state.notice = UNSEEN
        return
    name = state.suggested_name(state.targets) if len(state.selected) else "New cluster"
    known = set(state.partition.clusters)
    state.apply_to_selection(lambda p, ids: coding.create_code(p, state.session.next_number, free_name(p, name), ids))
    state.created = max(set(state.partition.clusters) - known, default=None)


def _name_created(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Give the cluster that was created last the name that was typed meanwhile."""
    number, name = state.created, action.get("name")
    if number is not None and number in state.partition.clusters and isinstance(name, str) and name.strip():
        state.apply(lambda p: op.rename(p, number, name), keep_selection=True)


def _pick(state: RelabelState, action: Mapping[str, Any]) -> None:
    kept = np.setdiff1d(state.selected, ids_of(action.get("off")))
    state.select(np.union1d(kept, ids_of(action.get("on"))), IN_COLUMNS)


def _area(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Select the visible points of a shape, a cluster or a neighbourhood."""
    plotted = state.plotted.get(str(action.get("digest")))
    part = part_of(action, plotted.n_categories) if plotted is not None else None
    if plotted is None or part is None:
        return
    hidden = [-1 if kind == plotted.n_categories else int(kind) for kind in ids_of(action.get("hidden"))]
    chosen = plotted.ids[part.rows(plotted.units, plotted.categories, hidden)]
    state.select(part.combined(state.selected, chosen), LASSO)


def _point(state: RelabelState, action: Mapping[str, Any]) -> None:
    plotted, row = state.plotted.get(str(action.get("digest"))), action.get("place")
    if plotted is None or not is_int(row) or not 0 <= row < len(plotted.ids):
        return
    one = plotted.ids[[row]]
    selected = np.isin(one, state.selected).all()
    state.select(np.setdiff1d(state.selected, one) if selected else np.union1d(state.selected, one), CLICKED_ON_MAP)


def _move(state: RelabelState, action: Mapping[str, Any]) -> None:
    if is_int(action.get("cluster")):
        state.select(ids_of(action.get("ids")), DRAGGED)
        if action["cluster"] == UNASSIGNED:
            state.apply_to_selection(op.unassign)
        else:
            number = int(action["cluster"])
            state.apply_to_selection(lambda p, ids: op.assign(p, ids, number))


def _rename(state: RelabelState, action: Mapping[str, Any]) -> None:
    number, name = action.get("cluster"), action.get("name")
    if is_int(number) and isinstance(name, str):
        state.apply(lambda p: op.rename(p, number, name), keep_selection=True)


def _recolour(state: RelabelState, action: Mapping[str, Any]) -> None:
    number, colour = action.get("cluster"), action.get("colour")
    if is_int(number) and is_int(colour):
        state.apply(lambda p: op.recolour(p, number, colour), keep_selection=True)


def _mark(uncertain: bool) -> Handler:
    return _on_selection(
        lambda state: state.apply_to_selection(lambda p, ids: op.mark(p, ids, uncertain), keep_selection=True)
    )


def _next_key_page(state: RelabelState, action: Mapping[str, Any]) -> None:
    pages = max(-(-len(code_clusters(state.partition)) // CLUSTERS_PER_KEY_PAGE), 1)
    state.key_page = (state.key_page + 1) % pages


def _toggle_duplicates(state: RelabelState, action: Mapping[str, Any]) -> None:
    state.include_duplicates = not state.include_duplicates


def _refuse_name(state: RelabelState, action: Mapping[str, Any]) -> None:
    state.notice = "Select a sentence of the cluster that you want to rename first."


def _choose(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Choose clusters, and choose others no longer; the sentences of the selection are left as they are."""
    off, on = {*ids_of(action.get("off")).tolist()}, ids_of(action.get("on")).tolist()
    kept = [number for number in state.clusters.numbers if number not in off]
    state.clusters.numbers = tuple(dict.fromkeys([*kept, *on]))


def _put_under(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Put clusters that were dragged under a theme; a sub-theme stands for its theme."""
    numbers, theme = ids_of(action.get("clusters")).tolist(), action.get("theme")
    if not is_int(theme) or (theme != TOP_LEVEL and theme not in state.partition.clusters):
        return
    if theme == TOP_LEVEL:
        state.apply(lambda p: hierarchy.move_out(p, numbers), keep_selection=True)
    else:
        state.apply(
            lambda p: hierarchy.put_under(p, numbers, hierarchy.theme_of(p.clusters, theme)), keep_selection=True
        )


def _move_out(state: RelabelState, action: Mapping[str, Any]) -> None:
    numbers = sub_themes_of_selection(state)
    if numbers:
        state.apply(lambda p: hierarchy.move_out(p, numbers), keep_selection=True)
    else:
        state.notice = "Choose sub-themes first: click their names in the layout Clusters, or select their sentences."


def _pair(action: Mapping[str, Any]) -> tuple[int, int] | None:
    pair = ids_of(action.get("pair")).tolist()
    return (pair[0], pair[1]) if len(pair) == 2 else None


def _merge_pair(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Merge the smaller of two clusters into the larger one, or a sub-theme into its theme."""
    pair = _pair(action)
    if pair is None:
        state.notice = NO_MERGE
        return
    sizes, clusters = state.partition.sizes(), state.partition.clusters
    parents = {clusters[number].parent for number in pair if number in clusters}
    into = next((n for n in pair if n in parents), max(pair, key=lambda n: sizes.get(n, 0)))
    state.apply(lambda p: op.merge(p, [p.cluster(n).number for n in pair], into), keep_selection=True)


def _dismiss(state: RelabelState, action: Mapping[str, Any]) -> None:
    pair, selected = _pair(action), state.selected
    if pair is not None:
        state.apply(lambda p: cluster_changes.dismiss_merge(p, *pair), keep_selection=True)
    elif state.clusters.view == MERGES:
        state.notice = NO_MERGE
    elif len(selected):
        state.apply(lambda p: cluster_changes.accept_outliers(p, selected))
    else:
        state.notice = "Select outliers in the table first."


def _answer(state: RelabelState, action: Mapping[str, Any]) -> None:
    """Commit the answer of an action, if it is about the question that is shown."""
    asking = state.asking
    if state.read_only:
        state.notice = READ_ONLY
        return
    question = asking.question if asking is not None else None
    if asking is None or question is None or action.get("question") != asking.token:
        state.notice = DIFFERENT
        return
    if action.get("value") not in question.values():
        return
    given = Answer(question, str(action["value"]), "placement")
    state.notice = ""
    try:
        step = assistance.commit_answer(state.session, asking.state(state.partition), given)
    except StaleChangeError:
        state.notice = DIFFERENT
        return
    except ThemescopeError as error:
        state.notice = f"Not saved. {error}"
        return
    asking.question = None
    if step is not None:
        state.saved_at, state.last_summary = datetime.now(UTC), step.summary


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
    source = f"labelling {state.record.name}"
    about = (failure_service.SENTENCE, source, placed, f"code?{urlencode({LABELLING: state.record.name})}")
    models = (name,) if name else ()
    failures.collect(
        state.record.corpus_id,
        source,
        lambda: failure_service.sentences(queries.store(), list(placed), *about, models, of_people=True),
    )


HANDLERS: dict[str, Handler] = {
    "answer": _answer,
    "undo": lambda state, _: state.travel(lambda session: session.undo(), "You have nothing to undo."),
    "redo": lambda state, _: state.travel(lambda session: session.redo(), "You have nothing to redo."),
    "assign": _assign,
    "unassign": _on_selection(lambda state: state.apply_to_selection(op.unassign)),
    "create": _create,
    "name_created": _name_created,
    "uncertain": _mark(True),
    "certain": _mark(False),
    "finish": _finish,
    "none_fits": _on_selection(lambda state: state.apply_to_selection(op.none_fits)),
    "note": _on_selection(lambda state: setattr(state, "dialog", "note")),
    "collect": _on_selection(_collect),
    "accept": _on_selection(lambda state: state.accept_suggestions()),
    "duplicates": _toggle_duplicates,
    "example": _on_selection(lambda state: state.apply_to_selection(codebook.add_own_examples, keep_selection=True)),
    "codebook": lambda state, _: state.toggle_codebook(),
    "clear": lambda state, _: state.clear_selection(),
    "name": _refuse_name,
    "merge": _opens("merge", clusters=2),
    "delete": _opens("delete", clusters=1),
    "next": lambda state, _: state.select_next(),
    "previous": lambda state, _: state.select_previous(),
    "similar": _on_selection(lambda state: state.show_similar(int(state.selected[0]))),
    "key_page": _next_key_page,
    "pick": _pick,
    "area": _area,
    "point": _point,
    "move": _move,
    "rename": _rename,
    "recolour": _recolour,
    "recluster": _opens("recluster"),
    "group": _opens("group", clusters=1),
    "move_out": _move_out,
    "merge_pair": _merge_pair,
    "dismiss": _dismiss,
    "choose_clusters": _choose,
    "put_under": _put_under,
}
