"""Templates ``{{…}}``, their parameters ``{{{…}}}`` and tables ``{|…|}``: one pass with a stack.

Tables are removed, and templates are replaced by their text, if any (:func:`expand`). Nested templates are resolved
from the inside, so that every character is read once per level, and levels are limited as in MediaWiki.
"""

from __future__ import annotations

import re

from themescope.core.readers.wikitext import template_values as say
from themescope.core.readers.wikitext.template_values import Arguments, Named, Value

_MARK = re.compile(r"\{\{++|\}\}++|\{\|(?!\})|\|\}(?!\}(?!\}))")
_DEPTH = 40
_BROKEN = re.compile(r"\n\s*\n|\n(?==)")
_BEFORE_HEADING = re.compile(r"\n(?==)")


class _Stack:
    """Output so far, and the start of each open bracket in it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.open: list[tuple[int, int]] = []  # (index into pieces, number of braces; 0 for a table)
        self._tables = 0  # open ones

    def push(self, braces: int) -> None:
        self._begin(len(self.pieces), braces)
        self.pieces.append("")

    def _begin(self, start: int, braces: int) -> None:
        self.open.append((start, braces))
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

    def close_braces(self, count: int) -> None:
        """Match ``count`` closing braces against the innermost open ones, three (a parameter) before two."""
        while count >= 2 and len(self.open) > self._tables:
            while self.open[-1][1] == 0:
                self.pop()  # an unclosed table inside a template
            start, braces = self.open[-1]
            used = 3 if min(count, braces) >= 3 else 2
            inside = self.pop()
            value = expand(inside) if used == 2 else ""
            count -= used
            if braces - used >= 2:
                self._begin(start, braces - used)
                self.pieces.append("")
            self.pieces.append(value)


def drop_templates(text: str) -> str:
    """Return ``text`` without tables, and with templates replaced by their expansion (:func:`expand`)."""
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
    tail: list[str] = []  # texts to keep, in reverse order; each begins where a paragraph or section does
    while stack.open:
        start, braces = stack.open.pop()
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


def expand(inside: str) -> str:
    """Return the expansion of ``{{inside}}``; "" for navigation boxes, infoboxes, citations and so on."""
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
        return say.first
    if name.startswith("formatnum:"):
        number = name.removeprefix("formatnum:")
        return lambda _positional, _named: number
    return None


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
        say.first,
        "nowrap|nobr|nobreak|no wrap|nbr|small|smaller|big|larger|large|abbr|tooltip|sic|not a typo|as written|typo|"
        "proper name|visible anchor|vanchor|mvar|math|var|em|strong|smallcaps|sc|sc1|smallcaps2|sup|sub|overline|"
        "overbar|underline|strikethrough|iast|unicode|polytonic|hebrew|arabic|flag|flagcountry|flagu|flagdeco|noflag|"
        "ordinal|number|num|chem2|keypress|key|code|mono|samp|resize|angbr|angle bracket|noitalic|nwr|midsize|"
        "bold|italic|circled|script|music note|bibleref|bibleverse",
    ),
    (say.second, "lang|wikt-lang|rtl-lang|color|colour|font color|fontcolor|textcolor|background color|highlight"),
    (say.last, "transl|transliteration|hover title|ruby"),
    (say.joined, "chem|gaps|linktext"),
    (say.words, "ship|sclass|sclass-|sclass2|sclass2-"),
    (
        say.quotation,
        "quote|blockquote|block quote|cquote|quotation|bquote|quote frame|rquote|pull quote|centered pull quote|"
        "poemquote|poem quote",
    ),
    (say.convert, "convert|cvt|conv"),
    (
        say.date_text,
        "birth date|birth-date|death date|death-date|start date|start-date|end date|end-date|film date|dts|date|dob|"
        "birth date and age|death date and age|start date and age|birth year|death year|launch date",
    ),
    (say.as_of, "as of|asof|since"),
    (say.years("c."), "circa|c.|ca.|ca|c|approx"),
    (say.years("fl."), "floruit|fl.|fl"),
    (say.years("r."), "reign|r."),
    (say.fraction, "frac|fraction|sfrac|tfrac"),
    (say.measured, "val|value"),
    (say.nihongo, "nihongo|nihongo2|nihongo3|nihongo foot"),
    (say.height, "height"),
    (say.other_language, "ill|illm|interlanguage link|interlanguage link multi|link-interwiki"),
    (say.around("&#39;", "&#39;"), "gloss|single quote|literal translation inline"),
    (say.around('"', '"'), "double quote|qq"),
    *(
        (say.hull(name), name.lower())
        for name in ("USS", "HMS", "SS", "RMS", "HMAS", "HMCS", "MV", "MS", "SMS", "USNS")
    ),
    *((say.hull(name), name.lower()) for name in ("USCGC", "HNoMS", "HDMS", "ORP", "INS")),
    (say.before("US$"), "us$|usd"),
    (say.before("A$"), "a$|aud"),
    (say.before("C$"), "ca$|cad|can$"),
    (say.before("NZ$"), "nz$|nzd"),
    (say.before("£"), "gbp|£|pound sterling"),
    (say.before("€"), "eur|euro|€"),
    (say.before("₹"), "inr|indian rupee|indian rupees|₹"),
    (say.before("¥"), "jpy|¥|yen|cny"),
    (say.before("₱"), "php|₱|philippine peso"),
    (say.constant("–"), "ndash|en dash|endash|nsndns|–"),
    (say.constant(" – "), "spaced ndash|snd|spnd|sndash|spaced en dash|spaced en-dash|dash"),
    (say.constant("—"), "mdash|em dash|emdash|—"),
    (say.constant(" — "), "spaced mdash|smd"),
    (say.constant(" "), "nbsp|space|thinspace|thin space|spaces|sp|hair space|br"),
    (say.constant("&#39;"), "'|`|apostrophe|'-"),
    (say.constant("&#39;s"), "'s|apostrophe s"),
    (say.constant('"'), '"|"\'|\'"|" \'|\' "'),
    (say.constant(" · "), "·|dot|middot|•|bull|bullet|·w|dotw"),
    (say.constant("&#61;"), "=|equals"),
    (say.constant("&#124;"), "!|pipe"),
    (say.constant("π"), "pi"),
    (say.constant("°"), "deg|degree"),
    (say.constant("−"), "minus|−"),
    (say.constant("×"), "times|x"),
    (say.constant("±"), "plusminus|±"),
    (say.constant("∞"), "infin|infinity"),
    (say.constant("♯"), "sharp|music sharp"),
    (say.constant("♭"), "flat|music flat"),
    (say.constant("½"), "half|1/2"),
    (say.constant("¼"), "quarter"),
    (say.constant("…"), "...|ellipsis|…"),
)
_VALUES: dict[str, Value] = {name: value for value, names in _EXPANSIONS for name in names.split("|")}
