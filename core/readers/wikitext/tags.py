"""Comments, extension tags and HTML tags.

Everything here is linear in the length of the text: tags are found in one pass and matched from a list, never by a
pattern that looks for a closing tag from every opening one.
"""

from __future__ import annotations

import re

_DROPPED = (
    "ref|references|gallery|math|ce|chem|score|timeline|syntaxhighlight|source|pre|imagemap|hiero|graph|mapframe|maplink"
    "|templatestyles|table|style|script|inputbox|section|categorytree|templatedata|indicator|noinclude|includeonly"
)
_COMMENT = re.compile(r"<!--(?:.*?-->|.*)", re.DOTALL)
_NOWIKI = re.compile(r"<nowiki>(.*?)</nowiki>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rf"<(/?)({_DROPPED})\b([^<>]*+)>", re.IGNORECASE)
_BREAKS = re.compile(
    r"</?(?:p|div|blockquote|center|poem|h[1-6]|ul|ol|dl|hr)\b[^<>]*+>|<br\b[^<>]*+>\s*<br\b[^<>]*+>", re.I
)
_LINE_BREAK = re.compile(r"<br\b[^<>]*+>", re.IGNORECASE)
_ITEM = re.compile(r"<(?:li|dt|dd)\b[^<>]*+>", re.IGNORECASE)
_HTML = re.compile(r"</?[a-zA-Z][^<>]*+>")
_MARKUP = str.maketrans({c: f"&#{ord(c)};" for c in "[]{}|'=*#:;<>_"})


def drop_hidden(text: str) -> str:
    """Remove comments, references, formulas, galleries and other elements that are no running text, content and all.

    Text between ``<nowiki>`` tags is kept with its markup characters as entities, so that later passes leave it alone.
    """
    if "<" not in text:
        return text
    if "<!--" in text:
        text = _COMMENT.sub("", text)
    if "<nowiki" in text.lower():
        text = _NOWIKI.sub(lambda found: found.group(1).translate(_MARKUP), text)
    return _drop_elements(text)


def _drop_elements(text: str) -> str:
    tags = list(_TAG.finditer(text))
    last_close = {tag.group(2).lower(): tag.start() for tag in tags if tag.group(1)}
    pieces, kept = [], 0  # text before ``kept`` is either in pieces or dropped
    index = 0
    while index < len(tags):
        tag = tags[index]
        pieces.append(text[kept : tag.start()])
        if (
            not tag.group(1)
            and not tag.group(3).endswith("/")
            and last_close.get(tag.group(2).lower(), -1) > tag.start()
        ):
            index = _closing(tags, index)
        kept = tags[index].end()
        index += 1
    pieces.append(text[kept:])
    return "".join(pieces)


def _closing(tags: list[re.Match[str]], index: int) -> int:
    """Index of the tag that closes ``tags[index]``; the tag itself when a forgotten close must be assumed.

    As in MediaWiki, ``</ref name="x">`` closes nothing as long as a proper ``</ref>`` follows.
    """
    name = tags[index].group(2).lower()
    depth, fallback = 1, index
    for at in range(index + 1, len(tags)):
        tag = tags[at]
        if tag.group(2).lower() != name or tag.group(3).endswith("/"):
            continue
        if tag.group(1) and tag.group(3).strip():
            fallback = at
        elif tag.group(1):
            depth -= 1
            if depth == 0:
                return at
        elif name == "ref":
            return fallback  # references do not nest: the first one was never closed properly
        else:
            depth += 1
    return fallback


def drop_tags(text: str) -> str:
    """Turn block tags into paragraph breaks, list items into list lines, and remove all other tags."""
    if "<" not in text:
        return text
    text = _BREAKS.sub("\n\n", text)
    text = _LINE_BREAK.sub(" ", text)
    text = _ITEM.sub("\n*", text)
    return _HTML.sub("", text)
