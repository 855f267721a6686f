"""Codebook page: what belongs into each cluster, in words and examples."""

import streamlit as st

from themescope.webapp.features.codebook import CODES, FILES, LABELLING, VERSIONS, VIEW, entries
from themescope.webapp.features.codebook.entries import codebook_state
from themescope.webapp.shared import projects
from themescope.webapp.shared.choose import by_name, nothing, open_tab
from themescope.webapp.shared.labelling.codebook_view import STYLE
from themescope.webapp.shared.results import compare_queries

labellings = sorted(compare_queries.labellings(projects.current_id()), key=compare_queries.precedence)
if not labellings:
    nothing(
        "No labellings yet.",
        "A codebook describes the clusters of a labelling. Create a labelling, or import a project of NVivo, ATLAS.ti "
        "or MAXQDA below.",
        "code",
        "New coding",
        {"view": "New coding"},
    )
    entries.project_import()
else:
    st.html(STYLE)
    with st.container(width=400):
        chosen = by_name("Labelling", labellings, LABELLING, lambda record: record.name)
    views = {CODES: entries.show, VERSIONS: entries.show_versions, FILES: entries.show_files}
    view, tab = open_tab([*views], VIEW)
    with tab:
        views[view](codebook_state(chosen))
