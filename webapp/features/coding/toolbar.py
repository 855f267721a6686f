"""Beside the sentences of the page Code: actions with their keys, the save status, people, and the codebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from themescope.core.errors import StoreError
from themescope.core.labelling import cluster_changes, hierarchy
from themescope.core.labelling.code_sets import allows_several, code_clusters, code_sizes, has_code
from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.codebook.entries import Code, entry_of
from themescope.core.labelling.operations import Operation
from themescope.core.labelling.partition import COLOURS, UNASSIGNED, Partition
from themescope.core.labelling.suggestions import usual_limit
from themescope.core.types import Ids
from themescope.webapp.features.coding import (
    CLUSTER_VIEW,
    CODEBOOK,
    FINISH_KEY,
    MERGES,
    NEEDS_MODEL,
    OUTLIERS,
    QUESTIONS,
    THEMES,
    Make,
    queries,
)
from themescope.webapp.features.coding import queries as page_queries
from themescope.webapp.features.coding.actions import (
    ACTIONS,
    CLUSTERS_PER_KEY_PAGE,
    NEXT_KEY_PAGE,
    SUGGESTION,
    Action,
    clusters_of_selection,
    clusters_with_keys,
    current_cluster,
    dispatch,
    sub_themes_of_selection,
)
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import people
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import draw_component, draw_table
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.labelling.codebook_view import STYLE, close_editor, entry_html
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.text import ago, count, plain, shorten

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("actions.js", "cluster_editor.js")
"""Scripts that the components of the page share."""
_POLL_S = 5.0
_GROUPS = {
    "history": "History",
    SUGGESTION: "Suggestion",
    "selection": "Selection",
    "queue": "Queue",
    "clusters": "Clusters",
}
_NEEDS_SELECTION = (
    "unassign",
    "uncertain",
    "certain",
    "none_fits",
    "note",
    "accept",
    "collect",
    "example",
    "clear",
    "similar",
)
WORDS = {
    "saving": "Saving …",
    "late": "Not saved yet: the server does not answer. Your changes are kept here and sent again.",
    "lost": "The connection was lost. Check your last change, and repeat it if it is missing.",
    "finish": "Done, next",
    "shortcuts": "Keyboard shortcuts",
    "hint": "Single keys act on the selection; what changes whole clusters takes Alt. Keys are off while you type in a "
    "field. In the columns, click to select, Shift-click to select a "
    "range, drag to move sentences, and click a name or a colour to change it. Press Esc or click to close this list.",
    "created": "Name of the new cluster",
    "naming": "Type a name and press Enter, or press Esc to keep the suggested one.",
    "editing": "Enter saves the name, Esc cancels. Click a colour to apply it.",
    "rename": "Rename",
    "recolour": "Change colour",
}


def show(state: RelabelState) -> None:
    """Draw the toolbar and who else is present."""
    with st.container(border=True, key="code_toolbar"):
        draw_component(
            "toolbar",
            ASSETS,
            *SCRIPTS,
            data=toolbar_data(state),
            key=_key(state),
            on_actions_change=lambda: dispatch_waiting(state),
        )
    _presence(state)


def show_bar(state: RelabelState) -> None:
    """Draw the save status, undo and redo; the bar sends the actions of all parts of the page."""
    key = f"code_bar_{state.record.id}"
    draw_component(
        "coding_bar",
        ASSETS,
        "actions.js",
        data=bar_data(state),
        key=key,
        on_actions_change=lambda: dispatch(state, (st.session_state.get(key) or {}).get("actions")),
    )
    state.notice = ""


_BAR_WORDS = {
    "saving": "Saving …",
    "late": "Not saved yet: the server does not answer. Your changes are kept here and sent again.",
    "lost": "The connection was lost. Check your last change, and repeat it if it is missing.",
    "undo": "Undo",
    "redo": "Redo",
    "keys": "Keys",
    "undo_help": "Undo your last change, also after a reload",
    "redo_help": "Redo the change that you undid last",
    "keys_help": "Keyboard shortcuts",
    "hint": "Keys are off while you type in a field. Press Esc or click to close this list.",
}


def bar_data(state: RelabelState) -> dict[str, Any]:
    """Return what the browser needs to draw the bar."""
    undo_state = state.session.undo_state
    return {
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "status": {"text": status_text(state), "state": "failed" if state.unsaved or state.conflict else "saved"},
        "notice": state.notice,
        "words": _BAR_WORDS,
        "undo": _BAR_WORDS["undo_help"] if undo_state.undoable else "",
        "redo": _BAR_WORDS["redo_help"] if undo_state.redoable else "",
        "keys": [
            (action.key, action.help) for action in ACTIONS if not action.hidden_when_blind or not state.record.blind
        ],
    }


def _key(state: RelabelState) -> str:
    return f"code_toolbar_{state.record.id}"


def dispatch_waiting(state: RelabelState) -> None:
    """Handle the actions that the browser has sent, and that were not handled before."""
    dispatch(state, (st.session_state.get(_key(state)) or {}).get("actions"))


def toolbar_data(state: RelabelState) -> dict[str, Any]:
    """Return what the browser needs to draw the toolbar."""
    shades = tones(st.context.theme.type)
    actions = [action for action in ACTIONS if _is_offered(state, action)]
    if len(code_clusters(state.partition)) > CLUSTERS_PER_KEY_PAGE:
        actions.append(NEXT_KEY_PAGE)
    sizes, current = code_sizes(state.partition), current_cluster(state)
    several, selected = allows_several(state.partition), state.partition.only(state.selected)
    digits = "give the selection that code, or take it away" if several else "assign the selection to that cluster"
    return {
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "turn": state.turn,
        "views": state.views,
        "finish": FINISH_KEY.lower() if state.finish is not None else "",
        "status": {"text": status_text(state), "state": "failed" if state.unsaved or state.conflict else "saved"},
        "notice": state.notice,
        "words": WORDS,
        "heading": heading(state),
        "several": several,
        "clusters": [
            {
                "number": c.number,
                "name": c.name,
                "count": f"{sizes[c.number]:,}",
                "digit": str(digit),
                "on": bool(several and len(selected.ids) and has_code(selected, c.number).all()),
            }
            | appearance(shades, c.colour)
            for digit, c in enumerate(clusters_with_keys(state), 1)
        ],
        "groups": [
            {"title": title, "actions": [_button(state, action) for action in actions if action.group == group]}
            for group, title in _GROUPS.items()
            if any(action.group == group for action in actions)
        ],
        "above": 2 if any(action.group == SUGGESTION for action in actions) else 1,
        "keys": [
            ("1 … 9", digits),
            *([(FINISH_KEY, "mark the item of the task as done, and open the next one")] if state.finish else []),
            *((a.key, a.help) for a in actions),
        ],
        "current": {"number": current.number, "name": current.name} if current else None,
        "palette": palette(shades),
    }


def _is_offered(state: RelabelState, action: Action) -> bool:
    hidden = action.hidden_when_blind and state.record.blind
    return not hidden and (not action.views or state.clusters.view in action.views)


def heading(state: RelabelState) -> str:
    """Return what is selected and what can be done with it."""
    if state.partition.clusters:
        if len(state.selected):
            if allows_several(state.partition):
                return f"Codes of {state.describe_selection()}"
            return f"Assign {state.describe_selection()} to"
        chosen = len(clusters_of_selection(state))
        return f"{count(chosen, 'cluster')} chosen" if chosen else "Nothing selected"
    if len(state.selected):
        return f"{state.describe_selection()} selected: press N to create a cluster"
    return "No clusters yet. Select sentences and press N, or press Alt+G to cluster them."


def appearance(shades: Tones, colour: int) -> dict[str, str]:
    """Return colour and shape of a place in the palette."""
    return {"colour": shades.colour(colour), "shape": shades.symbol(colour)}


def palette(shades: Tones) -> list[dict[str, str]]:
    """Return every colour that a cluster can have."""
    return [appearance(shades, colour) for colour in range(COLOURS)]


def _button(state: RelabelState, action: Action) -> dict[str, Any]:
    clusters, undo_state = len(state.partition.clusters), state.session.undo_state
    enabled = {
        "undo": bool(undo_state.undoable),
        "redo": bool(undo_state.redoable),
        "merge": clusters > 1,
        "group": clusters > 0,
        "move_out": bool(sub_themes_of_selection(state)),
        "merge_pair": state.clusters.pair is not None,
        "dismiss": state.clusters.pair is not None if state.clusters.view == MERGES else bool(len(state.selected)),
        "delete": clusters > 0,
        "name": current_cluster(state) is not None,
        **dict.fromkeys(_NEEDS_SELECTION, bool(len(state.selected))),
    }
    is_switch = action.name == "duplicates"
    return {
        "name": action.name,
        "key": action.key,
        "label": action.label,
        "help": action.help[:1].upper() + action.help[1:],
        "disabled": not enabled.get(action.name, True),
        # A key that is pressed twice must not accept the next suggestion, which nobody has seen.
        "about": {"pair": state.clusters.pair} if action.group == SUGGESTION else {},
        "switch": is_switch,
        "on": is_switch and state.include_duplicates,
    }


def status_text(state: RelabelState) -> str:
    """Return whether everything is saved, and what was saved last."""
    if state.conflict is not None:
        return "Not saved: edit conflict"
    if state.unsaved is not None:
        return "Not saved"
    if state.saved_at is None:
        steps = state.session.steps
        return f"All changes saved · last change {ago(steps[-1].when)}" if steps else "All changes saved"
    return f"Saved · {shorten(state.last_summary, 80)}"


@st.fragment(run_every=_POLL_S)
def _presence(state: RelabelState) -> None:
    """Report this person's presence every few seconds, show who else is present, and offer their changes."""
    try:
        state.report_presence(_POLL_S / 2)
    except StoreError as error:
        st.warning(plain(error), icon=":material/delete:")
        return
    here, waiting = page_queries.presence(state.record.id, state.session.snapshot.step)
    others = [p.person for p in here if p.person != state.session.person]
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        if others and not state.record.blind:
            st.markdown(f":material/group: Also here: {' · '.join(people.shown(name) for name in others)}")
        label = f"Show {count(waiting, 'new change')}"
        if waiting and st.button(label, icon=":material/refresh:", type="tertiary"):
            st.rerun()


