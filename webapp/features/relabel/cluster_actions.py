"""Actions on clusters: choosing them, moving them between the levels, and answering suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from themescope.core.labelling import dismissals, hierarchy
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import UNASSIGNED
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.messages import Handler, ids_of, is_int
from themescope.webapp.features.relabel.state import MERGES

TOP_LEVEL = -1
"""Stands for no theme, where a browser moves a cluster out of its theme."""
NO_MERGE = "No merge is suggested."


def clusters_of_selection(state: RelabelState) -> list[int]:
    """Return the clusters of the selected sentences, each once; without such, the chosen clusters."""
    numbers = state.partition.numbers[state.partition.rows(state.selected)]
    found = list(dict.fromkeys(int(n) for n in numbers if n != UNASSIGNED))
    return found or [n for n in state.clusters.numbers if n in state.partition.clusters]


def sub_themes_of_selection(state: RelabelState) -> list[int]:
    """Return those of the clusters of the selection that are sub-themes."""
    return [n for n in clusters_of_selection(state) if state.partition.clusters[n].parent is not None]


def opens(dialog: str, clusters: int = 0) -> Handler:
    """Return a handler that opens a dialog, provided that there are so many clusters."""

    def handle(state: RelabelState, action: Mapping[str, Any]) -> None:
        if len(state.partition.clusters) < clusters:
            needed = "a cluster" if clusters == 1 else "two clusters"
            state.notice = f"This needs {needed}. Create one from selected sentences first (N)."
        else:
            state.dialog = dialog

    return handle


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
    """Return the clusters of the suggestion that the browser showed."""
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
        state.apply(lambda p: dismissals.dismiss_merge(p, *pair), keep_selection=True)
    elif state.clusters.view == MERGES:
        state.notice = NO_MERGE
    elif len(selected):
        state.apply(lambda p: dismissals.accept_outliers(p, selected))
    else:
        state.notice = "Select outliers in the table first."


HANDLERS: dict[str, Handler] = {
    "recluster": opens("recluster"),
    "group": opens("group", clusters=1),
    "move_out": _move_out,
    "merge_pair": _merge_pair,
    "dismiss": _dismiss,
    "choose_clusters": _choose,
    "put_under": _put_under,
}
