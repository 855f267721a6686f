"""Themes: cluster any list of sentences and name the clusters."""

import streamlit as st

from webapp.features.themes import new_list, results, state
from webapp.shared import partition_queries, pipeline_status
from webapp.shared.choose import by_name, nothing, open_tab, title
from webapp.shared.guard import closed
from webapp.shared.job_status import watch

title("Themes", "How many themes a list of sentences has, what they are, and which sentence belongs to which.")
pipeline_status.watch()
watch("themes")
found = partition_queries.analyses()
known = st.session_state.setdefault(state.KNOWN, len(found))
if len(found) > known:  # a requested result is ready: show it
    st.session_state[state.VIEW] = state.RESULTS
    st.session_state[state.RESULT] = found[0].name
st.session_state[state.KNOWN] = len(found)
view, tab = open_tab([state.NEW, state.RESULTS], state.VIEW)
with tab:
    if view == state.NEW:
        if not closed("Finding themes in a new list"):
            new_list.form()
    elif found:
        results.show(by_name("Result", found, state.RESULT, lambda analysis: analysis.name))
    else:
        nothing("No themes yet.", "Open the tab “New list”, paste or upload sentences, and click “Find themes”.")
