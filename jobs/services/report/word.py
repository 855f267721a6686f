"""Documents of blocks as Word files."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from themescope.core.labelling.markup import (
    NOT_IN_XML,
    Block,
    Explained,
    Figure,
    HeadingBlock,
    LinkTargets,
    ParagraphBlock,
    Picture,
    Quotation,
    Table,
    Together,
)

_WIDTH, _MARGIN = 17.0, 2.0
"""Width of the text on a page of A4, and its margins, in cm."""


def as_docx(blocks: Sequence[Block], title: str) -> bytes:
    """Return a Word document. Of charts as SVG, which Word reads only in part, it has the captions."""
    from docx import Document
    from docx.oxml import OxmlElement
    from docx.shared import Cm, Pt

    document = Document()
    for section in document.sections:
        section.left_margin = section.right_margin = section.top_margin = section.bottom_margin = Cm(_MARGIN)
        section.page_width, section.page_height = Cm(_WIDTH + 2 * _MARGIN), Cm(29.7)
    document.core_properties.title, document.core_properties.author = _printable(title)[:255], ""
    for block in blocks:
        for part in block.blocks if isinstance(block, Together) else (block,):
            match part:
                case Table(header, rows):
                    table = document.add_table(rows=0, cols=len(header), style="Light Grid Accent 1")
                    widths = [Cm(width) for width in _widths(header, rows)]
                    for cells in (header, *rows):
                        for cell, text, width in zip(table.add_row().cells, cells, widths, strict=True):
                            cell.width = width
                            cell.paragraphs[0].add_run(_printable(text)).font.size = Pt(8)
                    for column, width in zip(table.columns, widths, strict=True):
                        column.width = width  # LibreOffice reads the widths of columns, Word those of cells
                    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))  # on each page
                    document.add_paragraph()
                case Picture(png):
                    document.add_picture(BytesIO(png), width=Cm(_WIDTH))
            for style, text in _styled(part):
                document.add_paragraph(_printable(text), style)
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[float]:
    """Return the widths of columns in cm: longer texts are wider, and no word is divided if that is possible."""
    columns = list(zip(header, *rows, strict=True))
    words = [max((len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    lengths = [max(map(len, column)) for column in columns]
    wanted = [max(0.2 * word + 0.4, 0.55 * length**0.5) for word, length in zip(words, lengths, strict=True)]
    return [_WIDTH * one / sum(wanted) for one in wanted]


def _styled(block: Block) -> list[tuple[str, str]]:
    """Return the paragraphs of a block, each with the name of its style in Word."""
    match block:
        case HeadingBlock(level, text, note):
            return [(f"Heading {level}", f"{text} ({note})" if note else text)]
        case ParagraphBlock(text):
            return [("Normal", text)]
        case Quotation(label, text):
            return [("Quote", f"{label} {text}".strip())]
        case LinkTargets(targets):
            return [("Normal", "; ".join(f"{text}: {url}" for text, url in targets))]
        case Explained(term, text):
            return [
                ("Heading 4", term),
                *(("List Bullet", item) for item in ([text] if isinstance(text, str) else text)),
            ]
        case Picture() | Figure():
            return [("Caption", block.caption)]
    return []


def _printable(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)
