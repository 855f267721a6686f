"""Tokens for the models of Saha et al. 2017: lower case, no ASCII punctuation, English stems, stop words kept.

Normalisation: every ASCII punctuation mark becomes a space, the rest is split on whitespace.
C-PHRASE, SAE and SDAE read the same words without stemming.
"""

from __future__ import annotations

import string
import threading
from functools import lru_cache

import snowballstemmer

_SPACED = str.maketrans(dict.fromkeys(string.punctuation, " "))
_LOCAL = threading.local()  # a stemmer keeps the word it works on, so threads cannot share one


def content_words(text: str, stemmed: bool = True) -> list[str]:
    """The words of ``text`` in order: "The Cats' tails!" → ["the", "cat", "tail"], or unstemmed "cats", "tails"."""
    words = text.lower().translate(_SPACED).split()
    return [_stem(word) for word in words] if stemmed else words


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    """The English Snowball stem. Cached: the few frequent words make up most of any text."""
    stemmer = getattr(_LOCAL, "stemmer", None)
    if stemmer is None:
        stemmer = _LOCAL.stemmer = snowballstemmer.stemmer("english")
    return str(stemmer.stemWord(word))
