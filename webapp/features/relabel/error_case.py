"""Dialog that adds the selected sentences of a labelling to the error notebook."""

from __future__ import annotations

import streamlit as st

from themescope.core.labelling.error_cases import MOST_PASSAGES
from themescope.db.notebook_records import NewCase
from themescope.jobs.services.labelling.session import place_of
from themescope.jobs.services.notebook.cases import Finding, sentence_case
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import KEYS, LABELLING
from themescope.webapp.shared import error_notebook
from themescope.webapp.shared import queries as records


def show(state: RelabelState) -> None:
    """Draw the form; the dialog closes once the case is stored."""
    if not len(state.selected):
        st.info("Select sentences first.", icon=":material/info:")
        return
    error_notebook.form(f"{KEYS.page}-error-case", lambda: _case(state), lambda: setattr(state, "dialog", ""))


def _case(state: RelabelState) -> NewCase:
    """Return the selection as a case: where people placed the sentences, and where the model would."""
    ids = [int(i) for i in state.selected]
    model = records.model_by_id(state.model_id)
    placed = {i: _placed(state, i, model.name if model is not None else "") for i in ids[:MOST_PASSAGES]}
    predicted = placed[ids[0]] if len(ids) == 1 else ""
    finding = Finding(f"labelling {state.record.name}", (model.name,) if model is not None else (), predicted, placed)
    address = error_notebook.permalink({LABELLING: state.record.name})
    return sentence_case(records.store(), state.record.corpus_id, ids, finding, address)


def _placed(state: RelabelState, sentence: int, model: str) -> str:
    """Return the cluster of a sentence, and the one that the model suggests if it is another one."""
    own, row = f"in {place_of(state.partition, sentence)}", int(state.partition.rows([sentence])[0])
    other, found = state.suggestion_for(row), state.suggestions
    if other is None or found is None:
        return own
    return f"{own}; {model} suggests {state.partition.clusters[other].name} (margin {found.margin[row]:.2f})"
