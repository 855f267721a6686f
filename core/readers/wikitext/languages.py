"""Templates and numbers of wikis in other languages: French, German and Chinese.

A template has one name in each language, and some names mean different things, such as {{date}} and {{s}}: those of the
language of a wiki come before the English ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from themescope.core.readers.wikitext.templates import (
    ENGLISH,
    Arguments,
    Expansions,
    Named,
    Value,
    around,
    before,
    constant,
    first,
    fraction,
    last,
    nth,
    quotation,
    second,
    table_of,
)


@dataclass(frozen=True, slots=True)
class _Rules:
    marks: str = ""
    """The signs between thousands and before decimals."""
    spelled: str = "(?!)"
    """Pattern of the names of templates that are their own text."""
    names: Mapping[Value, str] = field(default_factory=dict)


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
_RULES = {
    "en": _Rules(",."),
    "fr": _Rules("\u202f,", r"(?:[IVXLCDM]+|\d+)(?:ers?|res?|ère|ème|es?|nde?)(?: siècles?)?(?: av\. J\.-C\.)?", {
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
    "de": _Rules(".,", names={
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
    "zh": _Rules(",.", names={
        first: "link-en|link-ja|link-de|link-fr|link-ru|link-es|link-it|link-ko|le|lj|僻字|專名|书名|書名|"
               "internal link helper/en",
        nth(2): "tsl|translink",
    }),
    **dict.fromkeys(("ja", "ko", "he"), _Rules(",.")),
    **dict.fromkeys(("es", "it", "pt", "nl", "da", "id", "tr", "el", "ro", "hr", "sr", "sl"), _Rules(".,")),
    **dict.fromkeys(("sv", "nb", "no", "fi", "pl", "cs", "sk", "hu", "ru", "uk", "bg"), _Rules("\xa0,")),
}  # fmt: skip


@cache
def expansions(language: str) -> Expansions:
    """Return the templates of a wiki, given the code of its language; for an unknown one, the English ones."""
    rules = _RULES.get(language, _Rules())
    names = {**ENGLISH, **table_of((value, listed) for value, listed in rules.names.items())}
    return Expansions(names, rules.marks, re.compile(rules.spelled))


# --- variants ---------------------------------------------------------------------------------------------------------


_VARIANT = re.compile(r"-\{((?:(?!-\{|\}-).)*+)\}-", re.DOTALL)
_FLAGS = re.compile(r"\s*([A-Z+\-](?:;[A-Z+\-])*|[a-z-]+(?:;[a-z-]+)*)?\s*\|")
_CODED = re.compile(r"\s*(zh(?:-[a-z]+)*|(?:sr|kk|ku|uz|tg|crh|gan|iu|shi)(?:-[a-z]+)+)\s*:(.*)", re.DOTALL)
_PREFERRED = ("zh-hans", "zh-cn", "zh")
_UNSEEN = frozenset("HTN")


def one_variant(text: str) -> str:
    """Return a text without the marks ``-{…}-`` of language converters: of several variants, one is kept."""
    for _ in range(4):  # variants inside variants
        text, count = _VARIANT.subn(_shown, text)
        if not count:
            break
    return text


def _shown(found: re.Match[str]) -> str:
    inside = found[1]
    flags = _FLAGS.match(inside)
    if flags is not None:
        if _UNSEEN & {*(flags[1] or "").split(";")}:
            return ""
        inside = inside[flags.end() :]
    coded = [_CODED.fullmatch(part) for part in inside.split(";") if part.strip()]
    variants = {part[1]: part[2].strip() for part in coded if part is not None}
    if not variants or None in coded:
        return inside
    return next((variants[code] for code in _PREFERRED if code in variants), next(iter(variants.values())))
