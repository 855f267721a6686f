"""A page of wikitext, cleaned and cut at its headings."""

from __future__ import annotations

import re

from core.readers.outline import Outline
from core.readers.wikitext.links import Links, drop_addresses
from core.readers.wikitext.tags import drop_hidden, drop_tags
from core.readers.wikitext.templates import drop_templates
from core.readers.wikitext.tidy import tidy

_HEADING = re.compile(r"^(={1,6})(.+?)\1[ \t]*$", re.MULTILINE)
_LETTER = re.compile(r"[^\W\d_]")
_LIST = "*#:;"
_LEFTOVER = ("|", "!", "----")
_ITEM_MARKS = re.compile(r"[*#:;]+\s*")


def read_page(text: str, outline: Outline, links: Links, keep_lists: bool) -> None:
    """Put the running text of a page into ``outline``.

    A paragraph is a block of lines without a blank line in it. List items (also definitions and indented lines) are
    left out, or each become a paragraph with ``keep_lists``.
    """
    text = drop_templates(drop_hidden(text))
    text = drop_addresses(links.clean(text))
    text = drop_tags(text)
    start = 0
    for heading in _HEADING.finditer(text):
        _paragraphs(text[start : heading.start()], outline, keep_lists)
        title = tidy(heading.group(2).strip("= "))
        if title:
            outline.heading(title, max(len(heading.group(1)), 2))
        start = heading.end()
    _paragraphs(text[start:], outline, keep_lists)


def _paragraphs(text: str, outline: Outline, keep_lists: bool) -> None:
    block: list[str] = []
    for line in text.split("\n"):
        line = line.strip()
        if line and line[0] not in _LIST and not line.startswith(_LEFTOVER):
            block.append(line)
            continue
        if block:
            _add(" ".join(block), outline)
            block = []
        if keep_lists and line and line[0] in _LIST:
            _add(_ITEM_MARKS.sub("", line, count=1), outline)
    if block:
        _add(" ".join(block), outline)


def _add(text: str, outline: Outline) -> None:
    text = tidy(text)
    if _LETTER.search(text):
        outline.paragraph(text)
