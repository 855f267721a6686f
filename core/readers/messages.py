"""Text of Usenet messages without header, signature and quotations.

The same cleaning as in ``sklearn.datasets.fetch_20newsgroups(remove=...)``.
"""

from __future__ import annotations

import re

_BLANK = re.compile(r"\n[ \t\f]*\n")
_ENDS_HEADER = re.compile(r"(?:\A|\n)\n")
_FIELD = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*(?:\n[ \t]+.*)*)", re.M)
# A quoted line, or one that announces a quotation.
_QUOTE = re.compile(r"^\s*[>|]|^In article|^Quoted from|writes in|(?:writes|wrote|says|said):")


def header_and_text(message: str) -> tuple[dict[str, str], str]:
    """The fields of the header by lower-case name, the first of each, and all after the first empty line."""
    end = _ENDS_HEADER.search(message)
    head, text = (message[: end.start()], message[end.end() :]) if end else (message, "")
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(head):
        fields.setdefault(name.lower(), " ".join(value.split()))
    return fields, text


def without_signature(text: str) -> str:
    """Drop what follows the last blank or dashed line; a text of a single block is kept."""
    lines = text.strip().split("\n")
    last = next((i for i in range(len(lines) - 1, 0, -1) if not lines[i].strip(" \t\f-")), 0)
    return "\n".join(lines[:last]) if last else text


def without_quotations(text: str) -> str:
    """Drop lines that quote (beginning with ``>`` or ``|``) or announce a quotation ("… writes:")."""
    return "\n".join(line for line in text.split("\n") if not _QUOTE.search(line))


def paragraphs(text: str) -> list[str]:
    """The blocks between blank lines, each on one line."""
    blocks = (" ".join(block.split()) for block in _BLANK.split(text))
    return [block for block in blocks if block]
