"""Lists of references, of which each with an abstract becomes an article, and the texts of Nexis and Factiva."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from themescope.core.errors import ReadError, optional_module
from themescope.core.readers.blocks import Block, Document, DocumentReader, Kind, press_bounds
from themescope.core.readers.plain_text import TextConfig, text_lines
from themescope.core.readers.streams import FileHead
from themescope.core.text.cleaning import one_line
from themescope.core.types import Report, Value

_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}-(?: (.*)|$)")
_RIS = re.compile(r"^TY {1,2}- ", re.M)
_MEDLINE = re.compile(r"\s*PMID ?- ?\d")
_ENDNOTE = re.compile(r"\s*%0 \S")
_WEB_OF_SCIENCE = re.compile(r"\s*(?:FN [^\n]*\nVR [^\n]*\n\s*)?PT [A-Z]\n(?:[A-Z][A-Z0-9] )")
_OF_ENDNOTE = {
    "0": "TY", "T": "TI", "X": "AB", "A": "AU", "D": "PY", "8": "DA", "J": "JO", "B": "JO", "K": "KW", "R": "DO",
    "U": "UR", "G": "LA", "V": "VL", "N": "IS", "P": "SP", "M": "ID",
}  # fmt: skip
_OF_WEB_OF_SCIENCE = {"PT": "TY", "SO": "JO", "DE": "KW", "ID": "KW", "DI": "DO", "BP": "SP", "UT": "ID"}
"""Tags of other formats → tags of RIS."""
_BIBTEX = re.compile(r"(?:\s|%[^\n]*\n)*@[A-Za-z]+\s*[{(]\s*[^\s,{}()=\"]*\s*[,=]")
_ENTRY = re.compile(r"@([A-Za-z]+)\s*[{(]")
_FIELD = re.compile(r"[\s,]*([A-Za-z][\w.:-]*)\s*=\s*")
_BARE = re.compile(r"[^\s,#{}()\"]+")
_NO_REFERENCES = frozenset({"comment", "preamble", "string"})
_COLUMNS = {
    "title": "TI T1 CT", "abstract": "AB N2", "author": "AU A1", "year": "PY Y1 YEAR DP", "date": "DA",
    "journal": "JO JF T2 JT TA JOURNALTITLE BOOKTITLE", "keywords": "KW OT MH KEYWORD", "type": "TY PT",
    "doi": "DO LID", "url": "UR LINK", "language": "LA", "volume": "VL VI", "number": "IS IP", "pages": "SP PG",
    "id": "ID PMID",
}  # fmt: skip
"""Column → tags of RIS and MEDLINE, and names of BibTeX besides that of the column."""
_NAMES = {name: column for column, names in _COLUMNS.items() for name in (*names.split(), column.upper())}
_OWN = ("title", "abstract", "url")
_JOINT = re.compile(r"\s*#\s*")
_YEAR = re.compile(r"(?<!\d)(\d{4})(?!\d)")

SAMPLE = b"""\
TY  - JOUR
TI  - The history of Ada
PY  - 2019
AB  - Ada is a town. It was founded in 1200.
ER  - 

TY  - JOUR
TI  - Bea
AB  - Then it grew.
ER  - 
"""


@dataclass(slots=True)
class _Reference:
    place: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    """Column, or tag without one → its values."""

    def add(self, name: str, value: str) -> None:
        """Add a value of a tag or a name."""
        if value := one_line(value):
            self.fields.setdefault(_NAMES.get(name.upper(), name), []).append(value)


class References(DocumentReader[TextConfig]):
    """Reader of references: titles and abstracts become articles, the other known fields columns."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield a document for each reference with an abstract."""
        lines = [line for _, line in text_lines(path, report, self.config.encoding, self.account)]
        if press_bounds([" ".join(line.split()) for line in lines[:5_000]]):
            yield Document("", _paragraphs(lines))
            return
        bibtex = _BIBTEX.match("\n".join(lines[:200]))
        for found in _of_bibtex(path, "\n".join(lines)) if bibtex else _of_tags(lines):
            found.fields |= {"author": full} if (full := found.fields.pop("FAU", [])) else {}  # of MEDLINE, beside AU
            titles, abstract = found.fields.get("title", [""]), found.fields.get("abstract", [])
            if not abstract:
                text = " ".join(value for given in found.fields.values() for value in given)
                self.account.skip("reference without an abstract", found.place, text)
                continue
            values: dict[str, Value] = {}
            for name, given in found.fields.items():
                if name not in _COLUMNS:
                    self.account.skip(f"field {name}", found.place, "; ".join(given))
                elif name == "year" and (year := _YEAR.search(given[0])):
                    values[name] = int(year[1])
                elif name not in _OWN:
                    values[name] = "; ".join(given)
                elif name != "abstract" and given[1:]:
                    self.account.skip(f"further {name}", found.place, "; ".join(given[1:]))
            address, _, rest = found.fields.get("url", [""])[0].partition(" ")
            if rest:
                self.account.skip("text after an address", found.place, rest)
            blocks = [Block(Kind.PARAGRAPH, text, 0, found.place) for text in abstract]
            yield Document(titles[0], blocks, values, address)


