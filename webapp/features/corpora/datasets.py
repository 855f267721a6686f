"""Form that exports a corpus as a Hugging Face dataset."""

from __future__ import annotations

import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.db.access import Right
from themescope.jobs.kinds.exports import FOLDER
from themescope.webapp.features.corpora import state
from themescope.webapp.features.corpora.downloads import fetch, made
from themescope.webapp.shared import queries
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import count

_NONE, _THEMES = "none", "newest themes"


def export(corpus: CorpusRecord) -> None:
    """Draw the export form and the download of the last dataset; admins only, because labellings may be blind."""
    if not may(Right.MANAGE):
        return
    with st.expander("Export dataset", icon=":material/dataset:"):
        st.caption(
            "A ZIP file with the folder of a Hugging Face dataset: Parquet files by split, and a card. Sentences have "
            "their text, place, labels and columns."
        )
        _form(corpus)
        job = made(corpus, "export-dataset", FOLDER)
        if job is not None:
            fetch(corpus, job, count(int(job.result.get("sentences", 0)), "sentence"))


def _form(corpus: CorpusRecord) -> None:
    listed = queries.read(lambda r: r.labellings.list(corpus.id))
    themes = queries.read(lambda r: any(run.config.get("corpus_id") == corpus.id for run in r.runs.list(kind="themes")))
    choices = [_NONE, *([_THEMES] if themes else []), *(record.id for record in listed)]
    names: dict[object, str] = {record.id: record.name for record in listed}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Labels",
            choices,
            format_func=lambda choice: str(names.get(choice, choice)),
            key=f"{state.DATASET}_labels_{corpus.id}",
            width=420,
        )
        st.space("stretch")
        if st.button("Create dataset", icon=":material/dataset:", key=f"{state.DATASET}_create_{corpus.id}"):
            args = {"corpus": corpus.name, "labelling": names.get(chosen, ""), "themes": chosen == _THEMES}
            if submit("export-dataset", args, f"Dataset of “{corpus.name}”"):
                st.rerun()
