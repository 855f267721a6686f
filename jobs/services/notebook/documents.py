"""A document of headings, paragraphs, tables, figures and quotations, written as Markdown or as one HTML file."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1f2a33;
background:#fdfcf9}table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid #b9bcc0;padding:.3rem .6rem;
text-align:left;vertical-align:top}blockquote{margin:.5rem 0;padding:.2rem 1rem;border-left:4px solid #1b7f79}
figure{margin:1rem 0}a{color:#0b6b6b}@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#12171c}
a{color:#4fc3b8}th,td{border-color:#5d6873}}"""
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|<>~&-])")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 4."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quoted sentence, with what is said about it in front of it."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Links:
    """Links with their texts."""

    targets: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a header."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as SVG, with its content in words."""

    svg: str
    caption: str


Block = Heading | Paragraph | Quotation | Links | Table | Figure


def as_markdown(blocks: Sequence[Block]) -> str:
    """Return CommonMark with tables; figures are embedded as images."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text):
            return _plain(text)
        case Quotation(label, text):
            return f"> **{_plain(label)}** {_plain(text)}"
        case Links(targets):
            return " · ".join(f"[{_plain(text)}](<{_address(url)}>)" for text, url in targets)
        case Table(header, rows):
            lines = [
                ["---"] * len(header) if row is None else [_plain(cell) for cell in row]
                for row in (header, None, *rows)
            ]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Figure(svg, caption):
            return f"![{_plain(caption)}](data:image/svg+xml;base64,{b64encode(svg.encode()).decode()})"


def _plain(text: str) -> str:
    """Return text escaped for Markdown, in one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _address(url: str) -> str:
    return url.replace("<", "%3C").replace(">", "%3E").replace("\n", "")


def as_html(blocks: Sequence[Block], title: str) -> str:
    """Return one file of HTML that needs no other file; texts are escaped."""
    body = "\n".join(_html(block) for block in blocks)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    whole = f'<html lang="en"><head>{head}<style>{_STYLE}</style></head><body><main>\n{body}\n</main></body></html>'
    return f"<!doctype html>\n{whole}\n"


def _html(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Quotation(label, text):
            return f'<blockquote dir="auto"><strong>{escape(label)}</strong> {escape(text)}</blockquote>'
        case Links(targets):
            return "<p>" + " · ".join(f'<a href="{escape(url)}">{escape(text)}</a>' for text, url in targets) + "</p>"
        case Table(header, rows):
            head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
            body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        case Figure(svg, caption):
            return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
