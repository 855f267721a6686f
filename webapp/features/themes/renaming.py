"""The name of a theme with its size, and the form that renames it. Names are part of the result."""

from __future__ import annotations

import streamlit as st

from themescope.db.access import Right
from themescope.webapp.features.themes import state
from themescope.webapp.shared import queries
from themescope.webapp.shared.partition_queries import Analysis
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import count, plain

_LONGEST = 200


def heading(analysis: Analysis, place: int) -> None:
    """Draw name and size of a theme; people who may change results can rename it."""
    theme = analysis.themes[place]
    with st.container(horizontal=True, vertical_alignment="top", gap="small", wrap=False):
        # Two elements, because the name may be written from right to left.
        st.markdown(f"**{place + 1}. {plain(theme['name'])}**", width="stretch")
        st.caption(count(theme["size"], "sentence"), width="content")
        if not may(Right.MANAGE):
            return
        key = f"{state.NEW_THEME_NAME}_{analysis.run.digest}_{place}"
        with st.popover(":material/edit:", type="tertiary", help="Rename this theme"):
            st.text_input(
                "Name of the theme", value=theme["name"], key=key, max_chars=_LONGEST,
                on_change=_rename, args=(analysis.run.id, place, key),
            )  # fmt: skip
            st.caption("Enter saves the name with the result, for everyone.")


def _rename(run_id: int, place: int, key: str) -> None:
    name = str(st.session_state[key] or "").strip()
    refused = queries.write(lambda w: w.runs.rename_theme(run_id, place, name)) if name else ""
    if refused:
        st.toast(plain(refused), icon=":material/error:")
