"""Articles as plain texts with the positions of their sentences, and back.

Positions count Unicode code points from 0, and the end is that of the position after the last one, as in the examples
of the REFI-QDA standard 1.5 (section 10.2 and annex A).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from themescope.core.labelling.codebook.portable import one_line
from themescope.core.types import Sentence

Span = tuple[int, int]
_LEAST_FOUND = 0.5
"""Least share of the sentences of an article that a text must contain to be taken for it."""


def layout(titles: Mapping[int, str], sentences: Sequence[Sentence]) -> tuple[str, list[Span]]:
    """Return the text of an article and the span of each sentence; ``titles`` are those of its sections.

    Sections and paragraphs are separated by an empty line, sentences by a space.
    """
    parts: list[str] = []
    spans: list[Span] = []
    at, last = 0, None
    for sentence in sentences:
        place = sentence.section, sentence.paragraph
        between = "" if last is None else " " if place == last else "\n\n"
        if last is None or place[0] != last[0]:
            title = titles.get(sentence.section, "").strip()
            between += f"{title}\n\n" if title else ""
        parts += [between, sentence.text]
        start = at + len(between)
        at, last = start + len(sentence.text), place
        spans.append((start, at))
    return "".join(parts), spans


def headings(titles: Mapping[int, str], sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """Return the titles that :func:`layout` writes, in their order, each in one line."""
    shown = dict.fromkeys(sentence.section for sentence in sentences)
    return tuple(one_line(title) for section in shown if (title := titles.get(section, "").strip()))


def sections(text: str, titles: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the title and the paragraphs of each section of a text; paragraphs are separated by an empty line.

    ``titles`` are those of :func:`headings`; the section before the first has no title.
    """
    found: list[tuple[str, list[str]]] = [("", [])]
    waiting = list(titles)
    for paragraph in re.split(r"\n\s*\n", text):
        if waiting and one_line(paragraph) == waiting[0]:
            found.append((waiting.pop(0), []))
        elif paragraph.strip():
            found[-1][1].append(one_line(paragraph))
    return [(title, paragraphs) for title, paragraphs in found if title or paragraphs]


def located(titles: Mapping[int, str], sentences: Sequence[Sentence], text: str) -> list[Span | None] | None:
    """Return the span of each sentence in a text; None if the text is not that of the article.

    A text that Themescope has written is recognised exactly. In others, the sentences are searched one after the other,
    whatever the spaces between words are.
    """
    own, spans = layout(titles, sentences)
    if own == text:
        return [*spans]
    searched = _search([sentence.text for sentence in sentences], text)
    found = sum(span is not None for span in searched)
    return searched if found and found >= _LEAST_FOUND * len(searched) else None


def _search(sentences: Iterable[str], text: str) -> list[Span | None]:
    flat, places = _flattened(text)
    found: list[Span | None] = []
    at = 0
    for sentence in sentences:
        wanted = " ".join(sentence.split())
        start = flat.find(wanted, at) if wanted else -1
        if start < 0:
            found.append(None)
            continue
        at = start + len(wanted)
        found.append((places[start], places[at - 1] + 1))
    return found


def _flattened(text: str) -> tuple[str, list[int]]:
    """Return a text with single spaces, and the place in ``text`` of each of its characters."""
    kept: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        blank = character.isspace()
        if not blank or (kept and kept[-1] != " "):
            kept.append(" " if blank else character)
            places.append(place)
    return "".join(kept), places


class Spans:
    """Sentences of a text by position."""

    def __init__(self, spans: Sequence[Span | None]) -> None:
        self._rows = [row for row, span in enumerate(spans) if span is not None]
        known = [span for span in spans if span is not None]
        self._starts, self._ends = [start for start, _ in known], [end for _, end in known]

    def covered(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return (row, number of common characters) for the sentences of which a selection has at least half.

        An empty sentence is covered by a selection around it.
        """
        found = []
        for at in range(bisect_left(self._ends, start), bisect_right(self._starts, end)):
            first, last = self._starts[at], self._ends[at]
            common = min(last, end) - max(first, start)
            if common >= 0 and 2 * common >= last - first and (common or (first == last and start <= first <= end)):
                found.append((self._rows[at], common))
        return found
