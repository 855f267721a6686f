"""Tables of labels as other programs write them: their columns, and cells with several labels.

Label Studio (JSON, JSON-MIN, CSV), doccano, Argilla, Potato, Prodigy, CATMA, QualCoder, MAXQDA and Taguette are
recognised by the names and the form of their columns, not by the name of the file. What several annotators say of one
text are several rows, with the name of the annotator; comments are notes, and a part of a text that has a label is a
row of its own, with the text before and after it. Of several questions, each label stands below its question, as in a
taxonomy.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, starmap, takewhile
from typing import Any, NamedTuple

from themescope.core.columns import as_text, plain_value
from themescope.core.errors import DataError
from themescope.core.readers.tables import ONLY, Sheet, is_own, one_line

TEXTS = (
    "sentence", "text", "sentence_text", "sentence text", "segment", "coded segment", "coded text", "coded",
    "coded_text", "displayed_text", "seltext", "keyword", "phrase", "quotation content", "quotation", "content",
    "highlight",
)  # fmt: skip
"""Names of the column of the sentences, in small letters, those that decide first."""
CLUSTERS = (
    "cluster", "label", "code", "codename", "code name", "codes", "theme", "topic", "class", "category", "cluster_name",
    "annotation", "label.responses", "tag", "tags", "tag path", "labels", "choice", "choices", "sentiment", "accept",
    "cats", "kategorie", "thema", "catégorie", "categoría",
)  # fmt: skip
"""Names of the column of the clusters, those that decide first."""
_NO_CLUSTERS = re.compile(
    r"(?:.*[_.\s-])?(?:id|ids|guid|hash|status|state|date|time|at|on|by|users?|coder|author|annotators?|agent|score|"
    r"probability|confidence|weight|position|start|end|begin|beginning|anfang|ende|row|number|number of highlights|"
    r"reason|url|document|file|path|metadata|vectors|metrics|lead_time|note|notes|comments?|colou?r|answer|memo|total|"
    r"sum|suggestions?|meta|farbe|dokumentname)",
    re.IGNORECASE,
)
"""Names of columns that are about labels, but do not contain them."""
NOTHING = frozenset({"na", "n/a", "#n/a", "nan", "null", "<na>"})
"""Cells, in small letters, by which programs say that there is no label."""
CODER = re.compile(r"(?:coder|rater|annotator|labell?er|judge|reviewer|person)[\s_.-]*\w{0,3}", re.IGNORECASE)
"""Name of a column with the labels of an annotator."""
_WHOLE = re.compile(r"-?\d+\.0+")
_JOINED = re.compile(r"[^#\s][^#]*(?:#[^#\s][^#]*)+")
_SEVERAL = frozenset({"codes", "labels", "tags", "choices", "themes", "topics", "categories", "kategorien", "themen"})
"""Names of columns whose cells have labels with “;” or “|” between them."""
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
    empty = (known[name] for name in CLUSTERS if name in known)
    return next(iter([*often, *(name for name in rest if cells[name]), *empty]), "")


def is_about(name: str) -> bool:
    """Return whether a column is about labels or texts, by its name, but has no labels."""
    return bool(_NO_CLUSTERS.fullmatch(name.strip()))


def labels_of(sheet: Sheet, column: str) -> Callable[[str], list[str]]:
    """Return a function that divides the cells of a column of clusters into labels; levels are joined by “ > ”."""
    several = re.compile(r"\s*[;|]\s*") if column.strip().lower() in _SEVERAL else None
    alone = {*sheet.column(column)}
    joined = {*sheet.columns} <= _JOINING or {*sheet.columns} >= _JOINING
    exact = is_exact(sheet)
    numbers = all(_NUMBER.fullmatch(cell) or cell.lower() in NOTHING for cell in alone - {""})

    def divided(cell: str) -> list[str]:
        if cell.startswith(("[", "{")) and (value := _value(cell)) is not None:
            return [*filter(None, dict.fromkeys(map(one_line, _strings(value))))]
        if joined and _JOINED.fullmatch(cell):
            return cell.split("#")
        if exact:
            return [cell] if cell else []
        if numbers and _WHOLE.fullmatch(cell):
            return [cell.partition(".")[0]]
        if not cell or cell.lower() in NOTHING:
            return []
        parts = cell.split(", ") if several else [cell]
        if len(parts) > 1 and alone.issuperset(parts):  # a name may have a comma
            return parts
        return [*filter(None, several.split(cell))] if several else [cell]

    return divided


def is_exact(sheet: Sheet) -> bool:
    """Return whether cells are names of codes, also “NA” and “1.0”: ours, those of Label Studio and of doccano."""
    return is_own(sheet.columns) or "annotation_id" in sheet.columns or {*sheet.columns} >= _JOINING


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
            path = isinstance(part, list) and part and all(isinstance(level, str) for level in part)
            yield from [LEVELS.join(part)] if path else _strings(part)
    elif isinstance(value, dict):
        keys = [key for key in ("choices", "labels", "label", "taxonomy", "value", "name", "text") if key in value]
        sure = [name for name, number in value.items() if isinstance(number, int | float) and 0.5 < number <= 1]
        yield from _strings(value[keys[0]]) if keys else sure if len(value) > 1 else []
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:g}"


def paths(labels: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return label → its name and that of its theme, "" for none, where labels are those of a taxonomy.

    Levels are divided by “>”, “::” or a backslash, or by a slash or a point if all labels have it, or several begin
    alike. The topmost level is the theme, and further ones stand in the name.
    """
    listed = [*dict.fromkeys(labels)]
    sign = next((sign for sign in _LEVELS if _divides(sign, listed)), None)
    divided = {label: [part.strip() for part in sign.split(label)] if sign else [label] for label in listed}
    names = {label: LEVELS.join(parts[1:]) or parts[0] for label, parts in divided.items()}
    often = Counter([*names.values(), *{parts[0] for parts in divided.values() if len(parts) > 1}])
    return {
        label: (
            names[label] if often[names[label]] == 1 or len(parts) == 1 else f"{names[label]} ({parts[0]})",
            parts[0] if len(parts) > 1 else "",
        )
        for label, parts in divided.items()
    }


