"""Templates ``{{…}}``, their parameters ``{{{…}}}`` and tables ``{|…|}``: one pass with a stack.

Tables go. A template goes too, unless it stands for text (see ``template_names``). What is nested is resolved from
the inside, so every character is looked at once per level, and levels are bounded as in MediaWiki.
"""

from __future__ import annotations

import re

from core.readers.wikitext.template_names import expand

_MARK = re.compile(r"\{\{++|\}\}++|\{\|(?!\})|\|\}(?!\}(?!\}))")
_DEPTH = 40
_BROKEN = re.compile(r"\n\s*\n|\n(?==)")


class _Stack:
    """Output so far, and where each open bracket began in it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.open: list[tuple[int, int]] = []  # (index into pieces, number of braces; 0 for a table)

    def push(self, braces: int) -> None:
        self.open.append((len(self.pieces), braces))
        self.pieces.append("")

    def pop(self) -> str:
        """Close the innermost bracket and return what stood in it."""
        start, _ = self.open.pop()
        inside = "" if len(self.open) >= _DEPTH else "".join(self.pieces[start + 1 :])
        del self.pieces[start:]
        return inside

    def close_table(self) -> None:
        """Close the innermost table with whatever was left open in it."""
        if any(braces == 0 for _, braces in self.open):
            while self.open[-1][1]:
                self.pop()
            self.pop()
            self.pieces.append("")

    def close_braces(self, count: int) -> None:
        """Match ``count`` closing braces against the innermost open ones, three (a parameter) before two."""
        while count >= 2 and any(braces for _, braces in self.open):
            while self.open[-1][1] == 0:
                self.pop()  # a table that was never closed inside a template
            start, braces = self.open[-1]
            used = 3 if min(count, braces) >= 3 else 2
            inside = self.pop()
            value = expand(inside) if used == 2 else ""
            count -= used
            if braces - used >= 2:
                self.open.append((start, braces - used))
                self.pieces.append("")
            self.pieces.append(value)


def drop_templates(text: str) -> str:
    """``text`` without templates and tables, except for the text that some templates stand for."""
    if "{" not in text and "}}" not in text:
        return text
    stack, done = _Stack(), 0
    for mark in _MARK.finditer(text):
        if "|" in mark.group() and not _begins_line(text, mark.start()):
            continue
        stack.pieces.append(text[done : mark.start()])
        done = mark.end()
        token = mark.group()
        if token.startswith("{{"):
            stack.push(len(token))
        elif token.startswith("}}"):
            stack.close_braces(len(token))
        elif token.endswith("{|"):
            stack.push(0)
        else:
            stack.close_table()
    stack.pieces.append(text[done:])
    return _without_broken(stack)


def _begins_line(text: str, at: int) -> bool:
    """Whether only spaces and colons stand before ``at`` in its line, as before the marks of a table."""
    while at and text[at - 1] in " \t:":
        at -= 1
    return at == 0 or text[at - 1] == "\n"


def _without_broken(stack: _Stack) -> str:
    """Join the output; what was never closed takes the rest of its paragraph along (a table: of its section)."""
    tail = ""
    while stack.open:
        start, braces = stack.open.pop()
        rest = "".join(stack.pieces[start + 1 :]) + tail
        del stack.pieces[start:]
        end = _BROKEN.search(rest) if braces else re.search(r"\n(?==)", rest)
        tail = rest[end.start() :] if end else ""
    return "".join(stack.pieces) + tail
