"""Plain text: paragraphs of lines, one text per line, or with ``= Heading =`` lines.

A heading line has one equals sign on each side for a title, two for a section, and so on, also in the spaced form of
WikiText-103, ``= = Career = =``. Every title starts an article; text before the first title belongs to an article named
after the file, as does a text without headings.

Whether a line of a text without headings is a paragraph of its own, or part of one that was wrapped, is found from all
lines: wrapped ones go on in small letters, or are all about as long as the longest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path

from themescope.core.config import Config, option
from themescope.core.readers.blocks import BaseReader, Outline, title_of
from themescope.core.readers.streams import ENCODINGS, FileHead, check_article, encoding_of, lines
from themescope.core.text.cleaning import UNSPACED
from themescope.core.types import SILENT, Article, ReadAccount, Report

BLOCK, LINE = "block", "line"
_ITEM = re.compile(r"\s*(?:[*#•–-]|\d{1,3}[.)])\s+")
_ENDS = re.compile("[\u0085\u2028\u2029\v]")
"""Ends of lines besides those of files."""
_SENTENCE = re.compile(r"[.!?…。！？।]['\"”’»」)]*(?:\s|$)")
_STOPS = '.!?…:;"”’»」』)。！？।؟۔։။'
_UNSPACED, _ENDING = re.compile(UNSPACED), re.compile("[。！？]")
_HEADING = re.compile(r"(?:(?:\d{1,2}\.)+\d{0,2}|[IVX]{1,5}\.)\s+\S|[^a-z]*[A-Z][^a-z]*$")
_PAGE_NUMBER = re.compile(r"\W*(?:page|seite|p\.|s\.)?\W*\d{1,4}(?:\s*(?:/|of|von)\s*\d{1,4})?\W*", re.IGNORECASE)
_TURN = re.compile(r"[\[(]?\d{1,2}:\d\d|\W{0,2}[A-Z\d][\w.]{0,20}(?: [A-Z\d][\w.]{0,20})?:\s")
"""The beginning of a turn of a conversation: a time, or the name of a speaker."""
_GUTENBERG = re.compile(r"\s*\*{3} ?START OF .*PROJECT GUTENBERG", re.IGNORECASE)
_GUTENBERG_END = re.compile(
    r"\s*(?:\*{3} ?END OF .*PROJECT GUTENBERG|End of (?:the )?Project Gutenberg)", re.IGNORECASE
)
_JUDGED = 2_000
_WRAPPED, _GOING_ON = 0.4, 0.15
_FULL = 0.85
_LONGEST_HEADING = 70

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
class TextConfig(Config):
    """Settings of readers of text."""

    encoding: str = option("", "Encoding of the text; empty: found from its bytes.", choices=("", *ENCODINGS))


@dataclass(frozen=True)
class HeadedTextConfig(TextConfig):
    """Settings of the reader."""

    paragraphs: str = option(
        LINE,
        "Definition of a paragraph: line takes every line, block the lines between blank lines (for wrapped text).",
        choices=(LINE, BLOCK),
    )
    keep_lists: bool = option(False, "Keep every list item as a paragraph; otherwise lists are skipped.")


class HeadedText(BaseReader[HeadedTextConfig]):
    """Reader of the articles of a text with heading lines."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield articles in file order, one at a time in memory."""
        self.account.clear()
        outline = Outline(title_of(path.name), source=path.name)
        named = False
        block: list[str] = []
        size = 0
        for number, line in text_lines(path, report, self.config.encoding, self.account):
            size += len(line)
            check_article(path, size, f"line {number:,}")
            heading, item = heading_of(line), _ITEM.match(line)
            if heading is None and line.strip() and not item:
                block.append(line.strip())
                if self.config.paragraphs == BLOCK:
                    continue
            self._end(block, outline)
            if heading is None:
                if item and self.config.keep_lists:
                    outline.paragraph(line[item.end() :])
                elif item:
                    self.account.skip("list item", f"line {number:,}", line.strip())
                continue
            title, level = heading
            if level > 1:
                outline.heading(title, level)
                continue
            yield from self._finished(outline, named)
            outline, named, size = Outline(title, source=path.name), True, 0
        self._end(block, outline)
        yield from self._finished(outline)

    def _end(self, block: list[str], outline: Outline) -> None:
        outline.paragraph(joined(block, self.account))
        block.clear()


