"""Templates that expand to text, by name; all others expand to nothing."""

from __future__ import annotations

import re

from core.readers.wikitext import template_values as say
from core.readers.wikitext.template_values import Arguments, Named, Value

_PIPE_IN_LINK = re.compile(r"\[\[[^\[\]]*\]\]")
_NAME = re.compile(r"\s*([\w -]{1,30}?)\s*=")
_LONGEST = 20_000  # characters of a template that may still be running text


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


# Names in lower case, between bars. Characters that are markup elsewhere are said as entities.
_SPOKEN: tuple[tuple[Value, str], ...] = (
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
_VALUES: dict[str, Value] = {name: value for value, names in _SPOKEN for name in names.split("|")}
