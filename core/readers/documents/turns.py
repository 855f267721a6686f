"""Turns of conversations: who speaks, and when, at the beginning of lines of interviews, meetings and chats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from themescope.core.readers.account import ReadAccount
from themescope.core.types import Value

SPEAKER, TIME = "speaker", "time"
"""Columns of the sentences of a turn."""
_CLOCK = r"(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?(?:\s?[AaPp]\.?[Mm]\b\.?)?"
_WHEN = rf"(?:\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},?\s+)?{_CLOCK}"
_SPAN = rf"{_WHEN}(?:\s*(?:-|–|-->)\s*{_WHEN})?"
_NAME = r"[^\W\d_][^\n:<>\[\]{}|=,;!?/\\\"“”]{0,39}"
_STAMPED = re.compile(rf"(?:\[({_SPAN})\]|\(({_SPAN})\)|({_SPAN})(?=\s|\Z))\s*(?:[-–—:]\s+)?(.*)", re.DOTALL)
_NICK = re.compile(rf"<({_NAME})>\s*(.*)", re.DOTALL)
_NAMED = re.compile(rf"(?:\*\*)?({_NAME}?)\s*(?:[\[(]({_SPAN})[\])]\s*)?(?:\*\*)?:(?:\*\*)?(?:\s+(.*)|\Z)", re.DOTALL)
_NAME_AND_TIME = re.compile(rf"({_NAME}?)\s+[\[(]?({_SPAN})[\])]?\s*:?\s*\Z")
_INSIDE = re.compile(rf"(?=\[{_SPAN}\] ?{_NAME}?:\s)")
_STAMP_INSIDE = re.compile(rf" ?\[{_CLOCK}\]")
_WHOLE_NAME = re.compile(rf"{_NAME}\Z")
_MOST_WORDS = 4
_LONGEST = 120
"""Characters of the beginning of a line in which a name and a time stand."""


class Turn(NamedTuple):
    """What is said in one go."""

    speaker: str
    time: str
    text: str

    @property
    def values(self) -> dict[str, Value]:
        """Values of the columns of its sentences."""
        return {SPEAKER: self.speaker, TIME: self.time}


def turn_of(line: str) -> Turn | None:
    """Return the turn that a line may begin, None if it has neither a time nor what looks like a name."""
    line = line.strip()
    stamped = _STAMPED.match(line)
    time, rest = (next(filter(None, stamped.groups()[:3])), stamped[4].strip()) if stamped else ("", line)
    if nick := _NICK.match(rest):
        return Turn(nick[1].strip(), time, nick[2])
    found = _NAMED.match(rest)
    if found and _is_name(found[1]):
        return Turn(found[1].strip(), time or found[2] or "", found[3] or "")
    if not stamped:
        found = _NAME_AND_TIME.match(line) if len(line) <= _LONGEST else None
        return Turn(found[1], found[2], "") if found and _is_name_alone(found[1]) else None
    return Turn(rest, time, "") if _is_name_alone(rest) else Turn("", time, rest)


def _is_name(text: str) -> bool:
    return 0 < len(text.split()) <= _MOST_WORDS


def _is_name_alone(text: str) -> bool:
    """Return whether a text is a name although no colon follows it."""
    if not _WHOLE_NAME.match(text):
        return False
    capitals = all(not word[0].islower() for word in text.split())
    return _is_name(text) and len(text) < 30 and capitals and (len(text) < 4 or text[-1] not in ".!?…")


def divided(text: str) -> list[str]:
    """Return the parts of a line in which a time and a name stand inside."""
    return [part for part in _INSIDE.split(text) if part.strip()] or [text]


class Layout:
    """Speakers of a text. ``found`` is whether it is a transcript at all."""

    def __init__(self, lines: Iterable[str]) -> None:
        texts = [part for line in lines if line.strip() for part in divided(line)]
        turns = [turn for turn in map(turn_of, texts) if turn is not None]
        names = Counter(turn.speaker for turn in turns if turn.speaker)
        timed = sum(bool(turn.time) for turn in turns)
        nicks = 0 if any("</" in text for text in texts) else sum(bool(_NICK.match(text.strip())) for text in texts)
        named_and_timed = sum(bool(turn.time and turn.speaker) for turn in turns)
        often = {name for name, count in names.items() if count > 1}
        repeated = sum(names[name] for name in often)
        by_name = len(texts) >= 3 and bool(often) and len(names) > 1 and (
            names.total() >= 0.6 * len(texts) if len(often) < 2 else repeated >= max(4, 0.3 * len(texts))
        )  # fmt: skip
        marked = max(timed, nicks)
        self.found = by_name or (marked > 1 and marked >= 0.2 * len(texts))
        every = names.total() >= 0.8 * len(texts) or (timed > 1 and named_and_timed >= 0.6 * timed)
        self.speakers = frozenset(names if every else often)

    def turn(self, line: str) -> Turn | None:
        """Return the turn that a line begins, None if it continues the one before."""
        found = turn_of(line)
        if found is None or (found.speaker and found.speaker not in self.speakers):
            stamped = _STAMPED.match(line.strip()) if found is not None and found.time else None
            return Turn("", found.time, stamped[4].strip()) if found is not None and stamped else None
        return found

    def turns(
        self, lines: Sequence[str], places: Sequence[str], account: ReadAccount
    ) -> Iterator[tuple[int, bool, Turn]]:
        """Yield the index of each line with text, whether it begins a turn, and what it adds to it.

        A line with several turns gives several. Times inside a text, and turns without one, are listed as left out.
        """
        speaker = time = ""
        silent: tuple[str, str] | None = None
        for index, line in enumerate(lines):
            for part in divided(line):
                found = self.turn(part)
                if found is not None:
                    if silent is not None:
                        account.skip("turn without text", *silent)
                    speaker, time = found.speaker or speaker, found.time or (time if not found.speaker else "")
                    silent = places[index], f"{found.time} {found.speaker}".strip()
                text = part if found is None else found.text
                for stamp in _STAMP_INSIDE.findall(text):
                    account.skip("time inside a text", places[index], stamp.strip())
                if text := _STAMP_INSIDE.sub("", text).strip():
                    yield index, found is not None or silent is not None, Turn(speaker, time, text)
                    silent = None
        if silent is not None:
            account.skip("turn without text", *silent)
