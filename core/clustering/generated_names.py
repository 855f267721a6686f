"""Names of clusters that a language model wrote: reading and checking its answers.

An answer is text of unknown origin. It may be no JSON, repeat the prompt, contain markup, or name what the cluster does
not contain. A name is used only if it is short plain text in a script of the sentences and shares a word with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, count
from typing import Any

import regex  # type: ignore[import-untyped]

from themescope.core.clustering.naming import related
from themescope.core.text.languages import frequent, language_shares, stop_words

LONGEST_NAME, MOST_WORDS, LONGEST_DESCRIPTION = 60, 8, 200
LONGEST_ANSWER = 4_000
"""Characters of an answer that are read; a name and a sentence need less."""
_FENCE = regex.compile(r"^```\w*\s*|\s*```$")
_OBJECT = regex.compile(r"\{[^{}]*\}")
_LABEL = regex.compile(r"^\s*(?:[-*#>]+\s*)?(?:(?:name|title|theme)\s*[:=]\s*)?", regex.IGNORECASE)
_QUOTES = "\"'`“”„‘’«» \t.,;:"
_FORBIDDEN = regex.compile(
    r"[<>{}\[\]|\\`*#_~^=@$]|://|\bwww\.|&[#a-z0-9]+;|(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]", regex.IGNORECASE
)
"""Markup, addresses, and characters without a form, such as those that change the direction of text."""
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_SCRIPTS = {
    name: regex.compile(rf"\p{{{name}}}")
    for name in ("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Han", "Hiragana", "Katakana", "Hangul", "Thai",
                 "Devanagari", "Bengali", "Tamil", "Telugu", "Georgian", "Armenian", "Ethiopic", "Khmer", "Lao",
                 "Myanmar", "Gujarati", "Gurmukhi", "Kannada", "Malayalam", "Sinhala")
}  # fmt: skip


class NameState(StrEnum):
    """What became of the answer for a cluster."""

    NAMED = "named"
    """The name is used."""
    UNSUPPORTED = "unsupported"
    """The name shares no word with the sentences; the cluster keeps its own, and the other one is a suggestion."""
    KEPT = "kept"
    """There was no usable answer; the cluster keeps its name."""


@dataclass(frozen=True, slots=True)
class GeneratedName:
    """A checked answer. ``reason`` says why a name is not used."""

    state: NameState
    name: str = ""
    description: str = ""
    reason: str = ""


def checked_answer(answer: str, texts: Sequence[str], instructions: str) -> GeneratedName:
    """Return the checked name of a cluster whose phrases and sentences are ``texts``; never raises."""
    name, description = parsed_answer(answer[:LONGEST_ANSWER])
    reason = _fault(name, texts, instructions)
    if reason:
        return GeneratedName(NameState.KEPT, reason=reason)
    description = description if _plain(description, LONGEST_DESCRIPTION) else ""
    if supported(name, texts):
        return GeneratedName(NameState.NAMED, name, description)
    return GeneratedName(NameState.UNSUPPORTED, name, "", "the name shares no word with the sentences")


def parsed_answer(answer: str) -> tuple[str, str]:
    """Return name and description of an answer: of a JSON object in it, else its only line; "" where there is none."""
    text = _FENCE.sub("", answer.strip())
    for candidate in (text, *_OBJECT.findall(text)):
        with suppress(ValueError, RecursionError):
            found = json.loads(candidate)
            if isinstance(found, dict):
                return _text(found.get("name")), _text(found.get("description"))
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) != 1 or "{" in text:
        return "", ""
    return _LABEL.sub("", lines[0]).strip(_QUOTES), ""


def supported(name: str, texts: Iterable[str]) -> bool:
    """Return whether a word of ``name`` that is no stop word occurs in ``texts``, up to its last letters."""
    known = list(texts)
    stop = stop_words(frozenset(("en", *frequent(language_shares(known)))))
    wanted = _units(name) - stop
    return any(related(word, other) for text in known for other in _units(text) - stop for word in wanted)


def made_unique(names: Sequence[str], phrases: Sequence[Sequence[str]], taken: Iterable[str] = ()) -> list[str]:
    """Return the names; one that occurred before, or is ``taken``, gets a phrase of its cluster, else a number."""
    used = {name.casefold() for name in taken}
    found = []
    for place, name in enumerate(names):
        told = (f"{name} ({phrase})" for phrase in phrases[place] if phrase.casefold() not in name.casefold())
        options = chain((name,), told, (f"{name} ({number})" for number in count(2)))
        free = next(option for option in options if option.casefold() not in used)
        used.add(free.casefold())
        found.append(free)
    return found


def _text(value: Any) -> str:
    return " ".join(value.split()).strip(" \"'") if isinstance(value, str) else ""


def _fault(name: str, texts: Sequence[str], instructions: str) -> str:
    """Return why ``name`` is no name; "" if it is one."""
    known = "".join(texts)
    scripts = [pattern for pattern in _SCRIPTS.values() if pattern.search(known)]
    letters = [character for character in name if character.isalpha()]
    native = sum(any(pattern.match(letter) for pattern in scripts) for letter in letters)
    faults = (
        (not name, "no name in the answer"),
        (len(name) > LONGEST_NAME or len(name.split()) > MOST_WORDS, "the name is too long"),
        (not _plain(name, LONGEST_NAME), "the name contains markup or control characters"),
        (not letters, "the name contains no letters"),
        (len(name.split()) > 1 and name.casefold() in instructions.casefold(), "the answer repeats the prompt"),
        (2 * native < len(letters), "the name is not in a script of the sentences"),
    )
    return next((reason for found, reason in faults if found), "")


def _plain(text: str, longest: int) -> bool:
    return 0 < len(text) <= longest and not _FORBIDDEN.search(text)


def _units(text: str) -> set[str]:
    """Return the words of at least three letters; of text without spaces, pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.search(word):
            found |= {word[i : i + 2] for i in range(len(word) - 1)}
        elif len(word) > 2 or not word.isascii():
            found.add(word)
    return found
