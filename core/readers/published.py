"""Published collections: 20 Newsgroups, Reuters-21578, and the Sentence Clustering Benchmark.

20 Newsgroups has Usenet messages whose group is their topic (Lang 1995; the "bydate" version, Rennie 2008). They are
read as in Saha et al. 2017 (section 4.1), with the cleaning of ``sklearn.datasets.fetch_20newsgroups(remove=...)``.
There are three forms: a message file in the folder of its group, the published tar archive of such folders, and JSON
lines ``{"id": "group/number", "group", "split", "text"}``.
"""

from __future__ import annotations

import csv
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import regex  # type: ignore[import-untyped]

from themescope.core.config import Config, option
from themescope.core.errors import ReadError
from themescope.core.readers.blocks import BaseReader, Outline, SentenceRow, article_of_rows, articles_of_rows
from themescope.core.readers.jsonl import json_lines
from themescope.core.readers.streams import ByteStream, FileHead, check_article, lines, open_stream, whole_text
from themescope.core.types import Article, Report

PAPER_GROUPS = (
    "sci.space",
    "sci.med",
    "talk.politics.guns",
    "talk.politics.mideast",
    "rec.autos",
    "rec.sport.baseball",
    "comp.graphics",
    "soc.religion.christian",
)
"""The eight groups of Saha et al. 2017: 7,781 messages of the "bydate" version."""

_GROUP = re.compile(r"[a-z]+(?:\.[a-z0-9+_-]+)+\Z")
_PART = re.compile(r"(?:\A|[-_.])(train|test)\Z")
_MESSAGE = re.compile(r"\A\s*[A-Za-z][\w-]*:[ \t]")
_JSON_MESSAGE = re.compile(r'\A\s*\{[^\n]{0,400}?"group"\s*:\s*"')
_BLOCK = 512
_PAX_RECORD = re.compile(rb"(\d{1,6}) (path=)?")
_LONGEST_EXTENDED = 1 << 16
"""Maximum size of an extended header of an archive in bytes; most contain a name of more than 100 characters."""

NEWSGROUPS_SAMPLE = b"""\
{"id": "sci.space/7", "group": "sci.space", "split": "train",\
 "text": "From: bea@x.org (Bea)\\nSubject: Re: Ada\\n\\nIn article <1@x> Cid writes:\
\\n> Old?\\n\\nIt was founded\\nin 1200.\\n\\nThen it grew.\\n\\n--\\nBea\\n"}
{"id": "sci.med/8", "group": "sci.med", "split": "test",\
 "text": "From: bea@x.org (Bea)\\nSubject: Re: Ada\\n\\nIn article <1@x> Cid writes:\
\\n> Old?\\n\\nIt was founded\\nin 1200.\\n\\nThen it grew.\\n\\n--\\nBea\\n"}
"""


@dataclass(frozen=True)
class NewsgroupsConfig(Config):
    """Settings of the reader: groups to keep and parts of messages to remove."""

    groups: tuple[str, ...] = option(
        (), "Groups to keep; empty keeps all. Those of Saha et al. 2017 are " + ", ".join(PAPER_GROUPS) + "."
    )
    signatures: bool = option(False, "Keep the text after the last blank or dashed line of a message.")
    quotations: bool = option(False, "Keep lines that quote other messages or introduce a quotation.")


class _Message(NamedTuple):
    group: str
    number: str
    part: str
    text: str


class Newsgroups(BaseReader[NewsgroupsConfig]):
    """Reader of messages without their headers; the group is the topic, train or test the part."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield messages in file order. Raises :class:`ReadError` with the invalid line or archive member."""
        self.account.clear()
        for message in _messages(path, report):
            if self.config.groups and message.group not in self.config.groups:
                self.account.skip("other group")
                continue
            fields, text = header_and_text(message.text)
            subject, name = fields.pop("subject", ""), "/".join(filter(None, (message.group, message.number)))
            if fields:
                self.account.skip("header field", n=len(fields))
            # In this order a reply below a quotation is not mistaken for a signature, and the counts are closer to the
            # published ones (21,826 labelled sentences instead of 21,592; published 22,374).
            if not self.config.quotations:
                if quoted := [line for line in text.split("\n") if _QUOTE.search(line)]:
                    self.account.skip("quotation", name, "\n".join(quoted))
                text = without_quotations(text)
            if not self.config.signatures:
                kept = without_signature(text)
                if signature := text.strip().removeprefix(kept.strip()).strip(" \t\n\f-"):
                    self.account.skip("signature", name, signature)
                text = kept
            title = f"{subject} ({name})" if subject else name
            outline = Outline(title, source=path.name, topic=message.group, part=message.part)
            for block in paragraphs(text):
                outline.paragraph(block)
            yield from self._finished(outline)


