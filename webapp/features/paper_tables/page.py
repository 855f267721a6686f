"""Paper tables page: published results and their reproduction."""

import streamlit as st

from themescope.webapp.features.paper_tables import state, views
from themescope.webapp.shared.choose import by_name, nothing, open_tab
from themescope.webapp.shared.job_status import live

live("paper_tables")
declared = by_name("Paper", views.papers(), state.PAPER, lambda p: p.title)
st.caption(declared.citation)
view, tab = open_tab(["Tables", "Reproduce"], state.VIEW)
with tab:
    found = views.tables(declared.id)
    if view == "Reproduce":
        views.form(declared)
    elif found:
        left, right = st.columns([3, 1])
        with right:
            profile = by_name("Profile", list(found), state.PROFILE, str)
        with left:
            record = by_name("Table", list(found[profile].values()), state.TABLE, views.table_name)
        views.show(record)
    else:
        nothing(
            "No table has been reproduced yet.",
            f"Start one in the tab “Reproduce”, or run: themescope reproduce {declared.id} --corpus NAME",
        )
