"""Tasks page: units that are given to people to code, their progress and its checks."""

import streamlit as st

from themescope.db.access import Right
from themescope.webapp.features.tasks import MESSAGE, NEW, TASK, VIEW, overview
from themescope.webapp.shared.choose import project
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import plain

if message := st.session_state.pop(MESSAGE, ""):
    st.success(plain(message), icon=":material/check:")
if (corpus := project()) is not None:
    if st.session_state.get(VIEW) == NEW and may(Right.MANAGE):
        overview.show_form(corpus)
    elif task := str(st.session_state.get(TASK, "")):
        overview.show_task(corpus, task)
    else:
        overview.show_list(corpus)
