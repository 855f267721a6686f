"""HTML pages: the text under each heading."""

from __future__ import annotations

import codecs
import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import regex  # type: ignore[import-untyped]

from themescope.core.config import option
from themescope.core.errors import ReadError
from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind
from themescope.core.readers.streams import ENCODINGS, FileHead, encoding_of, head, whole_text
from themescope.core.types import Report

# Tags and text of HTML pages, found in time linear in the length of the page

_SPACE = r" \t\n\r\f"
# An attribute value without its closing quotation mark matches nothing, so that the tag ends with the file.
_VALUE = rf"""(?:"[^"]*+"|'[^']*+'|[^{_SPACE}>"'][^{_SPACE}>]*+|(?=>))"""
_TAG = regex.compile(
    rf"""<(/?)([a-zA-Z][^{_SPACE}/>]*+)
    ((?:
        (/)(?=>)
      | [{_SPACE}/]
      | [^{_SPACE}/>][^{_SPACE}/>=]*+ (?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE} | (?![{_SPACE}]*+=))
    )*+)>""",
    regex.VERBOSE,
)
_TAG_START = regex.compile("</?[a-zA-Z]")
_ATTRIBUTE = regex.compile(
    rf"""([^{_SPACE}/>][^{_SPACE}/>=]*+)(?:[{_SPACE}]*+=[{_SPACE}]*+(?:"([^"]*+)"|'([^']*+)'|([^{_SPACE}>"'][^{_SPACE}>]*+)))?+"""
)
_COMMENT = regex.compile("<!--(?:-?>|.*?--!?>)", regex.DOTALL)
_LONG_NUMBER = regex.compile(r"&#0*+([1-9][0-9]{7,});?")
_ZEROS = regex.compile(r"(?<=&#)0++(?=[0-9])")

_RAW_TEXT = frozenset(["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"])
"""Elements whose content has no tags (standard, section 13.2.6.4.4 and later)."""
_RAW_END = {name: regex.compile(rf"</{name}(?=[{_SPACE}/>])", regex.IGNORECASE) for name in _RAW_TEXT}


@dataclass(frozen=True, slots=True)
class Tag:
    """A start or end tag."""

    name: str
    """The name in lower case."""
    closing: bool = False
    """True for an end tag."""
    self_closing: bool = False
    """True for a start tag that ends with ``/>``."""
    source: str = ""
    """The attributes as written."""

    def attribute(self, name: str) -> str:
        """Return the value of the first attribute of this name, "" if there is none."""
        if name not in self.source.lower():
            return ""
        found = next((m for m in _ATTRIBUTE.finditer(self.source) if m[1].lower() == name), None)
        return unescape(found[2] or found[3] or found[4] or "") if found else ""

    def has(self, name: str) -> bool:
        """Return whether there is an attribute of this name, with or without a value."""
        return name in self.source.lower() and any(m[1].lower() == name for m in _ATTRIBUTE.finditer(self.source))


def tokens(text: str) -> Iterator[Tag | str]:
    """Yield tags and pieces of text, with their character references replaced; comments are left out.

    Markup that is not closed ends with the file, as in the standard, and yields nothing.
    """
    at = 0
    while 0 <= at < len(text):
        mark = text.find("<", at)
        if mark != at:
            yield unescape(text[at:mark] if mark > 0 else text[at:])
        if mark < 0:
            return
        found = _TAG.match(text, mark)
        if found is not None:
            closing, name, source, slash = found.groups()
            name, at = name.lower(), found.end()
            yield Tag(name, bool(closing), bool(slash), source)
            if name in _RAW_TEXT and not (closing or slash):
                end = _RAW_END[name].search(text, at)
                yield unescape(text[at : end.start()] if end else text[at:])
                at = end.start() if end else -1
        elif _TAG_START.match(text, mark):
            return
        elif text.startswith("<!--", mark):
            comment = _COMMENT.match(text, mark)
            at = comment.end() if comment else -1
        elif text.startswith(("<!", "<?", "</"), mark):
            at = text.find(">", mark) + 1 or -1
        else:
            yield "<"
            at = mark + 1


def unescape(text: str) -> str:
    """Return the text without character references, also of numbers that Python refuses to convert (4,300 digits)."""
    if "&" not in text:
        return text
    if "&#" in text:
        text = _LONG_NUMBER.sub("\ufffd", _ZEROS.sub("", text))
    return html.unescape(text)


