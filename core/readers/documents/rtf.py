"""Rich Text Format (RTF): text under headings, with lists; tables, notes, comments and headers are listed.

The tables of control words and code pages are those of the package striprtf. Its function is not used, because it
leaves out notes, text boxes and characters beyond U+FFFF without saying so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from themescope.core.errors import ReadError, optional_module
from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind
from themescope.core.readers.documents.packages import whole_bytes
from themescope.core.readers.streams import FileHead
from themescope.core.types import Report

_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\\Z", re.DOTALL
)
_IGNORED = "ignored"
_LISTED = {
    "footnote": "footnote",
    "annotation": "comment",
    **{f"{part}{pages}": part for part in ("header", "footer") for pages in ("", "l", "r", "f")},
}
_BOXES = frozenset(["shptxt", "dptxbxtext"])
_BULLETS = frozenset(["listtext", "pntext"])
_SHAPES = frozenset(["shp", "shpinst", "object", "result", "do", "upr", "ud"])
"""Groups that may contain text."""
_OMITTED = {"v": "hidden text", "deleted": "deleted text"}
_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_STYLE = re.compile(r"heading (\d)|(title)\Z")
_BLANK = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class _State:
    """Properties of a group, which its end restores."""

    target: str = ""
    """"" for text, a reason to list it, or ``_IGNORED``."""
    font: str = ""
    skip: int = 1
    """Characters that follow a Unicode character for older programs."""
    omitted: str = ""
    """Why its characters are listed: hidden or deleted."""
    level: int = 0
    in_table: bool = False
    opens: bool = False
    """Whether the group opens a target of its own."""


@dataclass(slots=True)
class _Sink:
    """Text of a paragraph that is being read."""

    pieces: list[str] = field(default_factory=list)
    omitted: dict[str, list[str]] = field(default_factory=dict)
    listed: bool = False


class Rtf(DocumentReader[DocumentConfig]):
    """Reader of an RTF file as one article, titled by its paragraph in the style Title, or the file name."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the document."""
        data = whole_bytes(path, report)
        if not data.startswith(b"{\\rtf"):
            raise ReadError(path, "this is not an RTF document.", "byte 0", "Save it again as RTF or DOCX.")
        yield Document("", _Parser(path, data.decode("latin-1")).blocks())


