"""The sentences in view as points, coloured by cluster; a lasso selects them."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.config import digest_of
from core.labelling.partition import UNASSIGNED
from core.types import Ids, Points
from webapp import label_queries, mapping, queries
from webapp.components.choose import nothing
from webapp.components.text import count, plain, shorten
from webapp.figures import MapView, map_figure
from webapp.palette import SYMBOLS, tones
from webapp.relabelling import Bench

MOST = 20_000
_HEIGHT = 430
HOW = "by lasso on the map"
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
    if len(rows) > MOST:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST, replace=False))
        st.caption(f"A sample of {MOST:,} out of {count(len(ids), 'sentence')}, drawn with seed 0; the table has all.")
    _draw(bench, known[rows], points[rows])


def _places(bench: Bench) -> tuple[Ids, Points] | None:
    """Where the sentences stand: on a map of the corpus that shows them all, else on a quick one."""
    record = bench.record
    maps = {plain(m.name): m for m in label_queries.maps_with(record.corpus_id, bench.partition.ids)}
    model = next((m for m in queries.models() if m.id == bench.model), None)
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


def _draw(bench: Bench, ids: Ids, points: Points) -> None:
    p, shade = bench.partition, st.context.theme.type
    numbers = sorted(p.clusters)
    place = {number: row for row, number in enumerate(numbers)}
    categories = np.array([place.get(int(n), -1) for n in p.numbers[p.rows(ids)]], dtype=np.int64)
    key = "label-map-" + digest_of([bench.record.id, bench.generation, bench.desk.shown.step, shade, len(ids)])
    texts = bench.texts
    figure = map_figure(
        MapView(
            ids=ids,
            points=points,
            categories=categories,
            names=[shorten(p.clusters[n].name, 28) for n in numbers],
            hover=[_hover(bench, texts.row[int(i)], int(c)) for i, c in zip(ids, categories, strict=True)],
            paint=lambda c: _paint(bench, numbers[c] if c >= 0 else UNASSIGNED),
            other="unassigned",
            size=8.0 if len(ids) < 1_000 else 5.0,
            selected=bench.selected if len(bench.selected) else None,
        ),
        tones(shade),
    )
    figure.update_layout(height=_HEIGHT)
    st.plotly_chart(
        figure,
        key=key,
        on_select=lambda: _drawn_around(bench, key),
        selection_mode=("points", "box", "lasso"),
        config={"displaylogo": False, "scrollZoom": True, "modeBarButtonsToRemove": ["toImage"]},
    )


def _paint(bench: Bench, number: int) -> tuple[str, int]:
    """Colour and symbol of a cluster, the same as in the columns."""
    shades = tones(st.context.theme.type)
    cluster = bench.partition.clusters.get(number)
    if cluster is None:
        return shades.other, 0
    return shades.colour(cluster.colour), SYMBOLS.index(shades.symbol(cluster.colour))


def _hover(bench: Bench, row: int, category: int) -> str:
    texts = bench.texts
    numbers = sorted(bench.partition.clusters)
    name = bench.partition.clusters[numbers[category]].name if category >= 0 else "unassigned"
    section = "" if bench.record.blind else texts.sections[row]
    return mapping.hover_text(name, section or texts.articles[row], texts.sentences[row].text, 240)


def _drawn_around(bench: Bench, key: str) -> None:
    event: Any = st.session_state.get(key)
    # Set directly: the chart shows it already, and another generation would be another chart.
    bench.selected, bench.how = mapping.selected_ids(event), HOW
