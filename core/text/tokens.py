"""Tokenisation for word vectors: whitespace, then punctuation and clitics as in the Penn Treebank.

This is the convention of the GloVe tables: ``don't`` → ``do n't``, ``dog's`` → ``dog 's``,
``(U.S.)`` → ``( U.S. )``, ``well-known`` and ``1,234.5`` stay whole. Curly quotes are read as straight ones. The
token filter of the triplet rules counts whitespace-separated tokens instead and does not use this module.
"""

from __future__ import annotations

import re
from functools import lru_cache

_QUOTES = str.maketrans("‘’‛ʼ“”„‟", "''''\"\"\"\"")

# Abbreviations, between spaces, that keep their full stop; any other word at a sentence's end loses it.
_ABBREVIATIONS = (
    " mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. ltd. co. corp. no. vol. approx. ca. gen. col. lt. sgt. capt. "
    "rev. hon. gov. sen. rep. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. e.g. i.e. al. fig. ed. "
)

_TOKEN = re.compile(
    r"""
      https?://\S+ | www\.\S+                       # addresses
    | (?:[^\W\d_]\.){2,}                            # initials: U.S., e.g.
    | [^\W_](?:[.,:/](?=\d)|[\w\-'&@])*               # words and numbers, with what may stand inside them
    | \.{2,} | -{2,} | '' | ``                      # runs that are one mark
    | \S                                            # any other mark by itself
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(?i)(?<=\w)(?:n't|'(?:s|m|d|ll|re|ve))$")
_TRAILING = re.compile(r"['\-&@]+$")


def tokenize(text: str) -> list[str]:
    """The tokens of ``text``, case kept; joined without spaces they give the text again (curly quotes straightened)."""
    tokens: list[str] = []
    for chunk in text.split():
        if chunk.isalpha() and len(chunk) != 6:  # six letters may be "cannot"
            tokens.append(chunk)
        else:
            tokens.extend(_chunk_tokens(chunk))
    return tokens


@lru_cache(maxsize=200_000)
def _chunk_tokens(chunk: str) -> tuple[str, ...]:
    """Tokens of one run without whitespace. Cached: the few frequent runs make up most of any text."""
    chunk = chunk.translate(_QUOTES)
    if f" {chunk.lower()} " in _ABBREVIATIONS:
        return (chunk,)
    tokens: list[str] = []
    for match in _TOKEN.finditer(chunk):
        tokens.extend(_word_tokens(match.group()))
    return tuple(tokens)


def _word_tokens(word: str) -> list[str]:
    """Separate clitics and trailing punctuation of one word."""
    if len(word) == 1 or "://" in word:
        return [word]
    if word.lower() == "cannot":
        return [word[:3], word[3:]]
    clitic = _CLITIC.search(word)
    if clitic and clitic.start():
        return [word[: clitic.start()], clitic.group()]
    trailing = _TRAILING.search(word)
    if trailing and trailing.start():
        return [word[: trailing.start()], *trailing.group()]
    return [word]
