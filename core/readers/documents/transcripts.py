"""Transcripts and chats: lines such as “Ada: …” or “[00:01:15] Ada: …”, and subtitles (SRT, WebVTT)."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from themescope.core.config import option
from themescope.core.errors import ReadError
from themescope.core.readers.blocks import Block, Document, DocumentReader, Kind
from themescope.core.readers.documents.turns import Layout, Turn, with_times
from themescope.core.readers.plain_text import TextConfig, text_lines
from themescope.core.readers.streams import FileHead
from themescope.core.readers.streams import head as first_bytes
from themescope.core.types import ReadAccount, Report

_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*\Z")
_CUE_TIME = re.compile(
    r"((?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{1,3})(?:\s*-->\s*|,)(?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{1,3}.*\Z"
)
_NAMED_CUE = re.compile(r'\d+\s+"([^"\n]+)"(?:\s*\(\d+\))?')
"""What Webex writes above the time: the number, the speaker and an id."""
_SOUND = re.compile(r"(?:\[[^\[\]]*\]|\([^()a-z]*\)|[♪♫][^♪♫]*[♪♫]?|\s)+")
_VOICE = re.compile(r"<v(?:\.[\w.]*)?\s+([^>]*)>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")
_MOST_TEXT = 4_000_000
"""Characters of a transcript that may stand before its segments."""
_DASH = re.compile(r"[-–—]\s*(?=\S)")
_WRAPPED = 45
"""Characters from which on a line was wrapped if its turn goes on."""
_MOST_CUES = 40
"""Cues that are joined at most, if none ends a sentence."""

SAMPLE = b"""\
[00:00:01] Ada: Where are you from?
[00:00:04] Bea: From Ada. It was founded in 1200.
Then it grew.
[00:00:09] Ada: I see.
"""
SUBTITLES_SAMPLE = b"""\
1
00:00:01,000 --> 00:00:03,000
Ada is a town.

2
00:00:03,000 --> 00:00:04,500
It was founded

3
00:00:04,500 --> 00:00:06,000
in <i>1200</i>.
"""


@dataclass(frozen=True)
class TranscriptConfig(TextConfig):
    """Settings of the reader."""

    paragraphs: str = option(
        "auto",
        "Definition of a paragraph: line takes every line, block joins the lines of a turn up to a blank line, auto "
        "joins lines to one of at least 45 characters, which was wrapped.",
        choices=("auto", "line", "block"),
    )


class Transcript(DocumentReader[TranscriptConfig]):
    """Reader of a conversation as one article; speaker and time become columns of its sentences."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the document."""
        lines = with_times([line for _, line in text_lines(path, report, self.config.encoding, self.account)])
        layout = Layout(lines)
        self.account.notes["speakers"] = ", ".join(sorted(layout.speakers)) or "none"
        # Characters from which on a line goes on in the next one.
        least = {"line": sys.maxsize, "block": 1, "auto": _WRAPPED}[self.config.paragraphs]
        places = [f"line {number:,}" for number in range(1, len(lines) + 1)]
        found: list[tuple[str, Turn, list[str]]] = []
        for number, begins, turn in layout.turns(lines, places, self.account):
            if found and not begins and len(lines[number - 1].strip()) >= least:
                found[-1][2].append(turn.text)
                self.account.notes["lines"] = "wrapped lines were joined"
            else:
                found.append((places[number], turn, [turn.text]))
        blocks = (Block(Kind.PARAGRAPH, "\n".join(said), 0, place, turn.values) for place, turn, said in found)
        yield Document("", blocks)


def recognises(head: FileHead) -> bool:
    """Return whether the lines of a text begin with speakers or times."""
    if head.suffix in (".md", ".markdown", ".html", ".htm", ".csv", ".tsv") or not head.text:
        return False
    return Layout(with_times(head.text.split("\n")[:2_000])).found


# --- subtitles --------------------------------------------------------------------------------------------------------


