"""Text with foreign parts and citations, rendered as Markdown or LaTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Foreign:
    """Text that people or sources wrote: names of corpora, models and tasks."""

    text: str


@dataclass(frozen=True, slots=True)
class Cite:
    """Citation of a reference by its key."""

    key: str


Part: TypeAlias = str | Foreign | Cite
Sentence: TypeAlias = Sequence[Part]

_SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "×": r"$\times$",
    "–": "--",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}
_ESCAPED = re.compile("|".join(re.escape(letter) for letter in _SPECIAL))
_MARKDOWN = re.compile(r"([!-/:-@\[-`{-~])")


def latex(text: str) -> str:
    """Return ``text`` escaped for LaTeX."""
    return _ESCAPED.sub(lambda match: _SPECIAL[match.group()], text)


def _flat(text: str) -> str:
    """Return foreign text on one line, without control characters and other invisible ones."""
    kept = (c if unicodedata.category(c)[0] != "C" else " " for c in text)
    return " ".join("".join(kept).split())


@dataclass(frozen=True, slots=True)
class Reference:
    """A publication."""

    key: str
    """Key of the BibTeX entry, such as ``dawid1979``."""
    kind: str
    """Kind of the BibTeX entry: "article" or "inproceedings"."""
    authors: tuple[str, ...]
    """Surname, given names."""
    title: str
    source: str
    """Journal or proceedings."""
    year: int
    volume: str = ""
    pages: str = ""

    @property
    def short(self) -> str:
        """Authors and year as in a text: ``Dawid and Skene 1979``."""
        names = [author.partition(",")[0] for author in self.authors]
        listed = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return f"{listed} {self.year}"

    def bibtex(self) -> str:
        """Return the BibTeX entry."""
        where = "journal" if self.kind == "article" else "booktitle"
        fields = {
            "author": " and ".join(self.authors), "title": f"{{{latex(self.title)}}}", where: latex(self.source),
            "year": str(self.year), "volume": self.volume, "pages": self.pages.replace("–", "--"),
        }  # fmt: skip
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def line(self) -> str:
        """Return the reference as a line of a list."""
        names = "; ".join(self.authors)
        place = f"{self.source} {self.volume}".strip() + (f", {self.pages}" if self.pages else "")
        return f"{names} ({self.year}): {self.title}. {place}."


def markdown(paragraphs: Iterable[Iterable[Sentence]], references: Mapping[str, Reference]) -> str:
    """Return paragraphs of sentences as Markdown, with a list of the references that they cite."""
    found = [list(paragraph) for paragraph in paragraphs]

    def part(one: Part) -> str:
        if isinstance(one, Cite):
            return f"({references[one.key].short})"
        return _MARKDOWN.sub(r"\\\1", _flat(one.text)) if isinstance(one, Foreign) else one

    text = [" ".join("".join(map(part, sentence)) for sentence in paragraph) for paragraph in found]
    listed = [f"- {references[key].line()}" for key in cited(found)]
    end = ["## References", "\n".join(listed)] if listed else []
    return "\n\n".join([*text, *end]) + "\n"


def latex_text(paragraphs: Iterable[Iterable[Sentence]]) -> str:
    """Return paragraphs of sentences as LaTeX, with commands for the citations."""

    def part(one: Part) -> str:
        if isinstance(one, Cite):
            return rf"\cite{{{one.key}}}"
        return latex(_flat(one.text)) if isinstance(one, Foreign) else _quoted(latex(one))

    text = [" ".join("".join(map(part, sentence)) for sentence in paragraph) for paragraph in paragraphs]
    return "\n\n".join(text) + "\n"


def _quoted(text: str) -> str:
    return text.replace("“", "``").replace("”", "''")


def cited(paragraphs: Iterable[Iterable[Sentence]]) -> list[str]:
    """Return the keys of the references that sentences cite, in their order."""
    parts = (part for paragraph in paragraphs for sentence in paragraph for part in sentence)
    return list(dict.fromkeys(part.key for part in parts if isinstance(part, Cite)))
