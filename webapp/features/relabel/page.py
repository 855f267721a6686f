"""Relabel: correct clusters by hand, with nothing lost and everything undone as it was."""

import streamlit as st

from db.label_records import LabellingRecord
from webapp.features.relabel import history, imports, settings, start, workspace
from webapp.features.relabel.state import bench
from webapp.shared import label_queries
from webapp.shared.choose import by_name, nothing, title


def opened(record: LabellingRecord) -> None:
    """Show a labelling that was just begun."""
    st.session_state["labelling-next"] = record.name
    st.rerun()


if "labelling-next" in st.session_state:
    st.session_state["labelling"] = st.session_state.pop("labelling-next")
    st.session_state["view"] = "Work"
found = label_queries.labellings()
with st.container(horizontal=True, vertical_alignment="bottom"):
    title("Relabel", "Put sentences where they belong. All is saved at once and can be undone.")
    with st.container(width=400):
        chosen = by_name("Labelling", found, "labelling", lambda record: record.name) if found else None
work_tab, history_tab, settings_tab, start_tab = st.tabs(
    ["Work", "History", "Files and sharing", "Begin"], key="view", bind="query-params", on_change="rerun"
)
for tab, part in ((work_tab, workspace), (history_tab, history), (settings_tab, settings)):
    if tab.open:
        with tab:
            if chosen is not None:
                part.show(bench(chosen))
            else:
                nothing(
                    "No labelling yet.", "Begin one in the tab “Begin”: from clusters, from sections, or from nothing."
                )
if start_tab.open:
    with start_tab:
        start.form(opened)
        settings.take_in(opened)
        imports.take_in(opened)
        settings.deleted()
