"""Selections page: the selection that another page offered or a link names, and the saved ones of the project."""

import streamlit as st

from themescope.core.labelling.operations import Selection
from themescope.core.records.stored import CorpusRecord, SelectionRecord
from themescope.webapp.features import selections as state
from themescope.webapp.shared.choose import nothing, project
from themescope.webapp.shared.selections import selection_actions, selections
from themescope.webapp.shared.selections.selection_panel import show
from themescope.webapp.shared.selections.selections import Panel

_HEIGHT = 520


def _open(record: SelectionRecord) -> None:
    selections.withdraw()
    st.query_params[state.OPEN] = str(record.id)


def _clear() -> None:
    selections.withdraw()
    st.query_params.pop(state.OPEN, None)


def _shown(of: CorpusRecord) -> Selection | None:
    found = selections.from_address(state.OPEN) or selections.offered(of.id)
    return found if found is not None and found.corpus_id == of.id else None


current = project()
if current is not None:
    chosen = _shown(current)
    saved = selections.saved(current.id)
    if chosen is not None:
        show(Panel(chosen, "selections_panel", state.OPEN, _HEIGHT, tab_key=state.PART, on_clear=_clear))
    elif not saved:
        nothing(
            "No selection yet.",
            "Lasso points on the map, open a theme, or search in the texts of the project.",
            "map",
            "Open Map",
        )
    if saved:
        st.subheader("Saved selections", anchor=False)
        selection_actions.saved_list(current.id, _open)
