"""URL keys of the Triplets page, and links to the triplets that a filter selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from themescope.webapp.shared import navigation
from themescope.webapp.shared.pages import PageKeys

ACCURACY, BROWSE, SETS = "Accuracy", "Browse", "Sets"
"""The tabs."""
UNTITLED = "(no heading)"
"""Title of a section without a heading, such as the lead of an article."""

KEYS = PageKeys("triplets")
VIEW = KEYS.url("view")
SET = KEYS.url("set", record="triplet set")
MODEL = KEYS.url("model")
SECOND_MODEL = KEYS.url("second_model")
BY = KEYS.url("by")
TRIPLET = KEYS.url("triplet")

SPLIT = KEYS.url("split")
WORDS = KEYS.url("words")
ARTICLE = KEYS.url("article")
PAIR = KEYS.url("pair", kind=list)
RIGHT = KEYS.url("right", kind=list)
WRONG = KEYS.url("wrong", kind=list)
REVIEW = KEYS.url("review")
ORDER = KEYS.url("order")
ORDER_MODEL = KEYS.url("order_model")
_NONE = dict.fromkeys((SPLIT, PAIR, REVIEW, ORDER, ORDER_MODEL))
FILTER: Mapping[str, Any] = {**_NONE, WORDS: "", ARTICLE: "", RIGHT: [], WRONG: []}
"""Every setting of the filter and its value where it selects all triplets."""

LOWEST = "lowest margin first"
"""The order in which the triplets that a model is most wrong about come first."""


def heading(title: str) -> str:
    """Return a section title as it is shown."""
    return title or UNTITLED


def open_triplets(settings: Mapping[str, Any]) -> None:
    """Browse the triplets that these filter settings select; for callbacks."""
    reset_filter()
    st.session_state.update(settings)
    for name, value in settings.items():
        # Streamlit leaves out of the address what a widget has in the session before it is drawn for the first time.
        navigation.write_parameter(name, [value] if isinstance(value, str) else value)
    st.session_state[VIEW] = BROWSE


def reset_filter() -> None:
    """Select all triplets again; for callbacks."""
    st.session_state.update(FILTER)
    for name in (*FILTER, TRIPLET):
        navigation.write_parameter(name, [])


def triplets_button(label: str, count: int, settings: Mapping[str, Any], name: str, primary: bool = False) -> None:
    """Draw a button that opens the ``count`` triplets that the settings select; ``name`` is the end of its key."""
    st.button(
        label,
        key=f"triplets_read_{name}",
        on_click=open_triplets,
        args=(settings,),
        disabled=not count,
        icon=":material/chrome_reader_mode:",
        type="primary" if primary else "secondary",
    )
