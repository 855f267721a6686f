"""Export of a map: columns for tables, an SVG image, and a self-contained HTML page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
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
    names,
    outline,
    points_data,
    source,
    view_data,
)
from themescope.webapp.map_view.geometry import UNITS, Units
from themescope.webapp.map_view.labels import GROUPS, Viewport, levels_at, placed
from themescope.webapp.map_view.scene import Colouring, Scene
from themescope.webapp.map_view.view_state import MapState
from themescope.webapp.shared.components import asset
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import shorten

_ASSETS = Path(__file__).parent / "assets"
_SIDE, _LEGEND = 1_000, 300
_TYPE, _FEW, _LINES = (26.0, 16.0), 12, 37
"""Sizes of large and usual type of names, number of categories up to which their names are large, lines of a legend."""
_HOVER_LETTERS = 240
FILE_POINTS = 100_000
"""Maximum number of points in a file."""


def columns(scene: Scene, colouring: Colouring, ids: Ids) -> dict[str, Sequence[Any]]:
    """Return the group, the value and the coordinates of sentences of the map, as columns of a file."""
    rows = scene.rows_of(ids)
    return {
        "group": [colouring.name(row) for row in rows],
        "value": [colouring.value(row) for row in rows],
        "x": scene.points[rows, 0].astype(float).tolist(),
        "y": scene.points[rows, 1].astype(float).tolist(),
    }


def sampled(canvas: Canvas) -> Canvas:
    """Return the canvas for a file: of more than ``FILE_POINTS`` points a random sample, always the same one."""
    n = len(canvas.scene.ids)
    if n <= FILE_POINTS:
        return canvas
    rows = np.sort(np.random.default_rng(n).choice(n, FILE_POINTS, replace=False))
    kept = replace(canvas, scene=canvas.scene.only(rows), units=canvas.units[rows])
    return replace(kept, colouring=canvas.colouring.only(rows), found=np.empty(0, dtype=np.intp))


def svg(canvas: Canvas) -> str:
    """Return the map with its names and legend as SVG; titles and names are escaped."""
    canvas = sampled(canvas)
    classes, opacity = appearance(canvas)["classes"], canvas.opacity
    radius = max(canvas.size / 2 * _SIDE / 700, 0.6)
    groups = [_marks(canvas.context, 0, canvas.tones.other, 0.45, radius)]
    for kind, one in enumerate(classes):
        rows = np.flatnonzero(canvas.colouring.categories == (-1 if one["other"] else kind))
        alpha = opacity * (0.6 if one["other"] else 1)
        groups.append(_marks(canvas.units[rows], one["shape"], one["colour"], alpha, radius))
    size = f'width="{_SIDE + _LEGEND}" height="{_SIDE}" viewBox="0 0 {_SIDE + _LEGEND} {_SIDE}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="16">'
        f'<rect width="100%" height="100%" fill="{canvas.tones.paper}"/>{"".join(groups)}'
        f"{_names(canvas)}{''.join(_entries(classes, canvas.tones.ink))}</svg>\n"
    )


_STEPS = {2: (0, -1.2, 1.2, 1.2, -1.2, 1.2, -1.2, -1.2), 3: (0, -1.2, 1.1, 2.1, -2.2, 0)}
"""First corner of a diamond and a triangle from their centre and the steps to the others, in radii."""


def _marks(units: Units, shape: int, colour: str, opacity: float, radius: float) -> str:
    """Return (n, 2) points as one path; "" for no points."""
    x, y = (units.astype(np.float64) * (_SIDE / UNITS)).T
    return _mark(shape, colour, opacity, radius, np.column_stack([x, _SIDE - y]).tolist()) if len(units) else ""


def _mark(shape: int, colour: str, opacity: float, radius: float, places: Sequence[tuple[float, float]]) -> str:
    # A line of length 0 with round or square ends takes a fifth of the characters of a circle.
    first, mark = (0.0, 0.0), "h0"
    paint = f'fill="none" stroke="{colour}" stroke-width="{2 * radius:.3g}" stroke-opacity="{opacity:.3g}"'
    paint += f' stroke-linecap="{"square" if shape == 1 else "round"}"'
    if shape in _STEPS:
        steps = [step * radius for step in _STEPS[shape]]
        first, mark = (steps[0], steps[1]), "l" + " ".join(f"{step:.2f}" for step in steps[2:]) + "z"
        paint = f'fill="{colour}" fill-opacity="{opacity:.3g}"'
    path = "".join(f"M{x + first[0]:.1f} {y + first[1]:.1f}{mark}" for x, y in places)
    return f'<path {paint} d="{path}"/>'


def _names(canvas: Canvas) -> str:
    """Return the names on the map, on a border in the colour of the paper."""
    found = names(canvas)
    levels = levels_at(found, 1.0)
    sizes = _TYPE if levels[0] == GROUPS or len(canvas.colouring.names) <= _FEW else _TYPE[1:]
    shown = [replace(name, text=shorten(name.text, 40)) for name in found]
    labels = placed(
        shown, levels, lambda name: (0.58 * sizes[0] * len(name.text), 1.25 * sizes[0]), Viewport.whole(_SIDE)
    )
    texts = "".join(
        f'<text x="{label.left + label.width / 2:.1f}" y="{label.top + 0.75 * label.height:.1f}">'
        f"{html.escape(label.name.text)}</text>"
        for label in labels
    )
    border = f'stroke="{canvas.tones.paper}" stroke-width="4" paint-order="stroke"'
    style = f'font-weight="600" fill="{canvas.tones.ink}" {border}'
    return f'<g text-anchor="middle" font-size="{sizes[0]}" stroke-linejoin="round" {style}>{texts}</g>'


def _entries(classes: Sequence[dict[str, Any]], ink: str) -> Iterable[str]:
    """Return the lines of the legend, as many as there is room for."""
    listed = [one for one in classes if one["count"]]
    kept = listed if len(listed) <= _LINES else listed[: _LINES - 1]
    for place, one in enumerate(kept):
        y = 30 + 26 * place
        name = html.escape(f"{shorten(one['name'], 26)} ({one['count']:,})")
        yield _mark(one["shape"], one["colour"], 1.0, 6.5, [(_SIDE + 18, y - 5)])
        yield f'<text x="{_SIDE + 33}" y="{y}" fill="{ink}">{name}</text>'
    if len(kept) < len(listed):
        yield f'<text x="{_SIDE + 33}" y="{30 + 26 * len(kept)}" fill="{ink}">and {len(listed) - len(kept)} more</text>'


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
