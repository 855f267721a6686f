"""Tables of labels as other programs write them: their columns, and cells with several labels.

Label Studio (JSON, JSON-MIN, CSV), doccano, Argilla, Potato, Prodigy, CATMA, QualCoder, MAXQDA and Taguette are
recognised by the names and the form of their columns, not by the name of the file. What several annotators say of one
text are several rows, with the name of the annotator; comments are notes.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, starmap
from typing import Any, NamedTuple

from themescope.core.columns import as_text
from themescope.core.errors import DataError
from themescope.core.readers.tables import Sheet, one_line

TEXTS = (
    "sentence", "text", "sentence_text", "sentence text", "segment", "coded segment", "coded text", "coded",
    "coded_text", "displayed_text", "seltext", "keyword", "phrase", "quotation content", "quotation", "content",
    "highlight",
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
CODER = re.compile(r"(?:coder|rater|annotator|labell?er|judge|reviewer|person)[\s_.-]*\w{0,3}", re.IGNORECASE)
"""Name of a column with the labels of an annotator."""
MARKS = "columns of marks, read as codes"
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
    rest = [name for name in sheet.columns if name not in used and not is_about(name)]
    cells = {name: [*filter(None, sheet.column(name))] for name in rest}
    often = [name for name in rest if len({*cells[name]}) < len(cells[name])]
    return next(iter([*often, *(name for name in rest if cells[name])]), "")


def is_about(name: str) -> bool:
    """Return whether a column is about labels or texts, by its name, but has no labels."""
    return bool(_NO_CLUSTERS.fullmatch(name.strip()))


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


class _Row(NamedTuple):
    """What one annotator says of a text."""

    text: str
    labels: Sequence[str]
    annotator: str = ""
    note: str = ""
    more: Mapping[str, str] = {}
    """Cells of our own exports: sentence_id, source, probability and uncertain."""


_OWN = ("sentence_id", "source", "probability", "uncertain")
_RESPONSES = ".responses"
_NOTES = re.compile(
    r"(?:.*[_.\s-])?(?:notes?|comments?|remarks?|reasons?|explanations?|rationale|why|feedback)", re.IGNORECASE
)
_LONGEST_LABEL = 80
_WHO = ("user_id", "user", "annotator", "username", "completed_by")


def note_of(cell: str) -> str:
    """Return the note in a cell, which may be a list of comments, or one in an object of Label Studio."""
    value = _value(cell) if cell.startswith(("[", "{")) else None
    return "\n".join(filter(None, map(str.strip, _strings(value)))) if isinstance(value, list | dict) else cell


def annotator_name(value: Any) -> str:
    """Return the name of an annotator: of an object its address or name, and numbers as such."""
    if isinstance(value, dict):
        known = (value.get(key) for key in ("email", "username", "first_name", "name", "id"))
        value = next((one for one in known if one not in (None, "")), "")
    name = one_line("" if value is None else str(value))
    return f"annotator {name}" if name.isdecimal() else name


def flat(sheet: Sheet) -> Sheet:
    """Return a table of texts, labels, annotators and notes for objects of other programs; other tables unchanged."""
    columns = {*sheet.columns}
    if {"data", "annotations"} <= columns:
        return _made(sheet, _of_label_studio)
    if {"fields", "responses"} <= columns:
        return _made(sheet, _of_argilla)
    if pairs := _pairs(sheet):
        return _made(sheet, partial(_of_pairs, pairs))
    if {"displayed_text", "label_annotations"} <= columns:
        return _made(sheet, _of_potato)
    if {"text", "answer"} <= columns and columns & {"accept", "label", "spans"}:
        return _made(sheet, _of_prodigy)
    first = [next((cell for row in sheet.rows if len(cell := row[place]) > 2), "") for place in range(len(columns))]
    return _made(sheet, _of_lists) if any(_by_annotator(_value(cell)) for cell in first) else _of_marks(sheet)


def _made(sheet: Sheet, rows_of: Callable[[Mapping[str, Any]], Iterator[_Row]]) -> Sheet:
    """Return the table of the rows; columns without any value are left out. Raises ``DataError`` for a damaged row."""
    rows: list[dict[str, str]] = []
    numbers = []
    for number, cells in zip(sheet.numbers, sheet.rows, strict=True):
        row = {n: found if (found := _value(c)) is not None else c for n, c in zip(sheet.columns, cells, strict=True)}
        try:
            listed = [*rows_of(row)]
        except (TypeError, AttributeError, KeyError, ValueError):
            advice = "Export it again, or write a table with a text and a label in each row."
            raise DataError(f"Row {number:,} is not what another program exports. {advice}") from None
        for text, labels, annotator, note, more in listed:
            label = json.dumps([*labels], ensure_ascii=False)
            rows.append({"text": one_line(text), "label": label, "note": note, "annotator": annotator, **more})
            numbers.append(number)
    known = ("text", "label", "note", "annotator", *_OWN)
    names = tuple(name for name in known if name == "label" or any(row.get(name) for row in rows))
    made = tuple(tuple(row.get(name, "") for name in names) for row in rows)
    return replace(sheet, columns=names, rows=made, numbers=tuple(numbers), lines={})


def _of_label_studio(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the text of a task with the choices of each annotation, and each marked part of it with its labels."""
    data = row["data"] if isinstance(row["data"], dict) else {}
    text = _text_of(data)
    known = _OWN if "sentence_id" in data else ()
    own = {name: as_text(data[name]) for name in known if data.get(name) not in (None, "")}
    made = [one for one in row["annotations"] or () if isinstance(one, dict) and not one.get("was_cancelled")]
    if not made:
        yield _Row(text, (), note=str(data.get("note") or "") if own else "", more=own)
    for number, one in enumerate(made, 1):
        listed = (each for each in one.get("result") or () if isinstance(each, dict))
        results = [each for each in listed if isinstance(each.get("value"), dict)]
        written = [each["value"] for each in results if _is_written(each)]
        values = [each["value"] for each in results if not _is_written(each)]
        spans = [value for value in values if isinstance(value.get("text"), str)]
        notes = [note for value in written for note in _strings(value.get("text", ""))]
        note = "\n".join([*([str(data["note"])] if own and data.get("note") else []), *notes])
        who = annotator_name(one.get("completed_by")) or (str(data.get("coder") or "") if own else "")
        who = who or (f"annotator {number}" if len(made) > 1 else "")
        if not spans or len(spans) < len(values):
            labels = dict.fromkeys(label for value in values if value not in spans for label in _strings(value))
            yield _Row(text, [*labels], who, note, own)
            note = ""
        for value in spans:
            yield _Row(value["text"], [*_strings(value)], who, note)


