"""JSON lines with one article per line.

``{"title": "Adelaide", "source": "…", "url": "…", "sections": [{"title": "", "level": 1, "paragraphs": ["…"]}]}``;
``sections`` is flat and in page order; level 1 is the lead, level 2 a top-level heading. ``topic`` (the label of the
document) and ``part`` ("train" or "test") are optional. Other keys of the article become columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from themescope.core.columns import plain_value
from themescope.core.config import Config
from themescope.core.errors import ReadError
from themescope.core.protocols import Report
from themescope.core.readers.outline import BasePiecewiseReader, Outline
from themescope.core.readers.streams import FileHead, json_value, text_lines
from themescope.core.types import PARTS, Article

_KEYS = frozenset({"title", "url", "source", "topic", "part", "sections"})
_JSON = re.compile(r'\{\s*(?:"|\}|\n|$)')

SAMPLE = b"".join(
    b'{"title": "%s", "sections": [{"title": "", "level": 1, "paragraphs": ["It is a town. It is old."]}, '
    b'{"title": "History", "level": 2, "paragraphs": ["It was founded in 1200.", "Then it grew."]}]}\n' % title
    for title in (b"Ada", b"Bea")
)
"""A tiny file in this format."""


class Jsonl(BasePiecewiseReader):
    """Reader of articles in JSON lines (.jsonl, .jsonl.gz, .jsonl.bz2 and .jsonl.xz)."""

    config: Config

    def pieces(self, path: Path, report: Report) -> Iterator[tuple[tuple[int, str], int]]:
        """Yield the number and the text of every line that is not blank, and its length."""
        return ((line, len(line[1])) for line in text_lines(path, report))

    def parse(self, path: Path, piece: tuple[int, str]) -> Article | str:
        """Return the article of a line. Raises :class:`ReadError` with the number of an invalid one."""
        number, line = piece
        record = json_value(path, number, line, check_escapes=True)
        try:
            article = _article(record)
        except _Shape as error:
            advice = 'Each line needs "title" and "sections" with "title", "level" and "paragraphs".'
            raise ReadError(path, f"{error}.", f"line {number:,}", advice) from None
        return article or "no text"


class _Shape(Exception):
    """A JSON line that is not a valid article."""


def _article(record: Any) -> Article | None:
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
    article = outline.article()
    further = {key: plain_value(value) for key, value in record.items() if key not in _KEYS}
    values = {key: value for key, value in further.items() if value is not None and value != ""}
    return None if article is None else replace(article, values=values)


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
