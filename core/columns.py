"""Columns: the further fields of articles and sentences, with their types.

Sources give values as text, numbers, dates or nothing (:data:`themescope.core.types.Value`). The type of a column
follows from all of its values: :class:`Profile` collects what is needed in one pass, and :func:`typed` converts the
values in a second.

Each format of numbers and dates is strict, so that a column is a number or a date only if all of its texts are written
in the same way.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.types import Value

_LONGEST = 64
"""Characters beyond which a text is neither a number nor a date."""


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """A way to write a number or a date."""

    id: str
    type: str
    """"number" or "date"."""
    pattern: re.Pattern[str]
    parse: Callable[[re.Match[str]], float | None]
    """Number, or microseconds since 1970 in UTC, of a text that matches; None for an impossible one such as 30 Feb."""

    def read(self, text: str) -> float | None:
        """Return the number, or the microseconds since 1970 in UTC; None for any other text."""
        match = self.pattern.fullmatch(text) if len(text) <= _LONGEST else None
        return None if match is None else self.parse(match)

    def reads(self, text: str) -> bool:
        """Return whether the text is written in this format."""
        return self.read(text) is not None


def _plain(match: re.Match[str]) -> float | None:
    """Return the number, unless it has more digits than a float64: identifiers are no numbers."""
    text = match[0]
    number = float(text)
    if len(text) <= 15 and text[0] != "+":
        return number if math.isfinite(number) else None
    digits = sum(character.isdigit() for character in text.lower().partition("e")[0])
    if text[0] == "+" and digits >= 7:
        return None  # a telephone number
    return number if (digits <= 15 or "." in text) and math.isfinite(number) else None


def _parsed_moment(match: re.Match[str]) -> float | None:
    """Return the time of the named groups year, month, …, half and zone; years of two digits are 1970 to 2069."""
    found = {name.rstrip("2"): part for name, part in match.groupdict().items() if part}
    month = found.get("month", "1")
    hour, minute, second = (int(found.get(name, 0)) for name in ("hour", "minute", "second"))
    if half := found.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    year = int(found["year"])
    year += 0 if len(found["year"]) > 2 else 2000 if year < 70 else 1900
    fraction = int(found.get("fraction", "0")[:6].ljust(6, "0"))
    try:
        number = int(month) if month.isdigit() else _MONTHS[month[:3].lower()]
        moment = datetime(year, number, int(found.get("day", 1)), hour, minute, second, fraction, UTC)
    except (ValueError, KeyError):
        return None
    return microseconds(moment) - _offset(found.get("zone", "").strip().upper()) * 1_000_000


_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_ZONES = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}


def _offset(zone: str) -> int:
    """Return the seconds by which a zone such as +01:00, -0500 or EST is ahead of UTC."""
    if zone in _ZONES:
        return _ZONES[zone] * 3_600
    digits = zone.strip("+-").replace(":", "")
    if not digits.isdigit():
        return 0
    seconds = int(digits[:2]) * 3_600 + int(digits[2:] or 0) * 60
    return -seconds if zone.startswith("-") else seconds


_TIME = r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
_HALF = r"(?:[ \u00a0\u202f]?(?P<half>[ap])\.?[ \u00a0]?m\b\.?)?"
_ZONE = r"(?P<zone> ?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))"
_CLOCK = rf"(?:,? +{_TIME}{_HALF}(?: ?(?:Z|UTC|GMT))?)?"
_NAMED = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY, _MONTH, _YEAR = r"(?P<day>\d\d?)", r"(?P<month>\d\d?)", r"(?P<year>\d{4})"
_ANY_YEAR = r"(?P<year>\d{4}|(?<=/)\d\d)"
_DOTTED = rf"(?:{_DAY}\.{_MONTH}\.{_YEAR}|(?P<day2>\d\d)\.(?P<month2>\d\d)\.(?P<year2>\d\d))"


def _format(
    id: str, type: str, pattern: str, parse: Callable[[re.Match[str]], float | None] = _parsed_moment
) -> ValueFormat:
    return ValueFormat(id, type, re.compile(pattern, re.ASCII | re.IGNORECASE), parse)


NUMBERS = (
    # Numbers with leading zeros are codes, such as postcodes.
    _format("plain", "number", r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?", _plain),
    _format(
        "grouped", "number", r"[+-]?(?:0|[1-9]\d{0,2}(?:,\d{3})*)(?:\.\d*)?", lambda m: float(m[0].replace(",", ""))
    ),
    _format(
        "comma",
        "number",
        r"[+-]?(?:0|[1-9]\d{0,14}|[1-9]\d{0,2}(?:\.\d{3})+)(?:,(?:\d{1,2}|\d{4,9}))?",
        lambda m: float(m[0].replace(".", "").replace(",", ".")),
    ),
)
"""Formats of numbers: 1234.5; 1,234.5 and 1.234,5 if all numbers of a column are written so. 1,234 is not 1.234."""
DATES = (
    _format("iso", "date", rf"{_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ]{_TIME}{_ZONE}?)?)?"),
    _format("year/month/day", "date", rf"{_YEAR}[/.]{_MONTH}[/.]{_DAY}{_CLOCK}"),
    _format("day.month.year", "date", rf"{_DOTTED}{_CLOCK}"),
    _format("day/month/year", "date", rf"{_DAY}([/-]){_MONTH}\2{_ANY_YEAR}{_CLOCK}"),
    _format("month/day/year", "date", rf"{_MONTH}([/-]){_DAY}\2{_ANY_YEAR}{_CLOCK}"),
    _format(
        "day month year",
        "date",
        rf"(?:[a-z]{{3,9}},? )?{_DAY}(?:st|nd|rd|th)?[ -]{_NAMED}[ ,-]+{_YEAR}"
        rf"(?: {_TIME}(?P<zone> ?(?:UT|UTC|GMT|EST|EDT|CST|CDT|MST|MDT|PST|PDT|[+-]\d{{4}}))?)?",
    ),
    _format("month day year", "date", rf"{_NAMED} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}{_CLOCK}"),
    _format("month year", "date", rf"{_NAMED}[ -]{_YEAR}"),
)
"""Formats of dates; two of them may read the same text as different days."""
YEAR = _format("year", "date", _YEAR)
"""A year alone, which is a number unless a person says otherwise."""


# --- columns ----------------------------------------------------------------------------------------------------------


MOST_COLUMNS = 100
"""Maximum number of columns of a table, and of a corpus."""
MOST_CATEGORIES, MOST_CHOSEN = 1_000, 10_000
"""Maximum number of different values of a column that is recognised as a category, and that is chosen to be one."""
NAME_LIMIT = 100
"""Maximum number of characters of the name of a column."""
_LONGEST_CATEGORY = 200
_NOTHING = frozenset({"na", "n/a", "nan", "null", "none", "-", "–", "?"})
"""Texts that stand for a missing number or date, in lower case."""


class ColumnType(StrEnum):
    """Type of the values of a column."""

    TEXT = "text"
    CATEGORY = "category"
    NUMBER = "number"
    DATE = "date"


STRING = "string"
"""Declared type of a source whose values are text or category, and never read as numbers or dates."""
OMIT = "omit"
"""Chosen in place of a type: the column is not imported."""
DECLARED = (*ColumnType, STRING, OMIT)
"""What can be declared of a column before its values are known."""


class ColumnLevel(StrEnum):
    """What the values of a column belong to."""

    ARTICLE = "article"
    SENTENCE = "sentence"


Values: TypeAlias = npt.NDArray[Any]
"""(n,) values of a column: float64 with NaN, datetime64[us] with NaT, int32 codes with -1, or texts with None."""


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """Values of a column with their type; the array is described at :data:`Values`."""

    type: ColumnType
    values: Values
    about: Mapping[str, Any]
    """Number of missing values and more, by type: see :func:`typed`."""


def column_name(name: str) -> str:
    """Return the name of a column on one line and of limited length; "" stays ""."""
    return " ".join(name.replace("\x00", "").split())[:NAME_LIMIT].strip()


def as_text(value: Value) -> str:
    """Return a value as a text: dates in ISO form, "" for a missing one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.isoformat().removesuffix("T00:00:00")
    return str(value)


