"""MediaWiki XML exports, parsed by expat page by page, with cleaned wikitext.

Document type declarations are rejected, so that no entity can be declared, expanded or downloaded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote
from xml.parsers import expat

import regex  # type: ignore[import-untyped]

from themescope.core.config import Config, option
from themescope.core.errors import ReadError
from themescope.core.readers.blocks import BasePiecewiseReader, Outline
from themescope.core.readers.streams import ByteStream, FileHead, check_article, open_stream
from themescope.core.readers.wikitext.page import CATEGORIES, FILES, LinkRemoval, read_page
from themescope.core.types import Article, Report

_REDIRECT = re.compile(r"\s*+#\w++\s*+:?\s*+\[\[")
_DISAMBIG = r"\bdisambig(?:uation)?\b(?! needed)"
_DISAMBIGUATION = regex.compile(
    rf"\{{\{{\s*+(?:(?:(?!{_DISAMBIG})[\w -])*+{_DISAMBIG}[\w -]*+|dab|disamb\w*+|hndis|geodis|numberdis|mil-unit-dis|"
    r"begriffsklärung|homonymie|desambiguaci[oó]n|disambigua|desambiguação|dp|doorverwijspagina|ujednoznacznienie|"
    r"förgrening|неоднозначность)\s*+[|}]",
    regex.IGNORECASE,
)
_NAMESPACES = frozenset([
    "talk", "user", "wikipedia", "file", "image", "mediawiki", "template", "help", "category", "portal", "book",
    "draft", "module", "timedtext", "special", "media", "topic", "gadget", "project",
])  # fmt: skip
_SETTINGS = ("defaultsort", "displaytitle", "sortierung", "clé de tri", "clef de tri")
"""Beginnings of marks of a page that have no text."""
_NOTE = "template of a note, source, pronunciation or place inside a text"
_NOTES = re.compile(
    r"(?:cite |citation|cit\. |ouvrage|article|lien web|literatur|internetquelle|sfn|efn|harv|ipa|api|isbn|issn|oclc|"
    r"doi|coord|flagicon|drapeau|better source).*|refn?|rp|r|note|respell|who|when|which|where|clarify|by whom|"
    r".*(?: needed|inline|\?)"
)
_OF_WIKI = re.compile(r"https?://([a-z]{2,3})\.")
DEPTH_LIMIT = 50
"""Maximum number of elements around each other; dumps have about 6."""
_FIELDS = {
    "page": {"title": "title", "ns": "namespace"},
    "revision": {"id": "revision", "model": "model", "text": "text"},
}
"""Element → fields of a page for the elements in it."""
_WANTED = frozenset({"title", "ns", "id", "text", "model", "sitename", "dbname", "base", "namespace"})

_PAGE = b"<page>"
SAMPLE = b"""\
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">
<siteinfo>
<sitename>Wikipedia</sitename><dbname>testwiki</dbname>
<base>https://en.wikipedia.org/wiki/Main_Page</base>
</siteinfo>
<page>
<title>Ada</title><ns>0</ns><id>1</id>
<revision><id>77</id><model>wikitext</model>
<text xml:space="preserve">'''Ada''' is a [[town]]. It is old.

== History ==
=== Early days ===
It was founded in 1200.

Then it grew.</text></revision>
</page>
<page>
<title>Bea</title><ns>0</ns><id>1</id>
<revision><id>77</id><model>wikitext</model>
<text xml:space="preserve">'''Bea''' is a [[village]].

