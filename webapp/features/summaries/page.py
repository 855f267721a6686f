"""Summaries page: extractive summaries by several methods side by side."""

from themescope.webapp.features.summaries import state, views
from themescope.webapp.shared.choose import open_tab, project

view, tab = open_tab(["One document", "Collections"], state.VIEW)
with tab:
    if view == "Collections":
        views.show()
    elif (chosen := project()) is not None:
        views.article(chosen)
