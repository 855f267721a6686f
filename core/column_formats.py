"""Formats of numbers and dates in texts.

Each format is strict, so that a column is a number or a date only if all of its texts are written in the same way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

_LONGEST = 64
"""Characters beyond which a text is neither a number nor a date."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    digits = sum(character.isdigit() for character in match[0].lower().partition("e")[0])
    number = float(match[0])
    return number if (digits <= 15 or "." in match[0]) and math.isfinite(number) else None


def _grouped(match: re.Match[str]) -> float | None:
    return float(match[0].replace(",", ""))


def _moment(match: re.Match[str]) -> float | None:
    """Return the time of the named groups year, month, day, hour, minute, second, fraction and zone."""
    found = {name: part for name, part in match.groupdict().items() if part}
    month = found.get("month", "1")
    hour, minute, second = (int(found.get(name, 0)) for name in ("hour", "minute", "second"))
    fraction = int(found.get("fraction", "0")[:6].ljust(6, "0"))
    try:
        number = int(month) if month.isdigit() else _MONTHS[month[:3].lower()]
        moment = datetime(int(found["year"]), number, int(found.get("day", 1)), hour, minute, second, fraction, UTC)
    except (ValueError, KeyError):
        return None
    past = moment - _EPOCH
    seconds = past.days * 86_400 + past.seconds - _offset(found.get("zone", "").strip().upper())
    return seconds * 1_000_000 + past.microseconds


_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
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
_ZONE = r"(?P<zone> ?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))"
_CLOCK = rf"(?:,? +{_TIME}(?: ?(?:Z|UTC|GMT))?)?"
_NAMED = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY, _MONTH, _YEAR = r"(?P<day>\d\d?)", r"(?P<month>\d\d?)", r"(?P<year>\d{4})"


def _format(id: str, type: str, pattern: str, parse: Callable[[re.Match[str]], float | None] = _moment) -> ValueFormat:
    return ValueFormat(id, type, re.compile(pattern, re.ASCII | re.IGNORECASE), parse)


NUMBERS = (
    # Numbers with leading zeros are codes, such as postcodes.
    _format("plain", "number", r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?", _plain),
    _format("grouped", "number", r"[+-]?(?:0|[1-9]\d{0,2}(?:,\d{3})*)(?:\.\d*)?", _grouped),
)
"""Formats of numbers: 1234.5, and 1,234.5 if all numbers of a column have separators from a thousand on."""
DATES = (
    _format("iso", "date", rf"{_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ]{_TIME}{_ZONE}?)?)?"),
    _format("year/month/day", "date", rf"{_YEAR}[/.]{_MONTH}[/.]{_DAY}{_CLOCK}"),
    _format("day.month.year", "date", rf"{_DAY}\.{_MONTH}\.{_YEAR}{_CLOCK}"),
    _format("day/month/year", "date", rf"{_DAY}([/-]){_MONTH}\2{_YEAR}{_CLOCK}"),
    _format("month/day/year", "date", rf"{_MONTH}([/-]){_DAY}\2{_YEAR}{_CLOCK}"),
    _format("day month year", "date", rf"(?:[a-z]{{3,9}},? )?{_DAY}(?:st|nd|rd|th)?[ -]{_NAMED}[ ,-]+{_YEAR}"
            rf"(?: {_TIME}(?P<zone> ?(?:UT|UTC|GMT|EST|EDT|CST|CDT|MST|MDT|PST|PDT|[+-]\d{{4}}))?)?"),
    _format("month day year", "date", rf"{_NAMED} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}{_CLOCK}"),
    _format("month year", "date", rf"{_NAMED}[ -]{_YEAR}"),
)  # fmt: skip
"""Formats of dates; two of them may read the same text as different days."""
YEAR = _format("year", "date", _YEAR)
"""A year alone, which is a number unless a person says otherwise."""
