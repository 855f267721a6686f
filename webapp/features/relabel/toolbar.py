"""Beside the sentences of the Relabel page: actions with their keys, the save status, people, and the codebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import streamlit as st

from themescope.core.errors import StoreError
from themescope.core.labelling.code_sets import allows_several, code_clusters, code_sizes, has_code
from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.codebook.entries import Code, entry_of
from themescope.core.labelling.operations import Operation
from themescope.core.labelling.partition import COLOURS, Partition
from themescope.core.types import Ids
from themescope.webapp.features.relabel import queries as page_queries
from themescope.webapp.features.relabel.actions import (
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
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import (
    CODEBOOK,
    FINISH_KEY,
    MERGES,
)
from themescope.webapp.shared import people
from themescope.webapp.shared.components import draw_component
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
    with st.container(border=True, key="relabel_toolbar"):
        draw_component(
            "toolbar",
            ASSETS,
            *SCRIPTS,
            data=toolbar_data(state),
            key=_key(state),
            on_actions_change=lambda: dispatch_waiting(state),
        )
    state.notice = ""
    _presence(state)


def _key(state: RelabelState) -> str:
    return f"relabel_toolbar_{state.record.id}"


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
        key = f"relabel_codebook_choice_{state.record.id}_{current.number if current else 0}"
        number = st.selectbox(
            "Codebook entry of",
            numbers,
            index=numbers.index(current.number) if current else 0,
            format_func=lambda n: clusters[n].name,
            key=key,
        )
        st.session_state["relabel_codebook_choice"] = number
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
