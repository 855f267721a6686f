"""Texts for people to read, written as Markdown, LaTeX or HTML, each with one escape for texts of users.

Paragraphs of sentences with citations become Markdown or LaTeX (:func:`markdown`, :func:`latex_text`). Documents of
blocks become Markdown or one HTML file (:func:`as_markdown`, :func:`as_html`).
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Foreign:
    """Text that people or sources wrote: names of corpora, models and tasks."""

    text: str


@dataclass(frozen=True, slots=True)
class Cite:
    """Citation of a reference by its key."""

    key: str


NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""Characters that no XML document can hold."""
Part: TypeAlias = str | Foreign | Cite
Sentence: TypeAlias = Sequence[Part]

_SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "×": r"$\times$",
    "–": "--",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}
_ESCAPED = re.compile("|".join(re.escape(letter) for letter in _SPECIAL))
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#|~&$])|^([-+=]+|\d+[.)])(?=\s|$)")


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1,234 sentences``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def latex(text: str) -> str:
    """Return ``text`` escaped for LaTeX."""
    return _ESCAPED.sub(lambda match: _SPECIAL[match.group()], text)


def markdown_text(text: str) -> str:
    """Return ``text`` on one line, escaped for Markdown: its marks, and what begins a list or underlines a heading."""

    def escaped(found: re.Match[str]) -> str:
        marker = found[1] or found[2]
        return f"{marker[:-1]}\\{marker[-1]}"

    return _MARKDOWN.sub(escaped, " ".join(text.split()))


def _flat(text: str) -> str:
    """Return foreign text on one line, without control characters and other invisible ones."""
    kept = (c if unicodedata.category(c)[0] != "C" else " " for c in text)
    return " ".join("".join(kept).split())


@dataclass(frozen=True, slots=True)
class Reference:
    """A publication."""

    key: str
    """Key of the BibTeX entry, such as ``dawid1979``."""
    kind: str
    """Kind of the BibTeX entry: "article" or "inproceedings"."""
    authors: tuple[str, ...]
    """Surname, given names."""
    title: str
    source: str
    """Journal or proceedings."""
    year: int
    volume: str = ""
    pages: str = ""

    @property
    def short(self) -> str:
        """Authors and year as in a text: ``Dawid and Skene 1979``."""
        names = [author.partition(",")[0] for author in self.authors]
        listed = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return f"{listed} {self.year}"

    def bibtex(self) -> str:
        """Return the BibTeX entry."""
        where = "journal" if self.kind == "article" else "booktitle"
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{latex(self.title)}}}",
            where: latex(self.source),
            "year": str(self.year),
            "volume": self.volume,
            "pages": self.pages.replace("–", "--"),
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def line(self) -> str:
        """Return the reference as a line of a list."""
        names = "; ".join(self.authors)
        place = f"{self.source} {self.volume}".strip() + (f", {self.pages}" if self.pages else "")
        return f"{names} ({self.year}): {self.title}. {place}."


def markdown(paragraphs: Iterable[Iterable[Sentence]], references: Mapping[str, Reference]) -> str:
    """Return paragraphs of sentences as Markdown, with a list of the references that they cite."""
    text, listed = _with_references(paragraphs, references, markdown_text)
    end = ["## References", "\n".join(f"- {line}" for line in listed)] if listed else []
    return "\n\n".join([*text, *end]) + "\n"


def paragraph_blocks(paragraphs: Iterable[Iterable[Sentence]], references: Mapping[str, Reference]) -> list[Block]:
    """Return paragraphs of sentences as blocks, with the references that they cite in the last ones."""
    text, listed = _with_references(paragraphs, references, str)
    return [*map(ParagraphBlock, text), *([Explained("References", listed)] if listed else [])]


