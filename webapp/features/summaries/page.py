"""Summaries page: extractive summaries by several methods side by side."""

from webapp.features.summaries import state, views
from webapp.shared import queries
from webapp.shared.choose import nothing, open_tab, title
from webapp.shared.job_status import watch

title("Summaries", "Extractive summaries: the most central sentences of a document, by several methods side by side.")
watch("summaries")
view, tab = open_tab(["One document", "Collections"], state.VIEW)
with tab:
    corpora = [corpus for corpus in queries.corpora() if corpus.articles]
    if view == "Collections":
        views.collections()
    elif corpora:
        views.article(corpora)
    else:
        nothing(
            "No corpus yet.",
            "Import documents first, for example a JSON Lines file with reference summaries.",
            "corpora",
            "Import a corpus",
        )
