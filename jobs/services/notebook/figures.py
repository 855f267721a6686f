"""Charts of error notebooks as SVG, for the page and for reports; text takes the colour of its surroundings."""

from __future__ import annotations

from html import escape

from themescope.jobs.services.notebook.counts import Counts

_ROW, _LABEL, _CHART, _VALUE = 30, 230, 330, 140
_TEXT = 34
_BAR, INK = "#1b7f79", "currentColor"
"""Colour of bars, and of text and lines where none is given: that of the surroundings."""


def shares(found: Counts, ink: str = INK) -> str:
    """Return a bar chart of the shares of the categories with their 95 % intervals; ``ink`` colours text and lines."""
    rows = [row for row in found.categories]
    height, width = _ROW * len(rows) + 40, _LABEL + _CHART + _VALUE
    label = "; ".join(f"{r.category.name}: {r.share:.0%}, {r.low:.0%} to {r.high:.0%}" for r in rows)
    parts = [
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'style="width:100%;max-width:{width}px;font:14px system-ui,sans-serif;color:{ink}" '
        f'aria-label="{escape(label)}">'
        f"<title>Share of cases by category, with 95 % intervals</title>"
    ]
    parts += [_gridline(share, height) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for place, row in enumerate(rows):
        y = place * _ROW + _ROW / 2 + 4
        low, high, end = (_LABEL + _CHART * value for value in (row.low, row.high, row.share))
        text = f"{row.share:.0%} [{row.low:.0%}, {row.high:.0%}]"
        parts += [
            _text(_LABEL - 10, y, _shortened(row.category.name), "end"),
            f'<rect x="{_LABEL}" y="{y - 8}" width="{max(end - _LABEL, 1):.1f}" height="16" '
            f'fill="{_BAR}" opacity="0.55"/>',
            f'<path d="M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 5}v10M{high:.1f} {y - 5}v10" stroke="{INK}" '
            'stroke-width="1.5" fill="none"/>',
            _text(_LABEL + _CHART + 12, y, text, "start"),
        ]
    return "".join([*parts, "</svg>"])


def _gridline(share: float, height: int) -> str:
    x = _LABEL + _CHART * share
    line = f'<path d="M{x:.1f} 0V{height - 26}" stroke="{INK}" opacity="0.15"/>'
    return line + _text(x, height - 12, f"{share:.0%}", "middle")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1].rstrip() + "…"
