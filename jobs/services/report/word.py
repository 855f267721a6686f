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


def as_docx(blocks: Sequence[Block], title: str) -> bytes:
    """Return a Word document. Of charts as SVG, which Word reads only in part, it has the captions."""
    from docx import Document
    from docx.shared import Cm, Pt

    document = Document()
    document.core_properties.title, document.core_properties.author = _printable(title)[:255], ""
    for block in blocks:
        for part in block.blocks if isinstance(block, Together) else (block,):
            match part:
                case Table(header, rows):
                    table = document.add_table(rows=0, cols=len(header), style="Light Grid Accent 1")
                    for cells in (header, *rows):
                        for cell, text in zip(table.add_row().cells, cells, strict=True):
                            cell.paragraphs[0].add_run(_printable(text)).font.size = Pt(9)
                    document.add_paragraph()
                case Picture(png):
                    document.add_picture(BytesIO(png), width=Cm(15.5))
            for style, text in _styled(part):
                document.add_paragraph(_printable(text), style)
    out = BytesIO()
    document.save(out)
    return out.getvalue()


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
