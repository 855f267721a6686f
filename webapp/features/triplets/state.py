"""Ways to some triplets of a set: what a button, a bar or a square asks the filter for, by way of the address."""

from __future__ import annotations

from typing import Any

import streamlit as st

from webapp.features.triplets.selection import NO_HEADING

LOOK = "Look"
"""The tab that shows what is chosen."""
PLACE = "triplet"
"""Name in the address of the triplet that is looked at."""
PAIR = "pair"
"""Name in the address of a pair of section titles."""
ANYBODY = "anybody"
_EMPTY: dict[str, Any] = {
    "split": "all", "words": "", "article": "", "section": "", "other": "", "who": "", "ahead": None, "behind": None,
    "by": None, "from": None, "to": None, "sort": "", "reviewed": "", "reviewer": ANYBODY,
}  # fmt: skip
"""Every setting and its value where it asks nothing."""


def heading(title: str) -> str:
    """A section title as it is shown."""
    return title or NO_HEADING


def ask(*, pair: tuple[str, str] | None = None, **settings: Any) -> None:
    """Ask for these triplets alone and open the tab that shows them. For callbacks."""
    clear()
    st.session_state.update(settings)
    if pair is not None:
        st.query_params[PAIR] = list(pair)
    st.session_state["view"] = LOOK


def clear() -> None:
    """Ask for everything again. For callbacks."""
    st.session_state.update(_EMPTY)
    for name in (PAIR, PLACE):
        if name in st.query_params:
            del st.query_params[name]


def door(label: str, count: int, *, key: str, primary: bool = False, **settings: Any) -> None:
    """A button that leads to the triplets that ``settings`` ask for."""
    st.button(
        label,
        key=f"read-{key}",
        on_click=ask,
        kwargs=settings,
        disabled=not count,
        icon=":material/chrome_reader_mode:",
        type="primary" if primary else "secondary",
    )
