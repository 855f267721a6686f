"""Plain text, without headings or with ``= Heading =`` lines.

A heading has one equals sign on each side for a title, two for a section, and so on, also in the spaced form of
WikiText-103, ``= = Career = =``. Every title starts an article; text before the first title belongs to an article named
after the file, as does a text without headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from themescope.core.config import Config, option
from themescope.core.protocols import Report
from themescope.core.readers.outline import BaseReader, Outline, title_of
from themescope.core.readers.streams import FileHead, check_article, lines
from themescope.core.types import Article

_ITEM = re.compile(r"\s*(?:[*#•–-]|\d{1,3}[.)])\s+")

HEADED_SAMPLE = b"""\
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


@dataclass(frozen=True)
class HeadedTextConfig(Config):
    """Settings of the reader."""

    paragraphs: str = option(
        "line",
        "Definition of a paragraph: line takes every line, block the lines between blank lines (for wrapped text).",
        choices=("line", "block"),
    )
    keep_lists: bool = option(False, "Keep every list item as a paragraph; otherwise lists are skipped.")


class HeadedText(BaseReader):
    """Reader of the articles of a text with heading lines."""

    config: HeadedTextConfig
    _headings = True
    """Whether the text has headings and lists."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield articles in file order, one at a time in memory."""
        self.account.clear()
        outline = Outline(title_of(path.name), source=path.name)
        named = False
        block: list[str] = []
        size = 0
        for number, line in lines(path, report):
            size += len(line)
            check_article(path, size, f"line {number:,}")
            heading = heading_of(line) if self._headings else None
            if heading is None:
                self._take(line, block, outline)
                continue
            self._take("", block, outline)
            title, level = heading
            if level > 1:
                outline.heading(title, level)
                continue
            yield from self._finished(outline, named)
            outline, named, size = Outline(title, source=path.name), True, 0
        self._take("", block, outline)
        yield from self._finished(outline)

    def _take(self, line: str, block: list[str], outline: Outline) -> None:
        """Add a line to the current block, or end the block; "" always ends it."""
        item = _ITEM.match(line) if self._headings else None
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
            self.account.skip("list item")


def heading_of(line: str) -> tuple[str, int] | None:
    """Return title and level of a heading line, or None."""
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


def has_headings(head: FileHead) -> bool:
    """Return whether any line is a heading."""
    return any(heading_of(line) for line in head.text.splitlines())


PLAIN_SAMPLE = b"""\
Ada is a town.
It is old.

It was founded in 1200.

Then it grew.
"""


@dataclass(frozen=True)
class PlainConfig(Config):
    """Settings of the reader."""

    paragraphs: str = option(
        "block",
        "Definition of a paragraph: block takes the lines between blank lines, line takes every line.",
        choices=("block", "line"),
    )


class Plain(HeadedText):
    """Reader of a text without headings as one article named after its file."""

    _headings = False


def is_text(head: FileHead) -> bool:
    """Accept every text."""
    return True