def _is_written(result: Mapping[str, Any]) -> bool:
    """Return whether a result of Label Studio is a text that somebody wrote, not a label."""
    return result.get("type") == "textarea" or [*result["value"]] == ["text"]


def _of_argilla(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the text of a record with the responses of each user, in the forms of Argilla 1 and 2."""
    fields, responses = row["fields"] if isinstance(row["fields"], dict) else {"text": row["fields"]}, row["responses"]
    listed = responses.items() if isinstance(responses, dict) else [("", responses)]
    yield from _answers(_text_of(fields), chain.from_iterable(starmap(_given, listed)))


def _of_pairs(pairs: Sequence[tuple[str, str]], row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the same for a table, where a question has a list of values and one of users."""
    found: list[_Answer] = []
    for name, by in pairs:
        users, values = row.get(by), row.get(name)
        if isinstance(users, list) and isinstance(values, list):
            kept = row.get(f"{name}.status") or [None] * len(values)
            each = zip(users, values, kept, strict=False)
            one = [{"user_id": user, "value": value, "status": status} for user, value, status in each]
            found += _given(name.removesuffix(_RESPONSES), one)
    yield from _answers(_text_of(row), found, row)


def _pairs(sheet: Sheet) -> list[tuple[str, str]]:
    """Return the columns with lists of labels, each with that of their annotators."""
    names = {name.lower(): name for name in sheet.columns}
    by = next((names[name] for name in ("annotators", "annotator_ids", "coders", "raters") if name in names), "")
    listed = (
        by
        and (column := cluster_column(sheet, [by]))
        and all(
            isinstance(values := _value(cell), list)
            and isinstance(users := _value(who), list)
            and len(values) == len(users)
            for cell, who in zip(sheet.column(column), sheet.column(by), strict=True)
        )
    )
    own = [(name, f"{name}.users") for name in sheet.columns if name.endswith(_RESPONSES)]
    return [*(pair for pair in own if pair[1] in sheet.columns), *([(column, by)] if listed else [])]


def _of_lists(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield a text with the labels of each annotator, of which columns have lists."""
    found = [answer for name, value in row.items() if _by_annotator(value) for answer in _given(name, value)]
    yield from _answers(_text_of(row), found, row)


_Answer = tuple[str, str, Any]
"""Annotator, question and value."""


def _given(question: str, listed: Any) -> Iterator[_Answer]:
    """Yield the answers in a list of those of annotators; without drafts."""
    for one in listed if isinstance(listed, list) else [listed]:
        if isinstance(one, dict) and one.get("status") not in ("draft", "discarded"):
            who = annotator_name(next((one[name] for name in _WHO if name in one), ""))
            for name, value in (one.get("values") or {question: one.get("label", one.get("value"))}).items():
                yield who, name, value.get("value") if isinstance(value, dict) else value


def _by_annotator(value: Any) -> bool:
    """Return whether a value is a list of labels, each with its annotator."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, dict) and not {*_WHO}.isdisjoint(one) and not {"label", "value"}.isdisjoint(one)
            for one in value
        )
    )


def _text_of(row: Mapping[str, Any]) -> str:
    """Return the value that is the text: one called so, or the longest."""
    texts = {name.lower(): value for name, value in row.items() if isinstance(value, str) and value}
    return next((texts[name] for name in TEXTS if name in texts), max(texts.values(), key=len, default=""))


