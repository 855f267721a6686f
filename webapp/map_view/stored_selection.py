"""A stored selection that the address of a page with a map names."""

from __future__ import annotations

import streamlit as st

from themescope.webapp.map_view.view_state import MapState
from themescope.webapp.shared import selections


def open_stored(state: MapState, url_key: str, opened_key: str) -> None:
    """Select the sentences of the stored selection in the address, once for each; ``opened_key`` keeps which."""
    wanted = st.query_params.get(url_key, "")
    if wanted and st.session_state.get(opened_key) != wanted:
        stored = selections.from_address(url_key)
        if stored is not None:
            state.select(stored.ids, stored.origin)
    st.session_state[opened_key] = wanted


def forget_replaced(state: MapState, url_key: str) -> None:
    """Remove a stored selection from the address once something else is selected."""
    if state.origin is None:
        st.query_params.pop(url_key, None)
