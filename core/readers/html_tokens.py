"""Tags and text of HTML pages, found in time linear in the length of the page.

The rules are those of the tokenizer in the HTML Living Standard (section 13.2.5), without the states of a tree. The
parser of Python's standard library is not used, because its rules depend on the version of Python, and because it takes
quadratic time for unclosed markup before Python 3.11.14, 3.12.12 and 3.13.6.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

_SPACE = r" \t\n\r\f"
# An attribute value without its closing quotation mark matches nothing, so that the tag ends with the file.
_VALUE = rf"""(?:"[^"]*+"|'[^']*+'|[^{_SPACE}>"'][^{_SPACE}>]*+|(?=>))"""
_TAG = regex.compile(
    rf"""<(/?)([a-zA-Z][^{_SPACE}/>]*+)
    ((?:
        (/)(?=>)
      | [{_SPACE}/]
      | [^{_SPACE}/>][^{_SPACE}/>=]*+ (?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE} | (?![{_SPACE}]*+=))
    )*+)>""",
    regex.VERBOSE,
)
_TAG_START = regex.compile("</?[a-zA-Z]")
_ATTRIBUTE = regex.compile(
    rf"""([^{_SPACE}/>][^{_SPACE}/>=]*+)(?:[{_SPACE}]*+=[{_SPACE}]*+(?:"([^"]*+)"|'([^']*+)'|([^{_SPACE}>"'][^{_SPACE}>]*+)))?+"""
)
_COMMENT_END = regex.compile("--!?>")
_LONG_NUMBER = regex.compile(r"&#0*+([1-9][0-9]{7,});?")
_ZEROS = regex.compile(r"(?<=&#)0++(?=[0-9])")

_RAW_TEXT = frozenset(["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"])
"""Elements whose content has no tags (standard, section 13.2.6.4.4 and later)."""
_RAW_END = {name: regex.compile(rf"</{name}(?=[{_SPACE}/>])", regex.IGNORECASE) for name in _RAW_TEXT}


@dataclass(frozen=True, slots=True)
class Tag:
    """A start or end tag."""

    name: str
    """The name in lower case."""
    closing: bool = False
    """True for an end tag."""
    self_closing: bool = False
    """True for a start tag that ends with ``/>``."""
    source: str = ""
    """The attributes as written."""

    def attribute(self, name: str) -> str:
        """Return the value of the first attribute of this name, "" if there is none."""
        if name not in self.source.lower():
            return ""
        values = (m for m in _ATTRIBUTE.finditer(self.source) if m.group(1).lower() == name)
        found = next(values, None)
        return unescape(found.group(2) or found.group(3) or found.group(4) or "") if found else ""

    def has(self, name: str) -> bool:
        """Return whether there is an attribute of this name, with or without a value."""
        return name in self.source.lower() and any(m[1].lower() == name for m in _ATTRIBUTE.finditer(self.source))


def tokens(text: str) -> Iterator[Tag | str]:
    """Yield tags and pieces of text, with their character references replaced; comments are left out.

    Markup that is not closed ends with the file, as in the standard, and yields nothing.
    """
    at = 0
    while 0 <= at < len(text):
        mark = text.find("<", at)
        if mark != at:
            yield unescape(text[at:mark] if mark > 0 else text[at:])
        if mark < 0:
            return
        found = _TAG.match(text, mark)
        if found is not None:
            closing, name, source, slash = found.groups()
            name, at = name.lower(), found.end()
            yield Tag(name, bool(closing), bool(slash), source)
            if name in _RAW_TEXT and not (closing or slash):
                end = _RAW_END[name].search(text, at)
                yield unescape(text[at : end.start()] if end else text[at:])
                at = end.start() if end else -1
        elif _TAG_START.match(text, mark):
            return
        elif text.startswith(("<!", "<?", "</"), mark):
            at = _after_comment(text, mark)
        else:
            yield "<"
            at = mark + 1


def _after_comment(text: str, mark: int) -> int:
    """Return the position after a comment, a declaration or an instruction, -1 if it is not closed."""
    if not text.startswith("<!--", mark):
        return text.find(">", mark) + 1 or -1
    for empty in ("<!-->", "<!--->"):
        if text.startswith(empty, mark):
            return mark + len(empty)
    end = _COMMENT_END.search(text, mark + 4)
    return end.end() if end else -1


def unescape(text: str) -> str:
    """Return the text without character references, also of numbers that Python refuses to convert (4,300 digits)."""
    if "&" not in text:
        return text
    if "&#" in text:
        text = _LONG_NUMBER.sub("\ufffd", _ZEROS.sub("", text))
    return html.unescape(text)