def _divides(sign: re.Pattern[str], labels: Sequence[str]) -> bool:
    divided = [parts for label in labels if len(parts := sign.split(label)) > 1]
    if not divided or not all(all(map(str.strip, parts)) for parts in divided):
        return False
    tops = Counter(parts[0].strip() for parts in divided)
    alike = max(tops.values()) > 1 or any(top in labels for top in tops)
    return sign not in _WEAK or alike or len(divided) == len(labels) > 1


class _Row(NamedTuple):
    """What one annotator says of a text, or of a part of it."""

    text: str
    labels: Mapping[str, Sequence[str]]
    """Question → labels."""
    annotator: str = ""
    note: str = ""
    more: Mapping[str, str] = {}
    """Cells of our own exports, such as sentence_id and theme."""
    part: tuple[int, int] | None = None
    """Begin and end of the part."""
    why: str = ""
    """Why there are no labels."""


LEVELS = " > "
_LEVELS = tuple(
    re.compile(rf"\s*(?:{sign})\s*")
    for sign in (
        r"(?<=\s)>+(?=\s)|(?<![\d\s])>+(?![\d\s])|→",
        ":{2,}",
        r"\\",
        r"(?<!\d)/(?!\d)",
        r"(?<=[^\W\d]{2})\.(?=[^\W\d]{2})",
    )
)
_WEAK = _LEVELS[3:]
PLACE = ("text before", "text after")
"""Columns with what stands around a part of a text."""
LABELS = "labels"
"""Place of entries of the account that are said before labels are imported."""
_OWN = ("sentence_id", "source", "probability", "uncertain", "theme")
_RESPONSES = ".responses"
NOTES = re.compile(
    r"(?:.*[_.:\s-])?(?:notes?|comments?|remarks?|memos?|kommentare?|bemerkung(?:en)?|commentaires?|comentarios?)", re.I
)
_NOTES = re.compile(rf"{NOTES.pattern}|(?:.*[_.\s-])?(?:reasons?|explanations?|rationale|why|feedback)", re.IGNORECASE)
_LONGEST_LABEL = 80
_WHO = ("user_id", "user", "annotator", "username", "completed_by")