def text_lines(path: Path, report: Report, encoding: str, account: ReadAccount) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text, numbered from 1, in the chosen or found encoding; page breaks stay in them.

    The licence around a book of Project Gutenberg is listed as left out.
    """
    found = encoding_of(path, encoding)
    if found != "utf-8":
        account.notes["encoding"] = found
    split = ((number, part) for number, line in lines(path, report, found) for part in _ENDS.split(line))
    first = list(islice(split, _JUDGED))
    begin = 1 + next((at for at, (_, line) in enumerate(first) if _GUTENBERG.match(line)), -1)
    outside = first[:begin]
    for number, line in chain(first[begin:], split):
        if begin and (_GUTENBERG_END.match(line) or len(outside) > begin):
            outside.append((number, line))
        else:
            yield number, line
    for part in filter(None, (outside[:begin], outside[begin:])):
        text = " ".join(line.strip() for _, line in part if line.strip())
        account.skip("licence of Project Gutenberg", f"lines {part[0][0]:,} to {part[-1][0]:,}", text)


def text_of(path: Path, report: Report, encoding: str, account: ReadAccount) -> str:
    """Return the text of :func:`text_lines`. Raises :class:`ReadError` if it is too long for an article."""
    found, size = [], 0
    for number, line in text_lines(path, report, encoding, account):
        size += len(line)
        check_article(path, size, f"line {number:,}")
        found.append(line)
    return "\n".join(found)


def joined(block: Sequence[str], account: ReadAccount) -> str:
    """Return the text of wrapped lines: without spaces where a script has none, words divided by a hyphen whole."""
    text = ""
    for line in block:
        if not text:
            text = line
        elif text[-1] == "\u00ad" or (text[-1] in "-‐" and text[-2:-1].isalpha() and line[:1].islower()):
            account.change("word joined over the end of a line")
            text = text[:-1] + line
        elif _UNSPACED.match(text[-1]) and _UNSPACED.match(line[:1]):
            text += line
        else:
            text += " " + line
    return text


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


def recognises_headed(head: FileHead) -> bool:
    """Return whether any line is a heading."""
    return any(heading_of(line) for line in head.text.splitlines())


PLAIN_SAMPLE = b"""\
Ada is a town.
It is old.

It was founded in 1200,
then it grew.
"""


@dataclass(frozen=True)
class PlainConfig(TextConfig):
    """Settings of the reader."""

    paragraphs: str = option(
        "",
        "Definition of a paragraph: block takes the lines between blank lines, line takes every line; empty: found.",
        choices=("", BLOCK, LINE),
    )


class Plain(BaseReader[PlainConfig]):
    """Reader of a text without headings as one article named after its file."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield the article."""
        self.account.clear()
        encoding, account = self.config.encoding, self.account
        sample = [line for _, line in islice(text_lines(path, SILENT, encoding, ReadAccount()), _JUDGED)]
        mode = self.config.paragraphs or paragraphs_of(sample)
        if mode == LINE:
            account.notes["paragraphs"] = LINE
        headings = _has_short_headings(sample)
        outline = Outline(title_of(path.name), source=path.name)
        block: list[str] = []
        size = 0
        found = text_lines(path, report, encoding, account)
        if any("\f" in line for line in sample):
            found = _without_page_marks(found, _running_heads(sample), account)
        for number, line in found:
            size += len(line)
            check_article(path, size, f"line {number:,}")
            text = line.strip()
            if len(text) > 2 and not any(map(str.isalnum, text)) and len(set(text)) < 3:
                account.skip("line of signs", f"line {number:,}", text)
                text = ""
            heading = headings and bool(text) and _is_heading(text)
            if not text or mode == LINE or _ITEM.match(line) or heading:
                outline.paragraph(joined(block, account))
                block = [text] if text and not heading else []
                if heading:
                    outline.heading(text, 2)
            else:
                block.append(text)
        outline.paragraph(joined(block, account))
        yield from self._finished(outline)


