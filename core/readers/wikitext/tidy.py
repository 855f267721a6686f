"""Final clean-up of a paragraph: emphasis, entities and remains of removed markup."""

from __future__ import annotations

import html
import re

_QUOTES = re.compile(r"''+")
_MAGIC = re.compile(r"__[A-Z]+__")
_ODD_SPACES = re.compile(r"[\xa0\u2000-\u200a\u202f\u205f\u3000\t\n\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060\ufeff\xad\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_BRACKET_START = re.compile(r"([(\[])[\s,;:/–—]+(?=[^\s])")
_BRACKET_END = re.compile(r"[\s,;:/]+([)\]])")
_EMPTY = re.compile(r" ?\(\s*[-,;:/.–—\"'\s]*\)| ?\[\s*\]|(?<=\s)\"\s*\"(?=[\s.,;]|$)")
# "(equivalent to ${{Inflation|…}} million in {{Inflation/year|…}})" once its templates are gone
_INFLATION = re.compile(
    r" ?\((?:equivalent|equal) to(?: about| approximately)?[ $£€]*(?:[mb]illion)?(?: in| as of)? ?\)"
)
_SPACE_BEFORE = re.compile(r" +([,;:!?](?=[\s\"')]|$)|\.(?=\s|$|\"))")
_DOUBLE_COMMA = re.compile(r",(?: ?,)+|;(?: ?[;,])+|,(?: ?;)+")
_COMMA_STOP = re.compile(r"[,;:] ?(\.(?=\s|$))")
_SPACES = re.compile(r"  +")
_LEADING = re.compile(r"^(?:[,;:.)\]}|!\s](?!\.\.))+(?=[\s\w\"'(])")


def _quotes(found: re.Match[str]) -> str:
    """Apostrophes of a run that are no markup: one of four, and those beyond five."""
    length = len(found.group())
    return "'" if length == 4 else "'" * (length - 5)


def tidy(text: str) -> str:
    """One clean line: no emphasis marks, entities, odd spaces, empty brackets or orphaned punctuation."""
    if "''" in text:
        text = _QUOTES.sub(_quotes, text)
    if "&" in text:
        text = html.unescape(text)
        if "&" in text and "&amp;" not in text:
            text = html.unescape(text)  # dumps hold "&amp;nbsp;" where authors escaped twice
    if "__" in text:
        text = _MAGIC.sub("", text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    text = _ODD_SPACES.sub(" ", text)
    if "(" in text or "[" in text:
        text = _brackets(text)
    text = _SPACES.sub(" ", text)
    text = _SPACE_BEFORE.sub(r"\1", text)
    if "," in text or ";" in text or ":" in text:
        text = _COMMA_STOP.sub(r"\1", _DOUBLE_COMMA.sub(lambda m: m.group()[0], text))
    return _LEADING.sub("", text).strip()


def _brackets(text: str) -> str:
    if " to" in text:
        text = _INFLATION.sub("", text)
    for _ in range(3):  # emptied brackets inside brackets
        text, count = _EMPTY.subn("", text)
        if not count:
            break
    return _BRACKET_END.sub(r"\1", _BRACKET_START.sub(r"\1", text))