# --- codebook ---------------------------------------------------------------------------------------------------------


def show_codebook(state: RelabelState) -> None:
    """Draw the panel, if it is open: the entry of the cluster of the selection, or of another one."""
    if not state.shows_codebook or not state.partition.clusters:
        return
    st.html(STYLE)
    with st.container(border=True, key=CODEBOOK, gap="xsmall"):
        clusters, current = code_clusters(state.partition), current_cluster(state)
        numbers = sorted(clusters)
        key = f"code_codebook_choice_{state.record.id}_{current.number if current else 0}"
        number = st.selectbox(
            "Codebook entry of",
            numbers,
            index=numbers.index(current.number) if current else 0,
            format_func=lambda n: clusters[n].name,
            key=key,
        )
        st.session_state["code_codebook_choice"] = number
        code = Code(clusters[number], entry_of(state.partition, number))
        st.html(entry_html(code, state.partition, state.session.texts))
        if not state.read_only:
            _buttons(state, code)
        page_link("codebook", "Open codebook", view={"labelling": state.record.name})


def _buttons(state: RelabelState, code: Code) -> None:
    """Draw what can be done; the first three need a selection."""
    number, nothing = code.cluster.number, not len(state.selected)

    def add(counter: bool) -> Callable[[Partition, Ids], Operation]:
        return lambda p, ids: codebook.add_examples(p, number, ids.tolist(), counter)

    def train(p: Partition, ids: Ids) -> Operation:
        return codebook.choose_training(p, (uuid4().hex for _ in ids), ids.tolist())

    with st.container(horizontal=True, gap="xsmall"):
        for label, icon, make in (
            ("Example", ":material/push_pin:", add(False)),
            ("Counter-example", ":material/block:", add(True)),
            ("Gold item", ":material/school:", train),
        ):
            st.button(
                label, icon=icon, disabled=nothing, on_click=_add, args=(state, make),
                help="Select sentences first." if nothing else f"Make the selection {label.lower()} of this cluster",
            )  # fmt: skip
        st.button("Edit entry", icon=":material/edit:", on_click=_open, args=(state, number))


