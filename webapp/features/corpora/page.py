"""Corpora page: import and read texts."""

import streamlit as st

from themescope.webapp.features.corpora import articles, bundles, import_form, state
from themescope.webapp.shared import choose, queries
from themescope.webapp.shared.choose import closed, open_tab, project
from themescope.webapp.shared.frame import pipeline_status
from themescope.webapp.shared.text import plain

progress = st.container()
view, tab = open_tab([state.READ, state.LISTING, state.IMPORT_VIEW], state.VIEW)
if view == state.IMPORT_VIEW:
    pipeline_status.open_imported()
with progress:
    pipeline_status.watch()
with tab:
    if view == state.IMPORT_VIEW:
        if not closed("Importing"):
            st.caption(
                "The format is detected from the content. A preview shows the first articles before anything is "
                "stored. Invalid files change nothing."
            )
            import_form.form()
            bundles.import_form()
    elif (current := project()) is not None and view == state.READ:
        articles.browse(current)
    elif current is not None:
        chosen = articles.table(queries.corpora(), current)
        st.subheader(plain(chosen.name), anchor=False)
        bundles.reports(chosen)
        articles.report(chosen)
        bundles.exports(chosen)
        along = f"{chosen.articles:,} articles with all triplets, vectors, benchmarks and maps based on them"
        choose.delete_button("project", chosen.name, along, lambda r: r.corpora.delete(chosen.id), typed=True)
