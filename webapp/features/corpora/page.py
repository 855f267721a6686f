"""Corpora page: import and read texts."""

import streamlit as st

from webapp.features.corpora import articles, bundles, import_form, state
from webapp.shared import guard, pipeline_status, queries
from webapp.shared.choose import nothing, open_tab, title
from webapp.shared.guard import closed
from webapp.shared.job_status import watch
from webapp.shared.text import plain

title("Corpora", "Your source texts. Articles keep their sections and paragraphs.")
pipeline_status.watch()
watch("corpora")
corpora = queries.corpora()
READ, LISTING, IMPORT = "Read", "All corpora", "Import"
view, tab = open_tab([READ, LISTING, IMPORT], state.VIEW)
with tab:
    if view == IMPORT:
        if not closed("Importing"):
            st.caption(
                "The format is detected from the content. A preview shows the first articles before anything is "
                "stored. Invalid files change nothing."
            )
            import_form.form()
            bundles.import_form()
    elif not corpora:
        nothing("No corpus yet.", "Import a file in the tab “Import”, or wait until the demo is ready.")
    elif view == READ:
        articles.browse(corpora)
    else:
        chosen = articles.table(corpora)
        st.subheader(plain(chosen.name), anchor=False)
        articles.report(chosen)
        bundles.export(chosen)
        along = f"{chosen.articles:,} articles with all triplets, vectors, benchmarks and maps based on them"
        guard.delete_button("corpus", chosen.name, along, lambda r: r.corpora.delete(chosen.id))