def _add(state: RelabelState, make: Callable[[Partition, Ids], Operation]) -> None:
    state.apply_to_selection(make, keep_selection=True)


def _open(state: RelabelState, number: int) -> None:
    close_editor(CODEBOOK, number)
    state.dialog = "codebook"


# Layout Clusters of the page Code: themes and sub-themes, suggested merges, outliers and questions

CLUSTER_WORDS = {
    "tree": "Themes and sub-themes",
    "expand": "Expand all",
    "collapse": "Collapse all",
    "out": "Drag clusters onto a theme to make them its sub-themes, or here to move them out. Without dragging: click "
    "clusters, then Group (Alt+S) or Move out (Alt+P).",
}
_MAX_TEXT, _MAX_NAME = 220, 60
_CENTRAL, _NEAREST, _EXAMPLES, _LISTED = 5, 3, 3, 8
_MAX_ROWS, _HEIGHT = 1_000, 380
_LEAST_RANGE = 0.01
IN_OUTLIERS = "among the outliers"
_OUTLIER_COLUMNS = {
    "Similarity": st.column_config.NumberColumn(
        format="%.2f", width=75, help="Mean cosine to the ten most similar sentences."
    ),
    "Sentence": st.column_config.TextColumn(width=290),
    "Cluster": st.column_config.TextColumn(width=140),
    "Suggested": st.column_config.TextColumn(width=140, help="The most similar cluster, which the key A assigns."),
    "By": st.column_config.TextColumn(width=110, help="Who or what put the sentence into its cluster."),
}