def themes_of(cell: str, names: Sequence[str]) -> dict[str, str]:
    """Return code → theme for the codes of a row, whose themes are pairs with the codes, or stand in their order."""
    value = _value(cell) if cell.startswith("[") else None
    listed = value if isinstance(value, list) else [cell]
    if listed is value and all(isinstance(one, list | tuple) and len(one) == 2 for one in listed):
        return {str(code): str(theme) for code, theme in listed if code in names}
    return dict(zip(names, map(str, listed), strict=True)) if len(listed) == len(names) else {}


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
    """Return a table of texts, labels, annotators and notes for objects of other programs; other tables unchanged.

    Raises ``DataError`` for tasks that nobody has labelled.
    """
    columns = {*sheet.columns}
    if {"data", "completions"} <= columns:  # Label Studio before 1.0
        sheet = replace(sheet, columns=tuple("annotations" if c == "completions" else c for c in sheet.columns))
        columns = {*sheet.columns}
    if {"data", "annotations"} <= columns:
        return _made(sheet, _of_label_studio)
    if "data" in columns and all(isinstance(_value(cell), dict) for cell in sheet.column("data")):
        raise DataError("These are tasks of Label Studio without annotations. Export them with their annotations.")
    if {"fields", "responses"} <= columns:
        return _made(sheet, _of_argilla)
    if pairs := _pairs(sheet):
        return _made(sheet, partial(_of_pairs, pairs))
    if {"displayed_text", "label_annotations"} <= columns:
        return _made(sheet, _of_potato)
    if {"text", "answer"} <= columns and columns & {"accept", "label", "spans"}:
        return _made(sheet, _of_prodigy)
    fast = [cell.lstrip('"').startswith(_FAST) for cell in (sheet.column(ONLY) if columns == {ONLY} else ())]
    if 2 * sum(fast) > len(sheet.rows):
        return _made(sheet, _of_fast_text)
    first = {name: _value(next(filter(lambda cell: len(cell) > 2, sheet.column(name)), "")) for name in sheet.columns}
    listed = [name for name, value in first.items() if _by_annotator(value) or [*_spans(value)]]
    if listed:
        return _made(sheet, partial(_of_lists, listed))
    return _of_marks(_of_levels(_of_lines(_with_comments(_kept(sheet)))))


def _kept(sheet: Sheet) -> Sheet:
    """Return a table of Argilla 1 without the labels of records that an annotator discarded."""
    if not {"annotation", "status"} <= {*sheet.columns}:
        return sheet
    at, status = map(sheet.columns.index, ("annotation", "status"))
    discarded = [row[status].lower() == "discarded" for row in sheet.rows]
    if sum(discarded):
        sheet.account.skip(SKIPPED, LABELS, f"{sum(discarded):,}", sum(discarded))
    rows = ((*row[:at], "" if no else row[at], *row[at + 1 :]) for row, no in zip(sheet.rows, discarded, strict=True))
    return replace(sheet, rows=tuple(rows))


def _with_comments(sheet: Sheet) -> Sheet:
    """Return a table of doccano in whose notes, which our export had, its comments stand, too."""
    if not {"note", "Comments"} <= {*sheet.columns}:
        return sheet
    at = sheet.columns.index("note"), sheet.columns.index("Comments")
    rows = []
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        cells, notes = [*row], [*filter(None, (note_of(sheet.lines.get((number, one), row[one])) for one in at))]
        cells[at[0]], cells[at[1]] = json.dumps(notes, ensure_ascii=False) if notes else "", ""
        rows.append(tuple(cells))
    return replace(sheet, rows=tuple(rows), lines={key: text for key, text in sheet.lines.items() if key[1] not in at})


def _of_lines(sheet: Sheet) -> Sheet:
    """Return a table in whose columns of several labels those on lines of their own, as of ATLAS.ti, are a list."""
    several = {place for place, name in enumerate(sheet.columns) if name.strip().lower() in _SEVERAL}
    lists = {
        at: json.dumps([*filter(None, map(one_line, text.split("\n")))], ensure_ascii=False)
        for at, text in sheet.lines.items()
        if at[1] in several
    }
    rows = (
        tuple(lists.get((number, place), cell) for place, cell in enumerate(row))
        for number, row in zip(sheet.numbers, sheet.rows, strict=True)
    )
    return replace(sheet, rows=tuple(rows)) if lists else sheet