class _Parser:
    """The groups and control words of a file."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._tables = optional_module("striprtf.striprtf", "Reading RTF files", "striprtf", "app")
        self._text, self._at = text, 0
        self._state, self._stack = _State(), [_State()]
        self._sinks = [_Sink()]
        self._bytes = bytearray()
        self._unit = 0  # the first half of a surrogate pair
        self._left = 0  # characters to leave out
        self._page = "cp1252"
        self._fonts: dict[str, str] = {}
        self._styles: dict[int, int] = {}  # number → level; 0 for the title
        self._style_number: int | None = None
        self._in_styles = self._in_fonts = False
        self._name: list[str] = []
        self._row = 1

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the document."""
        while self._at < len(self._text):
            token = _TOKEN.match(self._text, self._at)
            assert token is not None  # every character begins a token
            self._at = token.end()
            word, number, code, sign, brace, text = token.groups()
            if code:
                if self._left:
                    self._left -= 1
                else:
                    self._bytes.append(int(code, 16))
                continue
            if text:
                shown = text[self._left :]
                self._left = max(self._left - len(text), 0)
                if shown.isascii():
                    self._add(shown)
                else:
                    self._bytes += shown.encode("latin-1")
            elif brace == "{":
                self._flush()
                self._left = 0
                self._stack.append(self._state)
                self._state = replace(self._state, opens=False)
            elif brace == "}":
                yield from self._close()
            elif sign:
                yield from self._sign(sign)
            elif word:
                yield from self._word(word, int(number) if number else None)
        while len(self._stack) > 1:
            yield from self._close()
        yield from self._paragraph()

    def _close(self) -> Iterator[Block]:
        self._flush()
        self._left = 0
        if self._state.opens:
            yield from self._paragraph()
            if len(self._sinks) > 1:
                self._sinks.pop()
        self._state = self._stack.pop() if len(self._stack) > 1 else self._stack[0]
        self._in_styles &= self._state.target == _IGNORED
        self._in_fonts &= self._state.target == _IGNORED

    def _sign(self, sign: str) -> Iterator[Block]:
        if sign == "*":
            before = self._text[max(self._at - 4, 0) : self._at - 2].rstrip("\r\n")
            if not before.endswith("{"):  # a property inside a group, as in old OpenOffice
                return
            if self._text.startswith(("\\shptxt", "\\footnote", "\\annotation"), self._at):
                return
            self._state = replace(self._state, target=_IGNORED)
        elif sign in "\r\n":
            yield from self._paragraph()
        elif sign in self._tables.specialchars:
            self._add(self._tables.specialchars[sign] if sign != "-" else "")

    def _word(self, word: str, number: int | None) -> Iterator[Block]:
        if self._is_encoding(word, number) or self._is_table(word, number):
            return
        if self._state.target == _IGNORED and word != "shptxt":  # a text box stands among properties of its shape
            return
        if self._opens(word) or self._is_property(word, number):
            return
        if word in ("cell", "nestcell"):
            self._state = replace(self._state, in_table=True)
            yield from self._paragraph()
        elif word in ("row", "nestrow"):
            self._row += 1
        elif word in ("par", "sect", "page", "column"):
            yield from self._paragraph()
        elif word in self._tables.specialchars:
            self._add(self._tables.specialchars[word])

    def _is_encoding(self, word: str, number: int | None) -> bool:
        """Take a word that says how characters are written; return whether it is one."""
        if word == "bin":
            if (number or 0) > len(self._text) - self._at:
                problem = f"binary data of {number:,} bytes begins here, more than the file has."
                raise ReadError(self._path, problem, f"byte {self._at}", "Save it again as RTF or DOCX.")
            self._at += max(number or 0, 0)
        elif word == "u" and number is not None:
            unit = number % 0x10000
            self._flush()
            if 0xD800 <= unit < 0xDC00:
                self._unit = unit
            elif 0xDC00 <= unit < 0xE000 and self._unit:
                self._add(chr(0x10000 + ((self._unit - 0xD800) << 10) + unit - 0xDC00))
                self._unit = 0
            else:
                self._add("\ufffd" if 0xD800 <= unit < 0xE000 else chr(unit))
            self._left = self._state.skip
        elif word == "uc":
            self._state = replace(self._state, skip=min(max(number or 0, 0), 8))
        elif word == "ansicpg" and number:
            self._page = f"cp{number}" if number != 65001 else "utf-8"
        elif word in _PAGES:
            self._page = _PAGES[word]
        elif word == "f":
            self._flush()
            self._state = replace(self._state, font=str(number))
        else:
            return False
        return True

    def _is_table(self, word: str, number: int | None) -> bool:
        """Take a word of the tables of fonts and styles; return whether it is one."""
        if word in ("fonttbl", "stylesheet"):
            self._in_fonts, self._in_styles = word == "fonttbl", word == "stylesheet"
            self._state = replace(self._state, target=_IGNORED)
        elif word == "fcharset" and self._in_fonts:
            self._fonts[self._state.font] = self._tables.charset_map.get(number, self._page) if number else ""
        elif word == "s" and self._in_styles:
            self._style_number, self._name = number, []
        else:
            return False
        return True

    def _opens(self, word: str) -> bool:
        """Take a word that says where the text of a group belongs; return whether it is one."""
        state = self._state
        if word in _BULLETS:
            self._sinks[-1].listed = True
            self._state = replace(state, target=_IGNORED)
        elif word in _LISTED or word in _BOXES:
            self._flush()
            self._sinks.append(_Sink())
            self._state = _State(_LISTED.get(word, ""), state.font, state.skip, opens=True)
        elif word == "ftnalt" and state.target == "footnote":
            self._state = replace(state, target="endnote")
        elif word in self._tables.destinations:
            self._state = state if word in _SHAPES else replace(state, target=_IGNORED)
        else:
            return False
        return True

    def _is_property(self, word: str, number: int | None) -> bool:
        """Take a property of characters or paragraphs; return whether it is one."""
        state = self._state
        if word in _OMITTED:
            self._flush()
            self._state = replace(state, omitted=_OMITTED[word] if number != 0 else "")
        elif word == "plain":
            self._flush()
            self._state = replace(state, omitted="", font="")
        elif word == "pard":
            self._state = replace(state, level=0, in_table=False)
        elif word == "outlinelevel" and number is not None and number < 9:
            self._state = replace(state, level=number + 1)
        elif word == "s" and number in self._styles:
            self._state = replace(state, level=self._styles[number] or -1)
        elif word == "intbl":
            self._state = replace(state, in_table=True)
        else:
            return False
        return True

    def _flush(self) -> None:
        """Decode the bytes that wait for others of the same character."""
        if self._bytes:
            data, self._bytes = bytes(self._bytes), bytearray()
            try:
                text = data.decode(self._fonts.get(self._state.font) or self._page, "replace")
            except LookupError:
                text = data.decode("cp1252", "replace")
            self._put(text)

    def _add(self, text: str) -> None:
        self._flush()
        self._put(text)

    def _put(self, text: str) -> None:
        if self._in_styles and self._style_number is not None:
            self._name.append(text)
            if ";" in text:
                name = "".join(self._name).partition(";")[0].strip().lower()
                if found := _STYLE.match(name):
                    self._styles[self._style_number] = int(found[1] or 0)
                self._style_number = None
        if self._state.target == _IGNORED:
            return
        sink = self._sinks[-1]
        if self._state.omitted:
            sink.omitted.setdefault(self._state.omitted, []).append(text)
        else:
            sink.pieces.append(text)

    def _paragraph(self) -> Iterator[Block]:
        self._flush()
        state, sink = self._state, self._sinks[-1]
        if state.target == _IGNORED:
            return
        self._sinks[-1] = _Sink()
        place = f"table row {self._row}" if state.in_table and not state.target else ""
        level = max(state.level, 0)
        kinds = {Kind.TABLE: place, Kind.TITLE: state.level < 0, Kind.HEADING: level, Kind.LIST: sink.listed}
        kind = state.target or next((kind for kind, applies in kinds.items() if applies), Kind.PARAGRAPH)
        text = "".join(sink.pieces)
        for part in _BLANK.split(text) if kind == Kind.PARAGRAPH else [text]:
            yield Block(kind, part, level if kind == Kind.HEADING else 0, place)
        for reason, pieces in sink.omitted.items():
            yield Block(reason, "".join(pieces), place=place)


def recognises(head: FileHead) -> bool:
    """Return whether a file is an RTF document."""
    return head.data.startswith(b"{\\rtf")


SAMPLE = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\stylesheet{\s1 heading 1;}{\s2 Title;}}
\pard\s2 Ada\par\pard Ada is a town. It is old.\par\pard\s1 History\par
\pard It was founded in 1200.\par Then it grew.\par}
"""
