"""Themes: cluster any list of sentences, and see what it is about."""

import streamlit as st

from webapp.features.themes import listing, themes
from webapp.shared import theme_queries
from webapp.shared.choose import by_name, nothing, title
from webapp.shared.guard import closed
from webapp.shared.job_status import watch

title("Themes", "Any list of sentences: how many themes are in it, what they are, and which sentence belongs where.")
watch("themes")
found = theme_queries.analyses()
known = st.session_state.setdefault("themes-known", len(found))
if len(found) > known:  # what was asked for is there: show it
    st.session_state["view"] = "Themes found"
    st.session_state.pop("themes", None)
st.session_state["themes-known"] = len(found)
new, have = st.tabs(["New list", "Themes found"], key="view", bind="query-params", on_change="rerun")
if new.open:
    with new:
        if not closed("Finding themes in a new list"):
            listing.form()
if have.open:
    with have:
        if found:
            themes.show(by_name("Themes of", found, "themes", lambda analysis: analysis.name))
        else:
            nothing("No themes yet.", "Open the tab “New list”, paste or upload sentences, and press “Find themes”.")
