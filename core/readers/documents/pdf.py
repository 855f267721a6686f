"""PDF files with text: the lines of every page, from the places of its characters."""

from __future__ import annotations

import ctypes
import math
import re
import statistics
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from themescope.core.errors import ReadError, optional_module
from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind
from themescope.core.readers.documents.packages import whole_bytes
from themescope.core.readers.streams import FileHead
from themescope.core.types import ReadAccount, Report

# Paragraphs and headings of a PDF, from the places and sizes of its lines

_SENTENCE_END = re.compile(r"[.!?…:;。！？]['\"”’»)\]]*\Z")
_BULLET = re.compile(r"(?:[•‣▪●○◦∙·*–—-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+\S")
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|seite|p|s|pág|página|pagina|стр)\W*)?(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:of|von|de|di|sur|из|/|\|)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
_NOTE_MARK = re.compile(r"[\d*†‡§¹²³⁴-⁹]")
_LEADER = re.compile(r"(?:[.·…_]\s?){5}\s?[\divxlc]+(?:\s|\Z)")
"""Dots between a heading and its page in a table of contents."""
_HYPHENS = "-\u2010\ufffe\u0002\xad"
_READABLE = str.maketrans("\ufffe\u0002", "--")
"""Hyphens for the marks that PDFium has in their place."""
_NEAR = 30.0
"""Points within which lines of a column begin."""
_LARGER = 1.12
"""Ratio of sizes from which a line is a heading."""


@dataclass(slots=True)
class Line:
    """A run of text on one line of a column; ``bottom`` and ``top`` count upwards."""

    page: int
    text: str
    left: float
    bottom: float
    right: float
    top: float
    size: float
    bold: bool
    upright: bool = True

    def beside(self, other: Line) -> bool:
        """Return whether two lines are in one column: their horizontal extents overlap."""
        return min(self.right, other.right) - max(self.left, other.left) > 0


class _Paragraph(NamedTuple):
    lines: list[Line]
    text: str

    @property
    def size(self) -> float:
        return statistics.median(line.size for line in self.lines)

    @property
    def bold(self) -> bool:
        return all(line.bold for line in self.lines)


def blocks_of(pages: list[list[Line]], account: ReadAccount) -> Iterator[Block]:
    """Yield the blocks of the lines of pages."""
    ordered: list[Line] = []
    margins = _margins(pages)
    for lines in pages:
        body = []
        for line in lines:
            reason = margins.get(id(line), "" if line.upright else "text at the side of a page")
            if reason:
                account.skip(reason, f"page {line.page:,}", line.text.translate(_READABLE))
            else:
                body.append(line)
        ordered += _in_reading_order(body, account)
    if not ordered:
        return
    main = Counter(line.size for line in ordered for _ in line.text).most_common(1)[0][0]
    whole_words = Counter(word.lower() for line in ordered for word in re.findall(r"\w+(?:-\w+)*", line.text))
    paragraphs = [_Paragraph(lines, _joined(lines, whole_words, account)) for lines in _paragraphs(ordered, main)]
    yield from _kinds(paragraphs, main, ordered)


def _margins(pages: list[list[Line]]) -> dict[int, str]:
    """Return id of a line → "page number" or "running head", for lines at the top or bottom of pages."""
    found: dict[int, str] = {}
    edges: dict[tuple[str, str], list[Line]] = {}
    rows_of = [_edges(lines) for lines in pages]
    outermost = (line for rows in rows_of for zone in rows.values() for line in zone[0] if line.text.isdecimal())
    usual = Counter(int(line.text) - line.page for line in outermost).most_common(1)
    for zones in rows_of:
        for zone, rows in zones.items():
            for place, row in enumerate(rows):
                outer = row if place == 0 else []
                numbers = [line for line in outer if len(line.text) < 40 and _PAGE_NUMBER.fullmatch(line.text)]
                right = any(line.text.isdecimal() and int(line.text) - line.page == usual[0][0] for line in numbers)
                for line in row:
                    if line in numbers and (right or len(row) == 1):
                        found[id(line)] = "page number"
                    elif right and usual[0][1] > 1:  # beside the number of the page
                        found[id(line)] = "running head"
                    else:
                        edges.setdefault((zone, _NUMBERS.sub("#", line.text.lower())), []).append(line)
    for lines in edges.values():
        least = 2 if len(pages) <= 4 else 3
        height = statistics.median(line.bottom for line in lines)
        near = [line for line in lines if abs(line.bottom - height) < 8]
        if len({line.page for line in near}) >= least and len(lines[0].text) < 200:
            found |= {id(line): "running head" for line in near}
    return found


