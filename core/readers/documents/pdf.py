"""PDF files with text: the lines of every page, from the places of its characters."""

from __future__ import annotations

import ctypes
import math
import re
import statistics
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from themescope.core.errors import ReadError, optional_module
from themescope.core.protocols import Report
from themescope.core.readers.account import ReadAccount
from themescope.core.readers.blocks import Document, DocumentConfig, DocumentReader
from themescope.core.readers.documents.packages import whole_bytes
from themescope.core.readers.documents.pdf_layout import Line, blocks_of
from themescope.core.readers.streams import FileHead

_LOCK = threading.Lock()
"""PDFium is not safe for threads."""
_BOLD = re.compile(r"bold|black|heavy|cmbx|semibold|-medi", re.IGNORECASE)


class Pdf(DocumentReader):
    """Reader of a PDF file as one article, titled by the largest heading of its first page, or the file name."""

    config: DocumentConfig

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
        self._clear()

    def _clear(self) -> None:
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
        self._clear()
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


SAMPLE = made_of(
    [
        [
            (22, 72, 760, "Ada"), (11, 72, 720, "Ada is a town. It is old."), (15, 72, 690, "History"),
            (11, 72, 660, "It was founded in 1200."), (11, 72, 630, "Then it grew."),
        ]
    ]
)  # fmt: skip
