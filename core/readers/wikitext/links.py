"""Removal of link markup: links are replaced by their labels; files and categories are dropped."""

from __future__ import annotations

import re

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
        self._dropped = files | categories

    def clean(self, text: str) -> str:
        """Return ``text`` without link markup. Links inside links (captions) are resolved from the inside."""
        if "[" not in text and "]]" not in text:
            return text
        if "//" in text or "mailto:" in text:
            text = _EXTERNAL.sub(r"\1", text)
        for _ in range(_ROUNDS):
            text, count = _LINK.subn(self._label, text)
            if not count:
                break
        return _STRAY.sub("", text) if "[[" in text or "]]" in text else text

    def _label(self, found: re.Match[str]) -> str:
        target, pipe, label = found.group(1).partition("|")
        if ":" in target:
            prefix, _, rest = target.partition(":")
            name = prefix.strip().lower().replace("_", " ")
            if name in self._dropped:
                return ""
            if prefix and not pipe:
                if name == prefix.strip() and _LANGUAGE.match(name) and rest[:1] != " " and name not in _INTERWIKI:
                    return ""
                if name in _INTERWIKI:
                    return rest.rpartition(":")[2] or rest
            target = target.removeprefix(":")
        if not pipe:
            return target.removeprefix("#").strip().replace("_", " ") if "_" in target or "#" in target[:1] else target
        if "|" in label:
            label = label.rpartition("|")[2]
        return label if label.strip() else _PIPE_TRICK.sub("", target)


def drop_addresses(text: str) -> str:
    """Return the text without bare web addresses."""
    return _BARE.sub("", text) if "://" in text else text
