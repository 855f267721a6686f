"""Reuters-21578: newswire stories of 1987 with topics, in 22 SGML files (Lewis 1997, distribution 1.0).

They are read as in Saha et al. 2017 (section 4.1): the ModApte split, and one topic for each document. The files are
not valid XML (unquoted entities, control characters), so they are parsed with regular expressions, as latin-1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import regex  # type: ignore[import-untyped]

from themescope.core.config import Config, option
from themescope.core.errors import ReadError
from themescope.core.readers.blocks import BaseReader, Outline
from themescope.core.readers.streams import FileHead, whole_text
from themescope.core.types import Article, Report

TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship")
"""The eight topics of Saha et al. 2017."""
LEFT_OUT = ("wheat", "corn")
"""The other two of the ten most frequent topics: a document whose first frequent topic is one of them is skipped."""

_PARTS = {"TRAIN": "train", "TEST": "test"}
_BEGIN = re.compile("<REUTERS")
_ATTRIBUTE = re.compile(r'\b(\w++)="([^"]*+)"')
_TOPIC = re.compile(r"<D>([^<\n]*+)</D>")
_TEXT = re.compile(r"<TEXT[^<>]*+>(.*?)(?:</TEXT>|\Z)", re.S)
_NAMES = "TITLE|DATELINE|AUTHOR|BODY"
_FIELD = regex.compile(rf"<({_NAMES})>((?:[^<]++|<(?!/?(?:{_NAMES})>))*+)</\1>")
_MARK = re.compile(rf"</?(?:{_NAMES})>")
_CONTROL = re.compile(r"&#\d+;|[\x00-\x09\x0b-\x1f\x7f]")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&"}
# Text of the agency at the end of a story, and instead of a story.
_FILLER = re.compile(r"\breuters?\s*\Z|\bblah blah blah\.|\*{4,}", re.I)
_BLANK = re.compile(r"\n[ ]*\n")
_INDENTED = re.compile(r"\n(?:[ ]*\n|[ ]{2,})")

_REUTERS = re.compile(r"(?:<!doctype\s+lewis[^>]*>\s*)?<REUTERS\s", re.I)

SAMPLE = b"""\
<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="1">
<DATE>26-FEB-1987</DATE>
<TOPICS><D>grain</D><D>ship</D></TOPICS>
<TEXT>&#2;
<TITLE>Ada &lt;ADA> rises</TITLE>
<DATELINE>    ADA, Feb 26 - </DATELINE><BODY>It was founded in 1200
and is old.
    Then it grew &#22;by 5 pct.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="2">
<DATE>26-FEB-1987</DATE>
<TOPICS><D>cocoa</D></TOPICS>
<TEXT>&#2;
<TITLE>Ada &lt;ADA> rises</TITLE>
<DATELINE>    ADA, Feb 26 - </DATELINE><BODY>It was founded in 1200
and is old.
    Then it grew &#22;by 5 pct.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
"""


@dataclass(frozen=True)
class ReutersSgmlConfig(Config):
    """Settings of the reader: documents to keep and definition of a paragraph."""

    topic_rule: str = option(
        "first-of-ten",
        "Topic of a document. first-of-ten: the first listed of the ten most frequent topics, without documents that "
        "list wheat or corn first (9,001 documents). first-of-eight: the first listed of the eight topics, for copies "
        "that list topics alphabetically, so that corn precedes grain.",
        choices=("first-of-ten", "first-of-eight"),
    )
    single_label_only: bool = option(False, "Keep only documents with a single topic (7,674 documents).")
    paragraphs: str = option(
        "blank",
        "Definition of a paragraph. blank: headline, dateline and body form one text, divided at blank lines, as in "
        "the paper. indented: the headline is a paragraph, and indented lines also start paragraphs.",
        choices=("blank", "indented"),
    )


class ReutersSgml(BaseReader):
    """Reader of the documents of the .sgm files, with their topic and their part of the ModApte split."""

    config: ReutersSgmlConfig

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield documents in file order. Raises :class:`ReadError` with the line of a truncated document."""
        self.account.clear()
        for number, text in _documents(path, report):
            attributes = dict(_ATTRIBUTE.findall(text.partition(">")[0]))
            if "NEWID" not in attributes:
                raise ReadError(path, "the document has no NEWID.", f"line {number:,}", "Use the original file.")
            topic, reason = self._topic(attributes, text)
            found = _TEXT.search(text)
            inner, name = found.group(1) if found else "", f"Reuters {attributes['NEWID']}"
            if reason:
                self.account.skip(reason, name, " ".join(_plain(_MARK.sub(" ", inner)).split()))
            else:
                yield from self._article(path, attributes, inner, topic, name)

    def _topic(self, attributes: dict[str, str], text: str) -> tuple[str, str]:
        if attributes.get("LEWISSPLIT") not in _PARTS or attributes.get("TOPICS") != "YES":
            return "", "outside the ModApte split"
        listed = _TOPIC.findall(text.partition("<TOPICS>")[2].partition("</TOPICS>")[0])
        if self.config.single_label_only and len(listed) > 1:
            return "", "several topics"
        among = TOPICS + LEFT_OUT if self.config.topic_rule == "first-of-ten" else TOPICS
        topic = next((name for name in listed if name in among), "")
        if topic in LEFT_OUT:
            return "", f"{' or '.join(LEFT_OUT)} listed first"
        return topic, "" if topic else "none of the topics"

    def _article(self, path: Path, attributes: dict[str, str], inner: str, topic: str, name: str) -> Iterator[Article]:
        fields = {name: _plain(value) for name, value in _FIELD.findall(inner)}
        headline, dateline = " ".join(fields.get("TITLE", "").split()), fields.get("DATELINE", "").strip()
        body = _FILLER.sub(" ", fields.get("BODY") or _plain(_FIELD.sub(" ", inner)))
        if author := " ".join(fields.get("AUTHOR", "").split()):
            self.account.skip("author", name, author)
        title = f"{headline} ({name})" if headline else name
        outline = Outline(title, source=path.name, topic=topic, part=_PARTS[attributes["LEWISSPLIT"]])
        if self.config.paragraphs == "indented":
            outline.paragraph(headline)
            blocks = _INDENTED.split(f"{dateline} {body}")
        else:
            blocks = _BLANK.split(f"{headline} {dateline} {body}")
        for block in blocks:
            outline.paragraph(" ".join(block.split()))
        yield from self._finished(outline)


def _documents(path: Path, report: Report) -> Iterator[tuple[int, str]]:
    """Yield the content of every <REUTERS> element with its first line number. A file has about 1.3 MB."""
    text = whole_text(path, report, "latin-1")
    line, counted, end = 1, 0, 0
    for found in _BEGIN.finditer(text):
        start = found.end()
        line += text.count("\n", counted, start)
        counted = start
        end = text.find("</REUTERS>", start)
        another = text.find("<REUTERS", start)
        if end < 0 or 0 <= another < end:
            problem = "the document that begins here has no </REUTERS>."
            raise ReadError(path, problem, f"line {line:,}", "The file is truncated or damaged; copy it again.")
        yield line, text[start:end]
    if not end:
        raise ReadError(path, "contains no <REUTERS> document.", advice="Give the .sgm files of Reuters-21578.")


def _plain(text: str) -> str:
    """Return the text without control characters and entities; line breaks are kept."""
    text = _CONTROL.sub(" ", text)
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    return text


def recognises(head: FileHead) -> bool:
    """Return whether a file begins with a ``REUTERS`` element."""
    return bool(_REUTERS.match(head.text))
