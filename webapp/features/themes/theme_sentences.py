"""The sentences of a result beside its map: a theme, those with low confidence, or those selected on the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.labelling.operations import Origin, selected
from themescope.core.types import Ids
from themescope.webapp.features.themes import state
from themescope.webapp.map_view.view_state import MapState
from themescope.webapp.shared.results.partition_queries import Analysis, RunListing
from themescope.webapp.shared.selections import selection_panel
from themescope.webapp.shared.selections.selections import Panel, Ranking

_HEIGHT = 430


@dataclass(frozen=True, slots=True)
class Shown:
    """The sentences that are shown of a result."""

    analysis: Analysis
    listed: RunListing
    selected: MapState
    """What is selected on the map."""
    theme: int | None
    """The chosen theme; None for all."""
    low: bool
    """Whether only sentences with low confidence are shown."""
    map_name: str

    def rows(self) -> npt.NDArray[np.intp]:
        """Return the rows of the listing, by theme and the surest first; of low confidence, the least sure first."""
        keep = np.ones(len(self.listed.ids), bool)
        if len(self.selected.ids):
            keep &= np.isin(self.listed.ids, self.selected.ids)
        if self.theme is not None:
            keep &= self.listed.labels == self.theme
        if self.low:
            keep &= self.listed.margins < 0
        rows = np.flatnonzero(keep)
        margins = self.listed.margins[rows]
        order = np.argsort(margins, kind="stable") if self.low else np.lexsort((-margins, self.listed.labels[rows]))
        found: npt.NDArray[np.intp] = rows[order]
        return found


def show(shown: Shown) -> None:
    """Draw the panel of the sentences."""
    rows, listed = shown.rows(), shown.listed
    ids = listed.ids[rows]
    ranking = Ranking(
        "Least sure first" if shown.low else "Surest first", ids, [f"{value:.2f}" for value in listed.margins[rows]]
    )
    selection_panel.show(
        Panel(
            selected(shown.analysis.corpus.id, ids, origin(shown)),
            "themes_panel",
            state.STORED,
            _HEIGHT,
            view={state.RESULT: shown.analysis.name, state.VIEW: state.RESULTS},
            tab_key=state.PART,
            analysis=shown.analysis,
            ranking=ranking,
            columns=lambda wanted: _columns(listed, wanted),
            whole=np.sort(listed.ids),
            focus=shown.selected.sentence,
            on_pick=shown.selected.click,
            on_clear=shown.selected.clear if len(shown.selected.ids) else None,
        )
    )


def origin(shown: Shown) -> Origin:
    """Return how the sentences were selected."""
    if shown.selected.origin is not None:
        return shown.selected.origin
    facts, kind = [f"themes of {shown.analysis.name}"], "filter"
    if shown.low:
        facts.insert(0, "low confidence")
    if shown.theme is not None:
        facts.insert(0, f"theme {shown.theme + 1}. {shown.analysis.themes[shown.theme]['name']}")
        kind = "theme"
    if len(shown.selected.ids):
        facts.insert(0, f"lasso on map {shown.map_name}")
        kind = "lasso"
    return Origin(kind, tuple(facts))


def _columns(listed: RunListing, wanted: Ids) -> dict[str, Sequence[Any]]:
    order = np.argsort(listed.ids, kind="stable")
    rows = order[np.searchsorted(listed.ids[order], wanted)]
    columns: dict[str, Sequence[Any]] = {"margin": [round(float(value), 4) for value in listed.margins[rows]]}
    if any(listed.groups):
        columns["group"] = [listed.groups[row] for row in rows]
    return columns
