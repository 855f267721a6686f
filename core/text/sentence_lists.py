"""Sentences as callers give them: a string, an iterable of strings, a column of a table.

Tables and columns of pandas, polars, PyArrow and Hugging Face datasets are recognised by their attributes, so that none
of these packages is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, Literal, Protocol, TypeAlias

from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.text.cleaning import clean
from themescope.core.types import Sentence


class ColumnTable(Protocol):
    """A table of pandas, polars, PyArrow or datasets: columns by their names."""

    def __getitem__(self, name: Any, /) -> Any:
        """Return a column."""
        ...


Sentences: TypeAlias = "str | Iterable[str | Sentence] | Iterable[str] | ColumnTable"
"""One sentence, sentences in a list, an array, a column or another iterable, or a table, with ``text=`` its column."""
Invalid: TypeAlias = Literal["error", "drop"]
"""What happens to items that are no sentences: an error, or they are left out and counted."""

_MISSING = ("NAType", "NaTType", "MaskedConstant")
"""Names of the types of pandas.NA, pandas.NaT and a masked value of numpy."""
NO_TEXT, NUMBER = "no text", "number"
"""Reasons for which items are left out."""


@dataclass(frozen=True, slots=True)
class SentenceList:
    """What :func:`read_sentences` found."""

    items: list[str | Sentence]
    rows: list[int]
    """Place of each item in what was given."""
    given: int
    """Number of items that were given."""
    left_out: dict[str, int]
    """Number of items that were left out, by reason: "no text" or "number"."""
    index: Any = None
    """The index of a pandas object."""

    @property
    def texts(self) -> list[str]:
        """The text of each item."""
        return [item if isinstance(item, str) else item.text for item in self.items]


def read_sentences(
    given: Sentences, text: str | None = None, invalid: Invalid = "error", *, blank: bool = False
) -> SentenceList:
    """Return the sentences of what a caller gave, in Unicode NFC without characters that are not seen, as imports do.

    That is one string, which is one sentence; an iterable of strings or :class:`Sentence`; a column, or a table with
    the name of its column in ``text``. None, NaN, empty texts and numbers are an error, or with ``invalid`` "drop" left
    out and counted; with ``blank`` an empty text is a sentence. Raises :class:`ConfigError` if a table has no ``text``,
    something else has one, or ``invalid`` has another value; :class:`UnknownNameError` if the table has no such column;
    and :class:`DataError` if an item is no sentence, with its place, counting from 0.
    """
    if invalid not in ("error", "drop"):
        raise ConfigError(f"invalid must be 'error' or 'drop', not {invalid!r}.")
    items: list[str | Sentence] = []
    rows: list[int] = []
    left_out: Counter[str] = Counter()
    row = -1
    column = _column(given, text)
    for row, item in enumerate(_iterated(column)):
        reason, problem = _problem(item, blank)
        if not problem:
            items.append(clean(str(item)) if isinstance(item, str) else replace(item, text=clean(item.text)))
            rows.append(row)
        elif invalid == "drop" and reason:
            left_out[reason] += 1
        else:
            advice = " Or leave such rows out with invalid='drop'." if reason and not blank else ""
            raise DataError(f"Row {row:,}, counting from 0, is {problem}, not a sentence. Correct it.{advice}")
    index = getattr(given, "index", None)
    return SentenceList(items, rows, row + 1, dict(left_out), None if callable(index) else index)


def _column(given: Any, text: str | None) -> Any:
    """Return ``given``, or its column ``text`` if it is a table."""
    names = given if isinstance(given, Mapping) else getattr(given, "column_names", getattr(given, "columns", None))
    if names is None or callable(names):
        if text is not None:
            raise ConfigError(f"text={text!r} names a column of a table, but {_kind(given)} is no table. Leave it out.")
        return given
    known = [str(name) for name in names]
    if text is None:
        raise ConfigError(f"A table needs the name of its column of sentences: text=… Columns: {', '.join(known)}.")
    if text not in known:
        raise UnknownNameError("column", text, known)
    if known.count(text) > 1:
        raise DataError(f"The table has several columns {text!r}. Rename them.")
    return given[text]


def _iterated(column: Any) -> Iterable[Any]:
    """Return an iterable of Python values. Raises ``DataError`` for what has no rows or no order."""
    if isinstance(column, str | Sentence):
        return [column]
    dimensions = getattr(column, "ndim", 1)
    if isinstance(column, set | frozenset):
        raise DataError("A set has no order, so that results would belong to no sentence. Give sorted(sentences).")
    if dimensions == 1 and not isinstance(column, bytes | bytearray) and hasattr(column, "to_pylist"):
        values: Iterable[Any] = column.to_pylist()  # PyArrow, whose items are objects of its own
        return values
    if dimensions != 1 or isinstance(column, bytes | bytearray) or not isinstance(column, Iterable):
        what = f"an array of {dimensions} dimensions" if dimensions != 1 else _kind(column)
        raise DataError(f"Sentences are a string, an iterable of strings or a column of a table, not {what}.")
    return column


def _problem(item: Any, blank: bool) -> tuple[str, str]:
    """Return the reason for which an item may be left out, and what it is; "" and "" for a sentence."""
    if isinstance(item, str | Sentence):
        text = item if isinstance(item, str) else item.text
        if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
            return "", "a text with half of a character (a lone surrogate)"
        return ("", "") if blank or text.strip() else (NO_TEXT, "empty")
    if item is None or type(item).__name__ in _MISSING:
        return NO_TEXT, "None" if item is None else "a missing value"
    if isinstance(item, Number):
        return (NO_TEXT, "NaN") if item != item else (NUMBER, f"the number {item}")
    return "", _kind(item)


def _kind(value: Any) -> str:
    """Return the type of a value with its article."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