def is_message(start: str) -> bool:
    """Return whether a text begins with the header of a message, with fields From and Subject."""
    if not _MESSAGE.match(start):
        return False
    fields, _ = header_and_text(start.replace("\r\n", "\n").lstrip("\n"))
    return "from" in fields and "subject" in fields


def is_archive(beginning: bytes) -> bool:
    """Return whether a file is a tar archive."""
    return beginning[257:262] == b"ustar"


def _messages(path: Path, report: Report) -> Iterator[_Message]:
    beginning = FileHead.of(path).data
    if is_archive(beginning):
        yield from _archived(path, report)
    elif beginning.lstrip().startswith(b"{"):
        yield from _json_lines(path, report)
    else:  # a single message; group and part come from its folders
        text = whole_text(path, report, "latin-1")
        if not is_message(text):
            advice = "Give files of 20 Newsgroups."
            raise ReadError(path, "this is not a message with From and Subject.", "line 1", advice)
        yield _placed(path.absolute().parts, text.lstrip("\n"))


def _placed(parts: tuple[str, ...], text: str) -> _Message:
    """Return the message whose path ends with part, group and number."""
    group = parts[-2] if len(parts) > 1 and _GROUP.match(parts[-2]) else ""
    part = _PART.search(parts[-3]) if group and len(parts) > 2 else None
    return _Message(group, parts[-1], part.group(1) if part else "", text)


def _archived(path: Path, report: Report) -> Iterator[_Message]:
    found = 0
    with open_stream(path, report) as stream:
        for name, size in _members(path, stream):
            parts = PurePosixPath(name).parts
            if len(parts) < 2 or not _GROUP.match(parts[-2]):
                _skip(path, stream, size)
                continue
            check_article(path, size, name)
            found += 1
            text = _exactly(path, stream, size).decode("latin-1").replace("\r\n", "\n").replace("\0", " ")
            yield _placed(parts, text)
        while stream.read():  # raises if the compressed file is damaged after the last member
            pass
    if not found:
        advice = "Give the archive of 20 Newsgroups, with folders such as sci.space."
        raise ReadError(path, "the archive contains no messages in folders of groups.", advice=advice)


def _members(path: Path, stream: ByteStream) -> Iterator[tuple[str, int]]:
    """Yield name and size of each file of an archive; the caller then reads or skips so many bytes.

    ``tarfile`` decodes single headers only: reading whole archives, it takes quadratic time for some extended headers
    and recurses for each of them.
    """
    name = ""
    while block := stream.read(_BLOCK):
        if not block.strip(b"\0"):
            return
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
        except (tarfile.TarError, ValueError) as error:
            raise _damaged(path, stream, str(error)) from None
        if header.size < 0:
            raise _damaged(path, stream, "a size below 0")
        has_content = not (header.isdir() or header.islnk() or header.issym() or header.isdev())
        size = header.size if has_content else 0
        if header.type in _EXTENDED:
            if size > _LONGEST_EXTENDED:
                raise _damaged(path, stream, f"an extended header of {size:,} bytes")
            name = _EXTENDED[header.type](_exactly(path, stream, size)) or name
        else:
            if header.isreg():
                yield name or header.name, size
            else:
                _skip(path, stream, size)
            name = ""
        _skip(path, stream, -size % _BLOCK)


def _pax_name(data: bytes) -> str:
    """Return the last name in an extended header of POSIX, whose records are ``length key=value``; "" for none."""
    name, start = "", 0
    while record := _PAX_RECORD.match(data, start):
        end = max(start + int(record[1]), record.end())
        if record[2]:
            name = data[record.end() : end].removesuffix(b"\n").decode("utf-8", "replace")
        start = end
    return name


