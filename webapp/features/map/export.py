"""Export of a map: columns for tables, an SVG image, and a self-contained HTML page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.types import Ids
from webapp.map_view import scene as map_scene
from webapp.map_view.component import (
    POINTS_SOURCE,
    STYLE,
    VIEW_SOURCE,
    Canvas,
    anchors,
    appearance,
    points_data,
    source,
)
from webapp.map_view.geometry import UNITS
from webapp.map_view.labels import placed
from webapp.map_view.scene import Colouring, Scene
from webapp.shared.text import shorten

_SIDE, _LEGEND = 1_000, 300
_LETTER, _LINE = 9.6, 20.0
"""Width of a letter of a name, which is about the widest on average, and height of its line."""
_HOVER_LETTERS = 240
FILE_POINTS = 100_000
"""Maximum number of points in a file."""


def columns(scene: Scene, colouring: Colouring, ids: Ids) -> dict[str, Sequence[Any]]:
    """Return the group, the value and the coordinates of sentences of the map, as columns of a file."""
    rows = scene.rows_of(ids)
    return {
        "group": [colouring.name(row) for row in rows],
        "value": [_value(colouring, row) for row in rows],
        "x": scene.points[rows, 0].astype(float).tolist(),
        "y": scene.points[rows, 1].astype(float).tolist(),
    }


def _value(colouring: Colouring, row: int) -> float | None:
    value = None if colouring.values is None else float(colouring.values[row])
    return None if value is None or np.isnan(value) else round(value, 6)


def sampled(canvas: Canvas) -> Canvas:
    """Return the canvas for a file: of more than ``FILE_POINTS`` points a random sample, always the same one."""
    n = len(canvas.scene.ids)
    if n <= FILE_POINTS:
        return canvas
    rows = np.sort(np.random.default_rng(n).choice(n, FILE_POINTS, replace=False))
    kept = replace(canvas, scene=canvas.scene.only(rows), units=canvas.units[rows])
    return replace(kept, colouring=canvas.colouring.only(rows), found=np.empty(0, dtype=np.intp))


def svg(canvas: Canvas) -> str:
    """Return the map with its legend as SVG; titles and names are escaped."""
    canvas = sampled(canvas)
    classes, opacity = appearance(canvas)["classes"], canvas.opacity
    radius = max(canvas.size / 2 * _SIDE / 700, 0.6)
    points = canvas.units.astype(np.float64) * (_SIDE / UNITS)
    groups = []
    for kind, one in enumerate(classes):
        category = -1 if one["other"] else kind
        rows = np.flatnonzero(canvas.colouring.categories == category)
        # A line of length 0 with round ends takes a fifth of the characters of a circle.
        path = "".join(f"M{x:.1f} {_SIDE - y:.1f}h0" for x, y in points[rows].tolist())
        if path:
            alpha = opacity * (0.6 if one["other"] else 1)
            groups.append(f'<path stroke="{one["colour"]}" stroke-opacity="{alpha:.3g}" d="{path}"/>')
    size = f'width="{_SIDE + _LEGEND}" height="{_SIDE}" viewBox="0 0 {_SIDE + _LEGEND} {_SIDE}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="16">'
        f'<rect width="100%" height="100%" fill="{canvas.paper}"/>'
        f'<g fill="none" stroke-linecap="round" stroke-width="{2 * radius:.3g}">{"".join(groups)}</g>'
        f"{_names(canvas, classes)}{''.join(_entries(classes, canvas.tones.ink))}</svg>\n"
    )


def _names(canvas: Canvas, classes: Sequence[dict[str, Any]]) -> str:
    """Return the names on the map, on a border in the colour of the paper."""
    names = [shorten(one["name"], 30) for one in classes]
    labels = placed(anchors(canvas), [_LETTER * len(name) for name in names], _LINE, _SIDE)
    texts = "".join(
        f'<text x="{label.left + label.width / 2:.1f}" y="{label.top + 0.75 * _LINE:.1f}">'
        f"{html.escape(names[label.category])}</text>"
        for label in labels
    )
    style = f'font-weight="600" fill="{canvas.tones.ink}" stroke="{canvas.paper}" stroke-width="4" paint-order="stroke"'
    return f'<g text-anchor="middle" stroke-linejoin="round" {style}>{texts}</g>'


def _entries(classes: Sequence[dict[str, Any]], ink: str) -> Iterable[str]:
    for place, one in enumerate(one for one in classes if one["count"]):
        y = 30 + 26 * place
        name = html.escape(f"{shorten(one['name'], 30)} ({one['count']:,})")
        yield f'<rect x="{_SIDE + 12}" y="{y - 12}" width="13" height="13" fill="{one["colour"]}"/>'
        yield f'<text x="{_SIDE + 33}" y="{y}" fill="{ink}">{name}</text>'


def page(canvas: Canvas, about: str) -> str:
    """Return an HTML page with points, sentences and drawing code in one file that loads nothing else."""
    canvas = sampled(canvas)
    scene = canvas.scene
    sentences = map_scene.texts(scene, np.arange(len(scene.ids)))
    data = {
        "points": points_data(canvas),
        "view": {
            "digest": canvas.digest, "label": about, "height": 720, "fit": canvas.frame,
            "size": canvas.size, "look": appearance(canvas), "anchors": anchors(canvas),
            "hidden": [], "held": [], "selected": "", "found": {"places": "", "kinds": ""},
            "focus": [], "shape": [], "camera": None, "link": "", "tip": None, "loaded": None,
            "picture": None, "fixed": True,
        },
        "titles": [title or map_scene.LEAD for title in scene.titles],
        "sections": scene.sections.tolist(),
        "articles": [article.title for article in scene.known.values()],
        "owners": _article_indices(scene),
        "sentences": [shorten(" ".join(s.text.split()), _HOVER_LETTERS) for s in sentences],
    }  # fmt: skip
    # "<" is escaped, so that no sentence can close the script element.
    written = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    script = "\n".join((_as_function(POINTS_SOURCE, "takePoints"), _as_function(VIEW_SOURCE, "drawView"), _START))
    tones = canvas.tones
    return _PAGE.format(
        title=html.escape(about), css=source(STYLE), data=written, script=script, paper=canvas.paper, ink=tones.ink
    )


def _article_indices(scene: Scene) -> list[int]:
    index = {article: i for i, article in enumerate(scene.known)}
    return [index[int(article)] for article in scene.articles]


def _as_function(files: Sequence[str], name: str) -> str:
    """Return a JavaScript module as a function expression with a scope of its own."""
    body = source(*files).replace("export default function", "return function")
    return f"const {name} = (() => {{\n{body}\n}})();"


_START = """
const all = JSON.parse(document.getElementById("data").textContent);
const onEvent = (name, event) => {
  if (name !== "hover") return;
  const row = event.place, head = `${all.articles[all.owners[row]]} · ${all.titles[all.sections[row]]}`;
  show({ ...all.view, tip: { place: row, head, text: all.sentences[row] } });
};
const show = (data) => drawView({ data, parentElement: document.body, setTriggerValue: onEvent, setStateValue() {} });
takePoints({ data: all.points });
show(all.view);
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ margin: 1.5rem auto; max-width: 80rem; padding: 0 1rem; font-family: sans-serif; }}
body {{ background: {paper}; color: {ink}; }}
{css}
</style>
</head>
<body>
<h1>{title}</h1>
<div class="map-view"></div>
<script type="application/json" id="data">{data}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""
