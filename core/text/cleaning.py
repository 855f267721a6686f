"""Forms of characters: texts are stored, searched, named and compared in one form.

Unicode composes letters and accents in two ways (NFC and NFD), and has characters that are not seen: soft hyphens,
spaces and joins of no width, and marks of the byte order. With them, equal words are different texts.
"""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = re.compile("[\u0000\u00ad\u200b\u2060\ufeff]")
"""NUL, soft hyphen, zero-width space, word joiner, byte order mark. Joiners of scripts and emoji (U+200C/D) stay."""

UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]"
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese, which are written without spaces."""
_GOING_ON = re.compile(rf"(?<={UNSPACED})[ \t\r]*\n\s*(?={UNSPACED})")

SIGNS = {**dict.fromkeys("‘’‚‛′‹›`´", "'"), **dict.fromkeys("“”„‟″«»〝〞", '"'), **dict.fromkeys("‐‑‒–—―−", "-")}
"""Quotation marks, apostrophes and dashes → the ones of keyboards."""
_ALIKE = str.maketrans(SIGNS | {"…": "..."})
_OUTER = " .,;:!?\"'()[]{}<>*¡¿。、・「」『』،؛؟।"


def clean(text: str) -> str:
    """Return a text in Unicode NFC without characters that are not seen."""
    if text.isascii() and "\0" not in text:
        return text
    return unicodedata.normalize("NFC", _UNSEEN.sub("", text))


def one_line(text: str) -> str:
    """Return a text with single spaces, and without one where the next line of a script without spaces goes on."""
    return " ".join((text if text.isascii() else _GOING_ON.sub("", text)).split())


def comparable(text: str) -> str:
    """Return a text in which small and capital letters, and signs that programs replace by each other, are the same.

    These are quotation marks, apostrophes, dashes and dots. It is compared, never stored.
    """
    return clean(text).translate(_ALIKE).replace("''", '"').casefold()


def folded_name(name: str) -> str:
    """Return the form of a name in which names that look the same are equal. It is compared, never stored.

    Letter case, spaces, compatible characters (NFKC) and characters that are not seen do not count.
    """
    compatible = unicodedata.normalize("NFKC", name)
    seen = (c for c in compatible if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace())
    return " ".join("".join(seen).casefold().split())


def text_key(text: str) -> str:
    """Return a text without letter case, repeated spaces and punctuation around it: identical texts have the same.

    Characters that are compatible in Unicode, such as letters of full width, are the same (NFKC). Punctuation stays
    where nothing but marks would remain, as in ":-)". It is compared, never stored.
    """
    flat = " ".join(comparable(unicodedata.normalize("NFKC", text)).split())
    inner = flat.strip(_OUTER)
    return inner if any(map(str.isalnum, inner)) else flat
