"""Base class of readers, and the builder of an article from a stream of headings and paragraphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from themescope.core.protocols import Report
from themescope.core.readers.account import ReadAccount
from themescope.core.types import Article, Paragraph, ReadEntry, Section


class Outline:
    """Builder of an article: flat sections in page order, each with the path of headings above it.

    Text before the first heading becomes the lead (level 1, empty title). Blank paragraphs are ignored.
    """

    def __init__(self, title: str, url: str = "", source: str = "", topic: str = "", part: str = "") -> None:
        self.title, self._url, self._source = title, url, source
        self._topic, self._part = topic, part
        self._sections: list[Section] = []
        self._above: list[tuple[int, str]] = []
        self._title, self._level = "", 1
        self._paragraphs: list[Paragraph] = []
        self.headings: list[str] = []
        """Every heading so far."""

    def heading(self, title: str, level: int) -> None:
        """Open a section; ``level`` is 2 for a top-level heading, as in HTML and wikis where 1 is the title."""
        self._close()
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        self._above.append((level, title))
        self.headings.append(title)
        self._title, self._level = title, level

    def paragraph(self, text: str, sentences: tuple[str, ...] = ()) -> None:
        """Add a paragraph to the open section."""
        text = text.strip()
        if text:
            self._paragraphs.append(Paragraph(text, sentences))

    def _close(self) -> None:
        path = tuple(title for _, title in self._above)
        if path or self._paragraphs:
            self._sections.append(Section(self._title, self._level, tuple(self._paragraphs), path))
        self._paragraphs = []

    def sections(self) -> tuple[Section, ...]:
        """Close the outline and return every section."""
        self._close()
        self._above = []
        return tuple(self._sections)

    def article(self) -> Article | None:
        """Close the outline and return the article, or None if no section has a paragraph."""
        sections = self.sections()
        if not any(section.paragraphs for section in sections):
            return None
        return Article(self.title, sections, self._url, self._source, self._topic, self._part)


class BaseReader:
    """Base of readers: the config, and the account of what is left out."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.account = ReadAccount()
        """What was left out or changed."""

    @property
    def skipped(self) -> dict[str, int]:
        """Numbers of skipped entries by reason."""
        return dict(self.account.skipped)

    def _finished(self, outline: Outline, counted: bool = True) -> Iterator[Article]:
        """Yield the article of ``outline``; without text, list its headings if there are any, or if ``counted``."""
        article = outline.article()
        if article is not None:
            yield article
        elif counted or outline.headings:
            self.account.skip("no text", outline.title, " ".join([outline.title, *outline.headings]))


class BasePiecewiseReader(BaseReader, ABC):
    """Base of readers whose articles can be parsed one by one, see ``core.protocols.PiecewiseReader``."""

    @abstractmethod
    def pieces(self, path: Path, report: Report) -> Iterator[tuple[Any, int]]:
        """Yield one piece per article or skipped entry, and its size in characters."""

    @abstractmethod
    def parse(self, path: Path, piece: Any) -> Article | str:
        """Return the article of a piece, or the reason to skip it, which the caller counts."""

    def _without_text(self, outline: Outline, place: str) -> str:
        """List the headings of a piece without text, and return the reason to skip it."""
        reason = "no text"
        self.account.entries.append(ReadEntry(False, reason, place, " ".join([outline.title, *outline.headings])))
        return reason

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield the articles of a file in order."""
        self.account.clear()
        for piece, _ in self.pieces(path, report):
            found = self.parse(path, piece)
            if isinstance(found, Article):
                yield found
            else:
                self.account.skip(found)


def title_of(name: str) -> str:
    """Return a title from a file name: without its suffixes, with spaces for underscores."""
    stem = name
    for ending in (".gz", ".bz2", ".xz"):
        stem = stem.removesuffix(ending)
    before, dot, _ = stem.rpartition(".")
    return (before if dot and before else stem).replace("_", " ").strip() or name
