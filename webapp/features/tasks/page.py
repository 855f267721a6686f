"""Tasks page: labelling work that is given to people, its progress and its checks."""

import streamlit as st

from themescope.db.access import Right
from themescope.webapp.features.tasks import ALL, MESSAGE, MINE, NEW, VIEW, overview
from themescope.webapp.shared.choose import open_tab, project
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import plain

if message := st.session_state.pop(MESSAGE, ""):
    st.success(plain(message), icon=":material/check:")
views = {MINE: overview.show_mine, ALL: overview.show} | ({NEW: overview.show_form} if may(Right.MANAGE) else {})
view, tab = open_tab([*views], VIEW)
with tab:
    if (current := project()) is not None:
        views[view](current)
