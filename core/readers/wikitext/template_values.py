"""What a template says in running text. Most say nothing there; those listed here stand for words.

Descriptions are those of the templates' pages on English Wikipedia. A value may hold wikitext (links, emphasis), which
later passes clean.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Arguments = list[str]  # positional arguments, stripped
Named = dict[str, str]
Value = Callable[[Arguments, Named], str]

_MONTHS = "January February March April May June July August September October November December".split()
_PIPE_IN_LINK = re.compile(r"\[\[[^\[\]]*\]\]")
_NAME = re.compile(r"\s*([\w -]{1,30}?)\s*=")
_NUMBER = re.compile(r"[-−+]?[\d.,]+(?:/\d+)?$")
_LONGEST = 20_000  # characters of a template that may still be running text


def expand(inside: str) -> str:
    """The text that the template ``{{inside}}`` stands for; "" for navigation boxes, infoboxes, citations and so on."""
    if len(inside) > _LONGEST:
        return ""
    name, _, rest = inside.partition("|")
    name = name.strip().replace("_", " ").lower()
    value = _VALUES.get(name) or _by_prefix(name)
    if value is None:
        return ""
    return value(*_arguments(rest))


def _by_prefix(name: str) -> Value | None:
    if name.startswith("lang-") or name.startswith("rtl-lang-"):
        return _first
    if name.startswith("formatnum:"):
        number = name.removeprefix("formatnum:")
        return lambda _positional, _named: number
    return None


def _arguments(rest: str) -> tuple[Arguments, Named]:
    """Split at the bars that are outside of links; numbered arguments count as positional."""
    if not rest:
        return [], {}
    if "[[" in rest:
        rest = _PIPE_IN_LINK.sub(lambda link: link.group().replace("|", "\0"), rest)
    positional: dict[int, str] = {}
    named: Named = {}
    counter = 0
    for part in rest.split("|"):
        part = part.replace("\0", "|")
        found = _NAME.match(part) if "=" in part else None
        if found is None:
            counter += 1
            positional[counter] = part.strip()
        elif found.group(1).isdecimal() and len(found.group(1)) < 4:
            positional[int(found.group(1))] = part[found.end() :].strip()
        else:
            named[found.group(1).lower()] = part[found.end() :].strip()
    return [positional[number] for number in sorted(positional)], named


def _first(positional: Arguments, _named: Named) -> str:
    return positional[0] if positional else ""


def _second(positional: Arguments, _named: Named) -> str:
    return positional[1] if len(positional) > 1 else ""


def _last(positional: Arguments, _named: Named) -> str:
    return positional[-1] if positional else ""


def _all(positional: Arguments, _named: Named) -> str:
    return "".join(positional)


def _words(positional: Arguments, _named: Named) -> str:
    return " ".join(word for word in positional[:2] if word)


def _constant(text: str) -> Value:
    return lambda _positional, _named: text


def _before(text: str) -> Value:
    return lambda positional, _named: f"{text}{positional[0]}" if positional and positional[0] else text.strip()


def _around(left: str, right: str) -> Value:
    return lambda positional, _named: f"{left}{positional[0]}{right}" if positional and positional[0] else ""


def _quote(positional: Arguments, named: Named) -> str:
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
_UNITS = {"sqmi": "sq mi", "km2": "km²", "m2": "m²", "sqft": "sq ft", "sqkm": "km²", "km3": "km³", "m3": "m³", "mph": "mph",
          "impgal": "imp gal", "usgal": "US gal", "cuft": "cu ft", "cuin": "cu in", "lb": "lb", "c": "°C", "f": "°F"}  # fmt: skip


def _convert(positional: Arguments, _named: Named) -> str:
    """The quantity as written, without its conversion: 10 km; 5 ft 10 in; 10 to 20 km."""
    text, shown = "", 0
    for part in positional:
        if _NUMBER.match(part):
            if text and text[-1].isalpha() and shown % 2 == 0:
                text += " "
            text += part
            shown += 1
        elif part.lower() in _RANGES and shown % 2 == 1:
            text += _RANGES[part.lower()]
            shown -= 1
        elif shown:
            return (text + " " + _UNITS.get(part.lower(), part)).strip()
        else:
            return ""
    return text


def _date(positional: Arguments, named: Named) -> str:
    """Day, month and year as far as given; text such as "May 2001" as it stands."""
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


def _as_of(positional: Arguments, named: Named) -> str:
    start = ("since " if named.get("since") else "as of ") + _date(positional, named | {"df": "y"})
    return start if named.get("lc") else start[0].upper() + start[1:]


def _years(mark: str) -> Value:
    def value(positional: Arguments, _named: Named) -> str:
        years = [year for year in positional if year][:2]
        return f"{mark} {'–'.join(years)}" if years else mark

    return value


def _fraction(positional: Arguments, _named: Named) -> str:
    if len(positional) == 3:
        return f"{positional[0]} {positional[1]}/{positional[2]}"
    return "/".join(positional) if len(positional) > 1 else f"1/{positional[0]}" if positional else ""


def _value(positional: Arguments, named: Named) -> str:
    unit = named.get("u") or named.get("ul") or named.get("up") or ""
    number = (positional[0] if positional else "") + (f"e{named['e']}" if "e" in named else "")
    return f"{number} {unit}".strip()


def _nihongo(positional: Arguments, _named: Named) -> str:
    english, *native = [*positional, "", "", ""][:3]
    inside = ", ".join(part for part in native if part)
    return f"{english} ({inside})" if english and inside else english or inside


def _height(_positional: Arguments, named: Named) -> str:
    parts = ((named.get(unit, ""), unit) for unit in ("m", "cm", "ft", "in"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def _other_language(positional: Arguments, named: Named) -> str:
    return named.get("lt") or (positional[0] if positional else "")


def _ship(positional: Arguments, _named: Named) -> str:
    return " ".join(positional[:2])


def _hull(prefix: str) -> Value:
    return lambda positional, _named: f"{prefix} {positional[0]}" if positional else ""


def _table() -> dict[str, Value]:
    """Template name in lower case → what it says."""
    table: dict[str, Value] = {}

    def say(value: Value, names: str) -> None:
        table.update(dict.fromkeys(names.split("|"), value))

    say(_first, "nowrap|nobr|nobreak|no wrap|nbr|small|smaller|big|larger|large|abbr|tooltip|sic|not a typo|as written|typo|"
        "proper name|visible anchor|vanchor|mvar|math|var|em|strong|smallcaps|sc|sc1|smallcaps2|sup|sub|su|overline|overbar|"
        "underline|strikethrough|iast|unicode|polytonic|hebrew|arabic|flag|flagcountry|flagu|flagdeco|noflag|"
        "ordinal|number|formatnum|num|chem2|keypress|key|code|mono|samp|resize|angbr|angle bracket|noitalic|nwr|"
        "align|midsize|uc|lc|ucfirst|lcfirst|first word|bold|italic|isbnt|circled|serif|"
        "script|wikisourcelang|title|subject|music note|link|plain link|no break|illm text|bibleref|bibleverse")  # fmt: skip
    say(_second, "lang|wikt-lang|rtl-lang|color|colour|font color|fontcolor|fs|font|textcolor|script/hebrew|nowrap lang|"
        "coloredlink|background color|highlight|wiktlang")  # fmt: skip
    say(_last, "transl|transliteration|asiantitle|hover title|ruby")
    say(_all, "chem|gaps|linktext|auto link")
    say(_words, "ordered pair")
    say(_quote, "quote|blockquote|cquote|quotation|bquote|quote frame|rquote|pull quote|quotebox inline|poemquote|poem quote|"
        "centered pull quote|block quote")  # fmt: skip
    say(_convert, "convert|cvt|conv|convert/flip")
    say(_date, "birth date|birth-date|death date|death-date|start date|end date|film date|dts|date|dob|birth date and age|"
        "death date and age|start date and age|birth year|death year|start-date|end-date|launch date")  # fmt: skip
    say(_as_of, "as of|asof|since")
    say(_years("c."), "circa|c.|ca.|ca|c|approx|circa year")
    say(_years("fl."), "floruit|fl.|fl")
    say(_years("r."), "reign|r.|ruled")
    say(_fraction, "frac|fraction|sfrac|tfrac|vfrac")
    say(_value, "val|value")
    say(_nihongo, "nihongo|nihongo2|nihongo3|nihongo foot")
    say(_height, "height")
    say(_other_language, "ill|illm|interlanguage link|interlanguage link multi|link-interwiki")
    say(_ship, "ship|sclass|sclass-|sclass2|sclass2-")
    for prefix in (
        "USS",
        "HMS",
        "SS",
        "RMS",
        "HMAS",
        "HMCS",
        "MV",
        "MS",
        "SMS",
        "USNS",
        "USCGC",
        "HNoMS",
        "HDMS",
        "ORP",
        "INS",
    ):
        say(_hull(prefix), prefix.lower())
    for sign, names in {"$": "us$|usd", "A$": "a$|aud", "C$": "ca$|cad|can$", "NZ$": "nz$|nzd", "£": "gbp|£|pound sterling",
                        "€": "eur|euro|€", "₹": "inr|indian rupee|indian rupees|₹", "¥": "jpy|¥|yen|cny",
                        "₱": "php|₱|philippine peso"}.items():  # fmt: skip
        say(_before("US$" if sign == "$" else sign), names)
    say(_around("'", "'"), "gloss|single quote|literal translation inline")
    say(_around('"', '"'), "double quote|qq")
    for text, names in {
        "–": "ndash|en dash|nsndns", " – ": "spaced ndash|snd|spnd|sndash|spaced en dash|spaced en-dash|dash|–|nbnd|endash",
        "—": "mdash|em dash|emdash|—", " — ": "spaced mdash|smd", " ": "nbsp|space|thinspace|thin space|spaces|sp|hair space|zwsp|br|\xa0",
        "'": "'|`|apostrophe|'-", "'s": "'s|apostrophe s", '"': "\"|\"'|'\"|\" '|' \"", " · ": "·|dot|middot|•|bull|bullet|·w|dotw|\\", "=": "=|equals",
        "|": "!|pipe", "π": "pi", "°": "deg|degree", "−": "minus|−", "×": "times|x", "±": "plusminus|±", "°C": "celsius",
        "∞": "infin|infinity", "♯": "sharp|music sharp", "♭": "flat|music flat", "½": "half|1/2", "¼": "quarter", "…": "...|ellipsis|…",
    }.items():  # fmt: skip
        say(_constant(text), names)
    return table


_VALUES = _table()
