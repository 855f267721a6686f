"""Pages of wikitext: removal of links and tags, clean-up of text, and division at headings.

Every pass takes time linear in the length of the text: tags are found in one pass and matched from a list, never by a
pattern that searches for a closing tag from every opening one, and no pattern reads a run of characters from each of
them again.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

from themescope.core.readers.blocks import Outline
from themescope.core.readers.html import unescape
from themescope.core.readers.wikitext.templates import drop_templates, expansions

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
    text = links.clean(text, left_out)
    if "://" in text:
        text, left_out["web address"] = _BARE.subn("", text)
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
    for line in map(str.strip, [*text.split("\n"), ""]):
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


def tidy(text: str) -> str:
    """Return one line without emphasis marks, entities, unusual spaces, empty brackets or orphaned punctuation."""
    if "''" in text:
        # No markup are one of four apostrophes, and those beyond five.
        text = _QUOTES.sub(lambda found: "'" * (1 if len(found[0]) == 4 else len(found[0]) - 5), text)
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
