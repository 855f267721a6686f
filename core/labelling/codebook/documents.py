"""A codebook as a document to read, as JSON and as a table; JSON and tables can be read again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from themescope.core.errors import DataError
from themescope.core.labelling.codebook.entries import SENTENCES, TEXTS
from themescope.core.labelling.codebook.portable import PortableCode
from themescope.core.labelling.markup import Block, Explained, HeadingBlock, ParagraphBlock, Together

FORMAT, FORMAT_VERSION = "themescope codebook", 1
HEADER = ("code", "theme", *TEXTS, *SENTENCES, "sentences")
"""Columns of the table. Each line of a cell of examples is one sentence."""
PRINTED = """
body { font: 11pt/1.45 Georgia, "Times New Roman", serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1f2a33; }
h1, h2, h3, dt { font-family: system-ui, sans-serif; line-height: 1.25; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; border-top: 1px solid #b9bcc0; padding-top: 1rem; } h3 { font-size: 1.08rem; }
.note { font-weight: normal; color: #55606a; font-size: .9em; }
dl { margin: 0; } dt { font-size: .85rem; font-weight: 600; margin-top: .7rem; } dd { margin: .15rem 0 0; white-space: pre-wrap; }
ul { margin: .2rem 0; padding-left: 1.2rem; } section { break-inside: avoid-page; }
@media print { body { margin: 0; max-width: none; } h2, h3, dt { break-after: avoid; } @page { margin: 2cm; } }
"""  # noqa: E501
"""Style of the page for printing."""


def blocks(title: str, about: str, codes: Sequence[PortableCode]) -> list[Block]:
    """Return a codebook for people to read; ``about`` is the line below its title."""
    found: list[Block] = [HeadingBlock(1, title), *([ParagraphBlock(about)] if about else [])]
    for code in codes:
        count = f"{code.sentences:,} {'sentence' if code.sentences == 1 else 'sentences'}"
        entry: list[Block] = [
            Explained(shown, code.texts[name]) for name, shown in TEXTS.items() if code.texts.get(name)
        ]
        entry += [Explained(shown, items) for name, shown in SENTENCES.items() if (items := getattr(code, name))]
        heading = HeadingBlock(3 if code.theme else 2, code.name, count)
        found.append(Together([heading, *(entry or [ParagraphBlock("No codebook entry yet.")])]))
    return found


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
