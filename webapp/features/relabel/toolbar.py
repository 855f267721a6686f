"""Toolbar of the Relabel page: actions with their keys, the save status and who is present; filters and search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.errors import DataError, StoreError
from themescope.core.labelling.agreement import adjudicate
from themescope.core.labelling.hierarchy import with_sub_themes
from themescope.core.labelling.partition import COLOURS, UNASSIGNED
from themescope.core.metrics.matching import match_clusters
from themescope.core.types import Ids
from themescope.jobs.services.labelling.starts import labels_on
from themescope.webapp.features.relabel import queries
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
from themescope.webapp.features.relabel.state import MERGES, NEEDS_MODEL, NONE_SELECTED, TOOLBAR, Queue
from themescope.webapp.features.relabel.state import SELECTION as SELECTION_ID
from themescope.webapp.shared import people
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.results.partition_queries import DIFFERS_FROM_PEOPLE, SELECTION
from themescope.webapp.shared.selections import selections
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
_NEEDS_SELECTION = ("unassign", "uncertain", "certain", "note", "accept", "error_case", "example", "clear", "similar")
WORDS = {
    "saving": "Saving …",
    "late": "Not saved yet: the server does not answer. Your changes are kept here and sent again.",
    "lost": "The connection was lost. Check your last change, and repeat it if it is missing.",
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
    key = f"{TOOLBAR}_{state.record.id}"
    with st.container(border=True, key=TOOLBAR):
        draw_component(
            "toolbar",
            ASSETS,
            *SCRIPTS,
            data=toolbar_data(state),
            key=key,
            on_actions_change=lambda: dispatch(state, (st.session_state.get(key) or {}).get("actions")),
        )
    state.notice = ""
    _presence(state)


def toolbar_data(state: RelabelState) -> dict[str, Any]:
    """Return what the browser needs to draw the toolbar."""
    shades = tones(st.context.theme.type)
    actions = [action for action in ACTIONS if _is_offered(state, action)]
    if len(state.partition.clusters) > CLUSTERS_PER_KEY_PAGE:
        actions.append(NEXT_KEY_PAGE)
    sizes, current = state.partition.sizes(), current_cluster(state)
    return {
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "status": {"text": status_text(state), "state": "failed" if state.unsaved or state.conflict else "saved"},
        "notice": state.notice,
        "words": WORDS,
        "heading": heading(state),
        "clusters": [
            {"number": c.number, "name": c.name, "count": f"{sizes[c.number]:,}", "digit": str(digit)}
            | appearance(shades, c.colour)
            for digit, c in enumerate(clusters_with_keys(state), 1)
        ],
        "groups": [
            {"title": title, "actions": [_button(state, action) for action in actions if action.group == group]}
            for group, title in _GROUPS.items()
            if any(action.group == group for action in actions)
        ],
        "above": 2 if any(action.group == SUGGESTION for action in actions) else 1,
        "keys": [("1 … 9", "assign the selection to that cluster"), *((a.key, a.help) for a in actions)],
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


# --- filters ----------------------------------------------------------------------------------------------------------


ALL = "All sentences"
DIFFERS_FROM_MODEL = "Differs from model"
DIFFERS_FROM_SECTIONS = "Differs from sections"
CHOSEN = "Chosen clusters"
SUBSTRING, MEANING = "substring", "meaning"
MATCHES = (SUBSTRING, MEANING)
TOP_K = 50
"""Sentences that a search by meaning shows."""


def _in_reading_order(state: RelabelState, ids: Ids) -> Ids:
    found: Ids = state.texts.ids[np.isin(state.texts.ids, ids)]
    return found


def _differs_from_model(state: RelabelState) -> Ids:
    """Return the sentences that the model would assign elsewhere, the most confident suggestions first."""
    found = state.suggestions
    return NONE_SELECTED if found is None else found.against(state.partition)


def _differs_from_sections(state: RelabelState) -> Ids:
    """Return sentences outside the section that matches their cluster; with a model, its confident cases first."""
    texts = state.texts
    keys = texts.sections if texts.several_articles else [f"{s.article_id} {s.section}" for s in texts.sentences]
    sections = np.unique(keys, return_inverse=True)[1].astype(np.int32)
    labels = state.partition.numbers[state.partition.rows(texts.ids)].astype(np.int32)
    assigned = np.flatnonzero(labels != UNASSIGNED)
    moved = texts.ids[assigned[match_clusters(sections[assigned], labels[assigned]).moved]]
    found = state.suggestions
    if found is None:
        return moved
    pull = found.pull[state.partition.rows(moved)]
    ordered: Ids = moved[np.argsort(-pull, kind="stable")]
    return ordered


def _differs_from_people(state: RelabelState) -> Ids:
    """Return sentences that other labellings of the same text assign elsewhere, the most disputed first.

    Clusters are matched before they are compared; ties are in the order of the model's confidence.
    """
    ids = state.partition.ids
    votes = [
        labels_on(state.partition, ids),
        *(labels_on(partition, ids) for _, partition in queries.other_labellings(state.record)),
    ]
    if len(votes) < 2:
        return NONE_SELECTED
    dispute = adjudicate(votes).dispute
    found = state.suggestions
    pull = found.pull if found is not None else np.zeros(len(ids))
    order = np.lexsort((ids, -pull, -dispute))
    kept: Ids = ids[order[dispute[order] > 0]]
    return kept


def _in_selection(state: RelabelState) -> Ids:
    found = selections.from_address(SELECTION_ID)
    return NONE_SELECTED if found is None else _in_reading_order(state, found.ids)


def _chosen_clusters(state: RelabelState) -> Ids:
    numbers = with_sub_themes(state.partition, state.clusters.numbers)
    return _in_reading_order(state, state.partition.ids[np.isin(state.partition.numbers, numbers)])


FILTERS: dict[str, Callable[[RelabelState], Ids]] = {
    ALL: lambda state: state.texts.ids,
    "Unassigned": lambda state: _in_reading_order(state, state.partition.members(UNASSIGNED)),
    "Uncertain": lambda state: _in_reading_order(state, state.partition.ids[state.partition.uncertain]),
    "With a note": lambda state: _in_reading_order(state, np.array(sorted(state.partition.notes), dtype=np.int64)),
    CHOSEN: _chosen_clusters,
    DIFFERS_FROM_MODEL: _differs_from_model,
    DIFFERS_FROM_SECTIONS: _differs_from_sections,
    DIFFERS_FROM_PEOPLE: _differs_from_people,
    SELECTION: _in_selection,
}
_HIDDEN_WHEN_BLIND = {DIFFERS_FROM_MODEL, DIFFERS_FROM_SECTIONS, DIFFERS_FROM_PEOPLE}


def filters(state: RelabelState) -> list[str]:
    """Return the names of the filters; in blind mode only those that reveal nobody else's opinion.

    That of a selection is offered where the address names one.
    """
    hidden = set(_HIDDEN_WHEN_BLIND) if state.record.blind else set()
    if SELECTION_ID not in st.query_params:
        hidden.add(SELECTION)
    return [name for name in FILTERS if name not in hidden]


def in_view(state: RelabelState, name: str, search: str = "", match: str = SUBSTRING) -> Ids:
    """Return the ids of the sentences in view, in order; search by meaning and neighbours come nearest first.

    Also sets the queue that the keys for next and previous step through.

    Raises
    ------
    ThemescopeError
        If the model cannot search.
    """
    found = FILTERS[name](state)
    state.queue = None if name == ALL else Queue(f"queue “{name}”", found)
    if search.strip():
        found = _nearest(state, found, search.strip()) if match == MEANING else _with_substring(state, found, search)
    if state.similar_to is not None:
        found = _nearest(state, found, state.similar_to)
    return found


def _with_substring(state: RelabelState, ids: Ids, search: str) -> Ids:
    texts, wanted = state.texts, search.strip().casefold()
    hits = [wanted in texts.sentences[texts.row[int(i)]].text.casefold() for i in ids]
    kept: Ids = ids[np.array(hits, dtype=bool)]
    return kept


def _nearest(state: RelabelState, ids: Ids, query: str | int) -> Ids:
    cosines = state.similarities(query)
    if cosines is None:
        raise DataError(NEEDS_MODEL)
    here = cosines[state.partition.rows(ids)]
    kept: Ids = ids[np.argsort(-here, kind="stable")[:TOP_K]]
    return kept
