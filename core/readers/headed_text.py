"""Text with ``= Heading =`` lines: one equals sign on each side for a title, two for a section, and so on.

Also in the spaced form of WikiText-103, ``= = Career = =``. Every title starts an article; text before the first one
belongs to an article named after the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.config import Config, option
from core.protocols import Report
from core.readers.outline import Outline, title_of
from core.readers.streams import FileHead, check_article, lines
from core.types import Article

_ITEM = re.compile(r"\s*(?:[*#•–-]|\d{1,3}[.)])\s+")

SAMPLE = b"""\
= Ada =
Ada is a town. It is old.
== History ==
=== Early days ===
It was founded in 1200.
Then it grew.
= Bea =
Bea is a person.
= Empty =
"""
"""A tiny file in this format."""


@dataclass(frozen=True)
class HeadedTextConfig(Config):
    """Settings of the reader."""

    paragraphs: str = option(
        "line",
        "What a paragraph is: every line, or the lines between two blank ones (for texts wrapped by hand).",
        choices=("line", "block"),
    )
    keep_lists: bool = option(False, "Make every list item a paragraph; without it, lists are left out.")


class HeadedText:
    """Streams articles out of a text with heading lines."""

    def __init__(self, config: HeadedTextConfig) -> None:
        self.config = config
        self._skipped: Counter[str] = Counter()

    @property
    def skipped(self) -> dict[str, int]:
        """Numbers of articles without a paragraph and of omitted list items."""
        return dict(self._skipped)

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield articles in file order; memory holds one of them."""
        self._skipped.clear()
        outline = Outline(title_of(path.name), source=path.name)
        named = False
        block: list[str] = []
        size = 0
        for number, line in lines(path, report):
            size += len(line)
            check_article(path, size, f"line {number:,}")
            heading = heading_of(line)
            if heading is None:
                self._take(line, block, outline)
                continue
            self._take("", block, outline)
            title, level = heading
            if level > 1:
                outline.heading(title, level)
                continue
            yield from self._closed(outline, named)
            outline, named, size = Outline(title, source=path.name), True, 0
        self._take("", block, outline)
        yield from self._closed(outline, True)

    def _take(self, line: str, block: list[str], outline: Outline) -> None:
        """Add a line to the block of lines under way, or end the block; "" always ends it."""
        item = _ITEM.match(line)
        if line.strip() and not item:
            block.append(line.strip())
            if self.config.paragraphs == "block":
                return
        if block:
            outline.paragraph(" ".join(block))
            block.clear()
        if item and self.config.keep_lists:
            outline.paragraph(line[item.end() :])
        elif item:
            self._skipped["list item"] += 1

    def _closed(self, outline: Outline, named: bool) -> Iterator[Article]:
        article = outline.article()
        if article is not None:
            yield article
        elif named:
            self._skipped["no text"] += 1


def heading_of(line: str) -> tuple[str, int] | None:
    """Title and level of a heading line, or None."""
    stripped = line.strip()
    if not (stripped.startswith("=") and stripped.endswith("=") and len(stripped) < 1000):
        return None
    left = len(stripped) - len(stripped.lstrip("= "))
    right = len(stripped) - len(stripped.rstrip("= "))
    title = stripped[left : len(stripped) - right]
    level = stripped[:left].count("=")
    if not title or level != stripped[len(stripped) - right :].count("=") or level > 10:
        return None
    return title, level


def recognises(head: FileHead) -> bool:
    """Return whether some line is a heading."""
    return any(heading_of(line) for line in head.text.splitlines())
