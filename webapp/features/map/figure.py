"""Figure of a map for print, of a size in millimetres: points, names, legend and caption as SVG, PNG and PDF.

The picture is made here as SVG. The browser, which has fonts for every script, turns it into the other formats.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from themescope.core.labelling.markup import NOT_IN_XML
from themescope.core.records.stored import MapRecord
from themescope.webapp.features.map import controls
from themescope.webapp.map_view.component import Canvas, appearance, names
from themescope.webapp.map_view.labels import Viewport, levels_at, placed
from themescope.webapp.map_view.scene import Units
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import download, draw_component
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import count, shorten

_ASSETS = Path(__file__).parent / "assets"
_MM, _PT = 10.0, 3.528
"""Units of the picture in a millimetre and in a point of type."""
_MARGIN, _LINE, _LETTER = 20.0, 1.35, 0.53
"""Margin in units; height of a line and mean width of a letter, in sizes of type."""
_ENTRY_WIDTH, _LEGEND_SHARE = 550.0, 0.36
"""Least width of an entry of a legend below the map in units; share of the width of a legend at the right."""
_MOST_BELOW = 0.6
"""Share of the height that a legend below the map takes at most."""
_NAME_CHARS, _SCREEN, _LEAST_RADIUS = 60, 700, 2.5
"""Maximum length of names on the map; side in pixels at which points have their size of the screen; least radius."""
_GREYS = ("#000000", "#8a8a8a", "#454545", "#b0b0b0", "#686868")
"""Greys that stay apart in print. With four shapes, twenty categories look different."""
_OTHER_GREY, _SHAPES = "#cccccc", 4
_PNG_DPI, _PDF_DPI = 300, 600
RIGHT, BELOW, NO_LEGEND = "Right", "Below", "None"


@dataclass(frozen=True, slots=True)
class FigureSettings:
    """Size in millimetres, size of type in points, and parts of a figure."""

    width: int = 180
    height: int = 120
    type: float = 7.0
    legend: str = RIGHT
    names: bool = True
    grey: bool = False
    caption: str = ""


class _Entry(NamedTuple):
    """Entry of the legend: a category with the lines of its name."""

    shape: int
    colour: str
    lines: Sequence[str]


def svg(canvas: Canvas, settings: FigureSettings) -> str:
    """Return the figure as SVG on white; titles and names are escaped."""
    canvas = replace(controls.sampled(canvas), tones=replace(tones("light"), paper="#ffffff"))
    classes = appearance(canvas)["classes"]
    if settings.grey:
        ordered = bool(canvas.colouring.shades)
        classes = [_in_grey(one, kind, len(classes) - 1, ordered) for kind, one in enumerate(classes)]
    size = settings.type * _PT
    line, width, height = size * _LINE, settings.width * _MM, settings.height * _MM
    inner = width - 2 * _MARGIN
    caption = _wrapped(settings.caption, inner, size)
    low, right, columns, rows, entry_width = height - _MARGIN - line * len(caption), width - _MARGIN, 0, 0, 0.0
    entries: list[_Entry] = []
    if settings.legend == RIGHT:
        columns, entry_width, rows = 1, _LEGEND_SHARE * width, int((low - _MARGIN) / line)
        right -= entry_width + size
        entries = _entries(classes, entry_width, size, rows)
        left, top = right + size, _MARGIN
    elif settings.legend == BELOW:
        columns = max(int(inner / _ENTRY_WIDTH), 1)
        entry_width = inner / columns
        entries = _entries(classes, entry_width, size, int(_MOST_BELOW * low / line) * columns)
        # An entry is not divided between columns.
        rows = -(-sum(len(entry.lines) for entry in entries) // columns) + 1
        low -= rows * line
        left, top = _MARGIN, low
    # The initial view of the map in a part of the picture, with a margin for names and whole points.
    x0, y0, x1, y1 = canvas.frame
    across, up = right - _MARGIN, low - _MARGIN
    view = Viewport((x0 + x1) / 2, (y0 + y1) / 2, 1.04 * max((x1 - x0) / across, (y1 - y0) / up), across, up)
    parts = [
        f'<g transform="translate({_MARGIN:g} {_MARGIN:g})">{_points(canvas, classes, view)}',
        f"{_names(canvas, view, size) if settings.names else ''}</g>",
        *(_legend(entries, left, top, entry_width, rows, size) if entries else ()),
        *(_text(_MARGIN, height - _MARGIN - line * (len(caption) - at - 0.8), text) for at, text in enumerate(caption)),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{settings.width}mm" height="{settings.height}mm" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="Helvetica, Arial, sans-serif" font-size="{size:.2f}" '
        f'fill="{canvas.tones.ink}"><rect width="100%" height="100%" fill="{canvas.tones.paper}"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _in_grey(one: dict[str, Any], kind: int, kinds: int, ordered: bool) -> dict[str, Any]:
    """Return the look of a category in grey: a shape and a grey of its own, or for ordered ones a grey only."""
    if one["other"]:
        return one | {"colour": _OTHER_GREY}
    if ordered:
        level = round(200 * (1 - kind / max(kinds - 1, 1)))
        return one | {"colour": f"#{level:02x}{level:02x}{level:02x}"}
    return one | {"shape": kind % _SHAPES, "colour": _GREYS[kind % len(_GREYS)]}


_STEPS = {2: (0, -1.2, 1.2, 1.2, -1.2, 1.2, -1.2, -1.2), 3: (0, -1.2, 1.1, 2.1, -2.2, 0)}
"""First corner of a diamond and a triangle from their centre and the steps to the others, in radii."""


def _points(canvas: Canvas, classes: Sequence[dict[str, Any]], view: Viewport) -> str:
    """Return the points: those that a filter leaves out, those of no category, and then the categories."""
    radius = max(canvas.size / 2 * min(view.width, view.height) / _SCREEN, _LEAST_RADIUS)
    found = [_marks(canvas.context, view, 0, canvas.tones.other, 0.45, radius)]
    for kind, one in sorted(enumerate(classes), key=lambda pair: not pair[1]["other"]):
        units = canvas.units[canvas.colouring.categories == (-1 if one["other"] else kind)]
        alpha = canvas.opacity * (0.6 if one["other"] else 1)
        found.append(_marks(units, view, one["shape"], one["colour"], alpha, radius))
    return "".join(found)


def _marks(units: Units, view: Viewport, shape: int, colour: str, opacity: float, radius: float) -> str:
    """Return (n, 2) points as one path; "" for no points."""
    x, y = view.pixel(*units.astype(np.float64).T)
    return _mark(shape, colour, opacity, radius, np.column_stack([x, y]).tolist()) if len(units) else ""


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


def _names(canvas: Canvas, view: Viewport, size: float) -> str:
    """Return the names on the map, on a border in the colour of the paper."""
    found = names(canvas)
    shown = [replace(name, text=shorten(name.text, _NAME_CHARS)) for name in found]
    labels = placed(shown, levels_at(found, 1.0), lambda name: (_LETTER * size * len(name.text), 1.25 * size), view)
    texts = "".join(
        _text(label.left + label.width / 2, label.top + 0.75 * label.height, label.name.text) for label in labels
    )
    border = f'stroke="{canvas.tones.paper}" stroke-width="{size / 6:.2g}" paint-order="stroke"'
    return f'<g text-anchor="middle" stroke-linejoin="round" font-weight="600" {border}>{texts}</g>'


def _text(x: float, y: float, text: str) -> str:
    shown = html.escape(NOT_IN_XML.sub("\ufffd", text))
    return f'<text x="{x:.1f}" y="{y:.1f}">{shown}</text>'


def _wrapped(text: str, width: float, size: float) -> list[str]:
    """Return the lines of a text; none begins with a separator or a number in brackets."""
    text = text.replace(" · ", "\u00a0· ").replace(" (", "\u00a0(")
    return textwrap.wrap(text, max(int(width / (_LETTER * size)), 8))


def _entries(classes: Sequence[dict[str, Any]], width: float, size: float, lines: int) -> list[_Entry]:
    """Return the entries of the legend with whole names, as many as ``lines`` have room for."""
    every = [
        _Entry(one["shape"], one["colour"], _wrapped(f"{one['name']} ({one['count']:,})", width - 2.5 * size, size))
        for one in classes
        if one["count"]
    ]
    ends = np.cumsum([len(entry.lines) for entry in every])
    if not len(ends) or ends[-1] <= lines:
        return every
    kept = int(np.searchsorted(ends, lines - 1, side="right"))
    return [*every[:kept], _Entry(0, "", [f"and {len(every) - kept} more"])]


def _legend(entries: Sequence[_Entry], left: float, top: float, width: float, rows: int, size: float) -> Iterator[str]:
    """Yield marks and lines of the entries, in columns of at most ``rows`` lines."""
    row = column = 0
    for entry in entries:
        if row + len(entry.lines) > rows and row:
            row, column = 0, column + 1
        x = left + column * width
        for at, text in enumerate(entry.lines):
            y = top + (row + at + 0.8) * size * _LINE
            if not at and entry.colour:
                yield _mark(entry.shape, entry.colour, 1.0, 0.34 * size, [(x + 0.6 * size, y - 0.33 * size)])
            yield _text(x + 1.5 * size, y, text)
        row += len(entry.lines)


def show(canvas: Canvas, record: MapRecord, coloured_by: str) -> None:
    """Draw the controls of a figure, its preview with the files, and the caption; for a dialog."""
    about = _caption(canvas, record, coloured_by)
    row: dict[str, Any] = {"horizontal": True, "vertical_alignment": "bottom", "gap": "small"}
    with st.container(**row):
        width = st.number_input("Width, mm", 40, 400, 180, 5, width=120, key="map_figure_width")
        height = st.number_input("Height, mm", 40, 400, 120, 5, width=120, key="map_figure_height")
        size = st.number_input("Type, pt", 4.0, 14.0, 7.0, 0.5, width=120, key="map_figure_type", format="%.1f")
        legend = st.segmented_control(
            "Legend", [RIGHT, BELOW, NO_LEGEND], default=RIGHT, required=True, key="map_figure_legend"
        )
    with st.container(**row):
        names = st.toggle("Names on the map", value=True, key="map_figure_names")
        grey = st.toggle("Greyscale", key="map_figure_grey", help="Greys and shapes that stay apart in print.")
        inside = st.toggle("Caption in the figure", key="map_figure_caption")
    settings = FigureSettings(int(width), int(height), float(size), legend or RIGHT, names, grey, about * inside)
    distinct = _SHAPES * len(_GREYS)
    if grey and not canvas.colouring.shades and len(canvas.colouring.names) > distinct:
        st.caption(f"Only {distinct} categories look different in grey. The names on the map tell the others apart.")
    words = {"svg": "SVG", "png": f"PNG, {_PNG_DPI} dpi", "pdf": f"PDF, {_PDF_DPI} dpi"}
    data = {"svg": svg(canvas, settings), "width": settings.width, "height": settings.height, "label": about}
    files = {"words": words, "dpi": {"png": _PNG_DPI, "pdf": _PDF_DPI}, "file": "themescope-figure"}
    draw_component("figure_files", _ASSETS, key="map_figure_files", data={**data, **files})
    download(
        "HTML",
        lambda: controls.page(canvas, f"{record.name}: {count(len(canvas.scene.ids), 'unit')}"),
        "themescope-map.html",
        help="The map with its units as one file that opens without Themescope.",
    )
    st.caption("Caption to copy:")
    st.code(about, language=None, wrap_lines=True)


def _caption(canvas: Canvas, record: MapRecord, coloured_by: str) -> str:
    """Return what a reader of the figure has to know: sentences, layout, how far to trust it, and colours."""
    corpus = queries.read(lambda r: r.corpora.get(record.corpus_id))
    model, shown = queries.model_by_id(record.model_id), len(canvas.scene.ids)
    of = f" out of {record.sampled_from:,}" if shown < record.sampled_from else ""
    by = f" from the vectors of {model.name}" if model is not None else ""
    parts = [
        f"{count(shown, 'unit')}{of} of “{corpus.name}”, laid out by UMAP{by} (seed {record.seed}): nearby "
        f"points are similar; {record.faithfulness:.0%} of the 15 nearest neighbours of a unit stay near.",
        f"Colours: {coloured_by}." if coloured_by else "",
        f"A random sample of {controls.FILE_POINTS:,} points is drawn." if shown > controls.FILE_POINTS else "",
    ]
    return " ".join(filter(None, parts))