def _edges(lines: list[Line]) -> dict[str, list[list[Line]]]:
    """Return the highest and the lowest row of lines, each with the next one if that is near."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: -line.bottom):
        if rows and abs(rows[-1][0].bottom - line.bottom) < 3:
            rows[-1].append(line)
        else:
            rows.append([line])
    if len(rows) < 2:
        return {}
    outer = {"top": rows[:2], "bottom": rows[:-3:-1]}
    near = {zone: abs(one[0].bottom - two[0].bottom) < 2 * one[0].size for zone, (one, two) in outer.items()}
    return {zone: both[: 1 + near[zone]] for zone, both in outer.items()}


def _in_reading_order(lines: list[Line], account: ReadAccount) -> list[Line]:
    """Return the lines in the order of the file, or in that of their places if the file jumps back on the page."""
    back = sum(
        below.bottom > above.bottom + 0.8 * above.size and (above.beside(below) or below.right < above.left)
        for above, below in pairwise(lines)
    )
    alternating = sum(abs(a.bottom - b.bottom) < 2 and not a.beside(b) for a, b in pairwise(lines))
    if back == 0 and alternating * 3 < len(lines):
        return lines
    placed = _cut(lines)
    if placed != lines:
        account.notes["reading order"] = "by the places on the page"
    return placed


def _cut(lines: list[Line], depth: int = 0) -> list[Line]:
    """Sort lines by cutting the page at its widest gaps, from top to bottom and from left to right."""
    if len(lines) < 2 or depth > 40:
        return sorted(lines, key=lambda line: (-line.bottom, line.left))
    across = _gap(sorted((line.left, line.right) for line in lines))
    down = _gap(sorted((-line.top, -line.bottom) for line in lines))
    size = statistics.median(line.size for line in lines)
    tall = max(line.top for line in lines) - min(line.bottom for line in lines) > 4 * size
    if across and tall and across[0] > 0.6 * size:
        ends, cut = [line.right for line in lines], across[1]
    elif down:
        ends, cut = [-line.bottom for line in lines], down[1]
    else:
        return sorted(lines, key=lambda line: (-line.bottom, line.left))
    before = [line for line, end in zip(lines, ends, strict=True) if end <= cut]
    after = [line for line, end in zip(lines, ends, strict=True) if end > cut]
    return _cut(before, depth + 1) + _cut(after, depth + 1)


def _gap(extents: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the width of the widest gap between extents, and where it begins."""
    best, end = None, extents[0][1]
    for begin, after in extents[1:]:
        if begin > end and (best is None or begin - end > best[0]):
            best = (begin - end, end)
        end = max(end, after)
    return best


def _paragraphs(lines: Sequence[Line], main: float) -> Iterator[list[Line]]:
    """Yield the lines of each paragraph."""
    distances = [
        above.bottom - below.bottom
        for above, below in pairwise(lines)
        if above.page == below.page
        and above.size == below.size == main
        and above.beside(below)
        and 0 < above.bottom - below.bottom < 3 * main
    ]
    # Where most paragraphs have one line, the usual distance is that of paragraphs.
    leading = min(statistics.median(distances), 2.0 * main) if distances else 1.2 * main
    edges = _columns(lines)
    open_lines: list[Line] = []
    for line in lines:
        if open_lines and _is_break(open_lines, line, leading / main, edges):
            yield open_lines
            open_lines = []
        open_lines.append(line)
    yield open_lines