_LEVEL = re.compile(r"(?:.*[\W_])?(?:level|lvl|ebene|niveau|nivel|tier|stufe)[\W_]*(\d)", re.IGNORECASE)
_CATEGORY = "category|kategorie|catégorie|categoría"
_TOP = re.compile(rf"(?:parent|main|top|super|ober|haupt)[\W_]*(?:{_CATEGORY}|code|theme|thema|topic|label|tag)?", re.I)
_BELOW = re.compile(rf"(?:sub|unter|sous)[\W_]*(?:{_CATEGORY}|code|theme|thema|thème|topic|label|class|tag)\w*", re.I)


def _of_levels(sheet: Sheet) -> Sheet:
    """Return a table with one column of labels for one with a column for each level of a taxonomy."""

    def called(pattern: re.Pattern[str]) -> str:
        return next((name for name in sheet.columns if pattern.fullmatch(name.strip())), "")

    by = {found[1]: name for name in sheet.columns if (found := _LEVEL.fullmatch(name.strip()))}
    levels, below = [by[number] for number in sorted(by)], called(_BELOW)
    if len(levels) < 2:
        category = called(re.compile(_CATEGORY, re.IGNORECASE))
        above = called(_TOP) or category or (cluster_column(sheet, [below]) if below else "")
        levels = [above, below or cluster_column(sheet, [above])]
        pairs = {*zip(*map(sheet.column, levels), strict=True)} if all(levels) else set()
        if not pairs or (above == category and not below and len({low for _, low in pairs}) < len(pairs)):
            return sheet
    if any(cell.startswith("[") for name in levels for cell in sheet.column(name)):
        return sheet
    cells = [LEVELS.join(filter(None, row)) for row in zip(*map(sheet.column, levels), strict=True)]
    return _in_one(sheet, levels, cells, "columns of levels, read as themes and codes")


def _in_one(sheet: Sheet, names: Collection[str], cells: Iterable[str], why: str) -> Sheet:
    """Return a table with one column of labels instead of several columns, which is said."""
    kept = [place for place, name in enumerate(sheet.columns) if name not in names]
    rows = tuple((*(row[place] for place in kept), cell) for row, cell in zip(sheet.rows, cells, strict=True))
    lines = {(number, kept.index(at)): text for (number, at), text in sheet.lines.items() if at in kept}
    sheet.account.change(why, LABELS, ", ".join(names))
    return replace(sheet, columns=(*(sheet.columns[place] for place in kept), "label"), rows=rows, lines=lines)


def _made(sheet: Sheet, rows_of: Callable[[Mapping[str, Any]], Iterator[_Row]]) -> Sheet:
    """Return the table of the rows; columns without any value are left out. Raises ``DataError`` for a damaged row."""
    found: list[tuple[int, _Row]] = []
    for number, cells in zip(sheet.numbers, sheet.rows, strict=True):
        read = ((name, cell, _value(cell)) for name, cell in zip(sheet.columns, cells, strict=True))
        row = {name: cell if value is None or isinstance(value, str) else value for name, cell, value in read}
        try:
            found += ((number, one) for one in rows_of(row))
        except (TypeError, AttributeError, KeyError, ValueError):
            advice = "Export it again, or write a table with a text and a label in each row."
            raise DataError(f"Row {number:,} is not what another program exports. {advice}") from None
    several = len({question for _, one in found for question, labels in one.labels.items() if labels}) > 1
    rows: list[dict[str, str]] = []
    for _, one in found:
        named = ((question if several else "", label) for question, given in one.labels.items() for label in given)
        label = [*dict.fromkeys(LEVELS.join(filter(None, pair)) for pair in named)]
        about = {"label": json.dumps(label, ensure_ascii=False), "note": one.note, "annotator": one.annotator}
        begin, end = one.part or (0, len(one.text))
        around = zip(PLACE, (one.text[:begin], one.text[end:]) if one.part else (), strict=False)
        rows.append({"text": one_line(one.text[begin:end]), **about, **dict(around), **one.more})
    for why, n in Counter(one.why for _, one in found if one.why).items():
        sheet.account.skip(why, LABELS, f"{n:,}", n)
    known = ("text", "label", "note", "annotator", *PLACE, *_OWN)
    names = tuple(name for name in known if name == "label" or any(row.get(name) for row in rows))
    made = tuple(tuple(row.get(name, "") for name in names) for row in rows)
    return replace(sheet, columns=names, rows=made, numbers=tuple(number for number, _ in found), lines={})


