"""Mail: messages (EML), mailboxes (MBOX), and web pages that browsers save as a message (MHTML).

Quoted replies and signatures are recognised and listed; attachments are named.
"""

from __future__ import annotations

import email
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.message import EmailMessage, MIMEPart
from email.policy import default as POLICY
from email.utils import parsedate_to_datetime
from pathlib import Path

from themescope.core.config import option
from themescope.core.errors import ReadError
from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind
from themescope.core.readers.documents.packages import decoded, whole_bytes
from themescope.core.readers.html import html_blocks, page_of
from themescope.core.readers.plain_text import BLOCK, joined, paragraphs_of
from themescope.core.readers.published import header_and_text
from themescope.core.readers.streams import FileHead, wide_encoding
from themescope.core.types import Report, Value

QUOTED, SIGNATURE = "quoted reply", "signature"
_BEGINS = re.compile(rb"(?:\A|\n\r?\n)From [^\r\n]*\d[^\r\n]*\r?\n(?=[A-Za-z][\w-]*:)")
_BOUNDARY = re.compile(rb"""(\bboundary=)([^\s;"']+)""", re.IGNORECASE)
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_QUOTE = re.compile(r"\s{0,3}>")
_INTRODUCES = re.compile(
    r"\s*(?:On|Am|Le|El|Il|Em|Op|Den|Dne|W dniu)\b.{4,200}"
    r"(?:wrote|writes|schrieb|geschrieben|écrit|escribió|ha scritto|escreveu|schreef|skrev|napsal|napisał)"
    r"[^\n]{0,80}:\s*\Z",
    re.DOTALL,
)
_OUTLOOK = re.compile(
    r"\s*(?:-{2,}\s*(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original|Forwarded message)"
    r"\s*-{2,}|_{20,})\s*\Z"
)
_SENT_FROM = re.compile(
    r"\s*(?:Sent from my |Von meinem |Envoyé de mon |Enviado desde mi |Get Outlook for )\S.{0,60}\Z"
)
_IDS = frozenset(["message-id", "mime-version", "received", "return-path", "delivered-to"])
_USENET = frozenset(["newsgroups", "xref", "path"])

SAMPLE = b"""\
From: Bea <bea@x.org>
To: cid@x.org
Subject: Ada
Date: Mon, 5 Feb 2024 10:00:00 +0000
Message-ID: <1@x.org>

It was founded in 1200.

Then it grew.

On Sun, 4 Feb 2024, Cid wrote:
> Old?

--
Bea
"""
MHTML_SAMPLE = b"""\
From: <Saved by Blink>
Snapshot-Content-Location: https://x.org/ada
Subject: Ada
MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary="B"

--B
Content-Type: text/html; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

<html><body><h1>Ada</h1><p>It was founded in =
1200.</p><p>Then it grew.</p></body></html>
--B--
"""


@dataclass(frozen=True)
class MailConfig(DocumentConfig):
    """Settings of the reader."""

    keep_quotations: bool = option(False, "Keep the quoted text of other messages.")
    keep_signatures: bool = option(False, "Keep signatures.")


class Mail(DocumentReader[MailConfig]):
    """Reader of messages, an article each, titled by the subject; sender and date are columns."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield a document for every message."""
        data = whole_bytes(path, report)
        starts = [found.end() for found in _BEGINS.finditer(data)] if data.startswith(b"From ") else []
        ends = [*(found.start() for found in _BEGINS.finditer(data)), len(data)][1:] if starts else []
        pieces = [_ESCAPED.sub(rb"\1", data[start:end]) for start, end in zip(starts, ends, strict=True)] or [data]
        for number, piece in enumerate(pieces, start=1):
            message = _message(path, piece)
            place = f"message {number:,}" if len(pieces) > 1 else ""
            title = _header(message, "subject") or (f"Message {number:,}" if place else "")
            yield Document(title, self._blocks(message, place), _values(message))

    def _keeps(self, kind: str) -> bool:
        return (
            (kind == QUOTED and self.config.keep_quotations)
            or (kind == SIGNATURE and self.config.keep_signatures)
            or super()._keeps(kind)
        )

    def _blocks(self, message: EmailMessage, place: str) -> Iterator[Block]:
        body = message.get_body(("plain", "html"))
        for part in message.walk():
            for outside in (part.preamble, part.epilogue):
                yield Block("text outside of the parts of a message", outside or "", place=place)
            if part.is_multipart() or part is body:
                continue
            name = " ".join(str(part.get_filename() or part.get_content_type()).split())
            kind = part.get_content_type()
            if not kind.startswith("text/"):
                self.account.skip("attachment", place, name)
            elif kind == "text/html" and body is not None and not part.get_filename():
                self.account.skip("HTML version of the text", place)
            else:
                yield Block("attachment", f"{name}: {_text(self, part, place)}", place=place)
        if body is None:
            return
        text = _text(self, body, place)
        if body.get_content_type() == "text/html":
            yield from (block if block.place else block._replace(place=place) for block in html_blocks(text))
        else:
            flowed = body.get_param("format") == "flowed"
            yield from self._plain(_unflowed(text) if flowed else text, place)

    def _plain(self, text: str, place: str) -> Iterator[Block]:
        """Yield the blocks of a plain text: its paragraphs, quoted replies, and its signature."""
        lines = text.replace("\r\n", "\n").split("\n")
        own = [line for line in lines if line.strip() and not _QUOTE.match(line)]
        wrapped = paragraphs_of(own) == BLOCK
        waiting: list[str] = []
        kind = Kind.PARAGRAPH
        for index, line in enumerate([*lines, ""]):
            here = self._kind(lines, index, kind)
            if waiting and (not line.strip() or here != kind or (kind == Kind.PARAGRAPH and not wrapped)):
                if kind == Kind.PARAGRAPH and _INTRODUCES.match(" ".join(waiting)):  # such as “On Monday Ada wrote:”
                    below = next((line for line in lines[index:] if line.strip()), "")
                    kind = QUOTED if _QUOTE.match(below) else kind
                yield Block(kind, joined(waiting, self.account), place=place)
                waiting = []
            kind = here
            if line.strip():
                waiting.append(_QUOTE.sub("", line).lstrip("> ") if here == QUOTED else line.strip())

    @staticmethod
    def _kind(lines: Sequence[str], index: int, before: str) -> str:
        """Return the kind of a line: that of the text, of a quoted reply, or of the signature."""
        if index >= len(lines):
            return before
        line = lines[index]
        if _OUTLOOK.match(line):
            return "forwarded or original message"
        if before == "forwarded or original message":
            return before
        if _QUOTE.match(line):
            return QUOTED
        if line.rstrip() == "--" or before == SIGNATURE or _SENT_FROM.match(line):
            return SIGNATURE
        return Kind.PARAGRAPH if line.strip() or before != QUOTED else before


