"""What others gave to cases is hidden from a person who still has to code them, so that analysts code independently."""

from __future__ import annotations

import streamlit as st

from themescope.db.access import Right
from themescope.db.notebook_records import Notebook
from themescope.webapp.features.notebook import state
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import count


def seen(notebook: Notebook) -> Notebook:
    """Return the notebook without what others gave to cases that this person has not coded; all of it for viewers."""
    return notebook.as_seen_by(current_person()) if may(Right.LABEL) else notebook


def chosen(notebook: Notebook) -> Notebook:
    """Draw the choice to include cases that others alone have coded, if there are any; return the chosen notebook."""
    own = seen(notebook)
    hidden = {one.case_id for one in notebook.codings} - {one.case_id for one in own.codings}
    if not hidden:
        return own
    shown = st.toggle(
        "Include cases that I have not coded", key=state.INCLUDE,
        help=f"{count(len(hidden), 'case')} coded by others only. Turn this on when you have finished, or if you do "
        "not code.",
    )  # fmt: skip
    return notebook if shown else own
