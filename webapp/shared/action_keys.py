"""Keys of a page that shows one item at a time: every press is kept in the browser until it is handled.

A key of a Streamlit button is lost or merged with the next one when it is pressed while the page is being drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import streamlit as st

from themescope.webapp.shared.components import draw_component

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("action_queue.js", "keys.js", "action_view.js")
_WORDS = {
    "saving": "Saving …",
    "late": "Not saved yet: the server does not answer. Your keys are kept and sent again.",
    "lost": "The connection was lost. Check your last key, and press it again if its effect is missing.",
}
_NO_FIELDS: Mapping[str, str] = {}


@dataclass
class Acknowledged:
    """What this session has handled of the actions of the browser."""

    session: str = field(default_factory=lambda: uuid4().hex)
    number: int = 0
    """Number of the last action that was handled."""
    item: str = ""
    """Item in the address after that action."""


Handlers = Mapping[str, Callable[[], object]]


def show(
    key: str, url_key: str, keys: Mapping[str, str], handlers: Handlers, fields: Mapping[str, str] = _NO_FIELDS
) -> None:
    """Draw the component.

    Parameters
    ----------
    key
        Session key of what was handled.
    url_key
        URL key of the item that is shown.
    keys
        Kinds of actions by their letters or digits.
    handlers
        What the kinds do; for callbacks.
    fields
        Labels of text fields by the letters that move the cursor there.
    """
    state: Acknowledged = st.session_state.setdefault(key, Acknowledged())
    widget = f"{key}_component"
    draw_component(
        "action_keys",
        _ASSETS,
        *_SCRIPTS,
        data={
            "session": state.session, "acknowledged": state.number, "words": _WORDS,
            "keys": {letter.lower(): kind for letter, kind in keys.items()},
            "fields": {letter.lower(): label for letter, label in fields.items()},
        },
        key=widget,
        on_actions_change=lambda: dispatch(
            state, url_key, handlers, (st.session_state.get(widget) or {}).get("actions")
        ),
    )  # fmt: skip


def dispatch(state: Acknowledged, url_key: str, handlers: Handlers, message: Any) -> None:
    """Handle the actions of a message from the browser in their order; those handled before are skipped."""
    if not isinstance(message, Mapping) or message.get("session") != state.session:
        return
    if isinstance(message.get("seen"), int) and message["seen"] < state.number:
        # The browser sent this before the address of the last action had reached it.
        st.query_params[url_key] = state.item
    sent = [one for one in message.get("actions") or () if isinstance(one, Mapping) and type(one.get("number")) is int]
    for action in sorted(sent, key=lambda one: int(one["number"])):
        if action["number"] > state.number:
            state.number = int(action["number"])
            handler = handlers.get(str(action.get("kind")))
            if handler is not None:
                handler()
    state.item = st.query_params.get(url_key, "")
