"""What the surfaces of the page Code share: status, actions and codes; who else is here, and what was not saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.errors import StoreError
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.partition import allows_several
from themescope.core.records.stored import ModelRecord
from themescope.webapp.features.coding import CODE_KEYS, queries
from themescope.webapp.features.coding.actions import Handler, actions_of, dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import people
from themescope.webapp.shared.components import Known, draw_component, message
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.text import ago, count, plain, shorten

ASSETS = Path(__file__).parent / "assets"
NO_MODEL = "no suggestions"
_POLL_S = 5.0
_MAX_CONFLICTS, _MAX_CONFLICT_TEXT = 5, 220
_MOST_EXAMPLE, _MOST_DEFINITION = 220, 600


def draw(
    state: RelabelState,
    name: str,
    data: dict[str, Any],
    *scripts: str,
    handle: Handler | None = None,
    events: Mapping[str, Callable[[Any], None]] | None = None,
) -> None:
    """Draw a component of the page, which sends its actions; ``events`` are the handlers of what else it sends."""
    key = f"code_component_{name}_{state.record.id}"
    known = state.known.setdefault(key, Known())

    def on(kind: str, act: Callable[[Any], None]) -> Callable[[], None]:
        def take() -> None:
            sent = message(key, kind)
            if isinstance(has := sent.get("has"), Mapping):
                for view, one in state.known.items():
                    one.note(has.get(view))
            act(sent)

        return take

    handlers = {"actions": lambda sent: dispatch(state, sent, handle), **(events or {})}
    callbacks = {f"on_{kind}_change": on(kind, act) for kind, act in handlers.items()}
    draw_component(
        name, ASSETS, "actions.js", "coding.js", *scripts, data=known.since(data) | {"view": key}, key=key, **callbacks
    )
    state.notice = ""


_WORDS = {
    "saving": "Saving …",
    "late": "Not saved yet: the server does not answer. Your changes are kept here and sent again.",
    "lost": "The connection was lost. Check your last change, and repeat it if it is missing.",
    "codes": "Codes",
    "find": "Find a code",
    "no_definition": "No definition yet.",
}


def bar_data(state: RelabelState, surface: str, words: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return what the browser needs on every surface: what is saved, the actions and their keys."""
    undo_state = state.session.undo_state
    return {
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "status": {"text": status_text(state), "state": "failed" if state.unsaved or state.conflict else "saved"},
        "notice": state.notice,
        "undo": bool(undo_state.undoable),
        "redo": bool(undo_state.redoable),
        "read_only": state.read_only,
        "several": allows_several(state.partition),
        "words": _WORDS | dict(words or {}),
        "actions": {
            one.kind: {"key": one.key, "label": one.label, "cluster": one.cluster, "moves": one.moves}
            for one in actions_of(state, surface)
        },
    }


def code_list(state: RelabelState, shades: Tones) -> list[dict[str, Any]]:
    """Return the codes in the order of the codebook with their keys, and what belongs to each."""
    found = []
    for place, code in enumerate(codes(state.partition)):
        entry = code.entry
        parts = [entry.definition, entry.include, f"Not: {entry.exclude}" if entry.exclude else ""]
        example = state.session.texts.get(entry.examples[0], "") if entry.examples else ""
        found.append(
            {
                "number": code.cluster.number,
                "name": code.cluster.name,
                "key": CODE_KEYS[place] if place < len(CODE_KEYS) else "",
                "part": code.cluster.parent is not None,
                "about": shorten("\n".join(filter(None, parts)), _MOST_DEFINITION),
                "example": shorten(example, _MOST_EXAMPLE),
                **appearance(shades, code.cluster.colour),
            }
        )
    return found


def appearance(shades: Tones, colour: int) -> dict[str, str]:
    """Return colour and shape of a place in the palette."""
    return {"colour": shades.colour(colour), "shape": shades.symbol(colour)}


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


@people.polled(_POLL_S)
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
                end = state.resolve_conflict
                st.button("Keep their change", type="primary", icon=":material/check:", on_click=end, args=(False,))
                st.button("Use my change", icon=":material/edit:", on_click=end, args=(True,))
            st.caption("Both changes stay in the history.")
    if state.unsaved is not None:
        with st.container(border=True):
            st.error(f"**Not saved.** {plain(state.unsaved.error)}", icon=":material/error:")
            with st.container(horizontal=True):
                st.button("Try again", icon=":material/refresh:", on_click=state.retry)
                st.button("Discard change", icon=":material/close:", on_click=state.discard)


def use_model(state: RelabelState) -> dict[str, ModelRecord]:
    """Set the model that makes suggestions: the chosen one, or the best one.

    Returns the models to choose from by name.
    """
    models = {} if state.record.blind else queries.suggesting_models(state.record, len(state.partition.ids))
    chosen = st.session_state.get(f"code_model_{state.record.id}", next(iter(models), NO_MODEL))
    state.model_id = models[chosen].id if chosen in models else None
    return models
