"""Plain text without headings: one article with one section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.config import Config, option
from core.protocols import Report
from core.readers.outline import Outline, title_of
from core.readers.streams import FileHead, check_article, lines
from core.types import Article

SAMPLE = b"""\
Ada is a town.
It is old.

It was founded in 1200.

Then it grew.
"""
"""A tiny file in this format."""


@dataclass(frozen=True)
class PlainConfig(Config):
    """Settings of the reader."""

    paragraphs: str = option(
        "block",
        "What a paragraph is: the lines between two blank ones, or every line.",
        choices=("block", "line"),
    )


class Plain:
    """Reads a text as one article named after its file."""

    def __init__(self, config: PlainConfig) -> None:
        self.config = config
        self._skipped: Counter[str] = Counter()

    @property
    def skipped(self) -> dict[str, int]:
        """A file without text."""
        return dict(self._skipped)

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield the article."""
        self._skipped.clear()
        outline = Outline(title_of(path.name), source=path.name)
        block: list[str] = []
        size = 0
        for number, line in lines(path, report):
            size += len(line)
            check_article(path, size, f"line {number:,}")
            line = line.strip()
            if line:
                block.append(line)
            if block and (not line or self.config.paragraphs == "line"):
                outline.paragraph(" ".join(block))
                block.clear()
        outline.paragraph(" ".join(block))
        article = outline.article()
        if article is None:
            self._skipped["no text"] += 1
        else:
            yield article


def recognises(head: FileHead) -> bool:
    """Accept every text."""
    return True