_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "dl", "menu"))
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_NO_TEXT = frozenset(["script", "style", "template"])
"""Elements whose content is no text of the page."""
_DROPPED = {
    "noscript": "text for browsers without scripts", "nav": "navigation", "header": "page header",
    "footer": "page footer", "aside": "aside", "figure": "figure", "figcaption": "figure", "svg": "picture",
    "math": "formula", "button": "form field", "select": "form field", "textarea": "form field",
    **dict.fromkeys(("iframe", "object", "audio", "video", "canvas"), "embedded content"),
    "table": Kind.TABLE, "pre": Kind.PREFORMATTED,
}  # fmt: skip
"""Elements without running text, and what they are called where they are listed."""
_DROPPED_CLASSES = {
    "reference": "reference", "reflist": "reference", "mw-editsection": "edit link", "hatnote": "hatnote",
    "noprint": "navigation", "navbox": "navigation", "toc": "table of contents", "infobox": "infobox",
    "thumb": "figure", "gmail_quote": "quoted reply", "moz-cite-prefix": "quoted reply",
    "gmail_signature": "signature", "moz-signature": "signature",
}  # fmt: skip
PAGE_TITLE = "page title"
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_INLINE = frozenset([
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time",
    "tt", "u", "var", "wbr", "img",
])  # fmt: skip
_BREAK = "\v"
"""A line break in collected text."""
_BREAKS = regex.compile(r"\v(?:[^\S\v]*+\v)++\s*+")
_BLANK_LINE = regex.compile(r"\v[^\S\v]*+\v\s*+|\n[^\S\n]*+\n\s*+")

# Possessive, because "re" tries every way to divide a run of comments before it fails.
_HTML = regex.compile(
    r"(?:<\?xml[^>]*+>\s*+)?+(?:<!--(?>.*?-->)\s*+)*+"
    r"<(?:!doctype\s+html|html|head|body|title|h[1-6]|p|div|article)\b",
    regex.IGNORECASE | regex.DOTALL,
)

SAMPLE = b"""\
<!DOCTYPE html>
<html><head><title>Ada - Site</title></head><body>
<nav>Menu</nav>
<h1>Ada</h1><p>Ada is a <b>town</b>.<br>It is old.</p>
<h2>History</h2><h3>Early days</h3><p>It was founded in 1200.<p>Then it grew.
<ul><li>item</ul>
</body></html>
"""


@dataclass(frozen=True)
class HtmlConfig(DocumentConfig):
    """Settings of the reader."""

    keep_lists: bool = option(False, "Keep every list item as a paragraph; otherwise lists are skipped.")
    encoding: str = option(
        "", "Encoding of the text; empty: declared, or found from its bytes.", choices=("", *ENCODINGS)
    )


class Html(DocumentReader[HtmlConfig]):
    """Reader of a page as one article, titled by its first h1, its title, or the file name."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the page."""
        encoding = self.config.encoding or _encoding(path)
        if encoding not in ("utf-8", _declared_encoding(head(path, 4096))):
            self.account.notes["encoding"] = encoding
        yield page_of(whole_text(path, report, encoding))


def page_of(text: str) -> Document:
    """Return the blocks of the text of a page, under its title."""
    found = html_blocks(text)
    if any(block.kind == Kind.TITLE for block in found):
        return Document("", found)
    title = next((block for block in found if block.kind == PAGE_TITLE), None)
    rest = [block for block in found if block is not title]
    return Document(" ".join(title.text.split()) if title else "", rest)


def html_blocks(text: str) -> list[Block]:
    """Return the blocks of a page, or of a piece of one."""
    page = _Page()
    for token in tokens(text):
        if isinstance(token, str):
            page.add_text(token)
        elif token.closing:
            page.end(token.name)
        else:
            page.begin(token)
    page.finish()
    return page.blocks


def _encoding(path: Path) -> str:
    """Return the encoding of a page. UTF-8 is recognised whatever it declares; browsers change it when they save."""
    declared = _declared_encoding(head(path, 4096))
    if declared.startswith(("iso2022", "hz", "utf_7", "utf-7")):  # text in these encodings looks like ASCII
        return declared
    try:
        found = encoding_of(path)
    except ReadError:
        if declared:
            return declared
        raise
    return found if found.startswith("utf-") or not declared else declared


def _declared_encoding(beginning: bytes) -> str:
    """Return the text encoding declared by a page, if Python supports it."""
    found = _CHARSET.search(beginning)
    if not found:
        return ""
    try:
        known = codecs.lookup(found.group(1).decode("ascii"))
        b"a".decode(known.name)
    except (LookupError, ValueError):
        return ""
    # A declaration that could be read as ASCII cannot be UTF-16, whatever it declares (HTML standard, 13.2.3.2).
    return "utf-8" if known.name.startswith(("utf-16", "utf-32")) else known.name


