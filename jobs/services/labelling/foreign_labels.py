"""Tables of labels as other programs write them: their columns, and cells with several labels.

Label Studio (JSON, JSON-MIN, CSV), doccano, Argilla, Prodigy, CATMA, QualCoder, MAXQDA and Taguette are recognised by
the names and the form of their columns, not by the name of the file.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from themescope.core.readers.tables import Sheet, one_line

TEXTS = (
    "sentence", "text", "sentence_text", "sentence text", "segment", "coded segment", "coded text", "coded",
    "coded_text", "seltext", "keyword", "phrase", "quotation content", "quotation", "content", "highlight",
)  # fmt: skip
"""Names of the column of the sentences, in small letters, those that decide first."""
CLUSTERS = (
    "cluster", "label", "theme", "topic", "class", "category", "cluster_name", "annotation", "label.responses", "code",
    "codename", "code name", "codes", "tag", "tags", "tag path", "labels", "choice", "choices", "sentiment", "accept",
    "kategorie", "thema", "catégorie", "categoría",
)  # fmt: skip
"""Names of the column of the clusters, those that decide first."""
_NO_CLUSTERS = re.compile(
    r"(?:.*[_.\s-])?(?:id|ids|guid|hash|status|state|date|time|at|on|by|users?|coder|author|annotators?|agent|score|"
    r"probability|confidence|weight|position|start|end|begin|beginning|anfang|ende|row|number|number of highlights|"
    r"reason|url|document|file|path|metadata|vectors|metrics|lead_time|note|notes|comments?|colou?r|answer)",
    re.IGNORECASE,
)
"""Names of columns that are about labels, but do not contain them."""
NOTHING = frozenset({"na", "n/a", "#n/a", "nan", "null", "<na>"})
"""Cells, in small letters, by which programs say that there is no label."""
_WHOLE = re.compile(r"-?\d+\.0+")
_JOINED = re.compile(r"[^#\s][^#]*(?:#[^#\s][^#]*)+")
_JOINING = frozenset({"id", "text", "label", "Comments"})
"""Columns of the CSV files of doccano, which joins labels by “#”."""


def cluster_column(sheet: Sheet, used: Sequence[str]) -> str:
    """Return the column of the clusters: one called so, or else the first with names that occur again; "" for none."""
    known = {column.strip().lower(): column for column in reversed(sheet.columns) if column not in used}
    named = next((known[name] for name in CLUSTERS if name in known and any(sheet.column(known[name]))), "")
    if named:
        return named
    rest = [name for name in sheet.columns if name not in used and not _NO_CLUSTERS.fullmatch(name.strip())]
    cells = {name: [*filter(None, sheet.column(name))] for name in rest}
    often = [name for name in rest if len({*cells[name]}) < len(cells[name])]
    return next(iter([*often, *(name for name in rest if cells[name])]), "")


def labels_of(sheet: Sheet) -> Callable[[str], list[str]]:
    """Return a function that divides the cells of the column of clusters into labels."""
    joined = {*sheet.columns} <= _JOINING

    def divided(cell: str) -> list[str]:
        if cell.startswith(("[", "{")) and (value := _value(cell)) is not None:
            return [*filter(None, dict.fromkeys(map(one_line, _strings(value))))]
        if joined and _JOINED.fullmatch(cell):
            return cell.split("#")
        if _WHOLE.fullmatch(cell):
            return [cell.partition(".")[0]]
        return [] if not cell or cell.lower() in NOTHING else [cell]

    return divided


def _value(cell: str) -> Any:
    for read in (json.loads, ast.literal_eval):  # JSON, or the form of Python, which data frames write
        try:
            return read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _strings(value: Any) -> Iterator[str]:
    """Yield the labels in a value: texts, those of lists and objects, and of [start, end, label] the last."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and len(value) == 3 and [type(part) for part in value[:2]] == [int, int]:
        yield from _strings(value[2])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, dict):
        keys = [key for key in ("choices", "labels", "label", "taxonomy", "value", "name", "text") if key in value]
        yield from _strings(value[keys[0]] if keys else [])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:g}"


def flat(sheet: Sheet) -> Sheet:
    """Return a table with a text and labels for objects of Label Studio and Prodigy; other tables unchanged."""
    columns = {*sheet.columns}
    if {"data", "annotations"} <= columns:
        return _made(sheet, _of_label_studio)
    if {"text", "answer"} <= columns and columns & {"accept", "label", "spans"}:
        return _made(sheet, _of_prodigy)
    return sheet


def _made(sheet: Sheet, rows_of: Callable[[Mapping[str, Any]], Iterator[tuple[str, list[str]]]]) -> Sheet:
    rows, numbers = [], []
    for number, cells in zip(sheet.numbers, sheet.rows, strict=True):
        row = {n: found if (found := _value(c)) is not None else c for n, c in zip(sheet.columns, cells, strict=True)}
        for text, labels in rows_of(row):
            rows.append((one_line(text), json.dumps(labels, ensure_ascii=False)))
            numbers.append(number)
    return replace(sheet, columns=("text", "label"), rows=tuple(rows), numbers=tuple(numbers))


def _of_label_studio(row: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the text of a task with its choices, and each marked part of it with its labels."""
    data = row["data"] if isinstance(row["data"], dict) else {}
    texts = [value for value in data.values() if isinstance(value, str)]
    text = data.get("text") or max(texts, key=len, default="")
    results = [
        one["value"]
        for made in row["annotations"] or ()
        if isinstance(made, dict) and not made.get("was_cancelled")
        for one in made.get("result") or ()
        if isinstance(one, dict) and isinstance(one.get("value"), dict)
    ]
    spans = [one for one in results if isinstance(one.get("text"), str)]
    if not spans or len(spans) < len(results):
        yield str(text), [*dict.fromkeys(label for one in results if one not in spans for label in _strings(one))]
    for one in spans:
        yield one["text"], [*_strings(one)]


def _of_prodigy(row: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the text of a task with what was accepted, and each of its spans."""
    names = {one["id"]: one.get("text", one["id"]) for one in row.get("options") or () if isinstance(one, dict)}
    accepted = row["answer"] == "accept"
    labels = [str(names.get(id, id)) for id in row.get("accept") or ()] or [*_strings(row.get("label") or [])]
    spans = [one for one in row.get("spans") or () if isinstance(one, dict)] if accepted else []
    text = str(row["text"])
    if labels or not spans:
        yield text, labels if accepted else []
    for one in spans:
        yield text[one.get("start", 0) : one.get("end")], [*_strings(one)]
