"""The tokenisation of the static encoder for the package tokenizers, so that other programs can read its folders.

The tokens are those of :func:`themescope.core.text.tokens.tokenize` in lower case: the rules of that module, written as
patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

from themescope.core.errors import MissingExtraError
from themescope.core.text.tokens import ABBREVIATIONS, STRAIGHT_QUOTES

UNKNOWN = "[UNK]"
_MOST_SPELLINGS = 10_000  # of one pattern of digits
_MODIFIER = 0x2BC  # an apostrophe that is a letter: a word of letters is never divided
# The characters of words in Python, and the dot that İ becomes in lower case.
_WORD = r"[\p{L}\p{N}_" + "\u0307]"
_MARKS = r"['\-&@]"
_TOKENS = "|".join(
    [
        rf"\A(?:{'|'.join(map(re.escape, ABBREVIATIONS.split()))})\z",
        r"https?://\S+|www\.\S+",
        r"(?:[\p{L}\p{Nl}\p{No}]\.){2,}",
        rf"[\p{{L}}\p{{N}}](?:[.,:/](?=\p{{Nd}})|{_WORD}|{_MARKS})*",
        r"\.{2,}|-{2,}|''|``|\S",
    ]
)
_PARTS = "|".join(
    [
        r"\Acan(?=not\z)",
        rf"\A(?!.*://).*{_WORD}(?=(?:n't|'(?:s|m|d|ll|re|ve))\z)",
        # A word, and then each of the marks after it; \G continues at the end of the word.
        rf"\G(?:\A(?!.*://)[\p{{L}}\p{{N}}](?:.*[^'\-&@])?(?={_MARKS}+\z)|(?<!\A){_MARKS}(?={_MARKS}*\z))",
    ]
)


def spellings(words: Sequence[str]) -> dict[str, int]:
    """Return every spelling that is looked up as one of ``words``, in lower case, with the index of the word.

    Numbers that are not in the table are looked up with their digits replaced by "0" or "#".
    """
    found = {word: row for row, word in reversed([*enumerate(words)])}  # of duplicates the first counts
    for mark in "0#":
        for row, word in enumerate(words):
            if mark in word and not re.search(r"\d", word.replace(mark, "")):
                for spelling in islice(_with_digits(word, mark), _MOST_SPELLINGS):
                    found.setdefault(spelling, row)
    return found


def _with_digits(word: str, mark: str) -> Iterator[str]:
    """Yield ``word`` with every combination of digits in place of the marks."""
    parts = word.split(mark)
    for digits in product("0123456789", repeat=len(parts) - 1):
        yield parts[0] + "".join(digit + part for digit, part in zip(digits, parts[1:], strict=True))


def tokenizer_of(words: Sequence[str]) -> Any:
    """Return a tokenizer whose id i is ``words[i]``; the last id, ``len(words)``, is that of all other words.

    Raises ``MissingExtraError`` if the package is not installed.
    """
    try:
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
    except ImportError:
        raise MissingExtraError("A folder for sentence-transformers", "tokenizers", "encoder") from None
    made = Tokenizer(models.WordLevel({word: id for id, word in enumerate([*words, UNKNOWN])}, UNKNOWN))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[\x1c-\x1f]"), " "),  # white space in Python, but not in Unicode
            *(normalizers.Replace(chr(q), chr(s)) for q, s in STRAIGHT_QUOTES.items() if q != _MODIFIER),
            normalizers.Lowercase(),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(_TOKENS), "isolated"),
            pre_tokenizers.Split(Regex(_PARTS), "isolated"),
        ]
    )
    return made
