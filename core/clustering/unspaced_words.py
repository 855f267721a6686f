"""Words of scripts that write no spaces between them, found in the texts of a list themselves.

A sequence of characters is taken for a word if it is frequent, if different characters stand before and after it
(accessor variety; Feng, Chen, Deng and Zheng 2004, Accessor Variety Criteria for Chinese Word Extraction, Computational
Linguistics 30(1)), and if its parts occur together more often than by chance. A text is then split into as few pieces
as possible, of these words and single characters; characters in a row that belong to none are one piece. A character is
one with its marks (a grapheme cluster).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby, pairwise

import regex  # type: ignore[import-untyped]

_LONGEST = 8
"""Maximum number of characters of a word."""
_LEAST = 3
"""Minimum number of occurrences of a word, and of different characters on each side of it; an end of a part counts as
another one each time."""
_REST = 4
"""Maximum number of characters of a piece between words that is taken for a word, as the names of persons are."""
_COHESION = 2.0
"""Minimum logarithm of the frequency of a word over that of its parts, if these were independent."""
_CHARACTER = regex.compile(r"\X")


def unspaced_words(parts: Iterable[str]) -> dict[str, int]:
    """Return the words of parts of texts, which have no spaces and no marks, with their numbers of occurrences."""
    read = [(part, _borders(part)) for part in parts]
    counts: Counter[str] = Counter(part[a:b] for part, borders in read for a, b in pairwise(borders))
    total = counts.total()
    found = counts
    for length in range(2, _LONGEST + 1):  # a frequent sequence begins and ends with frequent ones
        kept = {text for text, count in found.items() if count >= _LEAST}
        found = Counter(
            part[a:b]
            for part, borders in read
            for a, b, last, second in zip(borders, borders[length:], borders[length - 1 :], borders[1:], strict=False)
            if part[a:last] in kept and part[second:b] in kept
        )
        counts.update(found)
    frequent = {text for text, count in counts.items() if count >= _LEAST}
    before: dict[str, Counter[str]] = {text: Counter() for text in frequent}
    after: dict[str, Counter[str]] = {text: Counter() for text in frequent}
    for part, borders in read:
        for start, a in enumerate(borders):
            for end in range(start + 2, min(start + _LONGEST + 1, len(borders))):
                text = part[a : borders[end]]
                if text not in frequent:
                    break
                before[text][part[borders[start - 1] : a] if start else ""] += 1
                after[text][part[borders[end] : borders[end + 1]] if end + 1 < len(borders) else ""] += 1
    return {
        text: counts[text]
        for text in sorted(frequent)
        if min(_variety(before[text]), _variety(after[text])) >= _LEAST and _cohesion(text, counts, total) >= _COHESION
    }


def split(part: str, words: Mapping[str, int]) -> list[tuple[str, bool]]:
    """Return the pieces of a part of a text, and whether they are taken for words."""
    borders = _borders(part)
    best: list[tuple[int, float, int]] = [(0, 0.0, 0)]  # pieces, frequency, start of the last piece
    for end in range(1, len(borders)):
        options = [(best[end - 1][0] + 1, best[end - 1][1], end - 1)]
        for start in range(max(0, end - _LONGEST), end - 1):
            if count := words.get(part[borders[start] : borders[end]]):
                options.append((best[start][0] + 1, best[start][1] - math.log(count), start))
        best.append(min(options))
    spans, end = [], len(borders) - 1
    while end:
        spans.append((best[end][2], end))
        end = best[end][2]
    found: list[tuple[str, bool]] = []
    for single, group in groupby(reversed(spans), lambda span: span[1] - span[0] == 1):
        own = list(group)
        usable = not single or 1 < len(own) <= _REST
        joined = [(own[0][0], own[-1][1])] if single else own
        found += [(part[borders[start] : borders[end]], usable) for start, end in joined]
    return found


def _borders(part: str) -> list[int]:
    return [0, *(match.end() for match in _CHARACTER.finditer(part))]


def _variety(neighbours: Counter[str]) -> int:
    return len(neighbours) - 1 + neighbours[""] if "" in neighbours else len(neighbours)


def _cohesion(text: str, counts: Counter[str], total: int) -> float:
    """Return the lowest logarithm of the frequency of a sequence over that of its two parts, for all divisions."""
    borders = _borders(text)[1:-1]
    return min(math.log(counts[text] * total / (counts[text[:at]] * counts[text[at:]])) for at in borders)