class Subtitles(DocumentReader[TextConfig]):
    """Reader of subtitles, or segments of Whisper, as one article: cues are joined up to the end of a sentence."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the document."""
        text = "\n".join(line for _, line in text_lines(path, report, self.config.encoding, self.account))
        read = next((read for begins, read in _FORMATS.values() if re.match(begins, text, re.DOTALL)), _cues)
        cues = [*read(path, text, self.account)]
        layout = Layout(cue.text for cue in cues)
        if layout.found:
            texts, times = [cue.text for cue in cues], [cue.time for cue in cues]
            turns = [(index, turn) for index, begins, turn in layout.turns(texts, times, self.account, alone=True)]
            cues = [Turn(turn.speaker or cues[index].speaker, times[index], turn.text) for index, turn in turns]
        single = sum(bool(_END.search(cue.text)) for cue in cues) * 10 < len(cues)
        if single:
            self.account.notes["sentences"] = "one for each cue, because the cues have no full stops"
        blocks, waiting = list[Block](), list[Turn]()
        for cue, after in zip_longest(cues, cues[1:]):
            waiting.append(cue)
            ends = single or _END.search(cue.text) or len(waiting) >= _MOST_CUES
            if ends or after is None or after.speaker != cue.speaker:
                said = "\n".join(cue.text for cue in waiting)
                blocks.append(Block(Kind.PARAGRAPH, said, 0, waiting[0].time, waiting[0].values))
                waiting = []
        yield Document("", blocks)


def _cues(path: Path, text: str, account: ReadAccount) -> Iterator[Turn]:
    """Yield the cues of SRT, SBV and WebVTT."""
    text = text.lstrip("\ufeff")
    last: list[str] = []
    between = r"\n{2,}" if text.startswith("WEBVTT") else r"\n[ \t]*\n"  # a blank line may stand in a cue of WebVTT
    for number, block in enumerate(re.split(between, text), start=1):
        lines = [line.strip() for line in block.strip().split("\n")]
        at, time = next(
            ((place, found) for place, line in enumerate(lines[:3]) if (found := _CUE_TIME.match(line))), (-1, None)
        )
        if time is None:
            if block.strip() and not (number == 1 and block.lstrip().startswith("WEBVTT") and len(lines) == 1):
                account.skip("block without a time", f"block {number:,}", " ".join(lines))
            continue
        who = _NAMED_CUE.fullmatch(lines[at - 1]) if at else None
        if at and not who and not lines[at - 1].isdecimal():
            account.skip("name of a cue", f"block {number:,}", lines[at - 1])
        begin = time[1].replace(",", ".")
        spoken = [*filter(None, lines[at + 1 :])]
        again = bool(last) and [_plain(line) for line in spoken[:1]] == last[-1:]
        last = [*map(_plain, spoken)]
        if again:  # captions that roll up show the line above once more
            account.skip("line of the cue before, shown again", f"block {number:,}", last[0])
            spoken = spoken[1:]
        if spoken and _SOUND.fullmatch(" ".join(map(_plain, spoken))):
            account.skip("sound or music", f"block {number:,}", " ".join(last))
            continue
        if sum(bool(_DASH.match(line)) for line in spoken) > 1:  # several people speak
            for line in spoken:
                yield Turn(_voice(line), begin, _plain(_DASH.sub("", line, count=1)))
        elif spoken:
            yield Turn(who[1] if who else _voice(" ".join(spoken)), begin, _plain("\n".join(spoken)))


def _dialogue(path: Path, text: str, account: ReadAccount) -> Iterator[Turn]:
    """Yield the lines of Advanced SubStation Alpha (.ass, .ssa)."""
    fields = ["layer", "start", "end", "style", "name", "l", "r", "v", "effect", "text"]
    above, _, events = text.partition("[Events]")
    for number, line in enumerate(events.split("\n"), above.count("\n") + 1):
        kind, _, rest = line.partition(":")
        if kind == "Format":
            fields = [field.strip().lower() for field in rest.split(",")]
            continue
        cells = dict(zip(fields, rest.strip().split(",", len(fields) - 1), strict=False))
        said = _plain(re.sub(r"\\[Nnh]", "\n", cells.get("text", "")))
        if kind == "Dialogue":
            yield Turn(cells.get("name") or cells.get("actor", ""), cells.get("start", ""), said)
        elif said:
            account.skip("comment", f"line {number:,}", said)


