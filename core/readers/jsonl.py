"""JSON lines with one document per line: articles with sections, or documents with reference summaries.

Articles: ``{"title": "Adelaide", "source": "…", "url": "…", "sections": [{"title": "", "level": 1, "paragraphs":
["…"]}]}``; ``sections`` is flat and in page order; level 1 is the lead, level 2 a top-level heading. ``topic`` (the
label of the document) and ``part`` ("train" or "test") are optional. Other keys of the article become columns.

Summaries: ``{"id", "title", "sections": [{"title", "sentences": [...]}], "summary"}``, or with ``"text"`` instead of
sections; ``summary`` is a text or the list of its sentences, ``summaries`` a list of texts. A corpus contains the
documents only. Other keys are listed, in particular summaries, and abstracts, because the summaries of scisummnet were
written from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from themescope.core.columns import plain_value
from themescope.core.config import Config, option
from themescope.core.errors import ReadError
from themescope.core.readers.blocks import BasePiecewiseReader, BaseReader, Outline
from themescope.core.readers.streams import FileHead, lines
from themescope.core.text.cleaning import one_line
from themescope.core.types import PARTS, Article, ReadAccount, Report, Value

_KEYS = frozenset({"title", "url", "source", "topic", "part", "sections"})
_SECTION_KEYS = frozenset({"title", "level", "paragraphs"})
_JSON = re.compile(r'\{\s*(?:"|\}|\n|$)')

SAMPLE = b"".join(
    b'{"title": "%s", "sections": [{"title": "", "level": 1, "paragraphs": ["It is a town. It is old."]}, '
    b'{"title": "History", "level": 2, "paragraphs": ["It was founded in 1200.", "Then it grew."]}]}\n' % title
    for title in (b"Ada", b"Bea")
)


_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""An escaped NUL, and no escaped backslash before "u0000"."""


