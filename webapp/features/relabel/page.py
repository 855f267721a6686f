"""Relabel page: correct the clusters of sentences, with undo, history and conflict handling."""

import streamlit as st

from themescope.core.records.stored import LabellingRecord
from themescope.webapp.features.relabel import history, settings, workspace
from themescope.webapp.features.relabel.editing import relabel_state
from themescope.webapp.features.relabel.state import HISTORY, LABELLING, NEW, OPEN_NEXT, SETTINGS, VIEW
from themescope.webapp.shared import projects
from themescope.webapp.shared.choose import by_name, nothing, open_tab
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.results.partition_queries import EDIT


def open_labelling(record: LabellingRecord) -> None:
    """Show a labelling that was just created."""
    st.session_state[OPEN_NEXT] = record.name
    st.rerun()


if OPEN_NEXT in st.session_state:
    st.session_state[LABELLING] = st.session_state.pop(OPEN_NEXT)
    st.session_state[VIEW] = EDIT
labellings = sorted(partition_queries.labellings(projects.current_id()), key=partition_queries.precedence)
with st.container(width=400):
    chosen = by_name("Labelling", labellings, LABELLING, lambda record: record.name) if labellings else None
views = {EDIT: workspace.show, HISTORY: history.show, SETTINGS: settings.show}
view, tab = open_tab([*views, NEW], VIEW)
with tab:
    if view == NEW:
        settings.form(open_labelling)
        settings.whole_labelling(open_labelling)
        settings.labels(open_labelling)
        settings.scheme(open_labelling)
        settings.deleted_labellings()
    elif chosen is not None:
        views[view](relabel_state(chosen))
    else:
        nothing(
            "No labellings yet.",
            "Start from a clustering, from sections or from unassigned sentences.",
            "relabel",
            NEW,
            {"view": NEW},
        )
