"""Corpora page: import and read texts."""

import streamlit as st

from webapp.features.corpora import articles, bundles, import_form, state
from webapp.shared import guard, queries
from webapp.shared.choose import nothing, title
from webapp.shared.guard import closed
from webapp.shared.job_status import watch
from webapp.shared.text import plain

title("Corpora", "Your source texts. Articles keep their sections and paragraphs.")
watch("corpora")
corpora = queries.corpora()
read, listing, bring = st.tabs(
    ["Read", "All corpora", "Import"], key=state.VIEW, bind="query-params", on_change="rerun"
)


if read.open:
    with read:
        if corpora:
            articles.browse(corpora)
        else:
            nothing("No corpus yet.", "Import a file in the tab “Import”, or wait until the demo is ready.")
if listing.open:
    with listing:
        if not corpora:
            nothing("No corpus yet.", "Import a file in the tab “Import”.")
        else:
            chosen = articles.table(corpora)
            st.subheader(plain(chosen.name), anchor=False)
            articles.report(chosen)
            bundles.export(chosen)
            along = f"{chosen.articles:,} articles with all triplets, vectors, benchmarks and maps based on them"
            guard.delete_button("corpus", chosen.name, along, lambda r: r.corpora.delete(chosen.id))
if bring.open:
    with bring:
        if not closed("Importing"):
            st.caption(
                "The format is detected from the content. A preview shows the first articles before anything is "
                "stored. Invalid files change nothing."
            )
            import_form.form()
            bundles.import_form()