def json_lines(path: Path, report: Report, check_escapes: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield the number and the JSON value of every line that is not blank. Raises :class:`ReadError` for invalid JSON.

    ``check_escapes`` also rejects escaped characters that no database stores: NUL and lone surrogates.
    """
    for number, line in text_lines(path, report):
        yield number, json_value(path, number, line, check_escapes)


def text_lines(path: Path, report: Report) -> Iterator[tuple[int, str]]:
    """Yield :func:`lines` without those that are blank."""
    return ((number, line) for number, line in lines(path, report) if line and not line.isspace())


def json_value(path: Path, number: int, line: str, check_escapes: bool = False) -> Any:
    """Return the JSON value of a line, see :func:`json_lines`."""
    text = ""
    try:
        value = json.loads(line)
        if check_escapes and ("\\ud" in line.lower() or "\\u0000" in line):
            text = json.dumps(value, ensure_ascii=False)
    except json.JSONDecodeError as error:
        where = f"line {number:,}, column {error.colno:,}"
        raise ReadError(path, f"not valid JSON ({error.msg}).", where, "Put one object on each line.") from None
    except RecursionError:
        raise ReadError(path, "JSON nested too deeply.", f"line {number:,}", "Correct the line.") from None
    except ValueError:
        raise ReadError(path, "a number has too many digits.", f"line {number:,}", "Correct the line.") from None
    if _NUL.search(text) or any("\ud800" <= character <= "\udfff" for character in text):
        problem = "an escape in the line encodes an invalid character (NUL or half of a surrogate pair)."
        raise ReadError(path, problem, f"line {number:,}", "Remove the escape.")
    return value


class Jsonl(BasePiecewiseReader[Config]):
    """Reader of articles in JSON lines (.jsonl, .jsonl.gz, .jsonl.bz2 and .jsonl.xz)."""

    def pieces(self, path: Path, report: Report) -> Iterator[tuple[tuple[int, str], int]]:
        """Yield the number and the text of every line that is not blank, and its length."""
        return ((line, len(line[1])) for line in text_lines(path, report))

    def parse(self, path: Path, piece: tuple[int, str]) -> Article | str:
        """Return the article of a line. Raises :class:`ReadError` with the number of an invalid one."""
        number, line = piece
        record = json_value(path, number, line, check_escapes=True)
        place = f"line {number:,}"
        try:
            outline, values = _outline(record, self.account, place)
        except _Shape as error:
            advice = 'Each line needs "title" and "sections" with "title", "level" and "paragraphs".'
            raise ReadError(path, f"{error}.", place, advice) from None
        article = outline.article()
        return self._without_text(outline, place) if article is None else replace(article, values=values)


class _Shape(Exception):
    """A JSON line that is not a valid document."""


def _outline(record: Any, account: ReadAccount, place: str) -> tuple[Outline, dict[str, Value]]:
    """Return the outline of an article, and the values of its other keys."""
    if not isinstance(record, dict):
        raise _Shape("the line is not a JSON object")
    title = _get(record, "title", str)
    if not title.strip():
        raise _Shape('the article has an empty "title"')
    part = _get(record, "part", str, "")
    if part not in PARTS:
        raise _Shape(f'"part" is {part[:40]!r}, neither "train" nor "test" nor empty')
    url, source, topic = (_get(record, key, str, "") for key in ("url", "source", "topic"))
    outline = Outline(title.strip(), url, source, topic, part)
    for index, section in enumerate(_get(record, "sections", list)):
        try:
            if not isinstance(section, dict):
                raise _Shape("not a JSON object")
            heading = _get(section, "title", str, "").strip()
            level = _get(section, "level", int, 2 if heading else 1)
            if not 1 <= level <= 100:
                raise _Shape(f'"level" is {level}, not between 1 and 100')
            if heading:
                outline.heading(heading, max(level, 2))
            for paragraph in _get(section, "paragraphs", list, []):
                if not isinstance(paragraph, str):
                    raise _Shape('"paragraphs" contains a value that is not a string')
                outline.paragraph(paragraph)
        except _Shape as error:
            raise _Shape(f"section {index + 1}: {error}") from None
        for key, text in _others(section, _SECTION_KEYS):
            account.skip(f"key “{key}” of a section", f"{place}, section {index + 1}", text)
    further = {str(key): plain_value(value) for key, value in record.items() if key not in _KEYS}
    values: dict[str, Value] = {key: value for key, value in further.items() if value is not None and value != ""}
    return outline, values


def _others(record: Mapping[str, Any], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield key → text of the values that are not blank and whose key is not known."""
    for key, value in record.items():
        if key not in known and value not in (None, "", [], {}):
            texts = value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None
            yield key, value if isinstance(value, str) else "\n".join(texts or [json.dumps(value, ensure_ascii=False)])


_KINDS = {str: "a string", int: "a whole number", list: "a list"}


def _get(record: dict[str, Any], key: str, kind: type, default: Any = None) -> Any:
    value = record.get(key, default)
    if value is None:
        raise _Shape(f'there is no "{key}"')
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _Shape(f'"{key}" is not {_KINDS[kind]}')
    return value


def recognises(head: FileHead) -> bool:
    """Return whether a file begins with a JSON object."""
    return bool(_JSON.match(head.text))


# --- summaries --------------------------------------------------------------------------------------------------------


_DOCUMENT = re.compile(r'\A\s*\{[^\n]*?"(?:text|sections)"\s*:')
_DOCUMENT_KEYS = frozenset({"id", "title", "sections", "text"})
_SUMMARY = re.compile(r'"(?:summary|summaries)"\s*:')
# A blank line, or a line that begins with the number of an item, as in bills.
_BREAK = re.compile(r"\n\s*\n|\n\s+(?=\(?[0-9A-Za-z]{1,4}\)\s)")
# The heading of a numbered part, whose full stops do not end a sentence.
_NUMBERED = re.compile(r"(?:SECTION|SEC\.|TITLE|CHAPTER) [0-9A-Z]{1,5}\.[ A-Z0-9,;:'`()-]*\.?\Z")

SUMMARIES_SAMPLE = b"""\
{"id": "Ada", "sections": [{"title": "1 Start", \
"sentences": ["It was founded.", "Then it grew."]}], "summary": ["It grew."]}
{"id": "b1", "title": "Bea", \
"text": "SEC. 1. A NAME.\\n\\n    It is\\n  Bea.\\n   (1) One.\\n", "summaries": ["B", "C"]}
"""


@dataclass(frozen=True)
class SummariesConfig(Config):
    """Settings of the reader."""

    headings: bool = option(
        False, "Begin a section at the numbered headings of a text, such as those of bills (“SEC. 2. FINDINGS.”)."
    )


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """A document and the texts of its summaries."""

    id: str
    article: Article | None
    """None if the document has no text."""
    references: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    """Reason → text of what is in the line, but not in the article."""


class Summaries(BaseReader[SummariesConfig]):
    """Reader of the documents of a file with summaries."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield documents in line order. Raises :class:`ReadError` with the number of an invalid line."""
        self.account.clear()
        for record in summary_records(path, report, self.config.headings):
            for reason, text in record.left_out:
                self.account.skip(reason, record.id, text)
            if record.article is not None:
                yield record.article


def summary_records(path: Path, report: Report, headings: bool = False) -> Iterator[SummaryRecord]:
    """Yield the record of every line; ``headings`` as in :class:`SummariesConfig`.

    Raises :class:`ReadError` with the number of an invalid line.
    """
    for number, record in json_lines(path, report):
        try:
            yield _record(record, path.name, headings)
        except _Shape as error:
            advice = 'Each line needs "id", "text" or "sections", and "summary" or "summaries".'
            raise ReadError(path, f"{error}.", f"line {number:,}", advice) from None


def _record(record: Any, source: str, headings: bool) -> SummaryRecord:
    if not isinstance(record, dict):
        raise _Shape("the line is not a JSON object")
    id, title = _text(record, "id"), _text(record, "title", "")
    if not id.strip():
        raise _Shape('the document has an empty "id"')
    outline = Outline(f"{title.strip()} ({id})" if title.strip() else id, source=source)
    left_out = [(f"key “{key}”", text) for key, text in _others(record, _DOCUMENT_KEYS)]
    for section in _list(record, "sections", dict):
        heading = _text(section, "title", "").strip()
        if heading:
            outline.heading(heading, 2)
        sentences = tuple(clean for s in _list(section, "sentences", str) if (clean := one_line(s)))
        outline.paragraph(" ".join(sentences), sentences)
        left_out += [(f"key “{key}” of a section", text) for key, text in _others(section, ("title", "sentences"))]
    for block in _BREAK.split(_text(record, "text", "")):
        text = one_line(block)
        numbered = _NUMBERED.match(text)
        if numbered and headings:
            outline.heading(text, 2)
        else:
            outline.paragraph(text, (text,) if numbered else ())
    article = outline.article()
    if article is None:
        left_out.append(("no text", " ".join([outline.title, *outline.headings])))
    return SummaryRecord(id, article, _references(record), tuple(left_out))


def _references(record: dict[str, Any]) -> tuple[str, ...]:
    found = _list(record, "summaries", str)
    one = record.get("summary")
    if one is not None:
        found = [*found, one if isinstance(one, str) else " ".join(_list(record, "summary", str))]
    return tuple(text.strip() for text in found if text.strip())


def _text(record: dict[str, Any], key: str, default: str | None = None) -> str:
    value: str = _get(record, key, str, default)
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
        raise _Shape(f'"{key}" contains an invalid character (NUL or half of a surrogate pair)')
    return value


def _list(record: dict[str, Any], key: str, kind: type) -> list[Any]:
    value = record.get(key, [])
    if not isinstance(value, list) or not all(isinstance(part, kind) for part in value):
        raise _Shape(f'"{key}" is not a list of {"texts" if kind is str else "objects"}')
    return [_text({key: part}, key) if kind is str else part for part in value]


def recognises_summaries(head: FileHead) -> bool:
    """Return whether a file contains JSON lines with documents and their summaries."""
    first = head.text.partition("\n")[0]
    return bool(_DOCUMENT.match(first)) and bool(_SUMMARY.search(first) or '"abstract"' in first)
