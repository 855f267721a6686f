"""Corpora: bring text in, read it."""

import streamlit as st

from webapp.features.corpora import articles, bundling, importing
from webapp.shared import deleting, queries
from webapp.shared.choose import nothing, title
from webapp.shared.guard import closed
from webapp.shared.job_status import watch
from webapp.shared.text import plain

title("Corpora", "The texts that everything else is made of. Articles keep their sections and paragraphs.")
watch("corpora")
corpora = queries.corpora()
read, listing, bring = st.tabs(["Read", "All corpora", "Import"], key="view", bind="query-params", on_change="rerun")


if read.open:
    with read:
        if corpora:
            articles.browse(corpora)
        else:
            nothing("No corpus yet.", "Open the tab “Import” to bring in a file, or wait for the demo to be built.")
if listing.open:
    with listing:
        if not corpora:
            nothing("No corpus yet.", "Open the tab “Import” to bring in a file.")
        else:
            chosen = articles.table(corpora)
            st.subheader(plain(chosen.name), anchor=False)
            articles.report(chosen)
            bundling.export(chosen)
            along = f"{chosen.articles:,} articles, and all triplets, vectors, benchmarks and maps made from it"
            deleting.button("corpus", chosen.name, along, lambda r: r.corpora.delete(chosen.id))
if bring.open:
    with bring:
        if not closed("Importing"):
            st.caption(
                "The format is recognised by content. You see the first articles before anything is stored. "
                "A broken file leaves the store as it was."
            )
            importing.form()
            bundling.take_in()
