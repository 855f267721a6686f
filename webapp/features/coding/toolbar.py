"""Row above the surfaces of the page Code: save status, undo and redo, who else is here, and what was not saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.errors import StoreError
from themescope.core.labelling.partition import COLOURS
from themescope.core.records.stored import ModelRecord
from themescope.webapp.features.coding import queries
from themescope.webapp.features.coding.actions import actions_of, dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import people
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.text import ago, count, plain, shorten

ASSETS = Path(__file__).parent / "assets"
NO_MODEL = "no suggestions"
_POLL_S = 5.0
_MAX_CONFLICTS, _MAX_CONFLICT_TEXT = 5, 220


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
        "keys": [(action.key, action.help) for action in actions_of(state) if action.key],
    }


def appearance(shades: Tones, colour: int) -> dict[str, str]:
    """Return colour and shape of a place in the palette."""
    return {"colour": shades.colour(colour), "shape": shades.symbol(colour)}


def palette(shades: Tones) -> list[dict[str, str]]:
    """Return every colour that a cluster can have."""
    return [appearance(shades, colour) for colour in range(COLOURS)]


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
def show_presence(state: RelabelState) -> None:
    """Report this person's presence every few seconds, show who else is present, and offer their changes."""
    try:
        state.report_presence(_POLL_S / 2)
    except StoreError as error:
        st.warning(plain(error), icon=":material/delete:")
        return
    here, waiting = queries.presence(state.record.id, state.session.snapshot.step)
    others = [p.person for p in here if p.person != state.session.person]
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        if others and not state.record.blind:
            st.markdown(f":material/group: Also here: {' · '.join(people.shown(name) for name in others)}")
        label = f"Show {count(waiting, 'new change')}"
        if waiting and st.button(label, icon=":material/refresh:", type="tertiary"):
            st.rerun()


# --- unsaved changes and conflicts ------------------------------------------------------------------------------------


def messages(state: RelabelState) -> None:
    """Draw the change that conflicts with another one, or that the store refused."""
    found = state.conflict
    if found is not None:
        with st.container(border=True, key="code_conflict"):
            st.warning(f"**Edit conflict.** {plain(found.message)}", icon=":material/merge:")
            for conflict in found.sentences[:_MAX_CONFLICTS]:
                st.text(shorten(state.session.texts.get(conflict.sentence, ""), _MAX_CONFLICT_TEXT))
                who = people.shown(conflict.person) if conflict.when else "someone else"
                who = "you, in another tab," if conflict.when and conflict.person == state.session.person else who
                st.markdown(
                    f"It was **{plain(conflict.seen)}**; you chose **{plain(conflict.mine)}** · {who} chose "
                    f"**{plain(conflict.theirs)}** {ago(conflict.when) if conflict.when else ''}"
                )
            if len(found.sentences) > _MAX_CONFLICTS:
                st.caption(f"and {count(len(found.sentences) - _MAX_CONFLICTS, 'more unit')}")
            with st.container(horizontal=True):
                st.button(
                    "Keep their change", type="primary", icon=":material/check:",
                    on_click=state.resolve_conflict, args=(False,),
                )  # fmt: skip
                st.button("Use my change", icon=":material/edit:", on_click=state.resolve_conflict, args=(True,))
            st.caption("Both changes stay in the history.")
    if state.unsaved is not None:
        with st.container(border=True):
            st.error(f"**Not saved.** {plain(state.unsaved.error)}", icon=":material/error:")
            with st.container(horizontal=True):
                st.button("Try again", icon=":material/refresh:", on_click=state.retry)
                st.button("Discard change", icon=":material/close:", on_click=state.discard)


# --- suggestions ------------------------------------------------------------------------------------------------------


def use_model(state: RelabelState) -> dict[str, ModelRecord]:
    """Set the model that makes suggestions: the chosen one, the learned metric of the coding, or the best one.

    Returns the models to choose from by name.
    """
    models = {} if state.record.blind else queries.suggesting_models(state.record, state.partition)
    chosen = st.session_state.get(f"code_model_{state.record.id}", next(iter(models), NO_MODEL))
    state.model_id = models[chosen].id if chosen in models else None
    return models