def _spans(value: Any) -> Iterator[tuple[int, int, list[str]]]:
    """Yield begin, end and labels of the parts of a text in a value; nothing for another one."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            ends: list[Any] = [one.get(name, one.get(f"{name}_offset")) for name in ("start", "end")]
        else:
            ends = [*one[:2]] if isinstance(one, list) and len(one) == 3 else []
        if [type(end) for end in ends] == [int, int]:
            known = {k: v for k, v in one.items() if k not in ("text", "name")} if isinstance(one, dict) else one[2]
            yield int(ends[0]), int(ends[1]), [*_strings(known)]


def _of_label_studio(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the text of a task with the choices of each annotation, and each marked part of it with its labels."""
    data = row["data"] if isinstance(row["data"], dict) else {}
    text = _text_of(data)
    known = _OWN if "sentence_id" in data else ()
    own = {name: as_text(plain_value(data[name])) for name in known if data.get(name) not in (None, "")}
    every = [one for one in row["annotations"] or () if isinstance(one, dict)]
    made = [one for one in every if not one.get("was_cancelled")]
    if not made:
        why = SKIPPED if every else GUESSED if row.get("predictions") else ""
        yield _Row(text, {}, note=str(data.get("note") or "") if own else "", more=own, why=why)
    for number, one in enumerate(made, 1):
        listed = (each for each in one.get("result") or () if isinstance(each, dict))
        results = [each for each in listed if isinstance(each.get("value"), dict)]
        notes = [note for each in results if _is_written(each) for note in _strings(each["value"].get("text", ""))]
        note = "\n".join([*([str(data["note"])] if own and data.get("note") else []), *notes])
        who = annotator_name(one.get("completed_by")) or (str(data.get("coder") or "") if own else "")
        who = who or (f"annotator {number}" if len(made) > 1 else "")
        labels: dict[str, list[str]] = {}
        spans: list[_Row] = []
        for each in results:
            question, value = str(each.get("from_name", "")), each["value"]
            if isinstance(value.get("text"), str):
                about = {name: value[name] for name in value if name != "text"}
                spans += (_Row(text, {question: given}, who, part=(a, b)) for a, b, given in _spans([about]))
            elif not _is_written(each):
                labels.setdefault(question, []).extend(_strings(value))
        if labels or not spans or note:
            yield _Row(text, labels, who, note, own)
        yield from spans


def _is_written(result: Mapping[str, Any]) -> bool:
    """Return whether a result of Label Studio is a text that somebody wrote, not a label."""
    return result.get("type") == "textarea" or [*result["value"]] == ["text"]


