"""Export of a map: columns for tables, and a self-contained HTML page. Pictures are in :mod:`.figure`."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.types import Ids
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.map_view.component import (
    POINTS_SOURCE,
    STYLE,
    VIEW_SOURCE,
    Canvas,
    appearance,
    outline,
    points_data,
    source,
    view_data,
)
from themescope.webapp.map_view.scene import Colouring, Scene
from themescope.webapp.map_view.view_state import MapState
from themescope.webapp.shared.components import asset
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import shorten

_ASSETS = Path(__file__).parent / "assets"
_HOVER_LETTERS = 240


def columns(scene: Scene, colouring: Colouring, ids: Ids) -> dict[str, Sequence[Any]]:
    """Return the group, the value and the coordinates of sentences of the map, as columns of a file."""
    rows = scene.rows_of(ids)
    return {
        "group": [colouring.name(row) for row in rows],
        "value": [colouring.value(row) for row in rows],
        "x": scene.points[rows, 0].astype(float).tolist(),
        "y": scene.points[rows, 1].astype(float).tolist(),
    }


FILE_POINTS = 100_000
"""Maximum number of points in a file."""


def sampled(canvas: Canvas) -> Canvas:
    """Return the canvas for a file: of more than ``FILE_POINTS`` points a random sample, always the same one."""
    n = len(canvas.scene.ids)
    if n <= FILE_POINTS:
        return canvas
    return canvas.only(np.sort(np.random.default_rng(n).choice(n, FILE_POINTS, replace=False)))


def page(canvas: Canvas, about: str) -> str:
    """Return an HTML page with points, names, sentences and drawing code in one file that loads nothing else.

    It can be searched, and it is light or dark as the browser of the reader is.
    """
    canvas = sampled(canvas)
    scene = canvas.scene
    sentences = map_scene.texts(scene, np.arange(len(scene.ids)))
    looks = {theme: appearance(replace(canvas, tones=tones(theme))) for theme in ("light", "dark")}
    index = {article: i for i, article in enumerate(scene.known)}
    article_indices = [index[int(article)] for article in scene.articles]
    data = {
        "points": points_data(canvas),
        "looks": looks,
        "view": {
            **view_data(canvas, MapState()), "label": about, "fill": 24, "found": {"places": "", "kinds": ""},
            "marked": "", "pins": [], "outline": outline(canvas), "fixed": True,
        },
        "titles": [title or scene.lead for title in scene.titles],
        "sections": scene.sections.tolist(),
        "articles": [article.title for article in scene.known.values()],
        "owners": article_indices,
        "kinds": np.where(canvas.colouring.categories < 0, len(canvas.colouring.names), canvas.colouring.categories)
        .tolist(),
        "sentences": [shorten(" ".join(s.text.split()), _HOVER_LETTERS) for s in sentences],
    }  # fmt: skip
    # "<" is escaped, so that no sentence can close the script element.
    written = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    start = asset(_ASSETS, "page.js")
    script = "\n".join((_as_function(POINTS_SOURCE, "takePoints"), _as_function(VIEW_SOURCE, "drawView"), start))
    return _PAGE.format(title=html.escape(about), css=source(STYLE), data=written, script=script)


def _as_function(files: Sequence[str], name: str) -> str:
    """Return a JavaScript module as a function expression with a scope of its own."""
    body = source(*files).replace("export default function", "return function")
    return f"const {name} = (() => {{\n{body}\n}})();"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0.7rem 1rem; font-family: sans-serif; background: light-dark(#fdfcf9, #12171c); }}
body {{ color: light-dark(#1f2a33, #e6e8ea); }}
header {{ display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center; margin-bottom: 0.5rem; }}
h1 {{ flex: 1; margin: 0; font-size: 1.1rem; }}
header input {{ min-width: 16rem; padding: 0.3rem 0.5rem; font: inherit; }}
{css}
</style>
</head>
<body>
<header>
<h1>{title}</h1>
<output id="found"></output>
<input type="search" id="search" placeholder="Search" aria-label="Search">
</header>
<div class="map-view"></div>
<script type="application/json" id="data">{data}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""