== History ==
It was founded in 1300.</text></revision>
</page>
<page>
<title>Old</title><ns>0</ns><id>1</id>
<revision><id>77</id><model>wikitext</model>
<text xml:space="preserve">#REDIRECT [[Ada]]</text></revision>
</page>
</mediawiki>
"""


@dataclass(frozen=True)
class MediawikiDumpConfig(Config):
    """Settings of the reader."""

    keep_lists: bool = option(False, "Keep every list item as a paragraph; otherwise lists are skipped.")


class MediawikiDump(BasePiecewiseReader[MediawikiDumpConfig]):
    """Reader of the articles of a dump, without redirects, other namespaces and disambiguation pages.

    It raises :class:`ReadError` with the line and page of an error.
    """

    def pieces(self, path: Path, report: Report) -> Iterator[tuple[tuple[_Page, _Site], int]]:
        """Yield every page with its site, and the length of its wikitext."""
        with open_stream(path, report) as stream:
            parser = _Parser(stream)
            for page in parser.pages():
                yield (page, parser.site), len(page.text)

    def parse(self, path: Path, piece: tuple[_Page, _Site]) -> Article | str:
        """Return the article of a page with cleaned wikitext, or the reason to skip it."""
        page, site = piece
        if reason := _why_skip(page):
            return reason
        outline = Outline(page.title, site.address(page), site.name)
        links = _links(site.files, site.categories)
        left_out: Counter[str] = Counter()
        removed = read_page(page.text, outline, links, self.config.keep_lists, site.language, left_out)
        for reason, n in left_out.items():
            self.account.skip(reason, n=n)
        for name, n in removed.items():
            if not name.startswith(_SETTINGS):
                self.account.skip(_NOTE if _NOTES.fullmatch(name) else f"template “{name}” inside a text", n=n)
        return outline.article() or self._without_text(outline, page.title)


@lru_cache(maxsize=8)
def _links(files: frozenset[str], categories: frozenset[str]) -> LinkRemoval:
    return LinkRemoval(FILES | files, CATEGORIES | categories)


@dataclass
class _Page:
    title: str = ""
    namespace: str = ""
    revision: str = ""
    model: str = ""
    redirect: bool = False
    text: str = ""


@dataclass
class _Site:
    name: str = ""
    base: str = ""
    language: str = ""
    files: frozenset[str] = field(default_factory=frozenset)
    categories: frozenset[str] = field(default_factory=frozenset)

    def learn(self, element: str, text: str, key: str) -> None:
        """Store the value of one element of ``<siteinfo>``."""
        if element == "base":
            self.base = text.rpartition("/")[0]
            found = _OF_WIKI.match(text)
            self.language = self.language or (found[1] if found else "")
        elif element == "dbname" or (element == "sitename" and not self.name):
            self.name = text
        elif element == "namespace" and key in ("6", "-2"):
            self.files |= {text.lower()}
        elif element == "namespace" and key == "14":
            self.categories |= {text.lower()}

    def address(self, page: _Page) -> str:
        """Return the web address of a page in the revision that was read."""
        if not self.base:
            return ""
        version = f"?oldid={page.revision}" if page.revision else ""
        return f"{self.base}/{quote(page.title.replace(' ', '_'))}{version}"


def _why_skip(page: _Page) -> str:
    if page.redirect or _REDIRECT.match(page.text):
        return "redirect"
    prefix = page.title.partition(":")[0].lower().removesuffix(" talk")
    if page.namespace not in ("", "0") or (not page.namespace and ":" in page.title and prefix in _NAMESPACES):
        return "namespace"
    if page.model not in ("", "wikitext"):
        return "not wikitext"
    if page.title.endswith("(disambiguation)") or _DISAMBIGUATION.search(page.text):
        return "disambiguation"
    return ""


class _Parser:
    def __init__(self, stream: ByteStream) -> None:
        self.site = _Site()
        self._stream = stream
        self._ready: list[_Page] = []
        self._page: _Page | None = None
        self._path: list[str] = []
        self._pieces: list[str] | None = None
        self._size = 0
        self._key = ""
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.buffer_size = 1 << 16
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartDoctypeDeclHandler = self._doctype

    def pages(self) -> Iterator[_Page]:
        """Yield every page as soon as it is complete."""
        block = self._stream.read()
        part = block.lstrip().startswith(_PAGE)  # one stream of a multistream dump, which has no root
        if part:
            self._expat.Parse(b"<mediawiki>", False)
        while True:
            try:
                self._expat.Parse(b"</mediawiki>" if part and not block else block, not block)
            except expat.ExpatError as error:
                where = f"line {error.lineno:,}, column {error.offset + 1:,}, byte {self._expat.ErrorByteIndex:,}"
                if self._page is not None and self._page.title:
                    where += f", page {self._page.title!r}"
                problem, advice = "the dump is truncated.", "Download or copy it again."
                if block:
                    problem = f"not valid XML ({expat.ErrorString(error.code)})."
                    advice = "Check that this is a complete, unchanged dump in UTF-8."
                raise ReadError(self._stream.path, problem, where, advice) from None
            yield from self._ready
            self._ready.clear()
            if not block:
                return
            block = self._stream.read()

    def _doctype(self, *_: object) -> None:
        where = f"line {self._expat.CurrentLineNumber:,}"
        problem = "declares a document type, which dumps do not and which may contain an entity bomb."
        raise ReadError(self._stream.path, problem, where, "Remove the DOCTYPE if you trust the file.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        problem = ""
        if not self._path and name != "mediawiki":
            problem = f"this is XML, but its root is <{name}>, not <mediawiki>."
        elif len(self._path) == DEPTH_LIMIT:
            problem = f"elements are nested more than {DEPTH_LIMIT} deep, which those of dumps are not."
        if problem:
            where = f"line {self._expat.CurrentLineNumber:,}" if self._path else "line 1"
            raise ReadError(self._stream.path, problem, where, "Choose a page export or dump of a MediaWiki.")
        if not self._path:
            self.site.language = attributes.get("xml:lang", "").partition("-")[0].lower()
        self._path.append(name)
        if name == "page":
            self._page = _Page()
        elif name == "redirect" and self._page is not None:
            self._page.redirect = True
        elif name in _WANTED:
            self._pieces, self._size = [], 0
            self._key = attributes.get("key", "")

    def _characters(self, data: str) -> None:
        if self._pieces is not None:
            self._pieces.append(data)
            self._size += len(data)
            if self._size > 1 << 20:
                title = self._page.title if self._page is not None else ""
                check_article(self._stream.path, self._size, f"page {title!r}" if title else "")

    def _end(self, name: str) -> None:
        self._path.pop()
        parent = self._path[-1] if self._path else ""
        if self._pieces is not None and name in _WANTED:
            text, self._pieces = "".join(self._pieces), None
            if self._page is None:
                self.site.learn(name, text, self._key)
            elif field := _FIELDS.get(parent, {}).get(name):  # of several revisions the last one is kept
                setattr(self._page, field, text if name == "text" else text.strip())
        if name == "page" and self._page is not None:
            self._ready.append(self._page)
            self._page = None


def recognises(head: FileHead) -> bool:
    """Return whether a file is XML with the root element ``mediawiki``, or one stream of such a dump."""
    return head.data.lstrip().startswith(_PAGE) or (head.text.startswith("<") and "<mediawiki" in head.text[:4096])
