"""The sentences in view as points, coloured by cluster, in the drawing of the page Map; a shape around them selects.

A shape comes through the outbox of the bar, so that a key that is pressed right after it finds the selection made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.labelling.partition import UNASSIGNED
from core.types import Ids, Points
from webapp.features.relabel.state import Bench, Plane
from webapp.map_view import atlas_large
from webapp.map_view.atlas_large import Canvas
from webapp.map_view.colourings import Colouring
from webapp.map_view.map_choice import Choice
from webapp.map_view.map_scene import Scene
from webapp.map_view.mapping import MOST, Grid
from webapp.shared import label_queries, queries
from webapp.shared.choose import nothing
from webapp.shared.palette import ground, tones
from webapp.shared.text import count, shorten

_HEIGHT = 350
_SMALL = 1_000
QUICK = "Quick map (principal components)"


def show(bench: Bench, ids: Ids) -> None:
    """Draw; what a lasso holds becomes the selection."""
    placed = _places(bench)
    if placed is None:
        nothing(
            "There is nothing to draw a map from.",
            "Choose a model for suggestions, or embed this corpus by one on the page Map.",
            "map",
            "Map",
        )
        return
    known, points = placed
    rows = np.flatnonzero(np.isin(known, ids))
    canvas = canvas_of(bench, known[rows], points[rows])
    kinds = len(canvas.colouring.names)
    bench.planes[canvas.digest] = Plane(canvas.scene.ids, canvas.units, canvas.colouring.categories, kinds)
    while len(bench.planes) > 4:
        del bench.planes[next(iter(bench.planes))]
    atlas_large.points(canvas)
    _view(bench, canvas)


@st.fragment
def _view(bench: Bench, canvas: Canvas) -> None:
    """Pointing at something redraws only this."""
    choice: Choice = st.session_state.setdefault(f"label-choice-{bench.record.id}-{bench.session}", Choice())
    choice.ids = bench.selected
    atlas_large.view(canvas, choice)


def _places(bench: Bench) -> tuple[Ids, Points] | None:
    """Where the sentences stand: on a map of the corpus that shows them all, else on a quick one."""
    record = bench.record
    maps = {m.name: m for m in label_queries.maps_with(record.corpus_id, bench.partition.ids)}
    model = bench.model_record
    options = [*maps, *([QUICK] if model else [])]
    if not options:
        return None
    chosen = st.selectbox("Map", options, key=f"label-map-{record.id}", label_visibility="collapsed")
    if chosen in maps:
        found = queries.map_points(maps[chosen].id)
        return found.sentence_ids, found.points
    assert model is not None
    points = label_queries.quick_map(model.id, model.digest, record.id, record.created)
    return bench.partition.ids, points


def canvas_of(bench: Bench, ids: Ids, points: Points) -> Canvas:
    """(n,) sentences at (n, 2) places in the colours of their clusters; the smallest of very many share one."""
    theme = st.context.theme.type or "light"
    colouring = _colouring(bench, ids)
    scene = _scene(bench, ids, points, colouring)
    return Canvas(
        scene=scene,
        colouring=colouring,
        units=scene.units,
        found=np.empty(0, dtype=np.intp),
        tones=tones(theme),
        paper=ground(theme),
        size=8.0 if len(ids) <= _SMALL else 4.0 if len(ids) <= 50_000 else 2.5,
        opacity=0.85,
        height=_HEIGHT,
        name=f"labels-{bench.record.id}",
        frame=atlas_large.frame_of(scene.units),
        outbox=True,
    )


def _colouring(bench: Bench, ids: Ids) -> Colouring:
    """Colours and symbols as in the columns."""
    p, sizes = bench.partition, bench.partition.sizes()
    kept = sorted(sorted(p.clusters, key=lambda n: -sizes[n])[:MOST])
    place = {number: category for category, number in enumerate(kept)}
    numbers = p.numbers[p.rows(ids)]
    categories = np.array([place.get(int(n), -1) for n in numbers], dtype=np.int64)
    rest = len(p.clusters) - len(kept)
    other = f"{count(rest, 'smaller cluster')} and unassigned" if rest else "unassigned"
    return Colouring(categories, [p.clusters[n].name for n in kept], other, [p.clusters[n].colour for n in kept])


def _scene(bench: Bench, ids: Ids, points: Points, colouring: Colouring) -> Scene:
    """What is told of a point is its article and its cluster: the section would say too much in blind work."""
    texts, p, grid = bench.texts, bench.partition, Grid.around(points)
    sentences = [texts.sentences[texts.row[int(i)]] for i in ids]
    titles = [c.name for c in p.clusters.values()] + ["unassigned"]
    spot: dict[int, int] = {number: row for row, number in enumerate(p.clusters)} | {UNASSIGNED: len(titles) - 1}
    owners: Any = [s.article_id for s in sentences]
    return Scene(
        ids,
        points,
        grid.units(points),
        np.array(owners, dtype=np.int64),
        np.array([s.position for s in sentences], dtype=np.int64),
        np.array([spot[int(n)] for n in p.numbers[p.rows(ids)]], dtype=np.int32),
        [shorten(title, 60) for title in titles],
        queries.articles_by_id(np.unique(owners)),
        grid,
    )