def choose(state: RelabelState) -> str:
    """Draw the choice of the view, before the toolbar, which has the actions of the view; return the view."""
    offered = [THEMES, QUESTIONS] if state.record.blind else [THEMES, MERGES, OUTLIERS, QUESTIONS]
    chosen: str = st.segmented_control(
        "Show", offered, key=CLUSTER_VIEW, bind="query-params", default=THEMES, required=True
    )
    state.clusters.view = chosen
    return chosen


def find_merge(state: RelabelState) -> None:
    """Set the pair of clusters that the view of merges suggests, to which the toolbar's actions refer."""
    pairs = queries.suggested_pairs(state) if state.clusters.view == MERGES else []
    state.clusters.pair = (pairs[0].first, pairs[0].second) if pairs else None


def show_clusters(state: RelabelState, ids: Ids) -> None:
    """Draw the open view; ``ids`` are the sentences in view, which the filter and the search restrict."""
    view = state.clusters.view
    if view == OUTLIERS:
        _outliers(state, ids)
    elif view == MERGES:
        _merges(state)
    else:
        _themes(state)


def _themes(state: RelabelState) -> None:
    if not state.partition.clusters:
        nothing("No clusters yet.", "Select sentences and press N, or press Alt+G to cluster them.")
        return
    stale = queries.stale_names(state)
    draw_component("tree", ASSETS, *SCRIPTS, data=tree_data(state, stale), key=f"code_tree_{state.record.id}")
    _names(state, stale)
    chosen = [number for number in state.clusters.numbers if number in state.partition.clusters]
    if chosen:
        cluster = state.partition.clusters[chosen[-1]]
        p = state.partition
        ids = queries.central(state, cluster.number)
        with st.container(border=True):
            st.markdown(f"**{plain(cluster.name)}** · {count(len(p.members(cluster.number)), 'sentence')}")
            children = p.children(cluster.number)
            if children:
                st.caption(f"Sub-themes: {plain(', '.join(shorten(c.name, _MAX_NAME) for c in children))}")
                st.button(
                    "Dissolve theme",
                    icon=":material/unfold_more:",
                    help="Its sub-themes become themes. The theme is deleted unless it has sentences of its own.",
                    on_click=_apply,
                    args=(state, lambda p: hierarchy.dissolve(p, cluster.number)),
                )
            with st.container(gap="xxsmall"):
                for i in ids[:_CENTRAL].tolist():
                    st.text(f"· {shorten(state.session.texts[i], _MAX_TEXT)}")
            if len(ids) > _CENTRAL and queries.model_of(state) is not None:
                st.text(f"Least central: {shorten(state.session.texts[int(ids[-1])], _MAX_TEXT)}")
            near = queries.nearest(state, cluster.number)[:_NEAREST]
            if near:
                names = [f"{shorten(p.clusters[number].name, _MAX_NAME)} ({value:.2f})" for number, value in near]
                st.caption(f"Most similar clusters by mean cosine: {plain(' · '.join(names))}")
    else:
        st.caption(
            "Click a cluster to read its most central sentences. The filter “Chosen clusters” shows all of them."
        )


