"""Texts page: read the texts of the project, and see and take out what projects have."""

import streamlit as st

from themescope.webapp.features import texts
from themescope.webapp.features.texts import articles, edits
from themescope.webapp.shared import choose, queries
from themescope.webapp.shared.choose import open_tab, project
from themescope.webapp.shared.frame import header
from themescope.webapp.shared.text import plain

header.watch()
view, tab = open_tab([texts.READ, texts.LISTING], texts.VIEW)
with tab:
    if (current := project()) is not None and view == texts.READ:
        articles.browse(current)
    elif current is not None:
        chosen = articles.table(queries.corpora(), current)
        st.subheader(plain(chosen.name), anchor=False)
        edits.reports(chosen)
        articles.report(chosen)
        edits.exports(chosen)
        along = f"{chosen.articles:,} articles with all triplets, vectors, benchmarks and maps based on them"
        choose.delete_button("project", chosen.name, along, lambda r: r.corpora.delete(chosen.id), typed=True)
