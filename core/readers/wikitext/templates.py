"""Templates ``{{…}}``, their parameters ``{{{…}}}`` and tables ``{|…|}``: one pass with a stack.

Tables are removed, and templates are replaced by their text, if any (:func:`expand`). Nested templates are resolved
from the inside, so that every character is read once per level, and levels are limited as in MediaWiki.

The expansion of a template is a function of its positional and its named arguments. Its text may contain wikitext
(links, emphasis), which later passes remove. The patterns follow the documentation of the templates on Wikipedia.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

Arguments = list[str]  # positional arguments, stripped
Named = dict[str, str]
Value = Callable[[Arguments, Named], str]

_MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN = re.compile(r"(?:0|[1-9][0-9]*+)(?:\.[0-9]+)?")
_NUMBER = re.compile(r"[-−+]?[\d.,]+(?:/\d+)?$")


def nth(place: int) -> Value:
    """Return the argument at a place."""
    return lambda positional, _named: "".join(positional[place:][:1])


first, second, last = nth(0), nth(1), nth(-1)


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


_RANGES = {"-": "–", "–": "–", "x": " × ", "×": " × ", "+/-": " ± "}
_RANGES |= {word: f" {word} " for word in ("to", "and", "or", "by")}
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
    if len(parts) == 1 and _ISO_DATE.fullmatch(parts[0]):
        parts, named = [str(int(part)) for part in parts[0].split("-")], {"df": "y"} | named
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


def hull(prefix: str) -> Value:
    """Return a ship's name after its prefix."""
    return lambda positional, _named: f"{prefix} {positional[0]}" if positional else ""


# --- templates --------------------------------------------------------------------------------------------------------


_MARK = re.compile(r"\{\{++|\}\}++|\{\|(?!\})|\|\}(?!\}(?!\}))")
_DEPTH = 40
_BROKEN = re.compile(r"\n\s*\n|\n(?==)")
_BEFORE_HEADING = re.compile(r"\n(?==)")


class _Stack:
    """Output so far, and the start of each open bracket in it."""

    def __init__(self, expansions: Expansions) -> None:
        self._expansions = expansions
        self.pieces: list[str] = []
        self.open: list[tuple[int, int]] = []  # (index into pieces, number of braces; 0 for a table)
        self._tables = 0  # open ones

    def push(self, braces: int) -> None:
        self.open.append((len(self.pieces), braces))
        self.pieces.append("")
        self._tables += braces == 0

    def pop(self) -> str:
        """Close the innermost bracket and return its content."""
        start, braces = self.open.pop()
        self._tables -= braces == 0
        inside = "" if len(self.open) >= _DEPTH else "".join(self.pieces[start + 1 :])
        del self.pieces[start:]
        return inside

    def close_table(self) -> None:
        """Close the innermost table, including unclosed brackets in it."""
        if self._tables:
            while self.open[-1][1]:
                self.pop()
            self.pop()
            self.pieces.append("")

    def close_braces(self, count: int) -> str:
        """Match ``count`` closing braces against the innermost open ones, three (a parameter) before two.

        Return what was inside a template that is in no other and has no text.
        """
        inside = ""
        while count >= 2 and len(self.open) > self._tables:
            while self.open[-1][1] == 0:
                self.pop()  # an unclosed table inside a template
            braces = self.open[-1][1]
            used = 3 if min(count, braces) >= 3 else 2
            inside = self.pop() if used == 2 else self.pop()[:0]
            value = self._expansions.expand(inside)
            count -= used
            if braces - used >= 2:
                self.push(braces - used)
            self.pieces.append(value)
        return "" if self.open or self.pieces[-1] else inside