def _exactly(path: Path, stream: ByteStream, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise _damaged(path, stream, "it ends too early")
    return data


def _skip(path: Path, stream: ByteStream, size: int) -> None:
    while size > 0:
        size -= len(_exactly(path, stream, min(size, 64 * _BLOCK)))


def _damaged(path: Path, stream: ByteStream, why: str) -> ReadError:
    problem = f"the tar archive is truncated or damaged ({why})."
    return ReadError(path, problem, f"byte {stream.offset:,}", "Download or copy it again.")


_EXTENDED: dict[bytes, Callable[[bytes], str]] = {
    tarfile.XHDTYPE: _pax_name,
    tarfile.SOLARIS_XHDTYPE: _pax_name,
    tarfile.XGLTYPE: lambda data: "",
    tarfile.GNUTYPE_LONGNAME: lambda data: data.partition(b"\0")[0].decode("utf-8", "replace"),
    tarfile.GNUTYPE_LONGLINK: lambda data: "",
}


def _json_lines(path: Path, report: Report) -> Iterator[_Message]:
    for number, record in json_lines(path, report):
        known = isinstance(record, dict) and all(isinstance(record.get(key), str) for key in ("id", "group", "text"))
        if not known:
            where, advice = f"line {number:,}", "Each line needs all three as strings."
            raise ReadError(path, "the line has no id, group and text.", where, advice)
        split = record.get("split")
        part = split if split in ("train", "test") else ""
        number_in_group = record["id"].removeprefix(record["group"]).lstrip("/")
        yield _Message(record["group"], number_in_group, part, record["text"].replace("\r\n", "\n").replace("\0", " "))


def recognises_newsgroups(head: FileHead) -> bool:
    """Return whether a file is a tar archive, a message, or JSON lines with messages."""
    first = head.text.partition("\n")[0]
    is_json = _JSON_MESSAGE.match(first) and '"text"' in first and '"sections"' not in first
    return is_archive(head.data) or bool(is_json) or is_message(head.text)


_BLANK = re.compile(r"\n[ \t\f]*\n")
_ENDS_HEADER = re.compile(r"(?:\A|\n)\n")
_FIELD = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*(?:\n[ \t]+.*)*)", re.M)
# A quoted line, or one that introduces a quotation.
_QUOTE = re.compile(r"^\s*[>|]|^In article|^Quoted from|writes in|(?:writes|wrote|says|said):")


def header_and_text(message: str) -> tuple[dict[str, str], str]:
    """Return the first value of each header field by lower-case name, and the text after the first empty line."""
    end = _ENDS_HEADER.search(message)
    head, text = (message[: end.start()], message[end.end() :]) if end else (message, "")
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(head):
        fields.setdefault(name.lower(), " ".join(value.split()))
    return fields, text


def without_signature(text: str) -> str:
    """Return the text before the last blank or dashed line; a text of a single block is kept."""
    lines = text.strip().split("\n")
    last = next((i for i in range(len(lines) - 1, 0, -1) if not lines[i].strip(" \t\f-")), 0)
    return "\n".join(lines[:last]) if last else text


def without_quotations(text: str) -> str:
    """Return the text without lines that quote (``>`` or ``|``) or introduce a quotation ("… writes:")."""
    return "\n".join(line for line in text.split("\n") if not _QUOTE.search(line))


def paragraphs(text: str) -> list[str]:
    """Return the blocks between blank lines, each on one line."""
    blocks = (" ".join(block.split()) for block in _BLANK.split(text))
    return [block for block in blocks if block]


# Reuters-21578: newswire stories of 1987 with topics, in 22 SGML files (Lewis 1997, distribution 1.0)

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
_STORY_FIELD = regex.compile(rf"<({_NAMES})>((?:[^<]++|<(?!/?(?:{_NAMES})>))*+)</\1>")
_MARK = re.compile(rf"</?(?:{_NAMES})>")
_CONTROL = re.compile(r"&#\d+;|[\x00-\x09\x0b-\x1f\x7f]")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&"}
# Text of the agency at the end of a story, and instead of a story.
_FILLER = re.compile(r"\breuters?\s*\Z|\bblah blah blah\.|\*{4,}", re.I)
_BLANK_LINE = re.compile(r"\n[ ]*\n")
_INDENTED = re.compile(r"\n(?:[ ]*\n|[ ]{2,})")

_REUTERS = re.compile(r"(?:<!doctype\s+lewis[^>]*>\s*)?<REUTERS\s", re.I)

_STORY = b"""\
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="%d">
<DATE>26-FEB-1987</DATE>
<TOPICS>%s</TOPICS>
<TEXT>&#2;
<TITLE>Ada &lt;ADA> rises</TITLE>
<DATELINE>    ADA, Feb 26 - </DATELINE><BODY>It was founded in 1200
and is old.
    Then it grew &#22;by 5 pct.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
"""
_STORIES = _STORY % (1, b"<D>grain</D><D>ship</D>") + _STORY % (2, b"<D>cocoa</D>")
REUTERS_SAMPLE = b'<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + _STORIES


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