def _with_references(
    paragraphs: Iterable[Iterable[Sentence]], references: Mapping[str, Reference], escaped: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """Return the texts of paragraphs, and the lines of the references that they cite."""
    found = [list(paragraph) for paragraph in paragraphs]

    def part(one: Part) -> str:
        if isinstance(one, Cite):
            return f"({references[one.key].short})"
        return escaped(_flat(one.text)) if isinstance(one, Foreign) else one

    text = [" ".join("".join(map(part, sentence)) for sentence in paragraph) for paragraph in found]
    return text, [references[key].line() for key in cited(found)]


def latex_text(paragraphs: Iterable[Iterable[Sentence]]) -> str:
    """Return paragraphs of sentences as LaTeX, with commands for the citations."""

    def part(one: Part) -> str:
        if isinstance(one, Cite):
            return rf"\cite{{{one.key}}}"
        return latex(_flat(one.text)) if isinstance(one, Foreign) else latex(one).replace("“", "``").replace("”", "''")

    text = [" ".join("".join(map(part, sentence)) for sentence in paragraph) for paragraph in paragraphs]
    return "\n\n".join(text) + "\n"


def cited(paragraphs: Iterable[Iterable[Sentence]]) -> list[str]:
    """Return the keys of the references that sentences cite, in their order."""
    parts = (part for paragraph in paragraphs for sentence in paragraph for part in sentence)
    return list(dict.fromkeys(part.key for part in parts if isinstance(part, Cite)))


# --- documents of blocks ----------------------------------------------------------------------------------------------

_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1f2a33;
background:#fdfcf9}table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid #b9bcc0;padding:.3rem .6rem;
text-align:left;vertical-align:top}blockquote{margin:.5rem 0;padding:.2rem 1rem;border-left:4px solid #1b7f79}
figure{margin:1rem 0}img{max-width:100%}a{color:#0b6b6b}
@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#12171c}
a{color:#4fc3b8}th,td{border-color:#5d6873}}"""


@dataclass(frozen=True, slots=True)
class HeadingBlock:
    """A heading of level 1 to 4, with a note behind it."""

    level: int
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ParagraphBlock:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quoted sentence, with what is said about it in front of it."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class LinkTargets:
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


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as PNG, with its content in words."""

    png: bytes
    caption: str


@dataclass(frozen=True, slots=True)
class Explained:
    """A term with its explanation: a text of several lines, or a list."""

    term: str
    text: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Together:
    """Blocks that are printed on one page if possible."""

    blocks: Sequence[Block]


Block: TypeAlias = (
    "HeadingBlock | ParagraphBlock | Quotation | LinkTargets | Table | Figure | Picture | Explained | Together"
)


def as_markdown(blocks: Sequence[Block]) -> str:
    """Return CommonMark with tables; figures are embedded as images."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case HeadingBlock(level, text, note):
            return f"{'#' * level} {markdown_text(text)}{f' ({markdown_text(note)})' if note else ''}"
        case ParagraphBlock(text):
            return markdown_text(text)
        case Quotation(label, text):
            return f"> **{markdown_text(label)}** {markdown_text(text)}"
        case LinkTargets(targets):
            safe = str.maketrans({"<": "%3C", ">": "%3E", "\n": ""})
            return " · ".join(f"[{markdown_text(text)}](<{url.translate(safe)}>)" for text, url in targets)
        case Table(header, rows):
            lines = [[markdown_text(cell) for cell in row] for row in (header, *rows)]
            lines.insert(1, ["---"] * len(header))
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Figure(svg, caption):
            return f"![{markdown_text(caption)}](data:image/svg+xml;base64,{b64encode(svg.encode()).decode()})"
        case Picture(png, caption):
            return f"![{markdown_text(caption)}](data:image/png;base64,{b64encode(png).decode()})"
        case Explained(term, str(text)):
            # Single line ends are kept as line breaks, empty lines as paragraphs.
            parts = (part.split("\n") for part in re.split(r"\n\s*\n", text))
            listed = ("\\\n".join(map(markdown_text, part)) for part in parts)
            return "\n\n".join([f"**{markdown_text(term)}**", *listed])
        case Explained(term, items):
            return f"**{markdown_text(term)}**\n\n" + "\n".join(f"- {markdown_text(item)}" for item in items)
        case Together(blocks):
            return "\n\n".join(map(_markdown, blocks))


def as_html(blocks: Sequence[Block], title: str, style: str = _STYLE) -> str:
    """Return one file of HTML that needs no other file; texts are escaped."""
    body = "\n".join(_html(block) for block in blocks)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    whole = f'<html lang="en"><head>{head}<style>{style}</style></head><body><main>\n{body}\n</main></body></html>'
    return f"<!doctype html>\n{whole}\n"


def _html(block: Block) -> str:
    match block:
        case HeadingBlock(level, text, note):
            small = f' <span class="note">{escape(note)}</span>' if note else ""
            return f"<h{level}>{escape(text)}{small}</h{level}>"
        case ParagraphBlock(text):
            return f"<p>{escape(text)}</p>"
        case Quotation(label, text):
            return f'<blockquote dir="auto"><strong>{escape(label)}</strong> {escape(text)}</blockquote>'
        case LinkTargets(targets):
            return "<p>" + " · ".join(f'<a href="{escape(url)}">{escape(text)}</a>' for text, url in targets) + "</p>"
        case Table(header, rows):
            head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
            body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        case Figure(svg, caption):
            return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
        case Picture(png, caption):
            image = f'<img src="data:image/png;base64,{b64encode(png).decode()}" alt="{escape(caption)}">'
            return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"
        case Explained(term, text):
            items = f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in text)}</ul>"
            return f"<dl><dt>{escape(term)}</dt><dd>{escape(text) if isinstance(text, str) else items}</dd></dl>"
        case Together(blocks):
            return f"<section>{''.join(map(_html, blocks))}</section>"
