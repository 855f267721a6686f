"""The map of the sentences, coloured by theme; a selection or a chosen theme filters the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from core.types import Ids
from db.records import MapRecord
from webapp.features.themes import state
from webapp.map_view import component
from webapp.map_view import scene as map_scene
from webapp.map_view.scene import MANY, Colouring, Scene
from webapp.map_view.view_state import MapState
from webapp.shared import theme_queries
from webapp.shared.job_status import submit
from webapp.shared.text import count, plain, shorten
from webapp.shared.theme_queries import Analysis, Listing

ALL_THEMES = "All themes"
_HEIGHT = 460
_NAME_CHARS = 60


def show(analysis: Analysis, listed: Listing) -> tuple[Ids, int | None]:
    """Draw the map; returns the ids of the selected sentences (empty: all) and the chosen theme (None: all)."""
    theme = _choose_theme(analysis)
    record = theme_queries.map_of(analysis)
    if record is None:
        _offer_map(analysis)
        return np.empty(0, dtype=np.int64), theme
    return _draw(analysis, listed, record, theme), theme


def _choose_theme(analysis: Analysis) -> int | None:
    names = {f"{number}. {theme['name']}": number - 1 for number, theme in enumerate(analysis.themes, 1)}
    if st.session_state.get(state.THEME) not in (ALL_THEMES, *names):
        st.session_state.pop(state.THEME, None)
    chosen = st.selectbox("Show", [ALL_THEMES, *names], key=state.THEME, bind="query-params")
    return names.get(chosen)


def _offer_map(analysis: Analysis) -> None:
    with st.container(border=True):
        st.caption("No map of these sentences yet.")
        if st.button("Create map", icon=":material/scatter_plot:"):
            settings = {"corpus": analysis.corpus.name, "model": analysis.model.name}
            if submit("project", settings, f"Map of {analysis.corpus.name}"):
                st.rerun()


def _draw(analysis: Analysis, listed: Listing, record: MapRecord, theme: int | None) -> Ids:
    """Draw the map of the listed sentences and return the ids of the selected ones."""
    whole = map_scene.opened(record)
    scene = _scene(whole.only(np.isin(whole.ids, listed.ids)), analysis, listed)
    selected: MapState = st.session_state.setdefault(f"{state.SELECTION}_{analysis.run.digest}", MapState())
    colouring = _colouring(scene, analysis, theme)
    canvas = component.canvas_of(
        scene, colouring, opacity=0.8, height=_HEIGHT, name=f"themes-{analysis.run.digest[:12]}"
    )
    component.points(canvas)
    component.interactive(canvas, selected, selected.version)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_notes(record, len(scene.ids), len(listed.ids)), width="stretch")
        if len(selected.ids):
            label = f"Clear selection ({plain(count(len(selected.ids), 'sentence'))})"
            st.button(label, icon=":material/close:", on_click=selected.clear)
    return selected.ids


def _notes(record: MapRecord, shown: int, total: int) -> str:
    sample = f" A sample of {shown:,} out of {total:,} sentences." if shown < total else ""
    return (
        f"Nearby points are similar: {record.faithfulness:.0%} of the 15 nearest neighbours of a sentence stay close "
        f"on the map.{sample} Lasso points to list them below."
    )


def _scene(scene: Scene, analysis: Analysis, listed: Listing) -> Scene:
    """Return the scene with the theme of each sentence in place of its section, for the tooltip."""
    order = np.argsort(listed.ids)
    labels = listed.labels[order][np.searchsorted(listed.ids[order], scene.ids)]
    return replace(scene, sections=labels.astype(np.int32), titles=[theme["name"] for theme in analysis.themes])


def _colouring(scene: Scene, analysis: Analysis, theme: int | None) -> Colouring:
    """Return the colours of the largest themes, or of the chosen one."""
    themes = scene.sections.astype(np.int64)
    shown = themes < MANY if theme is None else (themes == theme) & (themes < MANY)
    names = [
        f"{number}. {shorten(found['name'], _NAME_CHARS)}" for number, found in enumerate(analysis.themes[:MANY], 1)
    ]
    return Colouring(np.where(shown, themes, -1), names, "other themes")