def _of_argilla(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the text of a record with the responses of each user, in the forms of Argilla 1 and 2."""
    fields, responses = row["fields"] if isinstance(row["fields"], dict) else {"text": row["fields"]}, row["responses"]
    listed = responses.items() if isinstance(responses, dict) else [("", responses)]
    why = GUESSED if row.get("suggestions") and not responses else ""
    yield from _answers(_text_of(fields), chain.from_iterable(starmap(_given, listed)), why=why)


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
    column = cluster_column(sheet, [by]) if by else ""
    cells = [[*map(_value, sheet.column(name))] for name in ((column, by) if column else ())]
    pairs = zip(*cells, strict=True)
    listed = column and all(isinstance(v, list) and isinstance(who, list) and len(v) == len(who) for v, who in pairs)
    own = [(name, f"{name}.users") for name in sheet.columns if name.endswith(_RESPONSES)]
    return [*(pair for pair in own if pair[1] in sheet.columns), *([(column, by)] if listed else [])]


def _of_lists(listed: Collection[str], row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield a text with the labels of each annotator, or of each of its parts, of which columns have lists."""
    whole = {name: row[name] for name in ("cats", "label") if name in row and name not in listed}
    who = annotator_name(next((row[name] for name in (*_WHO, "annotation_approver") if row.get(name)), ""))
    found: list[_Answer] = [(who, name, value) for name, value in whole.items()]
    for name in listed:
        found += _given(name, row[name]) if _by_annotator(row[name]) else [(who, name, row[name])]
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
    listed = value if isinstance(value, list) else []
    return bool(listed) and all(
        isinstance(one, dict) and not {*_WHO}.isdisjoint(one) and not {"label", "value"}.isdisjoint(one)
        for one in listed
    )


def _text_of(row: Mapping[str, Any]) -> str:
    """Return the value that is the text: one called so, or the longest."""
    texts = {name.lower(): value for name, value in row.items() if isinstance(value, str) and value}
    return next((texts[name] for name in TEXTS if name in texts), max(texts.values(), key=len, default=""))


def _answers(
    text: str, found: Iterable[_Answer], row: Mapping[str, Any] | None = None, why: str = ""
) -> Iterator[_Row]:
    """Yield the answers of each annotator: labels, and notes where they are texts, or else the note of the ``row``."""
    common = (value for name, value in (row or {}).items() if _NOTES.fullmatch(name) and not _by_annotator(value))
    note = "\n".join(_strings(next(common, "")))
    by: dict[str, list[tuple[str, Any]]] = {}
    for who, question, value in found:
        by.setdefault(who, []).append((question, value))
    if not by:
        yield _Row(text, {}, why=why)
    for who, answers in by.items():
        notes = [str(value) for question, value in answers if _is_note(question, value)]
        given = [(question, value) for question, value in answers if not _is_note(question, value)]
        parts = [_Row(text, {q: labels}, who, part=(a, b)) for q, value in given for a, b, labels in _spans(value)]
        named = [(q, value) for q, value in given if not isinstance(value, int | float) and not [*_spans(value)]]
        if named or not parts or notes:
            labels = {q: [*map(one_line, _strings(value))] for q, value in named or (() if parts else given)}
            yield _Row(text, labels, who, "\n".join(notes) or note)
        yield from parts


def _is_note(question: str, value: Any) -> bool:
    return isinstance(value, str) and (bool(_NOTES.fullmatch(question)) or len(value) > _LONGEST_LABEL)


def _of_potato(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield an instance with the labels that were chosen of its schemes; what was written into boxes is a note."""
    text, labels, notes = str(row["displayed_text"]), dict[str, list[str]](), list[str]()
    schemes = row["label_annotations"] if isinstance(row["label_annotations"], dict) else {}
    for scheme, chosen in schemes.items():
        for label, value in chosen.items() if isinstance(chosen, dict) else ((str(chosen), True),):
            if str(value).strip().lower() in _NOT_CHOSEN:
                continue
            said = str(value).strip()
            written = (
                "text" in label.lower()
                or _NOTES.fullmatch(scheme)
                or not (said.lower() in _CHOSEN or _NUMBER.fullmatch(said) or said.lower() == label.lower())
            )
            if written:
                notes.append(said)
            else:
                labels.setdefault(scheme, []).append(label)
    who = annotator_name(next((row[name] for name in _WHO if row.get(name)), ""))
    spans = row.get("span_annotations")
    parts = [
        _Row(text, {scheme: [str(one.get("annotation") or one.get("label") or one.get("name"))]}, who, part=(a, b))
        for scheme, listed in (spans.items() if isinstance(spans, dict) else ())
        for one in listed
        for a, b, _ in _spans([one])
    ]
    if labels or notes or not parts:
        yield _Row(text, labels, who, "\n".join(notes))
    yield from parts


def _of_prodigy(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the text of a task with what was accepted, and each of its spans."""
    names = {one["id"]: one.get("text", one["id"]) for one in row.get("options") or () if isinstance(one, dict)}
    accepted = row["answer"] == "accept"
    labels = [str(names.get(id, id)) for id in row.get("accept") or ()] or [*_strings(row.get("label") or [])]
    text, who = str(row["text"]), annotator_name(row.get("_annotator_id") or row.get("_session_id"))
    given = (one for one in row.get("spans") or () if isinstance(one, dict))
    spans = [_Row(text, {"": part}, who, part=(a, b)) for a, b, part in _spans([*given])] if accepted else []
    note = next((str(row[name]) for name in ("comment", "note") if row.get(name)), "")
    if labels or not spans:
        yield _Row(text, {"": labels} if accepted else {}, who, note, why="" if accepted else SKIPPED)
    yield from spans


_FAST, _REMARK = "__label__", "__comment__"


def _of_fast_text(row: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the text of a line of fastText, which begins with its labels; doccano writes comments at its end."""
    line = str(row[ONLY])
    line = line[1:-1].replace('""', '"') if line.startswith('"') and line.endswith('"') else line
    text, *notes = line.split(_REMARK)
    words = text.split()
    labels = [word.removeprefix(_FAST) for word in words if word.startswith(_FAST)]
    yield _Row(" ".join(words[len(labels) :]), {"": labels}, note="\n".join(map(str.strip, notes)))


SKIPPED = "text that an annotator skipped or rejected, without a label"
GUESSED = "text with suggestions of a program only, which are not read, without a label"
_CHOSEN = frozenset(
    {"1", "1.0", "true", "yes", "x", "y", "t", "on", "✓", "✔", "☑", "ja", "j", "wahr", "oui", "sí", "si"}
)
_NOT_CHOSEN = frozenset({"", "0", "0.0", "false", "no", "n", "f", "none", "off", "nein", "falsch", "non", "☐"})
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _of_marks(sheet: Sheet) -> Sheet:
    """Return a table with one column of labels for one in which every label has a column of marks, such as 0 and 1.

    Whole numbers are marks, too, if several columns have them and 0 or -1.
    """
    used = {name for name in sheet.columns if name.strip().lower() in (*TEXTS, "sentence_id", "id")}
    found = cluster_column(sheet, [*used])
    if found.strip().lower() in CLUSTERS:
        return sheet
    rest = [n for n in sheet.columns if n not in used and not is_about(n) and not CODER.fullmatch(n.strip())]
    marked = [name for name in rest if _is_marks(name, sheet.column(name))]
    values = {name: {*sheet.column(name)} for name in rest}
    whole = [name for name, own in values.items() if all(cell == "-1" or cell.isdecimal() for cell in own)]
    counted = [name for name in whole if not {"0", "-1"}.isdisjoint(values[name])]
    marked = counted if len(counted) > max(1, len(marked)) else marked
    if not marked or (len(marked) == 1 and found != marked[0]):
        return sheet
    begin, end = _shared(marked), _shared([name[::-1] for name in marked])
    called = {name: name[begin : len(name) - end].strip() or name for name in marked}
    rows = zip(*map(sheet.column, marked), strict=True)
    chosen = (
        [label for (name, label), cell in zip(called.items(), row, strict=True) if _is_chosen(name, cell)]
        for row in rows
    )
    every = [*chosen]
    again = [  # the marked labels once more, in one cell
        name
        for name in rest
        if name not in marked
        and all(
            {*filter(None, re.split(r"[,;|]\s*", cell))} == {*labels}
            for cell, labels in zip(sheet.column(name), every, strict=True)
        )
    ]
    cells = [json.dumps(labels, ensure_ascii=False) for labels in every]
    return _in_one(sheet, [*marked, *again], cells, "columns of marks, read as codes")


def _shared(names: Sequence[str]) -> int:
    """Return the length of the beginning that names share, which ends with a sign such as “_”."""
    same = [*takewhile(lambda signs: len({*signs}) == 1, zip(*names, strict=False))] if len(names) > 1 else []
    return max((place + 1 for place, signs in enumerate(same) if signs[0] in "_.:/|- "), default=0)


def _is_marks(name: str, cells: Sequence[str]) -> bool:
    label, values = name.rpartition(":")[2].strip().lower(), {cell.lower() for cell in cells}
    chosen = {cell for cell in values if cell in _CHOSEN or cell == label != ""}
    return (bool(chosen) or values - {""} == {"0"}) and values - chosen <= _NOT_CHOSEN


def _is_chosen(name: str, cell: str) -> bool:
    label, counted = name.rpartition(":")[2].strip().lower(), cell.isdecimal() and int(cell) > 0
    return counted or cell.lower() in _CHOSEN or cell.lower() == label != ""
