"""Builder of an article from a stream of headings and paragraphs."""

from __future__ import annotations

from core.types import Article, Paragraph, Section


class Outline:
    """Collects an article: flat sections in page order, each with the path of headings above it.

    Text before the first heading becomes the lead (level 1, empty title). Blank paragraphs are ignored.
    """

    def __init__(self, title: str, url: str = "", source: str = "", topic: str = "", part: str = "") -> None:
        self.title, self._url, self._source = title, url, source
        self._topic, self._part = topic, part
        self._sections: list[Section] = []
        self._above: list[tuple[int, str]] = []
        self._title, self._level = "", 1
        self._paragraphs: list[Paragraph] = []

    def heading(self, title: str, level: int) -> None:
        """Open a section; ``level`` is 2 for a top-level heading, as in HTML and wikis where 1 is the title."""
        self._close()
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        self._above.append((level, title))
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
        """Close the outline: every section."""
        self._close()
        self._above = []
        return tuple(self._sections)

    def article(self) -> Article | None:
        """Close the outline: the article, or None when no section has a paragraph."""
        sections = self.sections()
        if not any(section.paragraphs for section in sections):
            return None
        return Article(self.title, sections, self._url, self._source, self._topic, self._part)


def title_of(name: str) -> str:
    """Make a title of a file name: without its endings, underscores read as spaces."""
    stem = name
    for ending in (".gz", ".bz2", ".xz"):
        stem = stem.removesuffix(ending)
    before, dot, _ = stem.rpartition(".")
    return (before if dot and before else stem).replace("_", " ").strip() or name
