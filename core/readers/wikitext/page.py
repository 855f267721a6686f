"""Pages of wikitext: removal of links and tags, clean-up of text, and division at headings.

Every pass takes time linear in the length of the text: tags are found in one pass and matched from a list, never by a
pattern that searches for a closing tag from every opening one, and no pattern reads a run of characters from each of
them again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial

from themescope.core.readers.blocks import Outline
from themescope.core.readers.html import unescape
from themescope.core.readers.wikitext.templates import (
    ENGLISH,
    Arguments,
    Expansions,
    Named,
    Value,
    around,
    before,
    constant,
    drop_templates,
    first,
    fraction,
    last,
    nth,
    quotation,
    second,
    table_of,
)

# Templates and numbers of wikis in other languages: French, German and Chinese


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


FILES = frozenset([
    "file", "image", "media", "datei", "bild", "fichier", "archivo", "imagen", "immagine", "ficheiro", "imagem",
    "arquivo", "bestand", "afbeelding", "plik", "grafika", "fil", "tiedosto", "kuva", "soubor", "súbor", "fájl",
    "kép", "файл", "изображение", "αρχείο", "εικόνα", "dosya", "resim", "vaizdas", "attēls", "mynd", "slika",
    "datoteka", "fitxer", "fișier", "imagine",
])  # fmt: skip
CATEGORIES = frozenset([
    "category", "kategorie", "catégorie", "categoría", "categoria", "categorie", "kategoria", "kategori", "luokka",
    "kategória", "категория", "κατηγορία", "kategorija", "flokkur",
])  # fmt: skip
_LANGUAGE = re.compile(r"(?:[a-z]{2,3}|simple|[a-z]{2,3}(?:-[a-z]+)+|be-x-old|map-bms|roa-rup)$")
_INTERWIKI = frozenset([
    "w", "wikt", "wiktionary", "s", "wikisource", "b", "q", "wikiquote", "n", "v", "c", "commons", "d", "m", "meta",
    "species", "voy", "mw", "wp",
])  # fmt: skip
_EXTERNAL = re.compile(
    r"\[(?:https?:|ftps?:|news:|mailto:|irc:|gopher:|//)[^\s\[\]<>]*+[ \t]*+([^\[\]\n]*+)\]", re.IGNORECASE
)
_BARE = re.compile(r"(?<![\w\"(])https?://[^\s\[\]<>\"|]+(?<![.,;:!?)])")
_LINK = re.compile(r"\[\[([^\[\]]*+(?:\[[^\[\]]++\][^\[\]]*+)*+)\]\]")
_STRAY = re.compile(r"\[\[|\]\]")
_PIPE_TRICK = re.compile(r"^[^:]*:|,.*$|\s*\([^()]*\)$")
_ROUNDS = 8


class LinkRemoval:
    """Removal of the links of one wiki, given its names of the namespaces for files and categories."""

    def __init__(self, files: frozenset[str] = FILES, categories: frozenset[str] = CATEGORIES) -> None:
        self._dropped, self._categories = files | categories, categories

    def clean(self, text: str, left_out: Counter[str]) -> str:
        """Return ``text`` without link markup. Links inside links (captions) are resolved from the inside.

        Pictures, categories and links to other wikis are counted in ``left_out``.
        """
        if "[" not in text and "]]" not in text:
            return text
        if "//" in text or "mailto:" in text:
            text = _EXTERNAL.sub(r"\1", text)
        label = partial(self._label, left_out)
        for _ in range(_ROUNDS):
            text, count = _LINK.subn(label, text)
            if not count:
                break
        return _STRAY.sub("", text) if "[[" in text or "]]" in text else text

    def _label(self, left_out: Counter[str], found: re.Match[str]) -> str:
        target, pipe, label = found.group(1).partition("|")
        if ":" in target:
            prefix, _, rest = target.partition(":")
            name = prefix.strip().lower().replace("_", " ")
            if name in self._dropped:
                left_out["category" if name in self._categories else "picture"] += 1
                return ""
            if prefix and not pipe:
                if name == prefix.strip() and _LANGUAGE.match(name) and rest[:1] != " " and name not in _INTERWIKI:
                    left_out["link to another language"] += 1
                    return ""
                if name in _INTERWIKI:
                    return rest.rpartition(":")[2] or rest
            target = target.removeprefix(":")
        if not pipe:
            return target.removeprefix("#").strip().replace("_", " ") if "_" in target or "#" in target[:1] else target
        if "|" in label:
            label = label.rpartition("|")[2]
        return label if label.strip() else _PIPE_TRICK.sub("", target)


def drop_addresses(text: str, left_out: Counter[str]) -> str:
    """Return the text without bare web addresses, which are counted in ``left_out``."""
    if "://" in text:
        text, left_out["web address"] = _BARE.subn("", text)
    return text


# --- page -------------------------------------------------------------------------------------------------------------


_HEADING = re.compile(r"^(={1,6})(.+?)\1[ \t]*$", re.MULTILINE)
_LETTER = re.compile(r"[^\W\d_]")
_LIST = "*#:;"
_LEFTOVER = ("|", "!", "----")
_ITEM_MARKS = re.compile(r"[*#:;]+\s*")


def read_page(
    text: str,
    outline: Outline,
    links: LinkRemoval,
    keep_lists: bool,
    language: str = "",
    left_out: Counter[str] | None = None,
) -> Counter[str]:
    """Add the running text of a page to ``outline``; return the templates that left a gap in it, by name.

    References, tables and everything else that is no running text are counted in ``left_out``. A paragraph is a block
    of lines without a blank line. List items (also definitions and indented lines) are skipped, or become a paragraph
    each with ``keep_lists``.
    """
    removed: Counter[str] = Counter()
    left_out = Counter() if left_out is None else left_out
    text = drop_templates(drop_hidden(text, left_out), expansions(language), removed, left_out)
    if "-{" in text:
        text = one_variant(text)
    text = drop_addresses(links.clean(text, left_out), left_out)
    text = drop_tags(text)
    start = 0
    for heading in _HEADING.finditer(text):
        _paragraphs(text[start : heading.start()], outline, keep_lists, left_out)
        title = tidy(heading.group(2).strip("= "))
        if title:
            outline.heading(title, max(len(heading.group(1)), 2))
        start = heading.end()
    _paragraphs(text[start:], outline, keep_lists, left_out)
    return removed


def _paragraphs(text: str, outline: Outline, keep_lists: bool, left_out: Counter[str]) -> None:
    block: list[str] = []
    for line in text.split("\n"):
        line = line.strip()
        if line and line[0] not in _LIST and not line.startswith(_LEFTOVER):
            block.append(line)
            continue
        if block:
            _add(" ".join(block), outline)
            block = []
        if keep_lists and line and line[0] in _LIST:
            _add(_ITEM_MARKS.sub("", line, count=1), outline)
        elif line and _LETTER.search(line):
            left_out["list item" if line[0] in _LIST else "line of a table"] += 1
    if block:
        _add(" ".join(block), outline)


def _add(text: str, outline: Outline) -> None:
    text = tidy(text)
    if _LETTER.search(text):
        outline.paragraph(text)


_DROPPED = (
    "ref|references|gallery|math|ce|chem|score|timeline|syntaxhighlight|source|pre|imagemap|hiero|graph|mapframe|maplink"
    "|templatestyles|table|style|script|inputbox|section|categorytree|templatedata|indicator|noinclude|includeonly"
)
_COMMENT = re.compile(r"<!--(?:.*?-->|.*)", re.DOTALL)
_NOWIKI = re.compile(r"<nowiki>(.*?)</nowiki>", re.DOTALL | re.IGNORECASE)
_NOWIKI_END = re.compile("</nowiki>", re.IGNORECASE)
_TAG = re.compile(rf"<(/?)({_DROPPED})\b([^<>]*+)>", re.IGNORECASE)
_BREAKS = re.compile(
    r"</?(?:p|div|blockquote|center|poem|h[1-6]|ul|ol|dl|hr)\b[^<>]*+>|<br\b[^<>]*+>\s*<br\b[^<>]*+>", re.I
)
_LINE_BREAK = re.compile(r"<br\b[^<>]*+>", re.IGNORECASE)
_ITEM = re.compile(r"<(?:li|dt|dd)\b[^<>]*+>", re.IGNORECASE)
_HTML = re.compile(r"</?[a-zA-Z][^<>]*+>")
_MARKUP = str.maketrans({c: f"&#{ord(c)};" for c in "[]{}|'=*#:;<>_"})


def drop_hidden(text: str, left_out: Counter[str]) -> str:
    """Return the text without comments, references, formulas, galleries and other elements that are not running text.

    They are counted in ``left_out``.
    Text between ``<nowiki>`` tags is kept with its markup characters as entities, so that later passes ignore it.
    """
    if "<" not in text:
        return text
    if "<!--" in text:
        text, left_out["comment"] = _COMMENT.subn("", text)
    if "<nowiki" in text.lower():
        end = max((found.end() for found in _NOWIKI_END.finditer(text)), default=0)
        text = _NOWIKI.sub(lambda found: found.group(1).translate(_MARKUP), text[:end]) + text[end:]
    tags = list(_TAG.finditer(text))
    closing = _closings(tags)
    pieces, kept = [], 0  # text before ``kept`` is either in pieces or dropped
    index = 0
    while index < len(tags):
        pieces.append(text[kept : tags[index].start()])
        if index in closing:
            name = tags[index].group(2).lower()
            left_out["reference" if name == "ref" else name] += 1
        index = closing.get(index, index)
        kept = tags[index].end()
        index += 1
    pieces.append(text[kept:])
    return "".join(pieces)


def _closings(tags: list[re.Match[str]]) -> dict[int, int]:
    """Return index of an opening tag → index of the tag that closes it, if there is one.

    As in MediaWiki, ``</ref name="x">`` closes an element only if no proper ``</ref>`` does.
    """
    closing: dict[int, int] = {}
    unclosed: dict[str, list[int]] = {}
    improper: dict[str, int] = {}  # name → last closing tag with attributes
    for index, tag in enumerate(tags):
        name, attributes = tag.group(2).lower(), tag.group(3)
        if attributes.endswith("/"):
            continue
        if not tag.group(1):
            if name == "ref":
                # References do not nest, so the one before was not closed properly.
                closing |= _improperly_closed(unclosed.pop(name, []), improper.get(name, -1))
            unclosed.setdefault(name, []).append(index)
        elif attributes.strip():
            improper[name] = index
        elif unclosed.get(name):
            closing[unclosed[name].pop()] = index
    for name, openings in unclosed.items():
        closing |= _improperly_closed(openings, improper.get(name, -1))
    return closing


def _improperly_closed(openings: list[int], last: int) -> dict[int, int]:
    return {opening: last for opening in openings if last > opening}


def drop_tags(text: str) -> str:
    """Replace block tags by paragraph breaks and list items by list lines, and remove all other tags."""
    if "<" not in text:
        return text
    text = _BREAKS.sub("\n\n", text)
    text = _LINE_BREAK.sub(" ", text)
    text = _ITEM.sub("\n*", text)
    return _HTML.sub("", text)


_QUOTES = re.compile(r"''+")
_MAGIC = re.compile(r"__[A-Z]+__")
_ODD_SPACES = re.compile(r"[\xa0\u2000-\u200a\u202f\u205f\u3000\t\n\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060\ufeff\xad\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_BRACKET_START = re.compile(r"([(\[])[\s,;:/–—]+(?=[^\s])")
_BRACKET_END = re.compile(r"(?<![\s,;:/])[\s,;:/]++([)\]])")
_EMPTY = re.compile(r" ?\([-,;:/.–—\"'\s]*+\)| ?\[\s*\]|(?<=\s)\"\s*\"(?=[\s.,;]|$)")
# "(equivalent to ${{Inflation|…}} million in {{Inflation/year|…}})" without its templates
_INFLATION = re.compile(
    r" ?\((?:equivalent|equal) to(?: about| approximately)?[ $£€]*(?:[mb]illion)?(?: in| as of)? ?\)"
)
_SPACE_BEFORE = re.compile(r" +([,;:!?](?=[\s\"')]|$)|\.(?=\s|$|\"))")
_DOUBLE_COMMA = re.compile(r",(?: ?,)+|;(?: ?[;,])+|,(?: ?;)+")
_COMMA_STOP = re.compile(r"[,;:] ?(\.(?=\s|$))")
_SPACES = re.compile(r"  +")
_LEADING = re.compile(r"^(?:[,;:.)\]}|!\s](?!\.\.))+(?=[\s\w\"'(])")


def _quotes(found: re.Match[str]) -> str:
    """Return the apostrophes of a run that are not markup: one of four, and those beyond five."""
    length = len(found.group())
    return "'" if length == 4 else "'" * (length - 5)


def tidy(text: str) -> str:
    """Return one line without emphasis marks, entities, unusual spaces, empty brackets or orphaned punctuation."""
    if "''" in text:
        text = _QUOTES.sub(_quotes, text)
    if "&" in text:
        text = unescape(text)
        if "&" in text and "&amp;" not in text:
            text = unescape(text)  # dumps contain "&amp;nbsp;" for entities that authors wrote
    if "__" in text:
        text = _MAGIC.sub("", text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    text = _ODD_SPACES.sub(" ", text)
    if "(" in text or "[" in text:
        text = _brackets(text)
    text = _SPACES.sub(" ", text)
    text = _SPACE_BEFORE.sub(r"\1", text)
    if "," in text or ";" in text or ":" in text:
        text = _COMMA_STOP.sub(r"\1", _DOUBLE_COMMA.sub(lambda m: m.group()[0], text))
    return _LEADING.sub("", text).strip()


def _brackets(text: str) -> str:
    if " to" in text:
        text = _INFLATION.sub("", text)
    for _ in range(3):  # emptied brackets inside brackets
        text, count = _EMPTY.subn("", text)
        if not count:
            break
    return _BRACKET_END.sub(r"\1", _BRACKET_START.sub(r"\1", text))