class _Page:
    """State of a page while its tokens are read; the text of elements without running text is collected apart."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._open: list[str] = []  # elements inside a dropped one
        self._counts: Counter[str] = Counter()  # of their names
        self._reason = ""
        self._pieces: list[str] = []
        self._aside: list[str] = []  # text of a dropped element
        self._cells: list[Block] = []
        self._level = self._lists = self._aside_level = 0
        self._tables = self._rows = 0
        self._titled = False

    def begin(self, tag: Tag) -> None:
        """Begin an element. One that is written as ``<p/>`` also ends here, as in XHTML."""
        if tag.name == "br":
            (self._aside if self._open else self._pieces).append(_BREAK)
        if tag.name == "hr" and not self._open:
            self.end_block()
        if tag.name in _VOID or (tag.self_closing and self._open):
            return
        if self._open:
            self._open_inside(tag.name)
            if self._reason in (Kind.TABLE, "page header") and tag.name not in _INLINE:
                self._end_cell()
                self._rows += tag.name == "tr" and self._counts["table"] == 1
                self._aside_level = _HEADINGS.get(tag.name, self._aside_level)
            return
        reason = self._reason_to_drop(tag)
        if reason is not None:
            if not tag.self_closing:
                if tag.name not in _INLINE and reason:
                    self.end_block()
                self._open_inside(tag.name)
                self._reason, self._cells, self._rows = reason, [], 0
                self._tables += reason == Kind.TABLE
            return
        if tag.name not in _INLINE:
            self.end_block()
        self._lists += tag.name in _LISTS
        self._level = _HEADINGS.get(tag.name, self._level)
        if tag.self_closing:
            self.end(tag.name)

    def _open_inside(self, name: str) -> None:
        self._open.append(name)
        self._counts[name] += 1

    @staticmethod
    def _reason_to_drop(tag: Tag) -> str | None:
        """Return how the text of an element is listed, "" if it is no text, None if it is running text."""
        if tag.name in _NO_TEXT:
            return ""
        if tag.source:
            if tag.has("hidden") or _HIDDEN.search(tag.attribute("style")):
                return "hidden text"
            if tag.name == "blockquote" and tag.attribute("type") == "cite":
                return "quoted reply"
            for name in tag.attribute("class").split():
                if name in _DROPPED_CLASSES:
                    return _DROPPED_CLASSES[name]
        return _DROPPED.get(tag.name)

    def end(self, tag: str) -> None:
        """End an element; closing tags without an opening one are ignored inside dropped elements."""
        if self._open:
            if self._counts[tag]:
                if self._reason in (Kind.TABLE, "page header") and tag not in _INLINE:
                    self._end_cell()
                while self._open:
                    last = self._open.pop()
                    self._counts[last] -= 1
                    if last == tag:
                        break
                if not self._open:
                    self._end_dropped(tag)
            return
        if tag == "title":
            self.blocks.append(Block(PAGE_TITLE, "".join(self._pieces)))
            self._pieces.clear()
        elif tag not in _INLINE:
            self.end_block()
        self._lists = max(self._lists - (tag in _LISTS), 0)

    def add_text(self, text: str) -> None:
        """Collect text between tags."""
        if not self._open:
            self._pieces.append(text.replace(_BREAK, " "))
        elif not any(self._counts[name] for name in _NO_TEXT):
            self._aside.append(text.replace(_BREAK, " "))

    def _end_cell(self) -> None:
        """Add the text of a cell, or of a part of a page header."""
        text, self._aside = "".join(self._aside), []
        level, self._aside_level = self._aside_level, 0
        if self._reason == Kind.TABLE and text.strip():
            place = f"table {self._tables}, row {max(self._rows, 1)}"
            self._cells += [Block(Kind.TABLE, part, level, place) for part in _BLANK_LINE.split(text)]
        elif text.strip():
            title = level == 1 and not self._titled
            self._titled |= title
            self.blocks.append(Block(Kind.TITLE if title else self._reason, text, level))

    def _end_dropped(self, tag: str) -> None:
        if self._reason == Kind.TABLE:
            self._end_cell()
            layout = any(cell.level for cell in self._cells)  # a page that is laid out by a table
            for cell in self._cells:
                if layout:
                    self._add(cell.text, cell.level)
                else:
                    self.blocks.append(cell)
            self._cells = []
            return
        text, self._aside = "".join(self._aside), []
        parts = _BLANK_LINE.split(text) if self._reason == Kind.PREFORMATTED else [text]
        self.blocks += [Block(self._reason, part) for part in parts]

    def end_block(self) -> None:
        """Add the text since the last block boundary."""
        text, level = "".join(self._pieces), self._level
        self._pieces, self._level = [], 0
        for part in _BREAKS.split(text) if _BREAK in text else [text]:
            self._add(part, level)

    def _add(self, text: str, level: int) -> None:
        if not text or text.isspace():
            return
        if level == 1 and not self._titled:
            self.blocks.append(Block(Kind.TITLE, text, 1))
            self._titled = True
        elif level:
            self.blocks.append(Block(Kind.HEADING, text, max(level - 1, 1)))
        else:
            self.blocks.append(Block(Kind.LIST if self._lists else Kind.PARAGRAPH, text))

    def finish(self) -> None:
        """Add the text of elements that are still open."""
        while self._open:
            self.end(self._open[0])
        self.end_block()


def recognises(head: FileHead) -> bool:
    """Return whether a file begins with an HTML element, as Markdown documents may, or with any and is named so."""
    if head.suffix in (".html", ".htm", ".xhtml") and head.text.startswith("<"):
        return True
    return head.suffix not in (".md", ".markdown") and bool(_HTML.match(head.text))