def _rows(path: Path, text: str, account: ReadAccount) -> Iterable[Turn]:
    """Return the segments of a table of Whisper, which has milliseconds."""
    rows = (line.split("\t", 2) for line in text.split("\n")[1:] if line.count("\t") > 1)
    found = [Turn("", _clock(int(start) / 1000), said) for start, _, said in rows if start.isdecimal()]
    return found or _cues(path, text, account)


def _segments(path: Path, text: str, account: ReadAccount) -> Iterable[Turn]:
    """Return the segments of a transcript in JSON."""
    try:
        found = json.loads(text)
        found = {"segments": found} if isinstance(found, list) else {**found, **(found.get("results") or {})}
        given = [(one.get("speaker"), float(one["start"]), str(one["text"])) for one in found.get("segments", ())]
        given += [("", one["offsets"]["from"] / 1000, str(one["text"])) for one in found.get("transcription", ())]
        for one in () if given else found.get("utterances") or ():  # AssemblyAI counts milliseconds, Deepgram seconds
            said, scale = (one["text"], 1_000) if "text" in one else (one["transcript"], 1)
            given.append((one.get("speaker"), float(one["start"]) / scale, str(said)))
        # Only the transcripts of Amazon have no times.
        turns = [Turn("" if who is None else str(who), _clock(start), said.strip()) for who, start, said in given]
        turns = turns or [Turn("", "", one["transcript"]) for one in found.get("transcripts", ())]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReadError(path, f"its segments are damaged ({error}).", advice="Save the transcript again.") from None
    return turns or _cues(path, text, account)


_SCALAR = r'(?:"(?:[^"\\]|\\.)*"|[\w.+-]+|\{[^{}]*\})'
_FORMATS: Mapping[str, tuple[str, Callable[[Path, str, ReadAccount], Iterable[Turn]]]] = {
    "Whisper, TSV": (r"start\tend\ttext\n\d", _rows),
    "Whisper": (
        rf'\s*\{{(?:\s*"\w+"\s*:\s*{_SCALAR}\s*,)*\s*"(?:segments|transcription)"\s*:\s*\[\s*\{{\s*"',
        _segments,
    ),
    "AssemblyAI, Deepgram, Amazon": (r'\s*\{(?=.*"(?:utterances|transcripts)"\s*:\s*\[\s*\{)', _segments),
    "list of segments": (
        r'\s*\[\s*\{(?=[^{}]*"start"\s*:\s*\d+\.\d)(?=[^{}]*"end"\s*:\s*\d+\.\d)(?=[^{}]*"text"\s*:)',
        _segments,
    ),
    "Advanced SubStation Alpha": (r"\ufeff?\[Script Info\]", _dialogue),
    "WebVTT": (r"\ufeff?WEBVTT\b", _cues),
    "SubRip": (r"\ufeff?\s*(?:\d+\s*\n)?\d{1,2}:\d{2}:\d{2}[.,]\d{1,3}\s*-->", _cues),
    "SBV": (r"\ufeff?\s*(?:\d+\s*\n)?\d{1,2}:\d{2}:\d{2}[.,]\d{1,3},\d{1,2}:\d{2}:", _cues),
}
"""Format of subtitles or transcribed speech → the pattern with which its files begin, and what reads them."""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes // 60):02}:{int(minutes % 60):02}:{rest:06.3f}"


def _voice(text: str) -> str:
    found = _VOICE.search(text)
    return found[1].strip() if found else ""


def _plain(text: str) -> str:
    """Return the text of a cue without markup."""
    return html.unescape(_TAG.sub("", text)).strip()


def recognises_subtitles(head: FileHead) -> bool:
    """Return whether a text begins with a cue of SRT, is WebVTT, or has the segments of Whisper."""
    text = head.text.replace("\r\n", "\n")
    written = re.match(r'\s*\{\s*"(?:text|task|language|id|metadata|jobName)"\s*:', text)
    if written and len(head.data) >= 1 << 16 and '"segments"' not in text:
        text = first_bytes(head.path, _MOST_TEXT).decode("utf-8", "replace")
    return any(re.match(begins, text, re.DOTALL) for begins, _ in _FORMATS.values())
