"""A codebook as Markdown, as a page for printing, as JSON and as a table; JSON and tables can be read again.

Texts of users are escaped: Markdown and HTML show them letter by letter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from themescope.core.errors import DataError
from themescope.core.labelling.codebook.entries import SENTENCES, TEXTS
from themescope.core.labelling.codebook.portable import PortableCode, one_line

FORMAT, FORMAT_VERSION = "themescope codebook", 1
HEADER = ("code", "theme", *TEXTS, *SENTENCES, "sentences")
"""Columns of the table. Each line of a cell of examples is one sentence."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&])|^(\s*)([-+=]+|\d+[.)])(?=\s|$)", re.MULTILINE)
_STYLE = """
body { font: 11pt/1.45 Georgia, "Times New Roman", serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1f2a33; }
h1, h2, h3, dt { font-family: system-ui, sans-serif; line-height: 1.25; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; border-top: 1px solid #b9bcc0; padding-top: 1rem; } h3 { font-size: 1.08rem; }
.about { color: #55606a; } .count { font-weight: normal; color: #55606a; font-size: .9em; }
dt { font-size: .85rem; font-weight: 600; margin-top: .7rem; } dd { margin: .15rem 0 0; white-space: pre-wrap; }
ul { margin: .2rem 0; padding-left: 1.2rem; } section { break-inside: avoid-page; }
@media print { body { margin: 0; max-width: none; } h2, h3, dt { break-after: avoid; } @page { margin: 2cm; } }
"""  # noqa: E501


def markdown(title: str, about: str, codes: Sequence[PortableCode]) -> str:
    """Return a codebook as Markdown; ``about`` is the line below its title."""
    parts = [f"# {_md(title)}", _md(about)]
    for code in codes:
        level = "###" if code.theme else "##"
        parts.append(f"{level} {_md(code.name)} ({code.sentences:,} {_sentences(code)})")
        for name, shown in TEXTS.items():
            if text := code.texts.get(name):
                parts.append(f"**{shown}**\n\n{_md_lines(text)}")
        for name, shown in SENTENCES.items():
            if items := getattr(code, name):
                parts.append(f"**{shown}**\n\n" + "\n".join(f"- {_md(item)}" for item in items))
    return "\n\n".join(part for part in parts if part) + "\n"


def _md(text: str) -> str:
    return _MARKDOWN.sub(_escaped, one_line(text))


def _md_lines(text: str) -> str:
    """Return the lines of a text; single line ends are kept as line breaks, empty lines as paragraphs."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join("\\\n".join(_md(line) for line in part.split("\n")) for part in paragraphs)


def _escaped(found: re.Match[str]) -> str:
    if found[1]:
        return "\\" + found[1]
    marker = found[3]
    return (found[2] or "") + (marker[:-1] + "\\" + marker[-1] if len(marker) > 1 else "\\" + marker)


def _sentences(code: PortableCode) -> str:
    return "sentence" if code.sentences == 1 else "sentences"


def web_page(title: str, about: str, codes: Sequence[PortableCode]) -> str:
    """Return a codebook as one HTML file without scripts, laid out for printing."""
    head = f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
    parts = [f"{head}\n<style>{_STYLE}</style></head><body>", f"<h1>{escape(title)}</h1>"]
    parts.append(f"<p class='about'>{escape(about)}</p>")
    parts += [_section(code) for code in codes]
    return "\n".join([*parts, "</body></html>\n"])


def _section(code: PortableCode) -> str:
    level = "h3" if code.theme else "h2"
    count = f"<span class='count'>{code.sentences:,} {_sentences(code)}</span>"
    rows = [
        f"<dt>{shown}</dt><dd>{escape(code.texts[name])}</dd>" for name, shown in TEXTS.items() if name in code.texts
    ]
    for name, shown in SENTENCES.items():
        items = "".join(f"<li>{escape(item)}</li>" for item in getattr(code, name))
        rows += [f"<dt>{shown}</dt><dd><ul>{items}</ul></dd>"] if items else []
    body = f"<dl>{''.join(rows)}</dl>" if rows else "<p class='about'>No codebook entry yet.</p>"
    return f"<section><{level}>{escape(code.name)} {count}</{level}>{body}</section>"


def json_text(title: str, codes: Iterable[PortableCode]) -> str:
    """Return a codebook as JSON, which :func:`from_json` reads."""
    listed = [
        {"name": c.name, "theme": c.theme, "colour": c.colour, **c.texts}
        | {name: list(getattr(c, name)) for name in SENTENCES}
        | {"sentences": c.sentences}
        for c in codes
    ]
    document = {"format": FORMAT, "version": FORMAT_VERSION, "name": title, "codes": listed}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> list[PortableCode]:
    """Return the codes of a JSON codebook; raise :class:`DataError` for another file."""
    try:
        document = json.loads(text)
        if document["format"] != FORMAT or document["version"] != FORMAT_VERSION:
            raise ValueError(document)
        return [_code(row) for row in document["codes"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError("This is not a codebook in JSON as Themescope writes it. Export it again.") from None


def _code(row: dict[str, Any]) -> PortableCode:
    texts = {name: _string(row[name]) for name in TEXTS if row.get(name)}
    examples, counter = (tuple(map(_string, row.get(name, ()))) for name in SENTENCES)
    colour = row.get("colour")
    if not isinstance(colour, int | None):
        raise TypeError(row)
    return PortableCode(_string(row["name"]), _string(row.get("theme", "")), colour, texts, examples, counter)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def rows(codes: Iterable[PortableCode]) -> list[tuple[Any, ...]]:
    """Return the rows of the table, see :data:`HEADER`."""

    def row(code: PortableCode) -> tuple[Any, ...]:
        texts = (code.texts.get(name, "") for name in TEXTS)
        return code.name, code.theme, *texts, *("\n".join(getattr(code, name)) for name in SENTENCES), code.sentences

    return [row(code) for code in codes]


def from_rows(header: Sequence[str], cells: Iterable[Sequence[str]]) -> list[PortableCode]:
    """Return the codes of a table; raise :class:`DataError` without a column ``code``."""
    if HEADER[0] not in header:
        raise DataError(f"A table of codes needs a column “{HEADER[0]}”. It may have: {', '.join(HEADER[1:-1])}.")
    found = []
    for values in cells:
        row = dict(zip(header, values, strict=False))
        if name := row.get(HEADER[0], "").strip():
            texts = {text: row[text] for text in TEXTS if row.get(text)}
            examples, counter = (tuple(filter(None, row.get(kind, "").split("\n"))) for kind in SENTENCES)
            found.append(PortableCode(name, row.get("theme", "").strip(), None, texts, examples, counter))
    return found