def tree_data(state: RelabelState, stale: dict[int, float]) -> dict[str, Any]:
    """Return what the browser needs to draw the tree."""
    p, shades = state.partition, tones(st.context.theme.type)
    sizes, totals = p.sizes(), hierarchy.total_sizes(p)
    rows = []
    for cluster in hierarchy.in_order(p):
        parts = len(p.children(cluster.number))
        own, total = sizes[cluster.number], totals[cluster.number]
        words = f"{count(parts, 'sub-theme')} · {own:,} of {count(total, 'sentence')} directly" if parts else ""
        rows.append(
            {
                "number": cluster.number,
                "parent": cluster.parent,
                "name": cluster.name,
                "parts": parts,
                "count": words or count(total, "sentence"),
                "stale": "name may be out of date" if cluster.number in stale else "",
                **appearance(shades, cluster.colour),
            }
        )
    return {
        "rows": rows,
        "chosen": list(state.clusters.numbers),
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "words": CLUSTER_WORDS,
    }


def _names(state: RelabelState, stale: dict[int, float]) -> None:
    if not stale:
        return
    clusters = state.partition.clusters
    with st.container(border=True):
        st.markdown(f"**{count(len(stale), 'name')} may be out of date**")
        st.caption("More than a quarter of the sentences of these clusters has changed since the clusters were named.")
        names = queries.keyword_names(state, tuple(stale))
        with st.container(gap="xxsmall"):
            for number, name in names.items():
                old = clusters[number].name
                found = "the same name" if name == old else shorten(name, _MAX_NAME)
                st.text(f"{shorten(old, _MAX_NAME)} → {found}   ({stale[number]:.0%} changed)")
        with st.container(horizontal=True):
            st.button(
                "Update names",
                icon=":material/label:",
                type="primary",
                on_click=_apply,
                args=(state, lambda p: cluster_changes.update_names(p, names)),
            )
            st.button(
                "Keep names", icon=":material/check:",
                on_click=_apply, args=(state, lambda p: cluster_changes.keep_names(p, list(stale))),
            )  # fmt: skip
        st.caption("A language model can suggest names for the same clusters, in the tab “Files and settings”.")


def _apply(state: RelabelState, make: Make) -> None:
    state.apply(make, keep_selection=True)


def _merges(state: RelabelState) -> None:
    if queries.model_of(state) is None:
        st.info(NEEDS_MODEL, icon=":material/info:")
        return
    pairs = queries.suggested_pairs(state)
    if not pairs:
        nothing("No merges to suggest.", "All pairs of clusters were dismissed, or there is only one cluster.")
        return
    pair, clusters, sizes = pairs[0], state.partition.clusters, state.partition.sizes()
    nearest, crossing = queries.between(state, pair)
    names = [plain(clusters[number].name) for number in (pair.first, pair.second)]
    both = sizes[pair.first] + sizes[pair.second]
    with st.container(border=True):
        st.markdown(f"**Merge “{names[0]}” and “{names[1]}”?**")
        st.markdown(
            f"The mean cosine between their sentences is {pair.similarity:.2f}, the highest of the pairs that are "
            f"left, and {pair.within:.2f} within the two. {count(crossing, 'sentence')} of {both:,} "
            f"{'is' if crossing == 1 else 'are'} nearer to the other cluster. "
            "Press `I` to merge, `H` to keep them apart."
        )
        for column, number in zip(st.columns(2), (pair.first, pair.second), strict=True):
            with column:
                st.markdown(f"**{plain(clusters[number].name)}** · {count(sizes[number], 'sentence')}")
                _examples(state, queries.central(state, number)[:_EXAMPLES], state.partition)
        st.markdown("**Between them**")
        _examples(state, nearest, state.partition, named=True)
    others = pairs[1 : _LISTED + 1]
    if others:
        st.markdown("**Next suggestions**")
        with st.container(gap="xxsmall"):
            for other in others:
                both_names = " + ".join(shorten(clusters[number].name, 60) for number in (other.first, other.second))
                st.text(f"{both_names} · {other.similarity:.2f} between, {other.within:.2f} within")
    st.caption(
        "A pair that you keep apart is suggested again when more than a quarter of the sentences of one of the two has "
        f"changed. {queries.sample_note(state)}"
    )


