"""Vocabulary of the static encoder: words of sentences as rows of a table, and its initial vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from themescope.core.errors import DataError, MissingExtraError
from themescope.core.text.tokens import ABBREVIATIONS, STRAIGHT_QUOTES
from themescope.core.text.word_vectors import NumberedTexts, WordVectors
from themescope.core.types import Float32, Index

_UNKNOWN = 0.3  # length of the random vector of a word, against that of a known one


def rows_of(distinct: Sequence[str], table: WordVectors) -> Index:
    """Return the (words,) row of each distinct word in ``table``, −1 for an unknown one."""
    return np.fromiter(map(table.row, distinct), np.int64, len(distinct))


def vocabulary_of(
    distinct: Sequence[str], words: NumberedTexts, most: int, least_count: int
) -> tuple[list[str], Float32]:
    """Return at most ``most`` words that occur ``least_count`` times, and the (words,) share of each in the text.

    Words are in lower case, in the order of falling frequency. Raises ``DataError`` if there is none.
    """
    counts: dict[str, int] = {}
    for word, count in zip(distinct, np.bincount(words.ids, minlength=len(distinct)).tolist(), strict=True):
        counts[word.lower()] = counts.get(word.lower(), 0) + count
    frequent = sorted((-count, word) for word, count in counts.items() if count >= least_count)[:most]
    if not frequent:
        raise DataError(f"No word occurs {least_count:,} times in the training articles. Use more articles.")
    shares = -np.array([count for count, _ in frequent], np.float64) / len(words.ids)
    return [word for _, word in frequent], shares.astype(np.float32)


def initial_vectors(words: Sequence[str], tables: Sequence[WordVectors]) -> Float32:
    """Return (words, sum of dimensions) vectors of all tables, each with a mean length of 1.

    A word that a table lacks has short random coordinates, so that sentences that share it are a little more similar.
    """
    parts = []
    for table in tables:
        found, known = table.of_words(words)
        lengths = np.linalg.norm(found, axis=1)
        scale = max(float(lengths[known].mean()) if known.any() else float(lengths.mean()), 1e-12)
        parts.append(np.where(known[:, None], found, _UNKNOWN * found) / scale)
    return np.ascontiguousarray(np.concatenate(parts, axis=1), np.float32)


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
