"""Expansions of templates: one function for each pattern.

Each takes the positional and the named arguments. The result may contain wikitext (links, emphasis), which later passes
remove. The patterns follow the documentation of the templates on English Wikipedia; :mod:`.templates` maps names to
functions.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

Arguments = list[str]  # positional arguments, stripped
Named = dict[str, str]
Value = Callable[[Arguments, Named], str]

_MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
_NUMBER = re.compile(r"[-−+]?[\d.,]+(?:/\d+)?$")


def first(positional: Arguments, _named: Named) -> str:
    """Return the first argument."""
    return positional[0] if positional else ""


def second(positional: Arguments, _named: Named) -> str:
    """Return the second argument."""
    return positional[1] if len(positional) > 1 else ""


def last(positional: Arguments, _named: Named) -> str:
    """Return the last argument."""
    return positional[-1] if positional else ""


def joined(positional: Arguments, _named: Named) -> str:
    """Return all arguments without spaces between them."""
    return "".join(positional)


def words(positional: Arguments, _named: Named) -> str:
    """Return the first two arguments as words: a ship's prefix and name."""
    return " ".join(word for word in positional[:2] if word)


def constant(text: str) -> Value:
    """Return ``text``, whatever the arguments."""
    return lambda _positional, _named: text


def before(text: str) -> Value:
    """Return the first argument after a sign, such as that of a currency."""
    return lambda positional, _named: f"{text}{positional[0]}" if positional and positional[0] else text.strip()


def around(left: str, right: str) -> Value:
    """Return the first argument between two marks."""
    return lambda positional, _named: f"{left}{positional[0]}{right}" if positional and positional[0] else ""


def quotation(positional: Arguments, named: Named) -> str:
    """Return a quotation as a paragraph of its own."""
    text = named.get("text") or named.get("quote") or (positional[0] if positional else "")
    return f"\n\n{text}\n\n" if text else ""


_RANGES = {
    "to": " to ",
    "-": "–",
    "–": "–",
    "and": " and ",
    "or": " or ",
    "by": " by ",
    "x": " × ",
    "×": " × ",
    "+/-": " ± ",
}
_UNITS = {"sqmi": "sq mi", "sqft": "sq ft", "sqkm": "km²", "km2": "km²", "m2": "m²", "km3": "km³", "m3": "m³"}
_SUBDIVIDED = frozenset({"ft", "yd", "mi", "st", "lb"})  # units that a smaller one may follow: 5 ft 10 in
_UNITS |= {"impgal": "imp gal", "usgal": "US gal", "cuft": "cu ft", "cuin": "cu in", "c": "°C", "f": "°F"}


def convert(positional: Arguments, _named: Named) -> str:
    """Return the quantity as written, without its conversion: 10 km; 5 ft 10 in; 10 to 20 km."""
    if not positional or not _NUMBER.match(positional[0]):
        return ""
    rest = deque(positional[1:])
    text = positional[0]
    while len(rest) > 1 and rest[0].lower() in _RANGES and _NUMBER.match(rest[1]):
        text += _RANGES[rest.popleft().lower()] + rest.popleft()
    if rest:
        unit = rest.popleft()
        text += " " + _UNITS.get(unit.lower(), unit)
        if unit in _SUBDIVIDED and len(rest) > 1 and _NUMBER.match(rest[0]):
            text += f" {rest[0]} {rest[1]}"
    return text


def date_text(positional: Arguments, named: Named) -> str:
    """Return day, month and year as far as given, or unchanged text such as "May 2001"."""
    parts = [part for part in positional if part][:3]
    if not parts or not parts[0].isdecimal():
        return parts[0] if parts else ""
    month = parts[1] if len(parts) > 1 else ""
    if month.isdecimal() and 1 <= int(month) <= 12:
        month = _MONTHS[int(month) - 1]
    day = parts[2] if len(parts) > 2 and parts[2].isdecimal() and len(parts[2]) < 3 else ""
    if named.get("df", "").lower() in ("y", "yes") or not (day and month):
        return " ".join(part for part in (day, month, parts[0]) if part)
    return f"{month} {day}, {parts[0]}"


def as_of(positional: Arguments, named: Named) -> str:
    """Return "As of March 2015"."""
    start = ("since " if named.get("since") else "as of ") + date_text(positional, named | {"df": "y"})
    return start if named.get("lc") else start[0].upper() + start[1:]


def years(mark: str) -> Value:
    """Return one or two years after a mark such as "c."."""

    def value(positional: Arguments, _named: Named) -> str:
        years = [year for year in positional if year][:2]
        return f"{mark} {'–'.join(years)}" if years else mark

    return value


def fraction(positional: Arguments, _named: Named) -> str:
    """Return 1/2 or 3 1/2."""
    if len(positional) == 3:
        return f"{positional[0]} {positional[1]}/{positional[2]}"
    return "/".join(positional) if len(positional) > 1 else f"1/{positional[0]}" if positional else ""


def measured(positional: Arguments, named: Named) -> str:
    """Return a number with its unit."""
    unit = named.get("u") or named.get("ul") or named.get("up") or ""
    number = (positional[0] if positional else "") + (f"e{named['e']}" if "e" in named else "")
    return f"{number} {unit}".strip()


def nihongo(positional: Arguments, _named: Named) -> str:
    """Return English (native, romanised)."""
    english, *native = [*positional, "", "", ""][:3]
    inside = ", ".join(part for part in native if part)
    return f"{english} ({inside})" if english and inside else english or inside


def height(_positional: Arguments, named: Named) -> str:
    """Return a person's height as given."""
    parts = ((named.get(unit, ""), unit) for unit in ("m", "cm", "ft", "in"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def other_language(positional: Arguments, named: Named) -> str:
    """Return the label of a link to another language's wiki."""
    return named.get("lt") or (positional[0] if positional else "")


def hull(prefix: str) -> Value:
    """Return a ship's name after its prefix."""
    return lambda positional, _named: f"{prefix} {positional[0]}" if positional else ""
