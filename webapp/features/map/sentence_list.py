"""The panel beside the map: the selected or found sentences as a selection, and the details of one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.labelling.selections import Origin, selected
from themescope.core.records.stored import CorpusRecord, MapRecord
from themescope.db.records import SentencePlaces
from themescope.webapp.features.map import export, state
from themescope.webapp.features.map.search import MapHits
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.map_view.geometry import Rows
from themescope.webapp.map_view.scene import Colouring, Scene
from themescope.webapp.map_view.view_state import MapState
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.selections import selection_panel
from themescope.webapp.shared.selections.selections import Panel, Ranking
from themescope.webapp.shared.text import count, plain


@dataclass(frozen=True, slots=True)
class ListPanel:
    """Input of the panel."""

    corpus: CorpusRecord
    record: MapRecord
    scene: Scene
    colouring: Colouring
    state: MapState
    found: MapHits
    height: int
    moved: npt.NDArray[np.float64] | None = None
    """(n,) distance of each sentence between both maps, if two are shown."""
    find_similar: Callable[[int], None] = lambda sentence: None
    """Searches for the neighbours of the sentence with this id."""
    coloured_by: str = ""
    """Name of the colouring."""
    searched: str = ""
    """What was searched for."""


def show(panel: ListPanel) -> None:
    """Draw the details of the chosen sentence, and the panel of the selection."""
    _details(panel)
    rows, ranking = _listed(panel)
    chosen = selected(panel.corpus.id, panel.scene.ids[rows], _origin(panel))
    shown = Panel(
        chosen,
        state.PANEL,
        state.STORED,
        panel.height,
        (state.SHAPE, state.SIDE),
        {state.MAP: panel.record.name},
        state.LIST,
        ranking=ranking,
        heading=_heading(panel, len(rows)),
        columns=partial(export.columns, panel.scene, panel.colouring),
        places=partial(_places, panel, rows),
        whole=np.sort(panel.scene.ids),
        focus=panel.state.sentence,
        on_pick=panel.state.click,
        on_clear=_clear(panel) if len(panel.state.ids) else None,
    )
    selection_panel.show(shown)


def _places(panel: ListPanel, rows: Rows) -> SentencePlaces:
    scene = panel.scene
    return SentencePlaces(
        scene.ids[rows], scene.articles[rows], scene.positions[rows], scene.sections[rows], scene.titles
    )


def _heading(panel: ListPanel, listed: int) -> str:
    """Return the number of sentences, and whether they are selected, found or all."""
    chosen = len(panel.state.rows(panel.scene))
    if len(panel.state.ids) and panel.found.searched:
        return f"{count(listed, 'sentence')} found among {chosen:,} selected"
    if len(panel.state.ids):
        return f"{count(chosen, 'sentence')} selected"
    return f"{count(listed, 'sentence')} found" if panel.found.searched else f"All {count(listed, 'sentence')} shown"


def _clear(panel: ListPanel) -> Callable[[], None]:
    def clear() -> None:
        panel.state.clear()
        st.query_params.pop(state.STORED, None)

    return clear


def _listed(panel: ListPanel) -> tuple[Rows, Ranking | None]:
    """Return the rows to list, and their order if it is not the reading order."""
    selected_rows, found = panel.state.rows(panel.scene), panel.found
    if found.searched:
        inside = np.isin(found.rows, selected_rows) if len(panel.state.ids) else np.ones(len(found.rows), bool)
        rows = found.rows[inside]
        return rows, None if found.cosines is None else Ranking(
            "Most similar", panel.scene.ids[rows], [f"{value:.3f}" for value in found.cosines[inside].tolist()]
        )
    rows = selected_rows if len(panel.state.ids) else np.arange(len(panel.scene.ids))
    return rows, _by_value(panel, rows)


def _by_value(panel: ListPanel, rows: Rows) -> Ranking | None:
    """Return the order by distance moved, largest first; without a second map, by the value of the colouring."""
    values = panel.moved if panel.moved is not None else panel.colouring.values
    if values is None:
        return None
    sign = -1 if panel.moved is not None else 1
    order = rows[np.argsort(sign * values[rows], kind="stable")]
    first = "earliest" if panel.colouring.dates else "lowest"
    name = "Moved most" if panel.moved is not None else f"{panel.colouring.column}, {first} first"
    if panel.moved is None and panel.colouring.dates:
        notes = [str(panel.colouring.value(row) or "") for row in order.tolist()]
    else:
        notes = ["" if np.isnan(value) else f"{value:.2f}" for value in values[order].tolist()]
    return Ranking(name, panel.scene.ids[order], notes)


def _origin(panel: ListPanel) -> Origin:
    """Return how the listed sentences were selected."""
    if panel.state.origin is not None:
        facts, kind = list(panel.state.origin.facts), panel.state.origin.kind
    elif len(panel.state.ids):
        chosen = ", ".join(part.described(panel.colouring.names) for part in panel.state.parts)
        facts, kind = [f"{chosen or 'a list'} on map {panel.record.name}"], "lasso"
    else:
        facts, kind = [f"all sentences shown on map {panel.record.name}"], "filter"
    if panel.searched:
        facts, kind = [f"search {panel.searched}", *(facts if len(panel.state.ids) else facts[-1:])], "search"
    if panel.coloured_by and panel.state.origin is None:
        facts.append(f"coloured by {panel.coloured_by}")
    return Origin(kind, tuple(facts))


# ---------------------------------------------------------------- one sentence


def _details(panel: ListPanel) -> None:
    """Draw the chosen sentence in full, with its article and actions."""
    rows = panel.scene.rows_of(np.array([panel.state.sentence]))
    if not len(rows):
        return
    row = int(rows[0])
    (sentence,) = map_scene.texts(panel.scene, rows)
    with st.container(border=True, gap="small", key=state.DETAILS):
        st.text(sentence.text)
        parts = [panel.scene.article(row), panel.scene.section(row)]
        parts += [panel.colouring.name(row)] if panel.colouring.column else []
        st.caption(" · ".join(plain(part) for part in parts if part))
        with st.container(horizontal=True):
            st.button(
                "Find similar", icon=":material/join_inner:", shortcut="A", on_click=panel.find_similar,
                args=(sentence.id,),
                help="Lists the nearest neighbours of this sentence and rings them on the map.",
            )  # fmt: skip
            page_link(
                "corpora", "Read the article", icon=":material/menu_book:", view={"article": panel.scene.article(row)}
            )