class ReutersSgml(BaseReader[ReutersSgmlConfig]):
    """Reader of the documents of the .sgm files, with their topic and their part of the ModApte split."""

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
                continue
            fields = {name: _plain(value) for name, value in _STORY_FIELD.findall(inner)}
            headline, dateline = " ".join(fields.get("TITLE", "").split()), fields.get("DATELINE", "").strip()
            body = _FILLER.sub(" ", fields.get("BODY") or _plain(_STORY_FIELD.sub(" ", inner)))
            if author := " ".join(fields.get("AUTHOR", "").split()):
                self.account.skip("author", name, author)
            title = f"{headline} ({name})" if headline else name
            outline = Outline(title, source=path.name, topic=topic, part=_PARTS[attributes["LEWISSPLIT"]])
            if self.config.paragraphs == "indented":
                outline.paragraph(headline)
                blocks = _INDENTED.split(f"{dateline} {body}")
            else:
                blocks = _BLANK_LINE.split(f"{headline} {dateline} {body}")
            for block in blocks:
                outline.paragraph(" ".join(block.split()))
            yield from self._finished(outline)

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


def recognises_reuters(head: FileHead) -> bool:
    """Return whether a file begins with a ``REUTERS`` element."""
    return bool(_REUTERS.match(head.text))


# The published Sentence Clustering Benchmark: one sentence per row, already split

COLUMNS = ("Article Title", "Sentence", "SectionTitle", "Article Link")
_OPTIONAL = frozenset({"Article Link"})

SCB_SAMPLE = b"""\
Article Title,Sentence,SectionTitle,Article Link
Ada,It was founded in 1200 .,History,https://x.org/Ada
Ada,"Then, it grew .",History,https://x.org/Ada
Bea,She was born .,Life,https://x.org/Bea
"""


class ScbCsv(BaseReader[Config]):
    """Reader of the benchmark. It reads the file twice, first to find the last row of each article.

    Rows of an article need therefore not be adjacent, and only incomplete articles are kept in memory.
    """

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield each article as soon as it is complete. Raises :class:`ReadError` for invalid files."""
        self.account.clear()
        expected = Counter(row.title for row, _ in _rows(path, report) if row.text)
        links: dict[str, str] = {}
        sentences = self._sentences(_rows(path, report), links)
        for rows in articles_of_rows(path, sentences, expected, "Sort the file by article."):
            yield article_of_rows(rows[0].title, rows, path.name, links[rows[0].title])

    def _sentences(self, rows: Iterable[tuple[SentenceRow, str]], links: dict[str, str]) -> Iterator[SentenceRow]:
        """Yield the rows with a sentence, and note the link of each article: that of the first of them."""
        for row, link in rows:
            if not row.text:
                others = " ".join(str(text) for text in (row.title, row.section, *row.values.values()) if text)
                self.account.skip("no sentence", row.place, others)
                continue
            if link != links.setdefault(row.title, link):
                self.account.skip("another link of the same article", row.place, link)
            yield row


def fold(column: str) -> str:
    """Return a column name for comparison: lower case, without spaces and underscores."""
    return column.replace(" ", "").replace("_", "").lower()


def _rows(path: Path, report: Report) -> Iterator[tuple[SentenceRow, str]]:
    """Yield every row, and the link of its article."""
    reader = csv.reader((line for _, line in lines(path, report)), strict=True)
    try:
        header = next(reader, [])
        found = {fold(name): index for index, name in reversed(list(enumerate(header)))}
        missing = [name for name in COLUMNS if fold(name) not in found and name not in _OPTIONAL]
        if missing:
            names = ", ".join(repr(name) for name in missing)
            have = ", ".join(repr(name[:40]) for name in header[:10]) or "nothing"
            what = f"the columns {names} are" if len(missing) > 1 else f"the column {names} is"
            raise ReadError(path, f"{what} missing; found {have}.", "line 1", "Name the columns in line 1.")
        places = [found.get(fold(name), -1) for name in COLUMNS]
        others = {name or f"column {at + 1}": at for at, name in enumerate(header) if at not in places}
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                problem = f"the row has {len(cells)} cells, the first line has {len(header)}."
                raise ReadError(path, problem, f"line {reader.line_num:,}", "Enclose texts with commas in quotes.")
            article, sentence, section, link = (cells[at].strip() if at >= 0 else "" for at in places)
            if not article:
                raise ReadError(path, "the row has no Article Title.", f"line {reader.line_num:,}", "Fill it in.")
            values = {name: cells[at].strip() or None for name, at in others.items()}
            yield SentenceRow(f"line {reader.line_num:,}", article, section, sentence, values), link
    except csv.Error as error:
        advice = "Probably a quotation mark is not closed, or not doubled inside a text."
        raise ReadError(path, f"not valid CSV ({error}).", f"line {reader.line_num:,}", advice) from None


def recognises_scb(head: FileHead) -> bool:
    """Return whether the first line has at least two of the columns; the reader reports missing ones."""
    first = head.text.partition("\n")[0]
    cells = {fold(cell.strip().strip('"')) for cell in first.split(",")}
    return len(cells & {fold(column) for column in COLUMNS}) >= 2
