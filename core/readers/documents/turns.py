"""Turns of conversations: who speaks, and when, at the beginning of lines of interviews, meetings and chats.

A turn whose speaker cannot be told has none, and is counted: it never gets the speaker of the turn before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from themescope.core.types import ReadAccount, Value

SPEAKER, TIME = "speaker", "time"
"""Columns of the sentences of a turn."""
UNKNOWN = "turn whose speaker is not known"
_HALF = r"(?:[AaPp]\.?\s?[Mm]\b\.?|[上下]午|午[前後]|오[전후]|[صم]\b|[πμ]\.?\s?μ\.?|Ö[ÖS]\b|SA\b|CH\b|PT?G\b|ч\.?|น\.?)"
"""Marks of the half of a day, and of hours, in the exports of chats."""
_CLOCK = r"(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
_DATE = (
    r"(?:\d{1,4}\s?[./-]\s?\d{1,2}\s?[./-]\s?\d{1,4}\.?|\d{4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]|"
    r"\d{1,2}[.\s-]\s?[^\W\d_]{3,10}[.\s-]\s?\d{2,4})"
)
_WHEN = (
    rf"(?:{_CLOCK},\s{_DATE}|{_DATE}(?:\s?г\.)?(?:[,،]\s*|\s+|T)(?:(?:klo|kl\.?|at|um|à|a las|в)\s+)?(?:{_HALF}\s?)?"
    rf"(?:\d{{1,2}}[.:]\d{{2}}(?:[.:]\d{{2}}(?:[.,]\d{{3,6}})?)?)(?:\s?{_HALF})?|(?:{_HALF}\s?)?{_CLOCK}(?:\s?{_HALF})?)"
)
_DATED = re.compile(_DATE)
_SPAN = rf"{_WHEN}(?:\s*(?:-|–|-->)\s*{_WHEN})?"
_STAMPED = re.compile(rf"(?:\[({_SPAN})\]|\(({_SPAN})\)|({_SPAN})(?=[\s,،:]|\Z))\s*(?:[-–—:,،]\s+)?(.*)", re.DOTALL)
_NICK = re.compile(r"<[\s@+%&]?([^\s<>:/=\"'][^\n<>:/=\"']{0,39})>\s*(.*)", re.DOTALL)
_ACTION = re.compile(r"\* ?([^\s<>*]{1,40}) (\S.*)", re.DOTALL)
_EVENT = re.compile(
    r"(?:={2,}|\*{3}|-!-|-->|<--|→|←|⇒|⇐|-{2,3})\s|Session (?:Start|Ident|Close|Time):|"
    r"\* (?:Now talking (?:in|on)|Topic is|Set by|Disconnected)\b|\* \S+ (?:\(\S+\) )?(?:has (?:joined|left|quit)|"
    r"(?:joined|left|quit|sets mode|changes topic|was kicked|is now known as)\b|Quit \()"
)
"""What logs of IRC write before joins, parts and topics."""
_JOIN = re.compile(r"(?:-->|<--)\t")
_COLON = r"(?:\s*(?:\*\*)?[:：](?:\*\*)?(?:\s+|\Z)|\s*：|(?<=[\u3040-\u9fff\uac00-\ud7af]):(?!/))"
_SENDER = re.compile(rf"(?:\*\*)?(\S[^\n:：]{{0,59}}?)(?:\s*[\[(]({_SPAN})[\])])?{_COLON}(.*)", re.DOTALL)
_SENDER_OF_CHAT = re.compile(r"(\S(?:[^\n:]|:(?=\S)){0,59}?)():\s(.*)", re.DOTALL)
"""A sender in a line with a date: the name may have colons, marks and quotation marks."""
_FROM_PROGRAM = re.compile(r":\s\u200e(?![^\W\d_a-z]{4,}:)")
"""What iOS writes before messages of the program and files, but not before polls."""
_TABBED = re.compile(r"(\S[^\n\t]{0,59}?)\s*\t+(.*)", re.DOTALL)
_FROM = re.compile(r"From\s+(.+?)(?:\s+to\s+.+)?\Z")
_NAME_TIME_TEXT = re.compile(rf"(?:\*\*)?([^\s*\[][^\n*\[\]]{{0,59}}?)(?:\*\*)?\s+\[({_SPAN})\]:?\s+(\S.*)", re.DOTALL)
_NAME_IN_BRACKETS = re.compile(rf"\[([^\[\]\n]{{1,60}})\]\s+\[?({_SPAN})\]?\s*(.*)", re.DOTALL)
_ONLY_TIME = re.compile(rf"[\[(]?{_SPAN}[\])]?")
_DAY = re.compile(rf"-*\s*{_DATE}\s*(?:\(?[^\W\d_]{{1,12}}\.?\)?)?\s*-*")
"""A line with a date alone, which chats write where a day begins."""
_NAME_AND_TIME = re.compile(rf"(\S.{{0,59}}?),?(\s+)[\[(]?({_SPAN})[\])]?\s*:?\s*\Z")
_INSIDE = re.compile(rf"(?=\[{_SPAN}\] ?[^\W\d_][^\n:<>\[\]{{}}|=,;!?/\\\"“”]{{0,39}}?:\s)")
_STAMP_INSIDE = re.compile(rf" ?\[{_CLOCK}(?:\s?{_HALF})?\]| ?#\d{{1,2}}:\d{{2}}:\d{{2}}(?:-\d{{1,3}})?#")
_COLONS = re.compile("[:：]")
_LINES = re.compile(r"[\n\v]")
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"))
"""Marks of direction, which chats have around names and times."""
_ABOUT = re.compile(r"\s*[(\[][^()\[\]]{0,40}[)\]]")
_BRACKETED = re.compile(r"[\[(]([^\[\]()]+)[\])]")
_STOP = re.compile(r"[.!?…]\s")
_PHONE = re.compile(r"\+?[\d\s().\u2011-]{6,}")
_NAME = re.compile(
    r"(?:[^\W\d_]|[^\x00-\x7f–—…•·]|[@~#]\s?[^\W_]|\d{1,4}(?:[A-Za-z]\w*)?\Z)[^\n:<>\[\]{}|=,;!?\\\"“”„«»]*"
)
_TITLE = re.compile(r"[^\W\d_a-z]\w{0,4}\.")
"""A word with a stop inside a name, such as “Dr.”."""
_NOTICE = re.compile(
    r"(.+) (?:(?:started|stopped) (?:the )?(?:transcription|recording)|(?:joined|left) the meeting)\.?|"
    r"Transcribed by https://otter\.ai"
)
"""What programs write into a transcript of a meeting."""
_EMPTY = re.compile(
    r"<[^<>\n]{3,60}>|null|(?:image|video|audio|gif|sticker|document|contact card) omitted|"
    r"\S*\.\w{2,5} \([^()\n]{4,25}\)|(?:Bild|Video|Audio|GIF|Sticker|Dokument|Kontaktkarte) weggelassen|"
    r".{1,80}\.\w{2,5} \((?:file attached|Datei angehängt|archivo adjunto|fichier joint|file allegato|arquivo anexado)"
    r"\)|(?:You deleted this message|This message was deleted|Du hast diese Nachricht gelöscht|Diese Nachricht wurde "
    r"gelöscht|Se eliminó este mensaje|Eliminaste este mensaje|Ce message a été supprimé|Vous avez supprimé ce "
    r"message|Questo messaggio è stato eliminato|Mensagem apagada|Dit bericht is verwijderd)\.?",
    re.IGNORECASE,
)
"""What chats write in the place of a file, or of a message that was deleted."""
_SECURED = re.compile(
    r"end-to-end.encrypt|Ende-zu-Ende-verschlüsselt|cifrad[oa]s? de extremo a extremo|chiffré\w* de bout en bout|"
    r"crittografi\w+ end-to-end|criptografia de ponta a ponta|end-to-end.versleuteld",
    re.IGNORECASE,
)
"""What chats write at their beginning, in some languages in the name of the group."""
EMPTY, PROGRAM, PREAMBLE = "file or deleted message", "message of the program", "line before the first turn"
_FIELDS = frozenset({
    "author", "authors", "byline", "copyright", "date", "dateline", "from", "headline", "id", "keywords", "language",
    "length", "load-date", "page", "publication", "publication-type", "section", "source", "subject",
    "title", "to", "url", "word count",
})  # fmt: skip
"""Names of the fields of articles in archives, and of mails, in small letters."""
_PARTICLES = frozenset({
    "al", "and", "bin", "da", "de", "del", "della", "den", "der", "di", "dos", "du", "e", "el", "et", "ibn", "la", "le",
    "ten", "und", "van", "von", "y", "zu",
})  # fmt: skip
"""Words in small letters inside names."""
_QUOTE = re.compile('["“”„«»]')
_MOST_WORDS, _MOST_WORDS_STAMPED = 4, 7
_MOST_BEFORE = 10
"""Lines without a time that may stand before the first turn; more are a text of their own."""
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


class _Head(NamedTuple):
    """The beginning of a line that may be a turn."""

    speaker: str
    time: str
    text: str
    whole: str
    """The text with the name, if that is none."""
    alone: bool = False
    """Whether no colon follows the name."""
    sure: bool = True
    """Whether it looks like a name wherever it stands."""


def _head_of(line: str) -> _Head | None:
    """Return what a line begins with, None if that is neither a time nor what may be a name."""
    line = (line[:_LONGEST].translate(_MARKS) + line[_LONGEST:]).strip()
    stamped = _STAMPED.match(line)
    time = " ".join(next(filter(None, stamped.groups()[:3])).split()) if stamped else ""
    rest = stamped[4].strip() if stamped else line
    if (bracketed := _NAME_IN_BRACKETS.match(line)) and not _ONLY_TIME.fullmatch(bracketed[1]):
        name, when, said = bracketed.groups()
        return _Head(name, when, said, line, alone=not said) if _is_name(name) else None
    if nick := _NICK.match(rest):
        return _Head(nick[1].strip(), time, nick[2], rest)
    of_chat = bool(time and _DATED.search(time))
    if found := _SENDER.match(rest) or (of_chat and _SENDER_OF_CHAT.match(rest)) or None:
        name, text, own = " ".join(found[1].split()), found[3], time or found[2] or ""
        if sent := _FROM.match(name) if stamped else _BRACKETED.fullmatch(name):
            name = sent[1]
        if _is_name(name):
            return _Head(name, own, text, rest)
        short = len(_ABOUT.sub("", name).split()) <= _MOST_WORDS_STAMPED
        if (
            short
            and (of_chat or not _QUOTE.search(name))
            and (stamped or not (name[0].islower() or _STOP.search(name)))
        ):
            return _Head(name, own, text, rest, sure=False)
    if stamped and (tabbed := _TABBED.match(rest)) and _is_name(tabbed[1]):
        return _Head(tabbed[1], time, tabbed[2], rest)
    if stamped:
        return _Head(rest, time, "", rest, alone=True) if _is_name_alone(rest) else _Head("", time, rest, rest)
    if (between := _NAME_TIME_TEXT.match(line)) and _is_name_alone(between[1]):
        return _Head(between[1], between[2], between[3], line)
    ended = _NAME_AND_TIME.match(line) if len(line) <= _LONGEST else None
    if ended and (_is_name_alone(ended[1]) or (len(ended[2]) > 1 and _is_name(ended[1]))):
        return _Head(ended[1], ended[3], "", ended[1], alone=True)
    return None


def _unstamped(line: str) -> str:
    found = _STAMPED.match(line.strip())
    return found[4] if found else line.strip()


def _is_name(text: str) -> bool:
    if _PHONE.fullmatch(text):
        return sum(map(str.isdigit, text)) > 5
    words = _ABOUT.sub("", text).split()
    return (
        0 < len(words) <= _MOST_WORDS
        and bool(_NAME.fullmatch(" ".join(words)))
        and all(word[-1] not in ".…" or _TITLE.fullmatch(word) for word in words[:-1])
    )


def _is_lower(word: str) -> bool:
    return word[0].islower() and word not in _PARTICLES


def _is_name_alone(text: str) -> bool:
    """Return whether a text is a name although no colon follows it."""
    if not _is_name(text) or len(text) >= 40:
        return False
    return not any(map(_is_lower, _ABOUT.sub("", text).split())) and (len(text) < 4 or text[-1] not in ".!?…")


def with_times(lines: list[str]) -> list[str]:
    """Return lines with every time that stands alone below a name beside that name, and a blank line in its place."""
    found = list(lines)
    for place, line in enumerate(lines[1:], 1):
        if line.strip() and _ONLY_TIME.fullmatch(line.strip()) and _is_name_alone(above := lines[place - 1].strip()):
            found[place - 1 : place + 1] = f"{above}  {line.strip()}", ""
    return found


def divided(text: str) -> list[str]:
    """Return the parts of a line in which a time and a name stand inside."""
    return [part for part in _INSIDE.split(text) if part.translate(_MARKS).strip()] or [text]


def lines_of(text: str) -> list[str]:
    """Return the lines of a paragraph of which each begins a turn, or stands below a name and a time."""
    found: list[str] = []
    below = False
    for line in _LINES.split(text):
        head = _head_of(line)
        if found and not below and not (head is not None and head.time):
            found[-1] = f"{found[-1]} {line}"
        else:
            found.append(line)
        below = head is not None and bool(head.time) and not head.text
    return [line.strip() for line in found]


def begins_with_turn(text: str) -> bool:
    """Return whether the first line of a text, which may have tabs, is a time and somebody who speaks."""
    lines = text.lstrip("\ufeff\n").split("\n")[:200]
    head = _head_of(lines[0])
    return head is not None and bool(head.time and head.speaker and head.text) and Layout(lines).found


class Layout:
    """Speakers of a text. ``found`` is whether it is a transcript at all."""

    def __init__(self, lines: Iterable[str]) -> None:
        texts = [part for line in lines if line.strip() for part in divided(line)]
        heads = [head for head in map(_head_of, texts) if head is not None]
        timed = [head for head in heads if head.time]
        named = [head for head in timed if head.speaker]
        alone = sum(head.alone for head in named)
        self._alone = 2 * alone > len(named)
        """Whether names stand alone beside their times, without a colon."""
        named = [head for head in named if head.alone == self._alone]
        told = (head for head in heads if head.speaker and (head.sure or head.time))
        names = Counter(head.speaker for head in told if head.alone == self._alone or not head.time)
        sure = Counter({head.speaker: names[head.speaker] for head in heads if head.sure and head.speaker in names})
        tags = sum("</" in text for text in texts)
        said = [text for text in map(_unstamped, texts) if not _EVENT.match(text)]
        nicks = [] if 20 * tags > len(texts) else [found[1].strip() for text in said if (found := _NICK.match(text))]
        often = {name for name, count in names.items() if count > 1}
        repeated = sum(count for name, count in sure.items() if count > 1)
        below = sum(head.sure and bool(head.speaker) and not head.text.strip() for head in heads)
        begun = len(texts) - below  # the line below a name that stands alone begins with none
        by_name = (
            len(texts) >= 3
            and len(sure) > 1
            and any(count > 1 for count in sure.values())
            and (sure.total() >= 0.6 * begun if len(often & sure.keys()) < 2 else repeated >= max(4, 0.3 * len(texts)))
        )
        by_name = by_name and 2 * len({*map(str.lower, sure)} & _FIELDS) < len(sure)
        marked = max(len(timed), len(nicks))
        self._nicks = len(nicks) > 1 and 2 * len(nicks) > len(said)
        """Whether it is a log of IRC, with names in angle brackets."""
        self.found = by_name or (marked > 1 and marked >= 0.2 * len(texts))
        self._names_beside_times = bool(named)
        repeat = bool(often) or all(map(_is_name_alone, names))
        chat = len(timed) > 1 and len(named) >= 0.6 * len(timed) and repeat
        beside = {head.speaker for head in named}
        without = sum(head.speaker in beside for head in heads if not head.time)
        dated = sum(bool(_DATED.search(head.time)) for head in timed)
        self._chat = chat and 2 * dated > len(timed)
        """Whether it is the export of a chat, with a date and a sender for each message."""
        self._all_timed = chat and without < 0.2 * len(timed)
        """Whether every turn has a time, so that a line without one belongs to the turn before it."""
        if self._all_timed:
            names = Counter({name: names[name] for name in names if name in beside})
        self._every = chat or names.total() >= 0.8 * len(texts)
        """Whether almost every line begins with a name."""
        capital = {name for name in sure if names.total() >= 0.6 * begun and _is_name_alone(name)}
        self.speakers = frozenset(
            name for name in (names if self._every else often | capital) if not self._is_message(name, names)
        )
        if self._nicks:
            self.speakers |= frozenset(nicks)
        self._lower = any(name[0].islower() for name in self.speakers)

    @staticmethod
    def _is_message(name: str, names: Counter[str]) -> bool:
        """Return whether a name that occurs once begins a sentence, such as “Ada changed the subject to”."""
        words = name.split()
        starts = (" ".join(words[:end]) for end in range(1, len(words)))
        sentence = any(map(_is_lower, words[1:]))
        return names[name] == 1 and sentence and (len(words) > 2 or any(names[start] > 1 for start in starts))

    def turn(self, line: str) -> tuple[Turn, bool] | None:
        """Return the turn that a line begins, and whether somebody begins to speak; None if it goes on."""
        head = _head_of(line)
        if self._is_event(rest := _unstamped(line)):
            return Turn("", "", rest), True
        if self._nicks and (said := _ACTION.match(rest)):
            return Turn(said[1], head.time if head else "", said[2]), True
        if self._all_timed and not self._chat and _DAY.fullmatch(line.strip()):
            return Turn("", "", line.strip()), True
        # Where messages have dates, a line that begins with a time alone is part of one: “7:30 at the stop”.
        if head is None or (self._all_timed and not (_DATED.search(head.time) if self._chat else head.time)):
            told = _NOTICE.fullmatch(line.strip()[:_LONGEST])
            return (Turn("", "", line.strip()), True) if told and {None, *self.speakers} & {told[1]} else None
        known = head.speaker in self.speakers and (head.alone == self._alone or not head.time)
        if known:
            return Turn(head.speaker, head.time, head.text), True
        if head.time:
            new = self._names_beside_times or bool(head.speaker and not head.alone)
            return Turn("", head.time, head.whole), new
        sentence = head.speaker[0].islower() and not (self._lower and len(head.speaker.split()) == 1)
        return None if sentence or not (head.sure or self._every) else (Turn("", "", line.strip()), True)

    def _is_event(self, text: str) -> bool:
        """Return whether IRC wrote a line: WeeChat has tabs, and no names in angle brackets."""
        return bool(_EVENT.match(text)) and (self._nicks or (self.found and bool(_JOIN.match(text))))

    def _empty(self, turn: Turn, new: bool, line: str) -> str:
        """Return why a turn is nothing that a person says, "" if it is: files, deletions, what a program writes."""
        if not turn.speaker and self._is_event(turn.text):
            return PROGRAM
        nobody = new and not turn.speaker
        if nobody and _DAY.fullmatch(turn.text):
            return PROGRAM
        if nobody and (self._chat and not _COLONS.search(turn.text) if turn.time else _NOTICE.fullmatch(turn.text)):
            return PROGRAM
        if self._chat and _EMPTY.fullmatch(turn.text.translate(_MARKS).strip()):
            return EMPTY
        return PROGRAM if self._chat and (_FROM_PROGRAM.search(line[:_LONGEST]) or _SECURED.search(turn.text)) else ""

    def _has_preamble(self, lines: Sequence[str]) -> bool:
        """Return whether few lines, such as a title and a list of people, stand before the first who speaks."""
        texts = [line for line in lines if line.strip()]
        firsts = (self.turn(divided(line)[0]) for line in texts[: _MOST_BEFORE + 1])
        first = next((place for place, turn in enumerate(firsts) if turn and turn[0].speaker), len(texts))
        return first <= min(_MOST_BEFORE, 0.2 * len(texts))

    def turns(
        self, lines: Sequence[str], places: Sequence[str], account: ReadAccount, alone: bool = False
    ) -> Iterator[tuple[int, bool, Turn]]:
        """Yield the index of each line with text, whether it begins a turn, and what it adds to it.

        A line with several turns gives several. Times inside a text, and turns without one, are listed as left out.
        ``alone``: if almost every line has a name, one without belongs to nobody, and not to the turn before it.
        """
        speaker = time = ""
        unknown, begun, reason = False, not self._all_timed and not self._has_preamble(lines), ""
        silent: tuple[str, str] | None = None
        for index, line in enumerate(lines):
            for part in divided(line):
                found = self.turn(part) or ((Turn("", "", part.strip()), True) if alone and self._every else None)
                text = part
                begun = begun or (found is not None and bool(found[0].speaker))
                if not begun and part == line and not (found and found[0].time):
                    account.skip(PREAMBLE, places[index], part.strip())
                    continue
                reason = self._empty(*found, part) if found is not None else reason
                if found is not None and reason:
                    speaker, time = found[0].speaker, found[0].time
                if reason == PROGRAM or (found is not None and reason):
                    account.skip(reason, places[index], part.strip())
                    continue
                if found is not None:
                    if silent is not None:
                        account.skip("turn without text", *silent)
                    turn, new = found
                    text = turn.text
                    time = turn.time or ("" if new else time)
                    speaker = turn.speaker if new else speaker
                    unknown = new and not speaker and bool(self.speakers)
                    silent = places[index], f"{turn.time} {turn.speaker}".strip()
                for stamp in _STAMP_INSIDE.findall(text):
                    account.skip("time inside a text", places[index], stamp.strip())
                if text := _STAMP_INSIDE.sub("", text).strip():
                    if unknown:
                        account.change(UNKNOWN, places[index], text)
                        unknown = False
                    yield index, found is not None or silent is not None, Turn(speaker, time, text)
                    silent = None
        if silent is not None:
            account.skip("turn without text", *silent)