def drop_templates(text: str, expansions: Expansions, removed: Counter[str], left_out: Counter[str]) -> str:
    """Return ``text`` without tables, and with templates replaced by their text.

    Templates without one that stand in a line with other text are counted in ``removed`` by name; others, tables, and
    what is not closed, in ``left_out``.
    """
    if "{" not in text and "}}" not in text:
        return text
    stack, done = _Stack(expansions), 0
    for mark in _MARK.finditer(text):
        if "|" in mark.group() and not _begins_line(text, mark.start()):
            continue
        stack.pieces.append(text[done : mark.start()])
        done = mark.end()
        token = mark.group()
        if token.startswith("{{"):
            stack.push(len(token))
        elif token.startswith("}}"):
            inside = stack.close_braces(len(token))
            if inside and (text[done : done + 1] not in "\n{" or stack.pieces[-2].rstrip(" ")[-1:] not in "\n:*#"):
                removed[inside.partition("|")[0].strip().replace("_", " ").lower()[:_NAME_LENGTH]] += 1
            elif inside:
                left_out["template beside the text"] += 1
        elif token.endswith("{|"):
            stack.push(0)
        else:
            stack.close_table()
            left_out["table"] += 1
    stack.pieces.append(text[done:])
    tail: list[str] = []  # texts to keep, in reverse order; each begins where a paragraph or section does
    while stack.open:
        start, braces = stack.open.pop()
        left_out["template or table that is not closed"] += 1
        rest = "".join(stack.pieces[start + 1 :])
        del stack.pieces[start:]
        found = (_BROKEN if braces else _BEFORE_HEADING).search(rest + "\n" if tail else rest)
        while found is None and tail and not braces:
            rest = tail.pop()
            found = _BEFORE_HEADING.search(rest)
        if found:
            tail.append(rest[found.start() :])
    return "".join([*stack.pieces, *reversed(tail)])


def _begins_line(text: str, at: int) -> bool:
    """Return whether only spaces and colons precede ``at`` in its line, as before the marks of a table."""
    while at and text[at - 1] in " \t:":
        at -= 1
    return at == 0 or text[at - 1] == "\n"


_PIPE_IN_LINK = re.compile(r"\[\[[^\[\]]*\]\]")
_NAME = re.compile(r"[\w -]{1,30}")
_LONGEST = 20_000  # maximum number of characters of a template with running text
_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Expansions:
    """Templates of the wikis of a language."""

    values: Mapping[str, Value]
    """Name in lower case → expansion."""
    marks: str
    """The signs between thousands and before decimals; empty: numbers stay as they are."""
    spelled: re.Pattern[str]
    """Pattern of names that are the text of their template."""

    def expand(self, inside: str) -> str:
        """Return the expansion of ``{{inside}}``; "" for navigation boxes, infoboxes, citations and so on."""
        if len(inside) > _LONGEST:
            return ""
        written, _, rest = inside.partition("|")
        name = written.strip().replace("_", " ").lower()
        if name.startswith("formatnum:"):
            return self.grouped(name.removeprefix("formatnum:"), self.marks)
        value = self.values.get(name)
        if value is None and name.startswith(("lang-", "rtl-lang-")):
            value = first
        if value is None:
            return written.strip() if self.spelled.fullmatch(written.strip()) else ""
        return value(*_arguments(rest))

    @staticmethod
    def grouped(number: str, marks: str) -> str:
        """Return a number with signs between its thousands and before its decimals; other text is unchanged."""
        if not marks or not _PLAIN.fullmatch(number):
            return number
        whole, point, decimals = number.partition(".")
        return f"{int(whole):,}".replace(",", marks[0]) + (marks[1] + decimals if point else "")


def _arguments(rest: str) -> tuple[Arguments, Named]:
    """Split at the bars outside links; numbered arguments count as positional."""
    if not rest:
        return [], {}
    if "[[" in rest:
        rest = _PIPE_IN_LINK.sub(lambda link: link.group().replace("|", "\0"), rest)
    positional: dict[int, str] = {}
    named: Named = {}
    counter = 0
    for part in rest.split("|"):
        part = part.replace("\0", "|")
        before, _, value = part.partition("=")
        name = before.strip() or before[:1]
        if "=" not in part or not _NAME.fullmatch(name):
            counter += 1
            positional[counter] = part.strip()
        elif name.isdecimal() and len(name) < 4:
            positional[int(name)] = value.strip()
        else:
            named[name.lower()] = value.strip()
    return [positional[number] for number in sorted(positional)], named