def _examples(state: RelabelState, ids: Ids, p: Partition, named: bool = False) -> None:
    with st.container(gap="xxsmall"):
        for i, row in zip(ids.tolist(), p.rows(ids).tolist(), strict=True):
            text = shorten(state.session.texts[i], _MAX_TEXT)
            st.text(f"· {text}" + (f"  ({shorten(p.clusters[int(p.numbers[row])].name, 40)})" if named else ""))


def _outliers(state: RelabelState, ids: Ids) -> None:
    """Draw the limit and those of the sentences ``ids`` that have less similar neighbours."""
    found = queries.densities(state)
    if found is None:
        st.info(NEEDS_MODEL, icon=":material/info:")
        return
    every, density = found
    known = density[np.isfinite(density)]
    low, high = (float(known.min()), float(np.median(known))) if len(known) else (0.0, 0.0)
    if high - low < _LEAST_RANGE:
        nothing("No outliers.", "All sentences have equally similar neighbours.")
        return
    usual = float(np.clip(max(usual_limit(density), np.quantile(known, 0.01)), low, high))
    limit = st.slider(
        "Similarity below", round(low, 2), round(high, 2) + 0.01, round(usual, 2), 0.01,
        key=f"code_outlier_limit_{state.record.id}_{state.model_id}",
        help="A sentence is an outlier if its mean cosine to the ten most similar sentences is below this limit. At "
        "first the limit is the first quartile minus 1.5 times the interquartile range, or the lowest 1 %.",
    )  # fmt: skip
    rows = np.flatnonzero(density < limit)
    rows = rows[np.argsort(density[rows], kind="stable")]
    listed = every[rows]
    left = np.isin(listed, cluster_changes.accepted_outliers(state.partition))
    rows = rows[~left & np.isin(listed, ids)]
    words = f", without {left.sum():,} that were left in place" if left.any() else ""
    st.caption(
        f"{count(len(rows), 'outlier')}{words}. Select some, then leave them (H), unassign them (0), accept the "
        f"suggested cluster (A) or gather them in a new one (N). {queries.sample_note(state)}"
    )
    if len(rows):
        _outlier_table(state, every[rows[:_MAX_ROWS]], density[rows[:_MAX_ROWS]])


def _outlier_table(state: RelabelState, ids: Ids, density: npt.NDArray[np.float64]) -> None:
    p, rows, found = state.partition, state.partition.rows(ids), state.suggestions
    nearest = np.full(len(rows), UNASSIGNED) if found is None else found.best[rows]
    names = {n: c.name for n, c in p.clusters.items()} | {UNASSIGNED: ""}
    frame = pd.DataFrame(
        {
            "Similarity": density,
            "Sentence": [state.session.texts[i] for i in ids.tolist()],
            "Cluster": [names[int(n)] for n in p.numbers[rows]],
            "Suggested": [names[int(n)] for n in nearest],
            "By": queries.made_by(p, state.record.id, state.record.members, state.session.snapshot.step, ids),
        }
    )
    with st.container(horizontal=True):
        select = st.button("Select all", icon=":material/select_all:", key="code_outlier_limit_all")
        clear = st.button("Clear selection", icon=":material/deselect:", key="code_outlier_limit_none")
    if select or clear:
        state.select(ids if select else ids[:0], IN_OUTLIERS)
        st.rerun()
    _selectable(state, ids, frame, IN_OUTLIERS, height=_HEIGHT, column_config=_OUTLIER_COLUMNS)


def _selectable(state: RelabelState, listed: Ids, frame: pd.DataFrame, method: str, **options: Any) -> None:
    """Draw a table with a row for each of the sentences ``listed``; its ticked rows are the selection."""
    # Another key for other sentences: Streamlit keeps the numbers of the ticked rows under a key.
    key = f"code_table_{state.record.id}_{state.generation}_{state.session.snapshot.step}_{hash(listed.tobytes())}"

    def tick() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        elsewhere = state.selected[~np.isin(state.selected, listed)]
        # Set directly: the table shows the selection already, and a new generation would draw another table.
        state.selected, state.selection_method = np.unique(np.concatenate([elsewhere, listed[rows]])), method

    draw_table(
        frame,
        key=key,
        on_select=tick,
        selection_mode="multi-row",
        selection_default={"selection": {"rows": np.flatnonzero(np.isin(listed, state.selected)).tolist()}},
        placeholder="",
        **options,
    )
