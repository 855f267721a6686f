"""Keys of the review: every press is kept in the browser until it is stored, so that fast presses all count.

A key of a Streamlit button is lost or merged with the next one when it is pressed while the page is being drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import streamlit as st

from webapp.features.triplets.selection import View
from webapp.features.triplets.state import REVIEW_KEYS, TRIPLET
from webapp.shared.components import draw_component

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("action_queue.js", "keys.js")
_WORDS = {"saving": "Saving …", "late": "Not saved yet: the server does not answer. Your keys are kept and sent again."}


@dataclass
class Acknowledged:
    """What this session has handled of the actions of the browser."""

    session: str = field(default_factory=lambda: uuid4().hex)
    number: int = 0
    """Number of the last action that was handled."""
    triplet: str = ""
    """Triplet in the address after that action."""


Handlers = Mapping[str, Callable[[View], None]]


def show(view: View, keys: Mapping[str, str], handlers: Handlers) -> None:
    """Draw the component; ``keys`` are the kinds of actions by their letters."""
    state: Acknowledged = st.session_state.setdefault(REVIEW_KEYS, Acknowledged())
    key = f"{REVIEW_KEYS}_component"
    draw_component(
        "review_keys",
        _ASSETS,
        *_SCRIPTS,
        data={
            "session": state.session, "acknowledged": state.number, "words": _WORDS,
            "keys": {letter.lower(): kind for letter, kind in keys.items()},
        },
        key=key,
        on_actions_change=lambda: dispatch(
            state, view, handlers, (st.session_state.get(key) or {}).get("actions")
        ),
    )  # fmt: skip


def dispatch(state: Acknowledged, view: View, handlers: Handlers, message: Any) -> None:
    """Handle the actions of a message from the browser in their order; those handled before are skipped."""
    if not isinstance(message, Mapping) or message.get("session") != state.session:
        return
    if isinstance(message.get("seen"), int) and message["seen"] < state.number:
        # The browser sent this before the address of the last action had reached it.
        st.query_params[TRIPLET] = state.triplet
    sent = [one for one in message.get("actions") or () if isinstance(one, Mapping) and type(one.get("number")) is int]
    for action in sorted(sent, key=lambda one: int(one["number"])):
        if action["number"] > state.number:
            state.number = int(action["number"])
            handler = handlers.get(str(action.get("kind")))
            if handler is not None:
                handler(view)
    state.triplet = st.query_params.get(TRIPLET, "")