def _columns(lines: Sequence[Line]) -> dict[int, tuple[float, float]]:
    """Return id of a line → left and right edge of its column on its page: of the lines that begin near it."""
    edges: dict[tuple[int, int], tuple[float, float]] = {}
    for line in lines:
        place = (line.page, int(line.left // _NEAR))
        left, right = edges.get(place, (line.left, line.right))
        edges[place] = min(left, line.left), max(right, line.right)
    found = {}
    for line in lines:
        around = (edges.get((line.page, int(line.left // _NEAR) + step)) for step in (-1, 0, 1))
        near = [edge for edge in around if edge is not None]
        found[id(line)] = min(left for left, _ in near), max(right for _, right in near)
    return found


def _is_break(before: list[Line], line: Line, leading: float, edges: dict[int, tuple[float, float]]) -> bool:
    """Return whether a line begins a paragraph; ``leading`` is the usual distance of lines, in sizes."""
    last = before[-1]
    if abs(last.size - line.size) > 0.08 * last.size or last.bold != line.bold:
        return True
    ended = bool(_SENTENCE_END.search(last.text))
    if last.text[-1] in "\ufffe\u0002":  # hyphenated
        return False
    starts_item = bool(_BULLET.match(line.text))
    distance = last.bottom - line.bottom
    if last.page != line.page or distance < -0.5 * line.size or not last.beside(line):
        if abs(distance) < 2 and last.page == line.page and line.left > last.right:  # a cell on the same line
            return bool(ended)
        return ended or starts_item or line.text[0].isupper()
    in_item = _BULLET.match(before[0].text)
    # In the middle of a sentence, a number or a dash begins a line by chance.
    if distance > 1.3 * leading * line.size or (starts_item and (ended or in_item)):
        return True
    if ended and line.left - edges[id(line)][0] > 0.8 * line.size and not in_item:
        return True
    left, right = edges[id(last)]
    return ended and right - last.right > 0.12 * (right - left)


def _joined(lines: list[Line], whole_words: Counter[str], account: ReadAccount) -> str:
    """Return the text of lines, with words joined that were hyphenated at their ends."""
    pieces: list[str] = []
    for line in lines:
        after = line.text.translate(_READABLE)
        before = pieces[-1] if pieces else ""
        if len(before) > 1 and before[-1] in _HYPHENS and before[-2].isalnum():
            first, second = re.split(r"[^\w-]", before[:-1])[-1], re.split(r"[^\w-]", after)[0]
            compound = f"{first}-{second}".lower()
            if after[0].islower() and (not whole_words[compound] or whole_words[(first + second).lower()]):
                account.change("hyphenated word joined", f"page {line.page:,}", f"{first}- {second}")
                pieces[-1] = before[:-1]
        elif pieces:
            pieces.append(" ")
        pieces.append(after)
    return "".join(pieces)


def _kinds(paragraphs: list[_Paragraph], main: float, lines: Sequence[Line]) -> Iterator[Block]:
    total = sum(len(line.text) for line in lines)
    bold_text = sum(len(line.text) for line in lines if line.bold) > 0.4 * total
    sizes = sorted({p.size for p in paragraphs if _is_heading(p, main, False)}, reverse=True)
    largest = [p for p in paragraphs if sizes and p.size == sizes[0] and _is_heading(p, main, False)]
    title = largest[0] if len(largest) == 1 and largest[0].lines[0].page == 1 else None
    lowest: dict[int, float] = {}
    for line in lines:
        if line.size >= 0.92 * main:
            lowest[line.page] = min(lowest.get(line.page, line.bottom), line.bottom)
    for paragraph in paragraphs:
        first = paragraph.lines[0]
        if _LEADER.search(paragraph.text):
            kind, level = "table of contents", 0
        elif paragraph is title:
            kind, level = Kind.TITLE, 1
        elif _is_heading(paragraph, main, not bold_text):
            kind, level = Kind.HEADING, sizes.index(paragraph.size) + 1 if paragraph.size in sizes else len(sizes) + 1
            level -= title is not None and level > 1
        elif (
            paragraph.size < 0.92 * main
            and _NOTE_MARK.match(paragraph.text)
            and (first.bottom < lowest.get(first.page, 0.0))
        ):
            kind, level = "footnote", 0
        else:
            kind, level = Kind.LIST if _BULLET.match(paragraph.text) else Kind.PARAGRAPH, 0
        yield Block(kind, paragraph.text, level, f"page {first.page:,}")


def _is_heading(paragraph: _Paragraph, main: float, bold: bool) -> bool:
    text = paragraph.text
    if len(text) > 200 or len(paragraph.lines) > 3 or not any(ch.isalpha() for ch in text):
        return False
    if paragraph.size > _LARGER * main:
        return not (len(text) > 100 and text.endswith("."))
    return bold and paragraph.bold and paragraph.size > 0.97 * main and len(text) <= 120 and text[-1] not in ".,;:?!"


_LOCK = threading.Lock()
"""PDFium is not safe for threads."""
_BOLD = re.compile(r"bold|black|heavy|cmbx|semibold|-medi", re.IGNORECASE)


class Pdf(DocumentReader[DocumentConfig]):
    """Reader of a PDF file as one article, titled by the largest heading of its first page, or the file name."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the document."""
        yield Document("", blocks_of(_lines(path, whole_bytes(path, report), self.account), self.account))


def _lines(path: Path, data: bytes, account: ReadAccount) -> list[list[Line]]:
    """Return the lines of every page. Raises :class:`ReadError` if the file is damaged, or no page has text."""
    pdfium = optional_module("pypdfium2", "Reading PDF files", "pypdfium2", "app")
    pages, pictures = [], 0
    with _LOCK:
        try:
            document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            locked = "password" in str(error).lower() or "security" in str(error).lower()
            problem = "this PDF is protected by a password." if locked else "this PDF is damaged, or not a PDF."
            raise ReadError(path, problem, "byte 0", "Open it, and print or save it as a new PDF.") from None
        try:
            for number in range(1, len(document) + 1):
                page = document[number - 1]
                found = _page_lines(pdfium, page, number, account)
                pages.append(found)
                if not any(line.text.strip() for line in found):
                    picture = next(page.get_objects(filter=[pdfium.raw.FPDF_PAGEOBJ_IMAGE], max_depth=3), None)
                    pictures += picture is not None
                    account.skip("page without text" + (" (a picture)" if picture else ""), f"page {number:,}")
                page.close()
        except pdfium.PdfiumError as error:
            raise ReadError(path, f"this PDF is damaged ({error}).", advice="Print it as a new PDF.") from None
        finally:
            document.close()
    if not any(pages):
        problem = f"this PDF has no text: its {pictures:,} pages are pictures." if pictures else "this PDF has no text."
        advice = "Recognise the text of scans first (OCR, for example with OCRmyPDF), and import the result."
        raise ReadError(path, problem, advice=advice)
    return pages


def _page_lines(pdfium: Any, page: Any, number: int, account: ReadAccount) -> list[Line]:
    raw = pdfium.raw
    text_page = page.get_textpage()
    try:
        count = text_page.count_chars()
        place = _Places(raw, text_page.raw, count)
        found: list[Line] = []
        line = _Builder(number, place)
        for index in range(count):
            character = chr(min(raw.FPDFText_GetUnicode(text_page.raw, index), 0x10FFFF))
            if "\ud800" <= character <= "\udfff" or character == "\0":
                account.change("character without a Unicode code", f"page {number:,}", "\ufffd")
                character = "\ufffd"
            if "\x80" <= character <= "\x9f":
                meant = character.encode("latin-1").decode("cp1252", "replace")
                account.change("control character read as Windows-1252", f"page {number:,}", meant)
                character = meant
            if character in "\r\n":
                found += line.ended()
                continue
            found += line.add(index, character)
            if character in "\ufffe\u0002":
                found += line.ended()
        found += line.ended()
    finally:
        text_page.close()
    for index in range(raw.FPDFPage_GetAnnotCount(page.raw)):
        if text := _annotation(raw, page.raw, index):
            account.skip("comment", f"page {number:,}", text)
    return found


def _annotation(raw: Any, page: Any, index: int) -> str:
    """Return the text of an annotation, such as a comment."""
    annotation = raw.FPDFPage_GetAnnot(page, index)
    if not annotation:
        return ""
    try:
        size = raw.FPDFAnnot_GetStringValue(annotation, b"Contents", None, 0)
        if size <= 2:
            return ""
        buffer = ctypes.create_string_buffer(size)
        words = ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR))
        raw.FPDFAnnot_GetStringValue(annotation, b"Contents", words, size)
        return " ".join(buffer.raw[: size - 2].decode("utf-16-le", "replace").split())
    finally:
        raw.FPDFPage_CloseAnnot(annotation)


class _Places:
    """Boxes and fonts of the characters of a page, turned so that most of them are upright."""

    def __init__(self, raw: Any, text_page: Any, count: int) -> None:
        self._raw, self._page, self._turn = raw, text_page, 0
        quarters = Counter(-round(self._angle(index) / 90) % 4 for index in range(0, count, count // 200 + 1))
        self._turn = 90 * quarters.most_common(1)[0][0] if quarters else 0
        self._box, self._matrix = raw.FS_RECTF(), raw.FS_MATRIX()
        self._name, self._flags = ctypes.create_string_buffer(128), ctypes.c_int()

    def box(self, index: int) -> tuple[float, float, float, float]:
        """Return left, bottom, right and top of a character."""
        self._raw.FPDFText_GetLooseCharBox(self._page, index, self._box)
        box = self._box
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        for _ in range(self._turn // 90):  # each turn is clockwise
            left, bottom, right, top = bottom, -right, top, -left
        return left, bottom, right, top

    def size(self, index: int) -> float:
        """Return the size of the font of a character in points."""
        self._raw.FPDFText_GetMatrix(self._page, index, self._matrix)
        scale = float((self._matrix.c**2 + self._matrix.d**2) ** 0.5) or 1.0
        return float(self._raw.FPDFText_GetFontSize(self._page, index)) * scale

    def bold(self, index: int) -> bool:
        """Return whether a character is bold."""
        if self._raw.FPDFText_GetFontWeight(self._page, index) >= 600:
            return True
        length = self._raw.FPDFText_GetFontInfo(self._page, index, self._name, 128, self._flags)
        return bool(length) and bool(_BOLD.search(self._name.value.decode("latin-1")))

    def upright(self, index: int) -> bool:
        """Return whether a character is not turned on the page."""
        return abs((self._angle(index) + 180) % 360 - 180) < 20

    def _angle(self, index: int) -> float:
        """Return the angle of a character in degrees."""
        return math.degrees(self._raw.FPDFText_GetCharAngle(self._page, index)) + self._turn


class _Builder:
    """The open line of a page; a wide gap divides it, because columns may be written line by line."""

    def __init__(self, page: int, places: _Places) -> None:
        self._number, self._places = page, places
        self._text: list[str] = []
        self._boxes: list[tuple[float, float, float, float]] = []
        self._indices: list[int] = []

    def add(self, index: int, character: str) -> Iterator[Line]:
        """Add a character; yield the line before it if it stands far from it."""
        if character.isspace():
            self._text.append(" ")
            return
        box = self._places.box(index)
        if self._boxes and character not in "\ufffe\u0002":
            last = self._boxes[-1]
            height = max(last[3] - last[1], 1.0)
            if box[0] - last[2] > 1.8 * height or last[0] - box[0] > 3 * height:
                yield from self.ended()
        self._text.append(character)
        if character not in "\ufffe\u0002" or not self._boxes:
            self._boxes.append(box)
            self._indices.append(index)

    def ended(self) -> list[Line]:
        """Return the line, if it has text, and begin another."""
        text, boxes, indices = " ".join("".join(self._text).split()), self._boxes, self._indices
        self._text, self._boxes, self._indices = [], [], []
        if not text or not boxes:
            return []
        sizes = Counter(round(self._places.size(index) * 2) / 2 for index in indices[:: max(len(indices) // 8, 1)])
        bold = all(self._places.bold(indices[place]) for place in (0, len(indices) // 2, -1))
        left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
        bottom = statistics.median(box[1] for box in boxes)
        top = statistics.median(box[3] for box in boxes)
        size = sizes.most_common(1)[0][0] or 1.0
        return [Line(self._number, text, left, bottom, right, top, size, bold, self._places.upright(indices[0]))]


def recognises(head: FileHead) -> bool:
    """Return whether a file is a PDF: some programs write other bytes before its mark."""
    return b"%PDF-" in head.data[:1024]


def made_of(pages: Sequence[Sequence[tuple[float, float, float, str]]]) -> bytes:
    """Return a PDF file of pages of rows: size, place from the left and from below, and text in ASCII."""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{' '.join(f'{4 + 2 * n} 0 R' for n in range(len(pages)))}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for rows in pages:
        text = "".join(f"BT /F1 {size} Tf {x} {y} Td ({words}) Tj ET\n" for size, x, y, words in rows)
        box = "/MediaBox[0 0 595 842]/Resources<</Font <</F1 3 0 R>> >>"
        objects.append(f"<</Type/Page/Parent 2 0 R{box}/Contents {len(objects) + 2} 0 R>>")
        objects.append(f"<</Length {len(text)}>>stream\n{text}endstream")
    file, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(file))
        file += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(file)}\n%%EOF\n"
    return f"{file}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


_PAGE = [
    (22, 72, 760, "Ada"),
    (11, 72, 720, "Ada is a town. It is old."),
    (15, 72, 690, "History"),
    (11, 72, 660, "It was founded in 1200."),
    (11, 72, 630, "Then it grew."),
]
SAMPLE = made_of([_PAGE])
