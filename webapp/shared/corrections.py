"""A button that opens themes, or the clusters of an article, for correction on the Relabel page."""

from __future__ import annotations

import streamlit as st

from themescope.db.access import Right
from themescope.db.label_records import LabellingRecord, NewLabelling, Sharing
from themescope.jobs.services.labelling import starts
from themescope.webapp.shared import partition_queries, queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.partition_queries import Analysis
from themescope.webapp.shared.people import current_person, may

_NAME_CHARS = 120


def correct_button(label: str, analysis: Analysis, article_id: int | None = None) -> None:
    """Draw the button; a click opens this person's labelling that started from the analysis, or creates it.

    Nothing is drawn for people who may not label, and for corpora with too many sentences for one labelling.
    """
    fits = article_id is not None or analysis.corpus.sentences <= starts.MOST_SENTENCES
    if not fits or not may(Right.LABEL):
        return
    key = f"correct-{analysis.run.id}"
    if st.button(label, key=key, icon=":material/edit:", type="tertiary"):
        record = _existing(analysis) or attempt(lambda: _created(analysis, article_id))
        if record is not None:
            switch_page("relabel", {"corpus": analysis.corpus.name, **partition_queries.edit_view(record.name)})


def _existing(analysis: Analysis) -> LabellingRecord | None:
    person = current_person()
    for record in partition_queries.labellings(analysis.corpus.id):
        if record.origin.get("run_id") == analysis.run.id and record.owner == person:
            return record
    return None


def _created(analysis: Analysis, article_id: int | None) -> LabellingRecord:
    name = (analysis.article or analysis.corpus.name)[:_NAME_CHARS]
    new = NewLabelling(analysis.corpus.id, name, current_person(), Sharing.OWN, False, article_id)
    return starts.begin(queries.store(), new, starts.from_themes(analysis.run.id))
