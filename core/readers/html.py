"""HTML pages: the text under each heading.

Tags and text are found in time linear in the length of the page. The rules are those of the tokenizer in the HTML
Living Standard (section 13.2.5), without the states of a tree. The parser of Python's standard library is not used,
because its rules depend on the version of Python, and because it takes quadratic time for unclosed markup before Python
3.11.14, 3.12.12 and 3.13.6.
"""

from __future__ import annotations

import codecs
import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import regex  # type: ignore[import-untyped]

from themescope.core.config import Config, option
from themescope.core.protocols import Report
from themescope.core.readers.outline import BaseReader, Outline, title_of
from themescope.core.readers.streams import FileHead, head, whole_text
from themescope.core.types import Article

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
_COMMENT_END = regex.compile("--!?>")
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
        values = (m for m in _ATTRIBUTE.finditer(self.source) if m.group(1).lower() == name)
        found = next(values, None)
        return unescape(found.group(2) or found.group(3) or found.group(4) or "") if found else ""


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
        elif text.startswith(("<!", "<?", "</"), mark):
            at = _after_comment(text, mark)
        else:
            yield "<"
            at = mark + 1


def _after_comment(text: str, mark: int) -> int:
    """Return the position after a comment, a declaration or an instruction, -1 if it is not closed."""
    if not text.startswith("<!--", mark):
        return text.find(">", mark) + 1 or -1
    for empty in ("<!-->", "<!--->"):
        if text.startswith(empty, mark):
            return mark + len(empty)
    end = _COMMENT_END.search(text, mark + 4)
    return end.end() if end else -1


def unescape(text: str) -> str:
    """Return the text without character references, also of numbers that Python refuses to convert (4,300 digits)."""
    if "&" not in text:
        return text
    if "&#" in text:
        text = _LONG_NUMBER.sub("\ufffd", _ZEROS.sub("", text))
    return html.unescape(text)


# --- html -------------------------------------------------------------------------------------------------------------


_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "dl", "menu"))
_VOID = frozenset([
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
])  # fmt: skip
_DROPPED = frozenset([
    "script", "style", "noscript", "template", "nav", "header", "footer", "aside", "table", "figure", "figcaption",
    "svg", "math", "form", "button", "select", "textarea", "iframe", "object", "audio", "video", "canvas", "code",
    "pre",
])  # fmt: skip
_DROPPED_CLASSES = frozenset([
    "reference", "mw-editsection", "hatnote", "noprint", "navbox", "toc", "infobox", "thumb", "reflist",
])  # fmt: skip
_INLINE = frozenset([
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time",
    "tt", "u", "var", "wbr", "img",
])  # fmt: skip

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
class HtmlConfig(Config):
    """Settings of the reader."""

    keep_lists: bool = option(False, "Keep every list item as a paragraph; otherwise lists are skipped.")


class Html(BaseReader):
    """Reader of a page as one article, titled by its first h1, its title, or the file name."""

    config: HtmlConfig

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield the article."""
        self.account.clear()
        text = whole_text(path, report, _declared_encoding(head(path, 4096)))
        page = _Page(Outline("", source=path.name), self.config.keep_lists)
        for token in tokens(text):
            if isinstance(token, str):
                page.add_text(token)
            elif token.closing:
                page.end(token.name)
            else:
                page.begin(token)
        page.end_block()
        page.outline.title = page.heading or page.title or title_of(path.name)
        if page.list_items:
            self.account.skip("list item", n=page.list_items)
        yield from self._finished(page.outline)


def _declared_encoding(beginning: bytes) -> str:
    """Return the text encoding declared by a page, if Python supports it."""
    found = _CHARSET.search(beginning)
    if not found:
        return ""
    try:
        known = codecs.lookup(found.group(1).decode("ascii"))
        b"a".decode(known.name)
    except (LookupError, UnicodeError):
        return ""
    # A declaration that could be read as ASCII cannot be UTF-16, whatever it declares (HTML standard, 13.2.3.2).
    return "utf-8" if known.name.startswith(("utf-16", "utf-32")) else known.name


class _Page:
    """State of a page while its tokens are read; elements without running text are skipped with their content."""

    def __init__(self, outline: Outline, keep_lists: bool) -> None:
        self.outline, self._keep_lists = outline, keep_lists
        self.title = self.heading = ""
        self.list_items = 0
        self._open: list[str] = []  # elements inside a dropped one
        self._counts: Counter[str] = Counter()  # of their names
        self._pieces: list[str] = []
        self._level = self._lists = 0

    def begin(self, tag: Tag) -> None:
        """Begin an element. One that is written as ``<p/>`` also ends here, as in XHTML."""
        if tag.name == "br":
            self._pieces.append(" ")
        if tag.name == "hr" and not self._open:
            self.end_block()
        if tag.name in _VOID or (tag.self_closing and self._open):
            return
        if self._open or tag.name in _DROPPED or not _DROPPED_CLASSES.isdisjoint(tag.attribute("class").split()):
            if not tag.self_closing:
                self._open.append(tag.name)
                self._counts[tag.name] += 1
            return
        if tag.name not in _INLINE:
            self.end_block()
        self._lists += tag.name in _LISTS
        self._level = _HEADINGS.get(tag.name, self._level)
        if tag.self_closing:
            self.end(tag.name)

    def end(self, tag: str) -> None:
        """End an element; closing tags without an opening one are ignored inside dropped elements."""
        if self._open:
            while self._counts[tag]:
                last = self._open.pop()
                self._counts[last] -= 1
                if last == tag:
                    break
            return
        if tag == "title":
            self.title = " ".join("".join(self._pieces).split())
            self._pieces.clear()
        elif tag not in _INLINE:
            self.end_block()
        self._lists = max(self._lists - (tag in _LISTS), 0)

    def add_text(self, text: str) -> None:
        """Collect text between tags."""
        if not self._open:
            self._pieces.append(text)

    def end_block(self) -> None:
        """Add the text since the last block boundary to the outline."""
        text = " ".join("".join(self._pieces).split())
        self._pieces.clear()
        level, self._level = self._level, 0
        if not text:
            return
        if level == 1 and not self.heading:
            self.heading = text
        elif level:
            self.outline.heading(text, max(level, 2))
        elif self._lists and not self._keep_lists:
            self.list_items += 1
        else:
            self.outline.paragraph(text)


def recognises(head: FileHead) -> bool:
    """Return whether a file begins with an HTML element."""
    return bool(_HTML.match(head.text))
