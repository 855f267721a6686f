"""Summaries: the most central sentences of a document, by any method, side by side."""

import streamlit as st

from webapp.features.summaries import summarizing
from webapp.shared import queries
from webapp.shared.choose import nothing, title
from webapp.shared.job_status import watch

title("Summaries", "The most central sentences of a document, by any method; scores in place, methods side by side.")
watch("summaries")
document, collections = st.tabs(["One document", "Collections"], key="view", bind="query-params", on_change="rerun")
if document.open:
    with document:
        corpora = [corpus for corpus in queries.corpora() if corpus.articles]
        if corpora:
            summarizing.article(corpora)
        else:
            nothing(
                "No corpus yet.",
                "Import documents first; a file with people's summaries (JSON lines) works as well.",
                "corpora",
                "Import a corpus",
            )
if collections.open:
    with collections:
        summarizing.collections()