# Names in lower case, between bars. Characters that are markup elsewhere are written as entities.
_EXPANSIONS: tuple[tuple[Value, str], ...] = (
    (
        first,
        "nowrap|nobr|nobreak|no wrap|nbr|small|smaller|big|larger|large|abbr|tooltip|sic|not a typo|as written|typo|"
        "proper name|visible anchor|vanchor|mvar|math|var|em|strong|smallcaps|sc|sc1|smallcaps2|sup|sub|overline|"
        "overbar|underline|strikethrough|iast|unicode|polytonic|hebrew|arabic|flag|flagcountry|flagu|flagdeco|noflag|"
        "ordinal|number|num|chem2|keypress|key|code|mono|samp|resize|angbr|angle bracket|noitalic|nwr|midsize|"
        "bold|italic|circled|script|music note|bibleref|bibleverse",
    ),
    (second, "lang|wikt-lang|rtl-lang|color|colour|font color|fontcolor|textcolor|background color|highlight"),
    (last, "transl|transliteration|hover title|ruby"),
    (lambda positional, _named: "".join(positional), "chem|gaps|linktext"),
    (lambda positional, _named: " ".join(filter(None, positional[:2])), "ship|sclass|sclass-|sclass2|sclass2-"),
    (
        quotation,
        "quote|blockquote|block quote|cquote|quotation|bquote|quote frame|rquote|pull quote|centered pull quote|"
        "poemquote|poem quote",
    ),
    (convert, "convert|cvt|conv"),
    (
        date_text,
        "birth date|birth-date|death date|death-date|start date|start-date|end date|end-date|film date|dts|date|dob|"
        "birth date and age|death date and age|start date and age|birth year|death year|launch date",
    ),
    (as_of, "as of|asof|since"),
    (years("c."), "circa|c.|ca.|ca|c|approx"),
    (years("fl."), "floruit|fl.|fl"),
    (years("r."), "reign|r."),
    (fraction, "frac|fraction|sfrac|tfrac"),
    (measured, "val|value"),
    (nihongo, "nihongo|nihongo2|nihongo3|nihongo foot"),
    (height, "height"),
    (
        lambda positional, named: named.get("lt") or first(positional, named),
        "ill|illm|interlanguage link|interlanguage link multi|link-interwiki",
    ),
    (around("&#39;", "&#39;"), "gloss|single quote|literal translation inline"),
    (around('"', '"'), "double quote|qq"),
    *((hull(name), name.lower()) for name in ("USS", "HMS", "SS", "RMS", "HMAS", "HMCS", "MV", "MS", "SMS", "USNS")),
    *((hull(name), name.lower()) for name in ("USCGC", "HNoMS", "HDMS", "ORP", "INS")),
    (before("US$"), "us$|usd"),
    (before("A$"), "a$|aud"),
    (before("C$"), "ca$|cad|can$"),
    (before("NZ$"), "nz$|nzd"),
    (before("£"), "gbp|£|pound sterling"),
    (before("€"), "eur|euro|€"),
    (before("₹"), "inr|indian rupee|indian rupees|₹"),
    (before("¥"), "jpy|¥|yen|cny"),
    (before("₱"), "php|₱|philippine peso"),
    (constant("–"), "ndash|en dash|endash|nsndns|–"),
    (constant(" – "), "spaced ndash|snd|spnd|sndash|spaced en dash|spaced en-dash|dash"),
    (constant("—"), "mdash|em dash|emdash|—"),
    (constant(" — "), "spaced mdash|smd"),
    (constant(" "), "nbsp|space|thinspace|thin space|spaces|sp|hair space|br"),
    (constant("&#39;"), "'|`|apostrophe|'-"),
    (constant("&#39;s"), "'s|apostrophe s"),
    (constant('"'), '"|"\'|\'"|" \'|\' "'),
    (constant(" · "), "·|dot|middot|•|bull|bullet|·w|dotw"),
    (constant("&#61;"), "=|equals"),
    (constant("&#124;"), "!|pipe"),
    (constant("π"), "pi"),
    (constant("°"), "deg|degree"),
    (constant("−"), "minus|−"),
    (constant("×"), "times|x"),
    (constant("±"), "plusminus|±"),
    (constant("∞"), "infin|infinity"),
    (constant("♯"), "sharp|music sharp"),
    (constant("♭"), "flat|music flat"),
    (constant("½"), "half|1/2"),
    (constant("¼"), "quarter"),
    (constant("…"), "...|ellipsis|…"),
)


