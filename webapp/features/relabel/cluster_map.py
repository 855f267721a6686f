"""Layouts Columns and Map of the Relabel page: sentences by cluster, and as points in its colour; a lasso selects.

Sentences that the filter or the search leaves out are grey, so that the distribution of what was found is seen. Colours
are those of the clusters, or of the themes.

A lasso is one of the toolbar's actions, so that a key that is pressed right after it applies to the new selection.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from themescope.core.labelling.hierarchy import at_theme_level, in_order
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.types import Ids, Points
from themescope.jobs.services.selections import NO_THEME, SelectedSentences
from themescope.webapp.features.relabel import queries as page_queries
from themescope.webapp.features.relabel.actions import clusters_with_keys
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import COLUMNS, LEVEL, MAP, MAP_CHOICE, MAP_LIST, PlottedMap
from themescope.webapp.features.relabel.toolbar import ASSETS, SCRIPTS, WORDS, appearance, palette
from themescope.webapp.map_view import component
from themescope.webapp.map_view.component import Canvas
from themescope.webapp.map_view.geometry import Grid
from themescope.webapp.map_view.scene import MAX_CATEGORIES, Colouring, Scene
from themescope.webapp.map_view.view_state import MapState
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.selections import sentence_view
from themescope.webapp.shared.text import count, plain, shorten

_HEIGHT = 350
_KEPT_MAPS = 4
_MOST_OTHERS = 50_000
_NO_POINTS: Points = np.empty((0, 2), dtype=np.float32)
QUICK = "Quick map (principal components)"


def show_map(state: RelabelState, ids: Ids) -> None:
    """Draw the sentences ``ids``; the points inside a lasso become the selection."""
    placed = _coordinates(state)
    if placed is None:
        nothing(
            "No map yet.",
            "Choose a model under “Suggestions from”, or draw a map of this corpus on the Map page.",
            "map",
            "Open Map",
        )
        return
    known, points = placed
    here = np.isin(known, ids)
    others = points[np.isin(known, state.partition.ids) & ~here]
    canvas = canvas_of(state, known[here], points[here], others)
    colouring = canvas.colouring
    state.plotted[canvas.digest] = PlottedMap(
        canvas.scene.ids, canvas.units, colouring.categories, len(colouring.names)
    )
    while len(state.plotted) > _KEPT_MAPS:
        del state.plotted[next(iter(state.plotted))]
    left, right = st.columns([5, 4])
    with left:
        component.points(canvas)
        _view(state, canvas)
    with right:
        if not len(state.selected):
            st.caption("Lasso or click points to read their sentences here.")
        else:
            st.markdown(f"**{plain(count(len(state.selected), 'sentence'))} selected**")
            found = sentences_of(state, state.selected)
            listing = sentence_view.Listing(found, np.arange(len(found.ids)))
            only = int(state.selected[0]) if len(state.selected) == 1 else -1
            sentence_view.show(listing, f"{MAP_LIST}_{state.record.id}", _HEIGHT, only)


def sentences_of(state: RelabelState, ids: Ids) -> SelectedSentences:
    """Return sentences with their clusters in place of themes; blind work shows no sections."""
    texts, p = state.texts, state.partition
    rows = np.array(sorted(texts.row[int(i)] for i in ids), dtype=np.intp)
    numbers = p.numbers[p.rows(texts.ids[rows])]
    clusters = np.array(sorted(p.clusters), dtype=np.int64)
    titles = {"": 0} if state.record.blind else {title: i for i, title in enumerate(dict.fromkeys(texts.sections))}
    chosen = [texts.sentences[row] for row in rows.tolist()]
    return SelectedSentences(
        texts.ids[rows],
        np.array([s.article_id for s in chosen], dtype=np.int64),
        np.array([s.position for s in chosen], dtype=np.int64),
        np.array([titles.get(texts.sections[row], 0) for row in rows.tolist()], dtype=np.int32),
        list(titles),
        {texts.sentences[row].article_id: texts.articles[row] for row in rows.tolist()},
        np.where(np.isin(numbers, clusters), np.searchsorted(clusters, numbers), NO_THEME).astype(np.int32),
        [p.clusters[number].name for number in clusters.tolist()],
    )


@st.fragment
def _view(state: RelabelState, canvas: Canvas) -> None:
    """Draw the map; hovering reruns this fragment only."""
    choice: MapState = st.session_state.setdefault(
        f"{MAP_CHOICE}_{state.record.id}_{state.browser_session}", MapState()
    )
    choice.ids = state.selected
    component.view(canvas, choice)


def _coordinates(state: RelabelState) -> tuple[Ids, Points] | None:
    """Return ids and (n, 2) coordinates from a stored map that has all sentences, else from a quick map."""
    record = state.record
    maps = {m.name: m for m in page_queries.maps_with(record.corpus_id, state.partition.ids)}
    model = state.model
    options = [*maps, *([QUICK] if model else [])]
    if not options:
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        chosen = st.selectbox("Map", options, key=f"{MAP}_{record.id}", label_visibility="collapsed")
        if any(cluster.parent is not None for cluster in state.partition.clusters.values()):
            st.toggle("Colour by theme", key=f"{LEVEL}_{record.id}")
    if chosen in maps:
        found = queries.map_points(maps[chosen].id)
        return found.sentence_ids, found.points
    assert model is not None
    points = page_queries.quick_map(model.id, model.digest, record.id, record.created)
    return state.partition.ids, points


def canvas_of(state: RelabelState, ids: Ids, points: Points, others: Points = _NO_POINTS) -> Canvas:
    """Return the drawing of (n,) sentences at (n, 2) coordinates, coloured by cluster, and (m, 2) grey points.

    Where there are more clusters than colours, the smallest share one.
    """
    colouring, grid = _colouring(state, ids), Grid.around(np.concatenate([points, others]))
    context = grid.units(others)
    frame = component.frame_of(np.concatenate([grid.units(points), context]))
    texts, p = state.texts, state.partition
    sentences = [texts.sentences[texts.row[int(i)]] for i in ids]
    titles = [c.name for c in p.clusters.values()] + ["unassigned"]
    row_of: dict[int, int] = {number: row for row, number in enumerate(p.clusters)} | {UNASSIGNED: len(titles) - 1}
    owners: Any = [s.article_id for s in sentences]
    scene = Scene(
        ids,
        points,
        grid.units(points),
        np.array(owners, dtype=np.int64),
        np.array([s.position for s in sentences], dtype=np.int64),
        np.array([row_of[int(n)] for n in p.numbers[p.rows(ids)]], dtype=np.int32),
        [shorten(title, 60) for title in titles],
        queries.articles_by_id(np.unique(owners)),
        grid,
    )
    return component.canvas_of(
        scene,
        colouring,
        frame=frame,
        context=context[:: max(-(-len(context) // _MOST_OTHERS), 1)],
        opacity=0.85,
        height=_HEIGHT,
        name=f"relabel-{state.record.id}",
        texts=lambda rows: [state.texts.sentences[state.texts.row[int(i)]].text for i in ids[rows]],
        action_queue=True,
    )


def _colouring(state: RelabelState, ids: Ids) -> Colouring:
    p = state.partition
    if st.session_state.get(f"{LEVEL}_{state.record.id}"):
        p = at_theme_level(p)
    sizes = p.sizes()
    kept = sorted(sorted(p.clusters, key=lambda n: -sizes[n])[:MAX_CATEGORIES])
    category_of = {number: category for category, number in enumerate(kept)}
    numbers = p.numbers[p.rows(ids)]
    categories = np.array([category_of.get(int(n), -1) for n in numbers], dtype=np.int64)
    rest = len(p.clusters) - len(kept)
    other = f"{count(rest, 'smaller cluster')} and unassigned" if rest else "unassigned"
    return Colouring(categories, [p.clusters[n].name for n in kept], other, [p.clusters[n].colour for n in kept])


# --- columns ----------------------------------------------------------------------------------------------------------


_MAX_IN_COLUMN, _MIN_IN_COLUMN, _MAX_TOGETHER = 600, 6, 1_800
"""Bounds on the sentences of one column, and about how many all columns show together."""
_MAX_TEXT, _MAX_NOTE, _MAX_SUGGESTION = 700, 120, 40
_MIN_HEIGHT = 290
"""Height of a column in pixels; columns grow with the window."""


def show_columns(state: RelabelState, ids: Ids) -> None:
    """Draw the sentences ``ids`` in columns. What is done there arrives with the actions of the toolbar."""
    data, key = columns_data(state, ids), f"{COLUMNS}_{state.record.id}"
    draw_component("columns", ASSETS, *SCRIPTS, data=data, key=key)


def columns_data(state: RelabelState, ids: Ids) -> dict[str, Any]:
    """Return what the browser needs to draw the columns: texts and colours, a few hundred sentences per column."""
    shades = tones(st.context.theme.type)
    columns = _columns(state, ids)
    if len(ids) < len(state.partition.ids):  # with a filter or a search, empty columns come last
        columns.sort(key=lambda column: not column["sentences"])
    return {
        "columns": columns,
        "selected": state.selected.tolist(),
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "height": _MIN_HEIGHT,
        "palette": palette(shades),
        "words": WORDS,
    }


def _columns(state: RelabelState, ids: Ids) -> list[dict[str, Any]]:
    shades = tones(st.context.theme.type)
    rows = state.partition.rows(ids)
    numbers = state.partition.numbers[rows]
    digits = {cluster.number: str(digit) for digit, cluster in enumerate(clusters_with_keys(state), 1)}
    sizes, in_view = state.partition.sizes(), len(np.unique(numbers))
    # Fewer sentences where there are many columns with some; a filter or a search leaves fewer columns.
    limit = max(_MIN_IN_COLUMN, min(_MAX_IN_COLUMN, _MAX_TOGETHER // max(in_view, 1)))
    columns = []
    clusters = state.partition.clusters
    for number in (*(cluster.number for cluster in in_order(state.partition)), UNASSIGNED):
        inside = np.flatnonzero(numbers == number)
        cluster = clusters.get(number)
        only_above = cluster is not None and not sizes[number] and bool(state.partition.children(number))
        if (cluster is None and not len(inside)) or only_above:
            continue
        theme = clusters[cluster.parent].name if cluster is not None and cluster.parent is not None else ""
        size, hidden = sizes[number], len(inside) - limit
        columns.append(
            {
                "number": number,
                "name": cluster.name if cluster else "Unassigned",
                "theme": theme,
                **appearance(shades, cluster.colour if cluster else -1),
                "digit": digits.get(number, ""),
                "count": f"{size:,}" if len(inside) == size else f"{len(inside):,} of {size:,}",
                "empty": "Nothing in view." if size else "Empty. Drag sentences here.",
                "more": f"{hidden:,} more: choose fewer clusters, filter or search" if hidden > 0 else "",
                "sentences": [_sentence(state, int(ids[i]), int(rows[i])) for i in inside[:limit]],
            }
        )
    return columns


def _sentence(state: RelabelState, sentence: int, row: int) -> dict[str, Any]:
    texts = state.texts
    place = texts.row[sentence]
    number = None if state.record.blind else state.suggestion_for(row)
    return {
        "id": sentence,
        "text": shorten(texts.sentences[place].text, _MAX_TEXT),
        "article": texts.articles[place] if texts.several_articles else "",
        "mark": "?" if state.partition.uncertain[row] else "",
        "note": shorten(state.partition.notes.get(sentence, ""), _MAX_NOTE),
        "suggestion": f"→ {shorten(state.partition.clusters[number].name, _MAX_SUGGESTION)}"
        if number is not None
        else "",
    }
