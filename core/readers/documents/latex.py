"""LaTeX documents: paragraphs under headings; formulas stay as they are, floats, notes and comments are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import regex  # type: ignore[import-untyped]

from themescope.core.errors import ReadError, optional_module
from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind
from themescope.core.readers.plain_text import TextConfig, text_of
from themescope.core.readers.streams import FileHead
from themescope.core.types import ReadAccount, Report

_LEVELS = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
}
_TABLES = frozenset(["tabular", "tabular*", "tabularx", "longtable", "array"])
_FLOATS = frozenset([
    "figure", "figure*", "table", "table*", "wrapfigure", "thebibliography", "tikzpicture", "lstlisting", "verbatim",
    "minted", "comment",
])  # fmt: skip
_FORMULAS = frozenset(["equation", "align", "gather", "eqnarray", "multline", "flalign", "displaymath", "math"])
_LISTS = frozenset(["itemize", "enumerate", "description"])
_NOTES = {"footnote": "footnote", "footnotetext": "footnote", "thanks": "footnote", "todo": "comment"}
_FILES = {
    **dict.fromkeys(("input", "include", "subfile", "import", "subimport"), "included file"),
    "verbatiminput": "included file",
    "lstinputlisting": "included file",
    "includegraphics": "picture",
    "bibliography": "file of references",
    "addbibresource": "file of references",
}
"""Macros whose content is in another file, which is named."""
_ARGUMENTS = {
    "subfile": "{",
    "import": "{{",
    "subimport": "{{",
    "verbatiminput": "{",
    "lstinputlisting": "[{",
    "addbibresource": "[{",
    "newtheorem": "*{[{[",
    "href": "[{{",
}
"""Macros that pylatexenc does not know → their arguments."""
_WITHOUT_TEXT = frozenset([
    "label", "ref", "cite", "citep", "citet", "pageref", "eqref", "usepackage", "documentclass",
    "bibliographystyle", "vspace", "hspace", "setlength", "newcommand",
    "renewcommand", "begin", "end", "pagestyle", "thispagestyle", "hypersetup", "setcounter", "index", "nocite",
])  # fmt: skip
"""Macros whose arguments are no text of the document."""
_FRONT = {"author": "author", "date": "date"}
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_BREAKS = frozenset(["par", "newpage", "clearpage", "pagebreak", "bigskip", "medskip", "smallskip", "maketitle"])
_SPACED = frozenset(["\\", "newline", "quad", "qquad", " ", ",", ";", "hfill", "linebreak"])
_BEGINS = re.compile(r"^[ \t]*+\\(?:documentclass|begin\{document\})", re.MULTILINE)
_DEEPEST = 200
_STEPS = {"{": 1, "[": 1, "begin": 1, "}": -1, "]": -1, "end": -1}
_SPACE = r"(?:\s|%[^\n]*+\n)*+"
_GROUP = r"(\{(?:\\.|[^{}\\]|(?1))*+\})"
_DEFINITION = regex.compile(
    rf"(?(DEFINE){_GROUP})\\(?:(?:(?:re)?newcommand|providecommand)\*?{_SPACE}(?:\{{\s*\\[A-Za-z@]++\s*\}}|\\[A-Za-z@]++)"
    rf"|[gex]?def{_SPACE}\\[A-Za-z@]++|(?:re)?newenvironment\*?{_SPACE}\{{[^{{}}]*+\}}(?:{_SPACE}\[[^][]*+\])*+{_SPACE}(?1))"
    rf"(?:{_SPACE}(?:\[[^][]*+\]|\#\d))*+{_SPACE}(?1)",
    regex.DOTALL,
)
"""Definition of a command, whose parts seldom close what they begin."""
_MOST_TOKENS = 20
"""Tokens for each character, beyond which the parser goes back and forth between braces that do not match."""

SAMPLE = rb"""\documentclass{article}
\title{Ada}
\begin{document}
Ada is a \emph{town}. It is old.
\section{History}
It was founded in 1200.