def plain_value(value: Any) -> Value:
    """Return any value of a source as one that columns have; lists and mappings become JSON, bytes nothing."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, datetime):
        if type(value) is datetime and value.tzinfo in (None, UTC):
            return value
        # Of a named time zone, or a class of pandas: processes send each other plain data only.
        return datetime.fromisoformat(value.isoformat(timespec="microseconds"))
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, bytes | bytearray | memoryview):
        return None
    if isinstance(value, list | tuple | Mapping):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


@dataclass(slots=True)
class Profile:
    """What the type of a column follows from, value by value. ``declared`` is one of :data:`DECLARED`, or empty."""

    declared: str = ""
    values: int = 0
    missing: int = 0
    numbers: int = 0
    dates: int = 0
    texts: int = 0
    _known: dict[str, int] = field(default_factory=dict)
    """Number of each different text, as long as there are few enough of them to be categories."""
    _read: Counter[str] = field(default_factory=Counter)
    """Format → number of texts that it reads."""
    _open: list[ValueFormat] | None = None
    """Formats that read all texts so far; of a declared column, all formats of its type."""
    _longest: int = 0
    _nothing: int = 0

    def add(self, values: Iterable[Value]) -> None:
        """Count the next values."""
        for value in values:
            self.values += 1
            if value is None or value == "" or value != value:
                self.missing += 1
            elif isinstance(value, datetime):
                self.dates += 1
            elif isinstance(value, int | float) and not isinstance(value, bool):
                self.numbers += 1
                self._count(as_text(value))
            elif not (text := as_text(value)).strip():
                self.missing += 1
            else:
                self.texts += 1
                new = text not in self._known
                self._count(text)
                if text.strip().lower() in _NOTHING:
                    self._nothing += 1
                elif new or self.declared:
                    self._try(text.strip())

    def _count(self, text: str) -> None:
        if text in self._known or len(self._known) <= MOST_CHOSEN:
            self._known[text] = self._known.get(text, 0) + 1
            self._longest = max(self._longest, len(text))

    def _try(self, text: str) -> None:
        if self._open is None:
            every = {"": [*NUMBERS, *DATES], ColumnType.NUMBER: [*NUMBERS], ColumnType.DATE: [*DATES, YEAR]}
            self._open = every.get(self.declared, [])
        if self.declared:
            self._read.update(format.id for format in self._open if format.reads(text))
        elif self._open:
            self._open = [format for format in self._open if format.reads(text)]

    @property
    def type(self) -> ColumnType:
        """Type of the column: the declared one, or the one that all values fit."""
        if self.declared in (ColumnType.NUMBER, ColumnType.DATE, ColumnType.TEXT):
            return ColumnType(self.declared)
        if self.declared == ColumnType.CATEGORY:
            return ColumnType.CATEGORY if len(self._known) <= MOST_CHOSEN else ColumnType.TEXT
        if not self.declared and (found := self._measured()) is not None:
            return found
        there, different = self.values - self.missing, len(self._known)
        if self.dates or not there or different > MOST_CATEGORIES or self._longest > _LONGEST_CATEGORY:
            return ColumnType.TEXT
        return ColumnType.CATEGORY if 2 * different <= there else ColumnType.TEXT

    def _measured(self) -> ColumnType | None:
        written = self.texts - self._nothing
        if written and self.format is None:
            return None
        read = None if self.format is None else self.format.type
        if self.numbers and not self.dates and read in (None, "number"):
            return ColumnType.NUMBER
        if self.dates and not self.numbers and read in (None, "date"):
            return ColumnType.DATE
        return ColumnType(read) if read and not self.numbers and not self.dates else None

    @property
    def format(self) -> ValueFormat | None:
        """Format of the texts of a number or date; None without one, and if several read them differently."""
        if self._open is None:
            return None
        if self.declared:
            best = max(self._open, key=lambda format: self._read[format.id], default=None)
            return best if best is not None and self._read[best.id] else None
        numbers = [format for format in self._open if format.type == "number"]
        if numbers:
            return numbers[0]
        # 3/4/2020 is in April or in March; only a person can say which.
        return self._open[0] if len(self._open) == 1 else None


def typed(values: Sequence[Value], type: ColumnType, format: ValueFormat | None = None) -> Values:
    """Return values as the array of a type other than category; what does not fit is missing.

    ``format`` is that of the texts among them, see :attr:`Profile.format`.
    """
    if type is ColumnType.NUMBER:
        return np.array([_number(value, format) for value in values], np.float64)
    if type is ColumnType.DATE:
        return np.array([_moment(value, format) for value in values], np.int64).view("datetime64[us]")
    return np.array([text if text.strip() else None for text in map(as_text, values)], object)


_NAT = np.iinfo(np.int64).min


def _number(value: Value, format: ValueFormat | None) -> float:
    found: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value) if abs(value) < 1e300 else None
    elif isinstance(value, str) and format is not None:
        found = format.read(value.strip())
    return found if found is not None and math.isfinite(found) else math.nan


def _moment(value: Value, format: ValueFormat | None) -> int:
    """Return microseconds since 1970 in UTC; a time without a zone is in UTC."""
    if isinstance(value, datetime):
        return microseconds(value)
    if isinstance(value, int | float) and format is None and not isinstance(value, bool) and value == value:
        format, value = YEAR, as_text(value)
    if not isinstance(value, str) or format is None:
        return _NAT
    found = format.read(value.strip())
    return _NAT if found is None else int(found)


def microseconds(moment: datetime) -> int:
    """Return the microseconds since 1970 of a time; one without a zone is in UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    past = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds


