"""Ways in which programs count positions in a text, and which of them a project uses.

The standard counts Unicode code points. NVivo for Windows counts UTF-16 units, ATLAS.ti one for each line end where the
file has two (CRLF), others the byte order mark, or bytes. Which way is meant is known from the passages: they begin and
end where words, sentences and lines do, and many have their own text as their name. Where few passages leave several
ways possible that disagree about a place, the place is uncertain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from themescope.core.types import Index

MARK = "\ufeff"


class Way(NamedTuple):
    """A way of counting positions; the first of each field is that of the standard."""

    unit: int = 0
    """0: code points, 1: UTF-16 units, 2: bytes of UTF-8."""
    line_end: int = 0
    """0: as many as the file has, 1: one, 2: two."""
    mark: bool = False
    """Whether the byte order mark at the beginning counts."""


WAYS = sorted(
    (Way(*one) for one in product((0, 1, 2), (0, 1, 2), (False, True))), key=lambda way: (sum(way), way[::-1])
)
"""Every way, the usual ones first."""


class CodedPassage(NamedTuple):
    """Positions of a passage as a file has them, and its name, which may be the beginning of its text."""

    start: int
    end: int
    name: str = ""


_SENTENCE_ENDS = frozenset('.!?…。！？।؟"”’»」)')
_JUDGED = 2_000
"""Number of passages of a text from which its way is judged."""
_WORTH, _INSIDE, _QUOTE_WORTH = (-4, -2, 1, 2), -8, 6
"""About the log-odds of a limit against one at random, see ``_start``; of a passage inside a character; and of a name.
"""
_QUOTED = 24
_PROGRAMS = (("nvivo", Way(1)), ("atlas", Way(0, 1)), ("", Way()))
"""Origins of projects, in small letters, and how these programs count."""
_PROGRAM_WORTH, _CLEARLY, _RIVAL = 3, 6, 6
_LEAST_FIT, _MANY = 0.5, 10


Fits = Mapping[Way, int]


class Positions:
    """Positions in one text, of which a byte order mark at the beginning is no part."""

    def __init__(self, content: str, passages: Sequence[CodedPassage]) -> None:
        self.text = content.removeprefix(MARK)
        self._passages = passages
        self._marked = len(self.text) < len(content)
        self._points = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)

    def fits(self) -> Fits:
        """Return how well each way fits the passages."""
        return {way: sum(self._fit(*one) for one in self._converted(way, self._passages[:_JUDGED])) for way in WAYS}

    def spans(self, way: Way) -> list[tuple[int, int]] | None:
        """Return the start and the end of each passage in the text; None if they fit it in no way."""
        found = self._converted(way, self._passages)
        fits = [self._start(start) for start, *_ in found] + [self._end(end) for _, end, *_ in found]
        spaced = 15 * self.text.count(" ") > len(self.text)
        if spaced and len(fits) >= _MANY and sum(map(bool, fits)) < _LEAST_FIT * len(fits):
            return None
        return [(start, end) for start, end, _, _ in found]

    def _places(self, way: Way) -> Index:
        """Return the position of each character (n + 1,) as a way counts it."""
        points, widths = self._points, np.ones(len(self._points), dtype=np.int64)
        for limit in ((), (0xFFFF,), (0x7F, 0x7FF, 0xFFFF))[way.unit]:
            widths += points > limit
        if way.line_end:
            feed = points == 10
            joined = np.append(points[:-1] == 13, False)[: len(points)] & np.append(feed[1:], False)[: len(points)]
            widths[feed] = way.line_end
            widths[joined] = 0
        first = (3 if way.unit == 2 else 1) if way.mark and self._marked else 0
        return first + np.concatenate([[0], np.cumsum(widths)])

    def _converted(self, way: Way, passages: Sequence[CodedPassage]) -> list[tuple[int, int, bool, str]]:
        """Return (start, end, whether both are limits of characters, name) in the text."""
        places = self._places(way)
        asked = np.array([(one.start, one.end) for one in passages], dtype=np.int64).reshape(-1, 2)
        found = np.minimum(np.searchsorted(places, asked), len(places) - 1)
        exact = (places[found] == asked).all(axis=1)
        rows = zip(found.tolist(), exact.tolist(), passages, strict=True)
        return [(start, end, good, one.name) for (start, end), good, one in rows]

    def _fit(self, start: int, end: int, exact: bool, name: str) -> int:
        if not exact:
            return _INSIDE
        quoted = "".join(name.split()).rstrip("….")[:_QUOTED]
        named = bool(quoted) and "".join(self.text[start : start + 4 * _QUOTED].split()).startswith(quoted)
        return _WORTH[self._start(start)] + _WORTH[self._end(end)] + _QUOTE_WORTH * named

    def _start(self, at: int) -> int:
        """Return how likely a passage starts here: 3 at that of a line or sentence, 0 inside a word."""
        text = self.text
        if at == 0 or text[at - 1] == "\n" or (text[at - 1] == "\r" and text[at : at + 1] != "\n"):
            return 3
        if at >= len(text) or (text[at].isalnum() and text[at - 1].isalnum()):
            return 0
        if text[at].isspace():
            return 1
        return 3 if text[max(at - 3, 0) : at].rstrip()[-1:] in _SENTENCE_ENDS else 2

    def _end(self, at: int) -> int:
        text = self.text
        if at == 0 or (at < len(text) and text[at].isalnum() and text[at - 1].isalnum()):
            return 0
        if at == len(text) or text[at] in "\r\n" or text[at - 1] == "\n" or text[at - 1] in _SENTENCE_ENDS:
            return 3
        return 1 if text[at - 1].isspace() else 2


def fits_of_project(fits: Iterable[Fits], origin: str) -> Fits:
    """Return how well each way fits all texts of a project; that of the program that wrote it has an advantage."""
    usual = next(way for name, way in _PROGRAMS if name in origin.lower())
    total = {way: (_PROGRAM_WORTH if way == usual else 0) - sum(way) for way in WAYS}
    for fit in fits:
        total = {way: total[way] + fit[way] for way in WAYS}
    return total


def ways_of_text(fit: Fits, project: Fits) -> list[Way]:
    """Return the way of a text, and others that are nearly as likely.

    It is that of the project, unless another fits the text clearly better.
    """
    follows = fit[max(WAYS, key=project.__getitem__)] >= max(fit.values()) - _CLEARLY
    judged = project if follows else fit
    best = max(WAYS, key=judged.__getitem__)
    return [best, *(way for way in WAYS if way != best and judged[way] >= judged[best] - _RIVAL)]
