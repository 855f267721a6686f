"""The drawer of a selection: how many units of which themes, what to do with them, and their texts in full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.jobs.services import selections as service
from themescope.webapp.shared import queries, unit_list
from themescope.webapp.shared.selections import selection_actions, selections
from themescope.webapp.shared.selections.selections import CENTRAL, Panel
from themescope.webapp.shared.text import count, plain, shorten

_NAMED, _NAME = 3, 30
"""Number of groups that the summary names, and the length of their names."""


def show(panel: Panel) -> None:
    """Draw the drawer."""
    with st.container(gap="small", key=f"{panel.key}-selection-panel"):
        with st.container(horizontal=True, vertical_alignment="top", gap="small", wrap=False):
            heading = f"**{plain(panel.heading or count(len(panel.selection), 'unit'))}**"
            groups = _summary(panel)
            st.markdown(
                heading + (f" :small[:gray[· {plain(groups)}]]" if groups else ""), width="stretch",
            )  # fmt: skip
            if panel.on_clear is not None:
                st.button(panel.clear, on_click=panel.on_clear, type="tertiary", key=f"{panel.key}-clear")
        if not len(panel.selection):
            st.caption("No units. Change the search or the filters, or select others on the map.")
            return
        selection_actions.show(panel)
        rows, notes = _ordered(panel)
        units = unit_list.of_sentences(panel.read(), rows, notes, panel.mark)
        unit_list.show(units, f"{panel.key}-sentences", panel.height, panel.focus, panel.on_pick)


def _summary(panel: Panel) -> str:
    """Return the largest groups of the units, such as "31 Buses and trains, 6 Parks and air"."""
    counted = panel.groups if panel.groups is not None else panel.read().theme_counts()
    named = [f"{n:,} {shorten(name.split(' · ')[0], _NAME)}" for name, n in counted.most_common(_NAMED)]
    rest = sum(counted.values()) - sum(n for _, n in counted.most_common(_NAMED))
    return ", ".join([*named, *([f"{rest:,} others"] if rest else [])])


def _ordered(panel: Panel) -> tuple[npt.NDArray[np.intp], Sequence[str]]:
    """Return the rows of the units in the chosen order, and a note for each."""
    found, order = panel.read(), panel.order
    if panel.ranking is not None and order == panel.ranking.name:
        return found.rows_of(panel.ranking.ids), panel.ranking.notes
    if order == CENTRAL:
        model = service.model_of(
            queries.store(), panel.selection.corpus_id, found, panel.themes.model.id if panel.themes else None
        )
        if model is not None:
            listed, notes = selections.central_order(panel.selection.digest, model.digest, found, model)
            return np.array(listed, dtype=np.intp), notes
    return np.arange(len(found.ids)), ()