def coded(values: Sequence[Value], categories: Mapping[str, int]) -> Values:
    """Return the (n,) int32 codes of values among ``categories``; -1 for missing ones."""
    return np.array([categories.get(as_text(value).strip(), -1) for value in values], np.int32)


def count_categories(counts: Counter[str], values: Iterable[Value]) -> None:
    """Add values to the numbers of categories; missing ones are not counted."""
    counts.update(text for value in values if (text := as_text(value).strip()))


def summary(type: ColumnType, values: Values) -> dict[str, Any]:
    """Return what is known of the values of a column as JSON: missing, and by type low, high, whole or days."""
    if type is ColumnType.NUMBER:
        there = values[np.isfinite(values)]
        about: dict[str, Any] = {"whole": bool((there == np.round(there)).all())}
        ends: list[Any] = [float(there.min()), float(there.max())] if len(there) else []
    elif type is ColumnType.DATE:
        there = values[~np.isnat(values)]
        about = {"days": bool((there == there.astype("datetime64[D]")).all())}
        ends = [str(there.min()), str(there.max())] if len(there) else []
    else:
        missing = values < 0 if type is ColumnType.CATEGORY else np.array([value is None for value in values], bool)
        return {"missing": int(missing.sum())}
    return {"missing": len(values) - len(there), **about, **dict(zip(("low", "high"), ends, strict=False))}


def described(found: TypedColumn) -> dict[str, Any]:
    """Return what is known of values of a column, of which ``about`` gives the categories and what was unreadable."""
    about = summary(found.type, found.values)
    if found.type is ColumnType.CATEGORY:
        categories, codes = found.about["categories"], found.values
        counts = np.bincount(codes[codes >= 0], minlength=len(categories)).tolist()
        about |= {"categories": categories, "counts": counts}
    return about | ({"unreadable": found.about["unreadable"]} if "unreadable" in found.about else {})


def plain_values(type: ColumnType, values: Values, categories: Sequence[str] = ()) -> list[Value]:
    """Return values as plain Python: numbers, times in UTC, or texts, and None for missing ones."""
    if type is ColumnType.CATEGORY:
        return [categories[code] if code >= 0 else None for code in values.tolist()]
    if type is ColumnType.NUMBER:
        return [None if number != number else number for number in values.tolist()]
    if type is ColumnType.DATE:
        times = values.astype("datetime64[us]").tolist()
        return [None if time is None else time.replace(tzinfo=UTC) for time in times]
    return list(values.tolist())
