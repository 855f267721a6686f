"""Lossless conversion between an article with its sentences and one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from core.errors import ReadError
from core.types import PARTS, Article, Paragraph, Section, SectionRecord, Sentence
from db.records import ArticleRecord


def article_of(about: ArticleRecord, sections: Sequence[SectionRecord], sentences: Sequence[Sentence]) -> Article:
    """Return a stored article with its sentences by section and paragraph, in page order."""
    paragraphs: dict[int, list[Paragraph]] = {}
    for (section, _), found in groupby(sentences, key=lambda s: (s.section, s.paragraph)):
        paragraphs.setdefault(section, []).append(Paragraph("", tuple(s.text for s in found)))
    whole = tuple(Section(s.title, s.level, tuple(paragraphs.get(s.position, ())), s.path) for s in sections)
    return Article(about.title, whole, about.url, about.source, about.topic, about.part)


def to_line(article: Article) -> bytes:
    """Return one line of JSON with non-ASCII characters escaped."""
    sections = [
        {"title": s.title, "level": s.level, "path": s.path, "paragraphs": [p.sentences for p in s.paragraphs]}
        for s in article.sections
    ]
    facts = {name: getattr(article, name) for name in ("title", "url", "source", "topic", "part")}
    return (json.dumps({**facts, "sections": sections}) + "\n").encode("ascii")


def from_lines(lines: Iterable[str], path: Path) -> Iterator[Article]:
    """Yield the articles that :func:`to_line` wrote.

    Raises
    ------
    ReadError
        If a line is not such an article.
    """
    for number, line in enumerate(lines, 1):
        try:
            yield _article(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            problem = "this line is not an article of a bundle."
            raise ReadError(path, problem, f"articles, line {number:,}", "Export it again.") from None


def _article(entry: Any) -> Article:
    facts = {name: _text(entry[name]) for name in ("title", "url", "source", "topic", "part")}
    if facts["part"] not in PARTS:
        raise ValueError(facts["part"])
    return Article(sections=tuple(_section(section) for section in entry["sections"]), **facts)


def _section(entry: Any) -> Section:
    paragraphs = tuple(Paragraph("", tuple(_text(s) for s in _list(found))) for found in _list(entry["paragraphs"]))
    level = entry["level"]
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= 1_000:
        raise ValueError(level)
    return Section(_text(entry["title"]), level, paragraphs, tuple(_text(p) for p in _list(entry["path"])))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value
