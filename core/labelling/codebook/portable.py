"""Codes without ids, as files hold them: example sentences are given by their text and place.

Programs for qualitative analysis have one text for each code. :func:`description` writes all fields of a code into it,
below headings, and :func:`described` reads them again; a line of a field that looks like a heading gets a backslash.
A codebook is also written as a document to read, as JSON and as a table; JSON and tables can be read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from themescope.core.errors import DataError
from themescope.core.labelling.codebook.entries import (
    EXAMPLE_LIMIT,
    SENTENCES,
    TEXT_LIMIT,
    TEXTS,
    Code,
    CodebookEntry,
    clean_text,
)
from themescope.core.labelling.markup import Block, Explained, HeadingBlock, ParagraphBlock, Together, counted
from themescope.core.labelling.partition import COLOURS

_TITLES = {**TEXTS, **SENTENCES}
_HEADED = {f"{title}:": name for name, title in _TITLES.items() if name != "definition"}
_LIKE_HEADING = re.compile(r"\\*(?:" + "|".join(map(re.escape, _HEADED)) + ")")
_ITEM = "- "


@dataclass(frozen=True, slots=True)
class PortableCode:
    """A code as files hold it."""

    name: str
    theme: str = ""
    """Name of its theme, if it is a sub-theme."""
    colour: int | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """Field → text, of :data:`themescope.core.labelling.codebook.entries.TEXTS`; empty ones are left out."""
    examples: tuple[str, ...] = ()
    """Sentences as :func:`reference` writes them, or texts of sentences."""
    counter_examples: tuple[str, ...] = ()
    sentences: int = 0
    """Number of sentences in the cluster."""


def one_line(text: str) -> str:
    """Return ``text`` with single spaces."""
    return " ".join(clean_text(text).split())


def reference(text: str, article: str, number: int) -> str:
    """Return the text of a sentence with its place: its article and its number in it, from 1."""
    return f"{one_line(text)} ({one_line(article)}, sentence {number})"


def text_of(reference: str) -> str:
    """Return the text in a reference; texts without a place stay."""
    head, _, number = reference.rpartition(", sentence ")
    text, place, _ = head.rpartition(" (")
    return text if place and number.endswith(")") and number[:-1].isdecimal() else reference


def portable(listed: Iterable[Code], references: Mapping[int, str], sizes: Mapping[int, int]) -> list[PortableCode]:
    """Return codes with the references of their sentences; ``sizes`` are the numbers of sentences of clusters."""
    listed = list(listed)
    names = {code.cluster.number: code.cluster.name for code in listed}

    def made(code: Code) -> PortableCode:
        texts = {name: text for name in TEXTS if (text := getattr(code.entry, name))}
        shown = {name: tuple(references[id] for id in getattr(code.entry, name)) for name in SENTENCES}
        theme = "" if code.cluster.parent is None else names[code.cluster.parent]
        size = sizes.get(code.cluster.number, 0)
        return PortableCode(code.cluster.name, theme, code.cluster.colour, texts, sentences=size, **shown)

    return [made(code) for code in listed]


def entry_for(code: PortableCode, found: Callable[[str], int | None]) -> tuple[CodebookEntry, int]:
    """Return the codebook entry of a code, and how many of its sentences ``found`` does not know.

    ``found`` returns the id of a sentence for a reference. What is beyond the limits is cut.
    """
    missing, ids, texts = 0, dict[str, Any](), dict[str, Any]()
    for name in SENTENCES:
        wanted = [found(shown) for shown in getattr(code, name)]
        ids[name] = tuple(dict.fromkeys(id for id in wanted if id is not None))[:EXAMPLE_LIMIT]
        missing += wanted.count(None)
    for name in TEXTS:
        texts[name] = clean_text(code.texts.get(name, ""))[:TEXT_LIMIT].strip()
    ids["counter_examples"] = tuple(id for id in ids["counter_examples"] if id not in ids["examples"])
    return CodebookEntry(**texts, **ids), missing


def description(code: PortableCode) -> str:
    """Return all fields of a code as one text: the definition, and the other fields below their titles."""
    parts = [_guarded(code.texts.get("definition", ""))]
    for name, title in _TITLES.items():
        if name != "definition":
            listed = "\n".join(_ITEM + one_line(item) for item in getattr(code, name, ()))
            body = _guarded(code.texts.get(name, "")) if name in TEXTS else listed
            parts += [f"{title}:\n{body}"] if body else []
    return "\n\n".join(part for part in parts if part)


def described(code: PortableCode, text: str) -> PortableCode:
    """Return the code with the fields that :func:`description` wrote; any other text is its definition."""
    parts: dict[str, list[str]] = {"definition": []}
    lines = parts["definition"]
    for line in clean_text(text).split("\n"):
        name = _HEADED.get(line)
        if name is None:
            lines.append(line[1:] if line.startswith("\\") and _LIKE_HEADING.fullmatch(line) else line)
        else:
            lines = parts.setdefault(name, [])
    texts = {name: found for name in TEXTS if (found := "\n".join(parts.get(name, ())).strip())}
    items = {
        name: tuple(line.removeprefix(_ITEM) for line in parts.get(name, ()) if line.strip()) for name in SENTENCES
    }
    return replace(code, texts=texts, examples=items["examples"], counter_examples=items["counter_examples"])


def _guarded(text: str) -> str:
    lines = text.split("\n")
    return "\n".join("\\" + line if _LIKE_HEADING.fullmatch(line) else line for line in lines)


# Nine hues of Paul Tol's schemes (SRON/EPS/TN/09-002), in four shades: one colour for each place of the palette.
_HUES = (0x1B7F79, 0xC2542D, 0x4A5FB0, 0xA8891B, 0x8A2F6B, 0x3F8F3F, 0x2F89C5, 0xC0587E, 0x6B6B2A)


def hex_colour(place: int) -> str:
    """Return the colour of a place of the palette as ``#rrggbb``; places with the same hue differ in lightness."""
    hue, white = _HUES[place % len(_HUES)], 0.18 * (place // len(_HUES))
    parts = (hue >> shift & 255 for shift in (16, 8, 0))
    return "#" + "".join(f"{round(part + (255 - part) * white):02x}" for part in parts)


def nearest_colour(shown: str) -> int | None:
    """Return the place of the palette that is nearest to a colour such as ``#1b7f79`` or ``#fff``; None for none."""
    digits = shown.strip().removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    if not re.fullmatch("[0-9A-Fa-f]{6}", digits):
        return None

    def apart(place: int) -> int:
        other = hex_colour(place)[1:]
        return sum((int(digits[at : at + 2], 16) - int(other[at : at + 2], 16)) ** 2 for at in (0, 2, 4))

    return min(range(COLOURS), key=apart)


# --- documents --------------------------------------------------------------------------------------------------------


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
        entry: list[Block] = [
            Explained(shown, code.texts[name]) for name, shown in TEXTS.items() if code.texts.get(name)
        ]
        entry += [Explained(shown, items) for name, shown in SENTENCES.items() if (items := getattr(code, name))]
        heading = HeadingBlock(3 if code.theme else 2, code.name, counted(code.sentences, "sentence"))
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


_ALIASES = {
    "tag": "code", "code name": "code", "codename": "code", "parent code": "theme", "parent": "theme",
    "code memo": "definition", "memo": "definition", "description": "definition",
}  # fmt: skip
"""Columns of the lists of codes of MAXQDA, Taguette and QualCoder, in small letters → ours."""


def from_lines(lines: Iterable[str]) -> list[PortableCode]:
    """Return the codes of a list of QualCoder: one in each line, "theme>>code", and its memo after a tab."""
    found = []
    for line in lines:
        path, _, memo = line.partition("\t")
        theme, _, name = path.rpartition(">>")
        if name.strip():
            texts = {"definition": memo.strip()} if memo.strip() else {}
            found.append(PortableCode(name.strip(), theme.replace(">>", " / ").strip(), texts=texts))
    listed = {code.name for code in found if not code.theme}
    return [
        PortableCode(theme) for theme in dict.fromkeys(c.theme for c in found) if theme and theme not in listed
    ] + found


def from_rows(header: Sequence[str], cells: Iterable[Sequence[str]]) -> list[PortableCode]:
    """Return the codes of a table; raise :class:`DataError` without a column ``code`` or one that others call so."""
    if HEADER[0] not in header:
        header = [_ALIASES.get(name.strip().lower(), name.strip().lower()) for name in header]
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
