"""Summaries page: extractive summaries by several methods side by side."""

from webapp.features.summaries import state, views
from webapp.shared.choose import open_tab, project
from webapp.shared.job_status import watch

watch("summaries")
view, tab = open_tab(["One document", "Collections"], state.VIEW)
with tab:
    if view == "Collections":
        views.collections()
    elif (chosen := project()) is not None:
        views.article(chosen)