def _answers(text: str, found: Iterable[_Answer], row: Mapping[str, Any] | None = None) -> Iterator[_Row]:
    """Yield the answers of each annotator: labels, and notes where they are texts, or else the note of the ``row``."""
    common = (value for name, value in (row or {}).items() if _NOTES.fullmatch(name) and not _by_annotator(value))
    note = "\n".join(_strings(next(common, "")))
    by: dict[str, list[tuple[str, Any]]] = {}
    for who, question, value in found:
        by.setdefault(who, []).append((question, value))
    if not by:
        yield _Row(text, ())
    for who, answers in by.items():
        notes = [str(value) for question, value in answers if _is_note(question, value)]
        given = [value for question, value in answers if not _is_note(question, value)]
        named = [value for value in given if not isinstance(value, int | float)]
        yield _Row(text, [*dict.fromkeys(map(one_line, _strings(named or given)))], who, "\n".join(notes) or note)


def _is_note(question: str, value: Any) -> bool:
    return isinstance(value, str) and (bool(_NOTES.fullmatch(question)) or len(value) > _LONGEST_LABEL)


def _of_potato(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield an instance with the labels that were chosen of its schemes; what was written into boxes is a note."""
    labels, notes = list[str](), list[str]()
    schemes = row["label_annotations"] if isinstance(row["label_annotations"], dict) else {}
    for scheme, chosen in schemes.items():
        for label, value in chosen.items() if isinstance(chosen, dict) else ((str(chosen), True),):
            if str(value).strip().lower() in _NOT_CHOSEN:
                continue
            text = str(value).strip()
            written = "text" in label.lower() or _NOTES.fullmatch(scheme) or not (
                text.lower() in _CHOSEN or _NUMBER.fullmatch(text) or text.lower() == label.lower()
            )  # fmt: skip
            (notes if written else labels).append(text if written else label)
    who = annotator_name(next((row[name] for name in _WHO if row.get(name)), ""))
    yield _Row(str(row["displayed_text"]), labels, who, "\n".join(notes))


def _of_prodigy(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the text of a task with what was accepted, and each of its spans."""
    names = {one["id"]: one.get("text", one["id"]) for one in row.get("options") or () if isinstance(one, dict)}
    accepted = row["answer"] == "accept"
    labels = [str(names.get(id, id)) for id in row.get("accept") or ()] or [*_strings(row.get("label") or [])]
    spans = [one for one in row.get("spans") or () if isinstance(one, dict)] if accepted else []
    text, who = str(row["text"]), annotator_name(row.get("_annotator_id") or row.get("_session_id"))
    note = next((str(row[name]) for name in ("comment", "note") if row.get(name)), "")
    if labels or not spans:
        yield _Row(text, labels if accepted else [], who, note)
    for one in spans:
        yield _Row(text[one.get("start", 0) : one.get("end")], [*_strings(one)], who)


_CHOSEN = frozenset({"1", "1.0", "true", "yes", "x", "y", "t"})
_NOT_CHOSEN = frozenset({"", "0", "0.0", "false", "no", "n", "f", "none"})
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _of_marks(sheet: Sheet) -> Sheet:
    """Return a table with one column of labels for one in which every label has a column of marks, such as 0 and 1."""
    used = {name for name in sheet.columns if name.strip().lower() in (*TEXTS, "sentence_id", "id")}
    marked = [name for name in sheet.columns if name not in used and _is_marks(name, sheet.column(name))]
    found = cluster_column(sheet, [*used])
    if not marked or found.strip().lower() in CLUSTERS or (len(marked) == 1 and found != marked[0]):
        return sheet
    begins = [{name[: name.rfind(sign) + 1] for name in marked} for sign in "_.:/|-"]
    shared = next((next(iter(begin)) for begin in begins if len(begin) == 1 < len(marked) and "" not in begin), "")
    places = {sheet.columns.index(name): name.removeprefix(shared).strip() or name for name in marked}
    rest = [place for place in range(len(sheet.columns)) if place not in places]
    rows = tuple(
        (*(row[place] for place in rest),
         json.dumps([name for place, name in places.items() if _is_chosen(name, row[place])], ensure_ascii=False))
        for row in sheet.rows
    )  # fmt: skip
    sheet.account.change(MARKS, text=", ".join(marked), n=len(marked))
    lines = {(number, rest.index(at)): text for (number, at), text in sheet.lines.items() if at in rest}
    return replace(sheet, columns=(*(sheet.columns[place] for place in rest), "label"), rows=rows, lines=lines)


def _is_marks(name: str, cells: Sequence[str]) -> bool:
    label, values = name.rpartition(":")[2].strip(), {*cells}
    chosen = {cell for cell in values if _is_chosen(label, cell)}
    unchosen = all(cell.lower() in _NOT_CHOSEN for cell in values - chosen)
    return bool(chosen) and unchosen and not is_about(name) and not CODER.fullmatch(name.strip())


def _is_chosen(label: str, cell: str) -> bool:
    return cell.lower() in _CHOSEN or cell.lower() == label.lower() != ""
