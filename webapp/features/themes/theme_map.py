"""The map of an analysis: one colour a theme; a lasso or a chosen theme decides what the table shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.config import digest_of
from webapp.map_view import mapping
from webapp.shared import theme_queries
from webapp.shared.figures import MapView, map_figure
from webapp.shared.job_status import submit
from webapp.shared.palette import tones
from webapp.shared.text import count, plain, shorten
from webapp.shared.theme_queries import Analysis, Listing

_ALL = "all themes"
_LETTERS, _MANY, _SHORT = 240, 5_000, 110


def show(analysis: Analysis, listed: Listing) -> tuple[npt.NDArray[np.int64], int | None]:
    """Draw; the ids inside the lasso (none: empty) and the chosen theme (None: all)."""
    theme = _theme(analysis)
    record = theme_queries.map_of(analysis)
    if record is None:
        with st.container(border=True):
            st.caption("The map of these sentences is not drawn yet.")
            if st.button("Draw the map", icon=":material/scatter_plot:"):
                what = {"corpus": analysis.corpus.name, "model": analysis.model.name}
                if submit("project", what, f"Map of {analysis.corpus.name}"):
                    st.rerun()
        return np.empty(0, dtype=np.int64), theme
    ids, points = theme_queries.points(record.id, record.created)
    chosen = _draw(analysis, listed, ids, points, theme)
    sampled = f" A sample of {len(ids):,} out of {len(listed.ids):,} sentences." if len(ids) < len(listed.ids) else ""
    st.caption(
        f"Near points are alike to the model; {record.faithfulness:.0%} of the 15 nearest neighbours that sentences "
        f"really have are kept.{sampled} Draw around points to see only those in the table."
    )
    return chosen, theme


def _theme(analysis: Analysis) -> int | None:
    names = {f"{place}. {theme['name']}": place - 1 for place, theme in enumerate(analysis.themes, 1)}
    if st.session_state.get("theme") not in (_ALL, *names):
        st.session_state.pop("theme", None)
    chosen = st.selectbox("Show", [_ALL, *names], key="theme", bind="query-params")
    return names.get(chosen)


def _draw(
    analysis: Analysis, listed: Listing, ids: npt.NDArray[np.int64], points: Any, theme: int | None
) -> npt.NDArray[np.int64]:
    row = {int(i): place for place, i in enumerate(listed.ids)}
    rows = np.array([row[int(i)] for i in ids if int(i) in row], dtype=np.intp)
    placed = points[[int(i) in row for i in ids]]
    labels = listed.labels[rows].astype(np.int64)
    limit = mapping.LIMIT
    categories = np.where((labels < limit) & ((theme is None) | (labels == theme)), labels, -1)
    state: dict[str, Any] = st.session_state.setdefault(
        f"themes-{analysis.run.digest}", {"ids": np.empty(0, dtype=np.int64), "n": 0}
    )
    shade = st.context.theme.type
    key = f"themes-map-{digest_of([analysis.run.digest, theme, shade, state['n']])}"
    letters = _SHORT if len(rows) > _MANY else _LETTERS
    figure = map_figure(
        MapView(
            ids=listed.ids[rows],
            points=placed,
            categories=categories,
            names=[f"{place}. {shorten(t['name'], 28)}" for place, t in enumerate(analysis.themes[:limit], 1)],
            hover=[
                mapping.hover_text(
                    analysis.themes[listed.labels[i]]["name"],
                    listed.groups[i] or analysis.corpus.name,
                    listed.sentences[i].text,
                    letters,
                )
                for i in rows
            ],
            other="other themes",
            size=7.0 if len(rows) < 1_000 else 5.0,
        ),
        tones(shade),
    )
    figure.update_layout(height=520)
    event: Any = st.plotly_chart(
        figure,
        key=key,
        on_select="rerun",
        selection_mode=("points", "box", "lasso"),
        config={"displaylogo": False, "scrollZoom": True, "modeBarButtonsToRemove": ["toImage"]},
    )
    chosen = mapping.selected_ids(event)
    if len(chosen) and st.button(
        f"Clear the selection ({plain(count(len(chosen), 'sentence'))})", icon=":material/close:"
    ):
        state["n"] += 1
        st.rerun()
    return chosen