def _message(path: Path, data: bytes) -> EmailMessage:
    wide = wide_encoding(data)
    try:
        if wide:
            data = data.decode(wide).removeprefix("\ufeff").encode()
        message = email.message_from_bytes(data.lstrip(), policy=POLICY)
        if message.get_content_maintype() == "multipart" and not message.is_multipart():  # "=" without quotes
            message = email.message_from_bytes(_BOUNDARY.sub(rb'\1"\2"', data.lstrip()), policy=POLICY)
    except (MessageError, ValueError, RecursionError) as error:
        raise ReadError(path, f"this message is damaged ({error}).", advice="Export it again.") from None
    if not isinstance(message, EmailMessage) or not message.keys():
        raise ReadError(path, "this is not a message.", "line 1", "Export it as EML or MBOX.")
    for part in message.walk() if wide else ():
        if part.get_content_maintype() == "text" and part["content-transfer-encoding"] in (None, "7bit", "8bit"):
            part.set_param("charset", "utf-8")  # as it was encoded above, whatever it says
    return message


def _header(message: MIMEPart, name: str) -> str:
    """Return a header in one line, "" without one, and as it is written where Python's parser of headers fails."""
    try:
        text = str(message[name] or "")
    except (AttributeError, IndexError, TypeError, ValueError):  # such as From: .0" x" <a>
        text = next(str(value) for key, value in message.raw_items() if key.lower() == name)
    return " ".join(text.split())


def _text(reader: DocumentReader, part: MIMEPart, place: str) -> str:
    data = part.get_payload(decode=True)
    declared = str(part.get_content_charset() or "")
    return decoded(data if isinstance(data, bytes) else b"", declared, reader.account, place)


def _values(message: EmailMessage) -> dict[str, Value]:
    values: dict[str, Value] = {}
    if sender := _header(message, "from"):
        values["from"] = sender
    try:
        moment: datetime = parsedate_to_datetime(_header(message, "date"))
    except (TypeError, ValueError, OverflowError):
        return values
    return values | {"date": moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)}


def _unflowed(text: str) -> str:
    """Return a text in the format “flowed” (RFC 3676) with its lines joined."""
    lines: list[str] = []
    goes_on = False
    for line in text.replace("\r\n", "\n").split("\n"):
        if goes_on and line and not line.startswith(">"):
            lines[-1] += line.removeprefix(" ")
        else:
            lines.append(line)
        goes_on = line.endswith(" ") and line != "-- " and not line.startswith(">")
    return "\n".join(lines)


def recognises(head: FileHead) -> bool:
    """Return whether a file is a message of mail, or a mailbox; messages of Usenet have a reader of their own."""
    if _BEGINS.match(head.data):
        return True
    fields, _ = header_and_text(head.text.replace("\r\n", "\n"))
    if "from" not in fields or (fields.keys() & _USENET and head.suffix != ".eml"):
        return False
    return head.suffix == ".eml" or bool(fields.keys() & _IDS) or {"to", "date"} <= fields.keys()


# --- saved web pages --------------------------------------------------------------------------------------------------


class SavedPage(DocumentReader[DocumentConfig]):
    """Reader of a page that a browser has saved with its pictures in one file (MHTML)."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the page; the text of its frames is listed."""
        message = _message(path, whole_bytes(path, report))
        pages = [part for part in message.walk() if part.get_content_type() in ("text/html", "application/xhtml+xml")]
        if not pages:
            raise ReadError(path, "this web archive has no page.", advice="Save the page again, as HTML only.")
        page = page_of(_text(self, pages[0], ""))
        frames = [
            Block(
                "frame", " ".join(block.text for block in html_blocks(_text(self, part, ""))), place=f"frame {number}"
            )
            for number, part in enumerate(pages[1:], start=1)
        ]
        plain = [part for part in message.walk() if part.get_content_type() == "text/plain"]
        texts = [Block("text beside the page", _text(self, part, "")) for part in plain]
        url = _header(message, "snapshot-content-location") or _header(pages[0], "content-location")
        title = page.title or _header(message, "subject")
        yield Document(title, [*page.blocks, *frames, *texts], url=url if url.startswith("http") else "")


def recognises_mhtml(head: FileHead) -> bool:
    """Return whether a file is a web page saved as a message."""
    fields, _ = header_and_text(head.text.replace("\r\n", "\n"))
    kind = fields.get("content-type", "").lower()
    return "snapshot-content-location" in fields or (
        "mime-version" in fields
        and kind.startswith(("multipart/related", "text/html"))
        and "to" not in fields
        and (head.suffix in (".mht", ".mhtml") or "text/html" in kind)
    )