Then it grew.
\end{document}
"""


@dataclass(frozen=True)
class LatexConfig(TextConfig, DocumentConfig):
    """Settings of the reader."""


class Latex(DocumentReader[LatexConfig]):
    """Reader of a LaTeX file as one article, titled by its title, or the file name."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the document."""
        walker = optional_module("pylatexenc.latexwalker", "Reading LaTeX files", "pylatexenc", "app")
        spec = optional_module("pylatexenc.macrospec", "Reading LaTeX files", "pylatexenc", "app")
        to_text = optional_module("pylatexenc.latex2text", "Reading LaTeX files", "pylatexenc", "app")
        text = text_of(path, report, self.config.encoding, self.account)
        for found in _DEFINITION.finditer(text):
            place = f"line {text.count(chr(10), 0, found.start()) + 1:,}"
            self.account.skip("definition of a command", place, found[0])
        text = _DEFINITION.sub("", text)
        if _depth(text) > _DEEPEST:
            raise ReadError(path, f"it has more than {_DEEPEST} braces or environments in each other.")
        known = walker.get_default_latex_context_db()
        macros = [spec.MacroSpec(name, spec.MacroStandardArgsParser(form)) for name, form in _ARGUMENTS.items()]
        known.add_context_category("themescope", macros=macros, prepend=True)
        parser = walker.LatexWalker(text, latex_context=known, tolerant_parsing=True)
        left, get_token = count(_MOST_TOKENS * len(text) + 1_000, -1), parser.get_token

        def limited(*args: Any, **options: Any) -> Any:
            if next(left) < 0:
                raise ReadError(path, "its braces or environments do not match.", advice="Check that LaTeX runs on it.")
            return get_token(*args, **options)

        parser.get_token = limited
        nodes, _, _ = parser.get_latex_nodes()
        symbols = to_text.LatexNodes2Text(math_mode="verbatim", keep_comments=False)
        yield Document("", _Text(walker, symbols, self.account).blocks(nodes))


def _depth(text: str) -> int:
    """Return the number of braces and environments around each other at the deepest place."""
    depth = most = 0
    for found in re.finditer(r"\\[{}\\]|[{}\[\]]|\\(begin|end)\b|\$", text):
        depth = max(depth + _STEPS.get(found[1] or found[0], 0), 0)
        most = max(most, depth)
    return most


