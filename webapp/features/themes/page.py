"""Themes: cluster any list of sentences and name the clusters."""

import streamlit as st

from themescope.webapp.features import themes
from themescope.webapp.features.themes import new_list, results
from themescope.webapp.shared import projects
from themescope.webapp.shared.choose import by_name, closed, nothing, open_tab
from themescope.webapp.shared.frame import header
from themescope.webapp.shared.navigation import show_next
from themescope.webapp.shared.results import compare_queries

if (ready := new_list.finished()) is not None:
    show_next({"corpus": ready.corpus.name, "view": themes.RESULTS, "result": ready.name})
    # Once something else has taken note of the result: a click may end a run anywhere.
    st.session_state.pop(themes.REQUESTED, None)
    st.rerun()
found = compare_queries.analyses(projects.current_id())
progress = st.container()
view, tab = open_tab([themes.NEW, themes.RESULTS], themes.VIEW, default=themes.RESULTS if found else themes.NEW)
with progress:
    header.watch(projects.current() if view == themes.RESULTS and not found else None)
with tab:
    if view == themes.NEW:
        if not closed("Finding themes in a new list"):
            new_list.form()
    elif found:
        best = compare_queries.best_first(found)
        results.show(by_name("Result", best, themes.RESULT, lambda analysis: analysis.name), found)
    else:
        nothing("No themes yet.", "Find the themes of this project, or open the tab “New list” and paste sentences.")
