"""Plain text tables with aligned columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None, empty: str = "Nothing here.") -> str:
    """Return ``rows`` as an aligned table, or ``empty`` if there are none."""
    if not rows:
        return empty
    names = list(columns or rows[0])
    cells = [[_text(row.get(name)) for name in names] for row in rows]
    numeric = [all(isinstance(row.get(name), int | float) for row in rows) for name in names]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    lines = [names, ["─" * width for width in widths], *cells]
    return "\n".join(_line(line, widths, numeric) for line in lines)


def pairs(values: Mapping[str, Any]) -> str:
    """Return one ``name value`` line for each entry."""
    width = max(len(name) for name in values)
    return "\n".join(f"{name.ljust(width)}  {_text(value)}".rstrip() for name, value in values.items())


def interval(score: Mapping[str, Any] | None) -> str:
    """Return ``.512 [.498, .527]``, the value alone without an interval, or a dash without a score."""
    if score is None:
        return "–"
    if score["low"] is None:
        return f"{score['value']:.3f}"
    return f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    aligned = [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(cells, widths, numeric, strict=True)]
    return "  ".join(aligned).rstrip()


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items())
    return str(value)