def paragraphs_of(sample: Sequence[str]) -> str:
    """Return "line" if the lines of a text are paragraphs of their own, "block" if they are wrapped.

    A line was wrapped if the first word of the next one had no place in it. Where a person broke the lines, sentences
    go on in small letters.
    """
    filled = [line.strip() for line in sample]
    pairs = [(one, two) for one, two in pairwise(filled) if one and two]
    if not pairs:
        return BLOCK
    if 2 * sum(bool(_TURN.match(line)) for line in filled) >= sum(map(bool, filled)):
        return LINE
    lengths = sorted(filter(None, map(len, filled)))
    longest = lengths[-1]
    even = len(lengths) > 2 and lengths[-2] >= _FULL * longest
    prose = sum(bool(_SENTENCE.search(line)) for line in filled) >= 0.3 * len(lengths)
    wrapped, going_on, sentences = 0, 0, any(map(_ENDING.search, filled))
    for one, two in pairs:
        ends = one[-1] in _STOPS
        unspaced = _UNSPACED.match(two)
        word = 1 if unspaced else 1 + len(two.split(maxsplit=1)[0])
        wrapped += even and not ends and len(one) + word > longest and bool(sentences or not unspaced)
        going_on += (prose or one[-1] in ",-‐\u00ad") and not ends and two[0].islower()
    return BLOCK if wrapped >= _WRAPPED * len(pairs) or going_on >= _GOING_ON * len(pairs) else LINE


def _is_heading(text: str) -> bool:
    return len(text) <= _LONGEST_HEADING and text[-1] not in ".!?,;" and bool(_HEADING.match(text))


def _has_short_headings(sample: Sequence[str]) -> bool:
    """Return whether there are headings without a blank line below them: each stands above a sentence."""
    filled = [line.strip() for line in sample if line.strip()]
    below = [two for one, two in pairwise([*filled, ""]) if _is_heading(one)]
    return bool(below) and all(two and not _is_heading(two) and _SENTENCE.search(two) for two in below)


def _running_heads(sample: Sequence[str]) -> frozenset[str]:
    """Return the lines, without digits, that stand at the top or bottom of several pages."""
    pages = "\n".join(sample).split("\f")
    ends: Counter[str] = Counter()
    for page in pages:
        filled = [line.strip() for line in page.split("\n") if line.strip()]
        ends.update({_without_digits(line) for line in [*filled[:2], *filled[-2:]] if line[-1] not in _STOPS})
    return frozenset(line for line, n in ends.items() if n >= 3 and 2 * n >= len(pages))


def _without_digits(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def _without_page_marks(
    found: Iterable[tuple[int, str]], heads: frozenset[str], account: ReadAccount
) -> Iterator[tuple[int, str]]:
    """Yield the lines without page numbers and running heads; a sentence may go on on the next page."""

    def body(page: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        for place in (0, -1):
            while page and (
                not (text := page[place][1].strip()) or _PAGE_NUMBER.fullmatch(text) or _without_digits(text) in heads
            ):
                number, _ = page.pop(place)
                if text:
                    account.skip("page number or running head", f"line {number:,}", text)
        yield from page
        if page and page[-1][1].rstrip()[-1] in _STOPS:
            yield page[-1][0], ""

    page: list[tuple[int, str]] = []
    for number, line in found:
        first, *others = line.split("\f")
        page.append((number, first))
        for other in others:
            yield from body(page)
            page = [(number, other)]
    yield from body(page)


def recognises_plain(head: FileHead) -> bool:
    """Accept every text."""
    return True