def _paragraphs(lines: list[str]) -> Iterator[Block]:
    """Yield the paragraphs between blank lines; every line where those are rare."""
    wrapped = 4 * sum(not line.strip() for line in lines) > len(lines)
    waiting: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if waiting and not (wrapped and line.strip()):
            yield Block(Kind.PARAGRAPH, "\n".join(waiting), place=f"line {number - len(waiting):,}")
            waiting = []
        waiting += [line] if line.strip() else []


def _as_ris(lines: list[str]) -> Iterator[str]:
    """Yield the lines of EndNote and of Web of Science with tags of RIS, and other lines as they are."""
    text = "\n".join(lines[:50])
    endnote, tag = _ENDNOTE.match(text), ""
    if not endnote and not _WEB_OF_SCIENCE.match(text):
        yield from lines
        return
    for line in lines:
        if endnote:
            known = line[:1] == "%" and line[2:3] == " "
            yield f"{_OF_ENDNOTE.get(line[1], 'Z' + line[1].upper())}  - {line[3:]}" if known else line
        elif line[:3].strip():
            tag, value = line[:2], line[3:]
            yield "" if tag in ("FN", "VR", "EF") else f"{_OF_WEB_OF_SCIENCE.get(tag, tag)}  - {value}"
        else:  # each further author stands on a line of its own
            yield f"{tag}  - {line.strip()}" if tag in ("AU", "AF") and line.strip() else line


def _of_tags(lines: list[str]) -> Iterator[_Reference]:
    """Yield the references of RIS and MEDLINE: lines with tags, and lines that go on with the value above."""
    reference, tag, value = _Reference("line 1"), "", ""
    for number, line in enumerate([*_as_ris(lines), "ER  - "], 1):
        found = _TAG.match(line)
        begins = found is not None and found[1] in ("TY", "PMID", "ER")
        if found is None and line.strip():
            value += "\n" + line
            continue
        if tag:
            reference.add(tag, value)
        tag, value = (found[1], found[2] or "") if found is not None and found[1] != "ER" else ("", "")
        if begins and reference.fields:
            yield reference
        if begins:
            reference = _Reference(f"line {number:,}")


def _of_bibtex(path: Path, text: str) -> Iterator[_Reference]:
    latex = optional_module("pylatexenc.latex2text", "Reading BibTeX files", "pylatexenc", "app")
    plain = latex.LatexNodes2Text(keep_comments=True, math_mode="verbatim").latex_to_text
    at, known = 0, dict[str, str]()
    while entry := _ENTRY.search(text, at):
        at = entry.end()
        place = f"line {text.count(chr(10), 0, entry.start()) + 1:,}"
        reference = _Reference(place)
        reference.add("type", entry[1].lower())
        if entry[1].lower() not in _NO_REFERENCES and (key := _BARE.match(text, at)):
            at = key.end()
        while found := _FIELD.match(text, at):
            value, at = _value(path, text, found.end(), place, known)
            if entry[1].lower() == "string":
                known[found[1].lower()] = value
            reference.add(found[1].lower(), plain(value.replace("%", r"\%").replace(r"\\%", r"\%")))
        if entry[1].lower() not in _NO_REFERENCES:
            yield reference


def _value(path: Path, text: str, at: int, place: str, known: Mapping[str, str]) -> tuple[str, int]:
    """Return a value, in braces, in quotation marks or without either, or several joined by #, and where it ends."""
    parts = []
    while True:
        start, depth = at, 0
        if text[at : at + 1] in ("{", '"'):
            quoted = text[at] == '"'
            while True:
                if at >= len(text):
                    problem = "a brace or a quotation mark of this reference is not closed."
                    raise ReadError(path, problem, place, "Close it, or export the references again.")
                sign = text[at]
                depth += (sign == "{") - (sign == "}")
                at += 2 if sign == "\\" else 1
                if (sign == '"' and at > start + 1 and not depth) if quoted else not depth:
                    break
            parts.append(text[start + 1 : at - 1])
        elif bare := _BARE.match(text, at):
            parts.append(known.get(bare[0].lower(), bare[0]))
            at = bare.end()
        if not (joint := _JOINT.match(text, at)):
            return "".join(parts), at
        at = joint.end()


def recognises(head: FileHead) -> bool:
    """Return whether a text begins with a reference."""
    text = head.text.lstrip("\ufeff")
    if _RIS.search(text[:4_000]) or any(kind.match(text) for kind in (_MEDLINE, _ENDNOTE, _WEB_OF_SCIENCE)):
        return True
    if press_bounds([" ".join(line.split()) for line in text.split("\n")]):
        return True
    return bool((head.suffix == ".bib" or _BIBTEX.match(text)) and _ENTRY.search(text))
