"""Summaries page: extractive summaries by several methods side by side."""

import streamlit as st

from webapp.features.summaries import state, views
from webapp.shared import queries
from webapp.shared.choose import nothing, title
from webapp.shared.job_status import watch

title("Summaries", "Extractive summaries: the most central sentences of a document, by several methods side by side.")
watch("summaries")
document, collections = st.tabs(["One document", "Collections"], key=state.VIEW, bind="query-params", on_change="rerun")
if document.open:
    with document:
        corpora = [corpus for corpus in queries.corpora() if corpus.articles]
        if corpora:
            views.article(corpora)
        else:
            nothing(
                "No corpus yet.",
                "Import documents first, for example a JSON Lines file with reference summaries.",
                "corpora",
                "Import a corpus",
            )
if collections.open:
    with collections:
        views.collections()
