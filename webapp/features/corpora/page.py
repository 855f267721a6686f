"""Corpora page: import and read texts."""

import streamlit as st

from themescope.webapp.features import corpora
from themescope.webapp.features.corpora import articles, edits, import_form
from themescope.webapp.shared import choose, queries
from themescope.webapp.shared.choose import closed, open_tab, project
from themescope.webapp.shared.frame import header
from themescope.webapp.shared.text import plain

progress = st.container()
view, tab = open_tab([corpora.READ, corpora.LISTING, corpora.IMPORT_VIEW], corpora.VIEW)
if view == corpora.IMPORT_VIEW:
    header.open_imported()
with progress:
    header.watch()
with tab:
    if view == corpora.IMPORT_VIEW:
        if not closed("Importing"):
            st.caption(
                "The format is detected from the content. A preview shows the first articles before anything is "
                "stored. Invalid files change nothing."
            )
            import_form.form()
            edits.import_form()
    elif (current := project()) is not None and view == corpora.READ:
        articles.browse(current)
    elif current is not None:
        chosen = articles.table(queries.corpora(), current)
        st.subheader(plain(chosen.name), anchor=False)
        edits.reports(chosen)
        articles.report(chosen)
        edits.exports(chosen)
        along = f"{chosen.articles:,} articles with all triplets, vectors, benchmarks and maps based on them"
        choose.delete_button("project", chosen.name, along, lambda r: r.corpora.delete(chosen.id), typed=True)