def table_of(expansions: Iterable[tuple[Value, str]]) -> dict[str, Value]:
    """Return name → expansion."""
    return {name: value for value, names in expansions for name in names.split("|")}


ENGLISH = table_of(_EXPANSIONS)
"""Expansions of the templates of English wikis, by name in lower case."""


# --- wikis in other languages: French, German and Chinese -------------------------------------------------------------


def _rules(marks: str = "", spelled: str = "(?!)", names: Mapping[Value, str] = MappingProxyType({})) -> Expansions:
    """Return the templates of a wiki: those of English ones, and its own."""
    return Expansions({**ENGLISH, **table_of(names.items())}, marks, re.compile(spelled))


def _grouped(marks: str) -> Value:
    """Return a number with signs between its thousands, and a unit."""

    def value(positional: Arguments, _named: Named) -> str:
        number, *units = positional or [""]
        return " ".join(filter(None, (Expansions.grouped(number, marks), _unit(units))))

    return value


def _unit(parts: Iterable[str]) -> str:
    """Return units, each of which may be followed by its exponent: m, km/h, m²."""
    text = ""
    for part in parts:
        if re.fullmatch(r"[-−]\d", part):
            head, _, unit = text.rpartition(" ")
            text = f"{head}/{unit}" + ("" if part[1:] == "1" else part[1:].translate(_RAISED))
        else:
            text += part.translate(_RAISED) if part.isdecimal() else f" {part}" if part else ""
    return text.strip()


_RAISED = str.maketrans("23", "²³")


def _date(months: str, stop: str = "") -> Value:
    """Return day, month and year in this order, or unchanged text such as "mai 2001"."""
    named = months.split()

    def value(positional: Arguments, _named: Named) -> str:
        parts = [part for part in positional if part][:3]
        if len(parts) > 1 and parts[1].isdecimal() and 1 <= int(parts[1]) <= 12:
            parts[1] = named[int(parts[1]) - 1]
        if len(parts) > 1 and parts[0].isdecimal():
            parts[0] += stop
        return " ".join(parts)

    return value


def _century(after: str = "") -> Value:
    """Return "XIXe siècle"; the ending of the number is an argument or follows from it."""

    def value(positional: Arguments, _named: Named) -> str:
        number, ending, *_ = [*positional, "", ""]
        return f"{number}{ending or ('er' if number == 'I' else 'e')} siècle{after}" if number else ""

    return value


def _centuries(positional: Arguments, _named: Named) -> str:
    one, ending, between, other, last_ending, *_ = [*positional, "", "", "", "", ""]
    return f"{one}{ending or 'e'} {between} {other}{last_ending or 'e'} siècle" if one else ""


def _titled(shown: str) -> Value:
    """Return an abbreviation such as "M." and the name or number after it, if there is one."""
    return lambda positional, _named: f"{shown} {positional[0]}".strip() if positional else shown


def _link(positional: Arguments, named: Named) -> str:
    """Return the label of a link to another language's wiki."""
    return named.get("texte") or named.get("fr") or (positional or [""])[0] or named.get("trad", "")


def _hours(positional: Arguments, named: Named) -> str:
    hours, minutes, *_ = [*positional, "", ""]
    return " ".join(filter(None, (f"{hours or named.get('h', '')} h", minutes or named.get("min", ""))))


_FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
_GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
_UNKNOWN = _rules()
_RULES = {
    "en": _rules(",."),
    "fr": _rules("\u202f,", r"(?:[IVXLCDM]+|\d+)(?:ers?|res?|ère|ème|es?|nde?)(?: siècles?)?(?: av\. J\.-C\.)?", {
        _grouped("\u202f,"): "unité|unité/2|unite|nombre|nb|num|nbu",
        _century(): "s|siècle|siecle|s2",
        _century(" av. J.-C."): "s-|-s|sav|siècle av. j.-c.",
        _centuries: "sp|siècles",
        _date(_FRENCH): "date|date-|date rapide|date de naissance|date de décès|date de naissance-|date de décès-|"
                        "jma|naissance|décès",
        _link: "lien|lien interlangue|ill|lien-",
        around("« ", " »"): "citation|cita|cit|citation étrangère|guillemets|«|quote",
        quotation: "citation bloc|bloc citation|vers|début citation bloc",
        _titled("no"): "n°|numéro|no",
        _titled("nos"): "n°s|nos",
        _titled("p."): "p.|page|pp.",
        **{_titled(shown): shown.lower() for shown in ("vol.", "t.", "chap.", "fig.", "art.", "col.", "M.", "MM.")},
        **{_titled(shown): shown.lower() for shown in ("Mme", "Mmes", "Mlle", "Dr", "Pr", "Me", "Mgr", "St", "Ste")},
        **{constant(shown): shown for shown in ("er", "re", "ère", "e", "es", "nd", "nde", "ème", "ers", "res")},
        constant("av. J.-C."): "av jc|avjc|-jc",
        constant("apr. J.-C."): "ap jc|apjc",
        constant("\u2011"): "-|tiret",
        constant(" »"): "»|fin citation",
        _hours: "heure|durée|unité de temps",
        second: "langue|lang",
        first: "petite capitale|pc|sc|abréviation|abr|abréviation discrète|abd|exp|ind|souverain|japonais|incise|"
               "référence nécessaire|refnec|référence souhaitée|référence insuffisante|refins|passage évasif|qui|quoi|"
               "précision nécessaire|pertinence détail|passage non neutre|formule|surligner|rouge|terme défini|terme",
    }),
    "de": _rules(".,", names={
        _grouped(".,"): "formatnum|formatzahl|zahl|nts",
        lambda positional, _named: f"„{positional[0]}“" if positional else '"': '"|„|zitat im text',
        quotation: "zitat|zitat-en|zitat-fr|zitat-la|zitat-it|zitat-es|blockzitat",
        _date(_GERMAN, "."): "datum|julgregdatum|geburtsdatum|todesdatum",
        lambda positional, _named: f"{Expansions.grouped(positional[0], '.,')} m" if positional else "": "höhe",
        _titled("§"): "§",
        _titled("Art."): "art.",
        _titled("Nr."): "nr.|nr",
        _titled("S."): "s.|s",
        fraction: "bruch",
        constant("ʻ"): "okina",
        first: "abk|abkürzung|tastatur|taste|person|unterstrichen|hoch|tief|sortkey",
        last: "sortkeyname|sort",
        **{before(f"{shown} "): f"{code}s" for shown, code in (
            ("englisch", "en"), ("französisch", "fr"), ("lateinisch", "la"), ("spanisch", "es"), ("italienisch", "it"),
            ("russisch", "ru"), ("polnisch", "pl"), ("tschechisch", "cs"), ("altgriechisch", "grc"),
            ("griechisch", "el"), ("japanisch", "ja"), ("arabisch", "ar"), ("hebräisch", "he"), ("türkisch", "tr"),
            ("ungarisch", "hu"), ("niederländisch", "nl"), ("schwedisch", "sv"), ("portugiesisch", "pt"),
            ("dänisch", "da"), ("norwegisch", "no"), ("rumänisch", "ro"), ("persisch", "fa"),
        )},
    }),
    "zh": _rules(",.", names={
        first: "link-en|link-ja|link-de|link-fr|link-ru|link-es|link-it|link-ko|le|lj|僻字|專名|书名|書名|"
               "internal link helper/en",
        nth(2): "tsl|translink",
    }),
    **dict.fromkeys(("ja", "ko", "he"), _rules(",.")),
    **dict.fromkeys(("es", "it", "pt", "nl", "da", "id", "tr", "el", "ro", "hr", "sr", "sl"), _rules(".,")),
    **dict.fromkeys(("sv", "nb", "no", "fi", "pl", "cs", "sk", "hu", "ru", "uk", "bg"), _rules("\xa0,")),
}  # fmt: skip


def expansions(language: str) -> Expansions:
    """Return the templates of a wiki, given the code of its language; for an unknown one, the English ones."""
    return _RULES.get(language, _UNKNOWN)