class _Text:
    """The open paragraph, and the blocks that end it."""

    def __init__(self, walker: Any, symbols: Any, account: ReadAccount) -> None:
        self._walker, self._symbols, self._account = walker, symbols, account
        self._pieces: list[str] = []
        self._kind = Kind.PARAGRAPH

    def blocks(self, nodes: Any) -> Iterator[Block]:
        """Yield the blocks of a document."""
        documents = [node for node in nodes if self._is(node, "Environment") and node.environmentname == "document"]
        outside: list[str] = []
        for node in nodes if documents else ():  # the title may stand above the text
            if self._is(node, "Macro") and (node.macroname == "title" or node.macroname in _FRONT | _FILES):
                yield from self._macro(node)
            elif node is not documents[0]:
                outside.append(node.latex_verbatim())
        yield from self._read(documents[0].nodelist if documents else nodes)
        yield from self._end()
        yield Block("text outside of the document", "".join(outside))

    def _is(self, node: Any, kind: str) -> bool:
        return node is not None and node.isNodeType(getattr(self._walker, f"Latex{kind}Node"))

    def _read(self, nodes: Any) -> Iterator[Block]:
        for node in nodes or ():
            if self._is(node, "Chars"):
                first, *others = _BLANK.split(node.chars)
                self._pieces.append(self._plain(first))
                for part in others:
                    yield from self._end()
                    self._pieces.append(self._plain(part))
            elif self._is(node, "Comment"):
                yield Block("comment", node.comment)
                if "\n\n" in node.comment_post_space.replace(" ", ""):
                    yield from self._end()
            elif self._is(node, "Group"):
                yield from self._read(node.nodelist)
            elif self._is(node, "Environment"):
                yield from self._environment(node)
            elif self._is(node, "Macro"):
                yield from self._macro(node)
            elif self._is(node, "Math"):
                self._pieces.append(node.latex_verbatim())
            elif self._is(node, "Specials"):
                if node.specials_chars == "\n\n":
                    yield from self._end()
                else:
                    self._pieces.append(self._symbols.nodelist_to_text([node]))

    def _environment(self, node: Any) -> Iterator[Block]:
        name = node.environmentname
        if name in _TABLES:
            yield from self._end()
            yield from self._table(node.nodelist)
        elif name in _FLOATS:
            yield Block(name.rstrip("*"), self._words(node.nodelist) or node.latex_verbatim())
        elif name.rstrip("*") in _FORMULAS:
            self._pieces.append(node.latex_verbatim())
        else:
            yield from self._end()
            before, self._kind = self._kind, Kind.LIST if name in _LISTS else self._kind
            yield from self._read(node.nodelist)
            yield from self._end()
            self._kind = before

    def _table(self, nodes: Any) -> Iterator[Block]:
        cell: list[Any] = []
        row = 1
        for node in [*nodes, None]:
            ends_row = self._is(node, "Macro") and node.macroname == "\\"
            ends_cell = self._is(node, "Specials") and node.specials_chars == "&"
            if node is None or ends_row or ends_cell:
                yield Block(Kind.TABLE, self._words(cell), place=f"table row {row}")
                cell, row = [], row + ends_row
            else:
                cell.append(node)

    def _macro(self, node: Any) -> Iterator[Block]:
        name = node.macroname.rstrip("*")
        arguments = [each for each in (node.nodeargd.argnlist if node.nodeargd else ()) or () if each is not None]
        if name in _LEVELS or name == "title":
            yield from self._end()
            text = self._words(arguments[-1:])
            yield Block(Kind.TITLE if name == "title" else Kind.HEADING, text, _LEVELS.get(name, 1))
        elif name in _NOTES or name in _FRONT:
            yield Block((_NOTES | _FRONT)[name], self._words(arguments))
        elif name in _FILES:
            yield Block(_FILES[name], self._words(arguments[-1:]) or node.latex_verbatim())
        elif name == "newtheorem":
            yield Block("definition of a command", node.latex_verbatim())
        elif name == "item":
            yield from self._end()
            self._pieces.append(self._words(arguments))
        elif name in _BREAKS:
            yield from self._end()
        elif name in _SPACED:
            self._pieces.append(" ")
        elif name in _WITHOUT_TEXT:
            self._account.skip("command without text", text=node.latex_verbatim())
        elif name == "href":
            self._account.skip("web address", text=node.nodeargd.argnlist[1].latex_verbatim())
            yield from self._read(arguments[-1:])
        elif arguments and name not in ("'", "`", '"', "^", "~", "c", "=", ".", "u", "v", "H", "r", "k", "d", "b", "t"):
            yield from self._read(arguments)
        else:
            self._pieces.append(self._symbols.nodelist_to_text([node]))

    def _words(self, nodes: Any) -> str:
        inner = _Text(self._walker, self._symbols, self._account)
        return " ".join(block.text for block in [*inner._read(nodes), *inner._end()])

    @staticmethod
    def _plain(text: str) -> str:
        return text.replace("~", " ").replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”")

    def _end(self) -> Iterator[Block]:
        text, self._pieces = "".join(self._pieces), []
        yield Block(self._kind, text)


def recognises(head: FileHead) -> bool:
    """Return whether a text is a LaTeX document."""
    return head.suffix in (".tex", ".latex") or bool(_BEGINS.search(head.text[:20_000]))
