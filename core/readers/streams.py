"""Streams of bytes or lines of files, compressed or not. Errors are raised as ``ReadError`` with a position.

At most one line or one block of a file is in memory, and decompression is limited.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import IO, NamedTuple

from themescope.core.errors import AmbiguousFileError, ReadError
from themescope.core.text.languages import stop_words
from themescope.core.types import Report

# Encodings of texts without a mark: found by the letters and the stop words of languages

_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщьюя"
_LETTERS = {
    "en": "éèêëïöôñçáü", "de": "äöüß", "fr": "àâæçéèêëîïôœùûüÿ", "es": "áéíñóúü", "pt": "áâãàçéêíóôõúü",
    "it": "àèéìíîòóùú", "ca": "àçèéíïòóúü", "nl": "áéëïóöüèê", "sv": "åäöé", "da": "æøåé", "no": "æøåéòô", "fi": "äöå",
    "et": "äõöüšž", "pl": "ąćęłńóśźż", "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíĺľňóôŕšťúýž", "hu": "áéíóöőúüű",
    "ro": "ăâîșțşţ", "hr": "čćđšž", "sl": "čšž", "tr": "çğıi̇öşüâî", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņōŗšūž",
    "vi": "àáâãèéêìíòóôõùúýăđĩũơư\u0300\u0301\u0303\u0309\u0323",
    "ru": _CYRILLIC + "ыэъё", "uk": _CYRILLIC + "єіїґ", "bg": _CYRILLIC + "ъ",
    "sr": "абвгдђежзијклљмнњопрстћуфхцчџш", "mk": "абвгдѓежзѕијклљмнњопрстќуфхцчџш", "be": _CYRILLIC + "ыэёіў",
    "el": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ", "he": "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
    "ar": "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيًٌٍَُِّْ،؛؟", "fa": "ءآأؤئابتثجحخدذرزسشصضطظعغفقلمنهوپچژکگیي،؛؟",
    "th": "".join(map(chr, range(0x0E01, 0x0E5C))),
}  # fmt: skip
"""Language → its letters, in lower case, besides those of ASCII."""
_NEUTRAL = frozenset("“”„‘’‚«»‹›–—…•·°§©®™€£¢½¼¾²³×±\u00a0\u00ad¿¡№º")
"""Signs that say nothing about the language."""
_WIDE = {"zh": ("gb18030", "big5"), "ja": ("cp932", "euc-jp"), "ko": ("cp949",)}
"""Languages whose characters take two bytes, and their encodings."""
_NARROW = {
    "cp1252": 1.0, "cp1250": 0.9, "cp1251": 0.9, "cp1253": 0.9, "cp1254": 0.9, "cp1255": 0.9, "cp1256": 0.9,
    "cp1257": 0.9, "cp1258": 0.8, "cp874": 0.9, "iso-8859-15": 0.8, "iso-8859-2": 0.8, "iso-8859-5": 0.8,
    "iso-8859-6": 0.8, "iso-8859-7": 0.8, "iso-8859-8": 0.8, "koi8-r": 0.8, "koi8-u": 0.7, "mac-roman": 0.6,
    "cp850": 0.6, "cp852": 0.6, "cp866": 0.6, "mac-cyrillic": 0.6, "mac-latin2": 0.5,
}  # fmt: skip
"""Encoding of one byte per character → how common it is."""
ENCODINGS = ("utf-8", "utf-16", "utf-32", *_NARROW, *(name for names in _WIDE.values() for name in names))
"""Encodings that can be chosen."""
_WORD = re.compile(r"[^\W\d_]+")
_MISPLACED = re.compile(r"(?<=[^\W\d_])(?:[‚„«‹¿¡£¢€§©®°]|[–“”»›•…¼½¾²³×±¹™º](?=[^\W\d_]))")
"""Signs that never follow a letter, or never stand between two: there they are letters of another encoding."""
_TWO_SCRIPTS = re.compile(r"[a-z][\u0370-\u1dff\u2c00-\uffff]|[\u0370-\u1dff\u2c00-\uffff][a-z]")
_ADVANTAGE = 1.3
"""Ratio of the scores of the best two readings from which the first counts as certain."""
_LEAST = 0.04


class Guess(NamedTuple):
    """A possible encoding of some bytes."""

    encoding: str
    score: float
    text: str


def guesses(data: bytes, among: Sequence[str] = ENCODINGS[3:]) -> list[Guess]:
    """Return the different readings of bytes that are not UTF-8 in some encodings, the likeliest first."""
    found: dict[str, Guess] = {}
    for encoding in among:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        guess = Guess(encoding, _score(text, encoding), text)
        if text not in found or found[text].score < guess.score:
            found[text] = guess
    return sorted(found.values(), key=lambda guess: -guess.score)


def is_certain(found: list[Guess], least: float = _LEAST) -> bool:
    """Return whether the first of several readings is clearly the right one; ``least`` is the score it must have."""
    if not found or found[0].score < least:
        return False
    return len(found) == 1 or found[0].score > _ADVANTAGE * found[1].score


def _score(text: str, encoding: str) -> float:
    if any((ch < " " and ch not in "\t\n\r\f\v") or "\x7f" <= ch < "\xa0" for ch in text):
        return 0.0
    for language, encodings in _WIDE.items():
        if encoding in encodings:
            wide = [ch for ch in text if ch > "\x7f" and ch not in _NEUTRAL]
            common = _characters(language)
            return max(sum(ch in common for ch in wide) / len(wide) - 0.2, 0.0) if wide else 0.0
    signs = Counter(ch for ch in text.lower() if ch > "\x7f" and ch not in _NEUTRAL)
    signs.update(_MISPLACED.findall(text))
    words = [word.lower() for word in _WORD.findall(text)]
    # Capital letters inside of words come from an encoding with the same letters in another order.
    mixed = sum(word[1:] != word[1:].lower() and not word.isupper() for word in _WORD.findall(text))
    if not words:
        return 0.0
    total = signs.total()
    case = max(1 - mixed / len(words), 0.0)
    beyond_ascii = sum(not word.isascii() for word in words) or 1
    case *= max(1 - len(_TWO_SCRIPTS.findall(text.lower())) / beyond_ascii, 0.0)
    best = 0.0
    for language, letters in _LETTERS.items():
        inside = sum(n for sign, n in signs.items() if sign in letters) / total if total else 1.0
        if inside > 0.8:
            known = sum(word in _words(language) for word in words) / len(words)
            best = max(best, inside**12 * (0.05 + known))
    return float(best * case**2 * _NARROW[encoding])


@cache
def _words(language: str) -> frozenset[str]:
    letters = _LETTERS.get(language)
    found = stop_words(frozenset((language,)))
    if letters is None:
        return found
    # Some of the lists contain words in a wrong encoding.
    return frozenset(word for word in found if all(ch < "\x80" or ch in letters for ch in word))


@cache
def _characters(language: str) -> frozenset[str]:
    return frozenset("，。！？、；：「」（）").union(ch for word in _words(language) for ch in word if ch > "\x7f")


BOMB_SIZE, BOMB_RATIO = 4_000_000, 250
"""Decompressed bytes from which on the ratio counts, and the largest plausible ratio of the sizes.

Text compresses to a quarter or a tenth, dumps that contain only redirects to a fortieth.
"""


def is_bomb(unpacked: int, packed: int, ratio: int = BOMB_RATIO) -> bool:
    """Return whether so many bytes cannot come from a real file of ``packed`` bytes."""
    return unpacked > BOMB_SIZE and unpacked > ratio * max(packed, 1)


def excessive_size(members: Iterable[zipfile.ZipInfo], most_bytes: int, ratio: int = BOMB_RATIO) -> str:
    """Return the size of the members of a ZIP file, such as "2,100 MB", if it is too much or implausible, else ""."""
    listed = [*members]
    unpacked, packed = sum(one.file_size for one in listed), sum(one.compress_size for one in listed)
    too_much = unpacked > most_bytes or is_bomb(unpacked, packed, ratio)
    return f"{unpacked // 1_000_000:,} MB" if too_much else ""


# --- streams ----------------------------------------------------------------------------------------------------------


BLOCK = 1 << 16
"""Bytes read at once."""
LINE_LIMIT = 16_000_000
"""Maximum number of characters of a line. The longest article of Wikipedia has about 2 million."""
ARTICLE_LIMIT = 64_000_000
"""Maximum number of characters of an article, or of a file that must be read as a whole."""

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_CONTROL = frozenset(range(32)) - {9, 10, 12, 13, 27}
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_GUESSED_BYTES = 1 << 15


def check_file(path: Path) -> int:
    """Return the size of a file in bytes. Raises :class:`ReadError` if it is missing, a folder, or empty."""
    if not path.exists():
        raise ReadError(path, "there is no such file.", advice="Check the path.")
    if path.is_dir():
        raise ReadError(path, "this is a folder, not a file.", advice="Give the files in it one by one.")
    size = path.stat().st_size
    if size == 0:
        raise ReadError(path, "the file is empty.", advice="Check that it was saved or downloaded completely.")
    return size


class ByteStream:
    """Decompressed bytes of a file, in blocks. ``offset`` counts them; progress counts compressed bytes."""

    def __init__(self, path: Path, report: Report | None = None) -> None:
        self.path, self.offset = path, 0
        self._report, self._size = report, check_file(path)
        try:
            self._raw: IO[bytes] = path.open("rb")
        except OSError as error:
            raise ReadError(path, f"cannot be opened ({error.strerror}).", advice="Check its permissions.") from None
        self.packing = packing_of(self._raw.read(6))
        self._raw.seek(0)
        openers = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
        self._file = openers[self.packing](self._raw, "rb") if self.packing else self._raw  # type: ignore[operator]

    def close(self) -> None:
        """Close the file."""
        if self._file is not self._raw:
            self._file.close()
        self._raw.close()

    def read(self, size: int = BLOCK) -> bytes:
        """Read at most ``size`` bytes, none at the end. Raises :class:`ReadError` for damage, decompression bombs."""
        try:
            block = self._file.read(size)
        except _DAMAGE as error:
            where = f"byte {self.offset:,}" + (" of the decompressed text" if self.packing else "")
            if isinstance(error, EOFError):
                problem = f"the {self.packing} file is truncated."
            elif self.packing:
                problem = f"the {self.packing} file is damaged ({error})."
            else:
                problem = f"cannot be read ({error})."
            raise ReadError(self.path, problem, where, "Download or copy it again.") from None
        self.offset += len(block)
        consumed = self._raw.tell()
        if self.packing and is_bomb(self.offset, consumed):
            problem = f"its decompressed size is more than {BOMB_RATIO} times its size, which is implausible for text."
            advice = "If you trust the file, decompress it and import the result."
            raise ReadError(self.path, problem, f"byte {consumed:,}", advice)
        if self._report is not None:
            self._report.progress(consumed, self._size, f"bytes of {self.path.name}")
        return block


def packing_of(head: bytes) -> str:
    """Return the name of the compression of a file that begins with ``head``, or ""."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")


def open_stream(path: Path, report: Report | None = None) -> closing[ByteStream]:
    """Open a :class:`ByteStream` and close it at the end of the block."""
    return closing(ByteStream(path, report))


def _decoded(stream: ByteStream, encoding: str = "") -> Iterator[str]:
    """Yield the text of a stream, block by block. Raises :class:`ReadError` with the byte of an invalid character."""
    block = stream.read()
    if not block:
        raise ReadError(stream.path, "the compressed file is empty.", advice="Check that it was compressed completely.")
    bom = _bom(block)
    encoding = _BOMS.get(bom, encoding or "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    block, done = block[len(bom) :], len(bom)  # number of decoded bytes, also those buffered in the decoder
    alone: bool | None = None
    while True:
        start = done - len(decoder.getstate()[0])
        try:
            text = decoder.decode(block, not block)
        except UnicodeDecodeError as error:
            problem = f"this is not {encoding.upper()} text (byte 0x{error.object[error.start]:02x})."
            where = f"byte {start + error.start:,}"
            raise ReadError(stream.path, problem, where, "Save the file as UTF-8.") from None
        if alone is None:
            alone = "\r" in text and "\n" not in text  # line ends of old Macintosh files
        if alone:
            text = text.replace("\r", "\n")
        nul = text.find("\0")
        if nul >= 0:
            where = f"byte {start + len(text[:nul].encode(encoding)):,}"
            raise ReadError(stream.path, "contains binary data.", where, "Export it as text or JSON lines.")
        yield text
        if not block:
            return
        done += len(block)
        block = stream.read()


def encoding_of(path: Path, chosen: str = "") -> str:
    """Return the encoding of a text file: that of its mark, the chosen one, UTF-8 if all of it is, or the likeliest.

    Raises :class:`ReadError` with a line if several encodings are possible, or if only some bytes are not UTF-8.
    """
    with open_stream(path) as stream:
        block = stream.read()
        if bom := _bom(block):
            return _BOMS[bom]
        if chosen:
            return chosen
        if wide := _without_mark(block):
            return wide
        decoder = codecs.getincrementaldecoder("utf-8")("strict")
        with suppress(UnicodeDecodeError):
            while block:
                decoder.decode(block)
                block = stream.read()
            decoder.decode(b"", final=True)
            return "utf-8"
    return _guessed(path)


def _guessed(path: Path) -> str:
    sample, first, bad, good = bytearray(), 0, 0, 0
    with open_stream(path) as stream:
        rest, number = b"", 0
        while (block := stream.read()) and len(sample) < _GUESSED_BYTES:
            *whole, rest = (rest + block).split(b"\n")
            for line in [*whole, *([rest] if len(rest) > BLOCK else [])]:
                number += 1
                if not line.isascii():
                    sample += line + b"\n"
                    if is_utf8(line):
                        good += 1
                    else:
                        first, bad = first or number, bad + 1
            rest = b"" if len(rest) > BLOCK else rest
        if not sample and rest:
            sample += rest
            first, bad = number + 1, 1
    if good > bad:
        problem = f"this line is not UTF-8 text, although {good:,} other lines are."
        raise AmbiguousFileError(path, problem, f"line {first:,}", "Correct it, or choose the encoding.")
    found = guesses(bytes(sample[:_GUESSED_BYTES]))
    if is_certain(found):
        return found[0].encoding
    shown = "; ".join(f"{one.encoding}: “{_excerpt(one.text)}”" for one in found[:3])
    problem = "the encoding of this text is not known." + (f" It may be {shown}." if found else "")
    raise AmbiguousFileError(path, problem, f"line {first:,}", "Choose the encoding, or save the file as UTF-8.")


def is_utf8(data: bytes) -> bool:
    """Return whether bytes are UTF-8 text."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _excerpt(text: str) -> str:
    """Return some of a text around its first letter that is not ASCII."""
    at = next((place for place, ch in enumerate(text) if ch > "\x7f"), 0)
    return " ".join(text[max(at - 20, 0) : at + 20].split())


def _bom(data: bytes) -> bytes:
    return next((bom for bom in _BOMS if data.startswith(bom)), b"")


def wide_encoding(data: bytes) -> str:
    """Return the encoding of a text that has a mark, or that is UTF-16 without one, else ""."""
    return _BOMS.get(_bom(data)) or _without_mark(data)


def _without_mark(data: bytes) -> str:
    """Return "utf-16-le" or "utf-16-be" for such text without a mark: every other byte is mostly NUL."""
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if not even + odd or min(even, odd) * 20 > max(even, odd):
        return ""
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    text = data[: len(data) // 2 * 2].decode(encoding, errors="replace")
    return encoding if len(text) > 1 and all(ch.isprintable() or ch.isspace() for ch in text.lstrip("\ufeff")) else ""


def lines(path: Path, report: Report, encoding: str = "") -> Iterator[tuple[int, str]]:
    """Yield lines without their ends, numbered from 1. Raises :class:`ReadError` beyond ``LINE_LIMIT``."""
    with open_stream(path, report) as stream:
        number, rest = 1, ""
        pieces: list[str] = []
        size = 0
        for block in _decoded(stream, encoding):
            if "\n" not in block:
                pieces.append(block)
                size += len(block)
                if size > LINE_LIMIT:
                    problem = f"the line is longer than {LINE_LIMIT:,} characters."
                    advice = "Insert line breaks, at least between paragraphs or articles."
                    raise ReadError(path, problem, f"line {number:,}", advice)
                continue
            *whole, rest = ("".join(pieces) + block).split("\n")
            pieces, size = [rest], len(rest)
            for line in whole:
                yield number, line.removesuffix("\r")
                number += 1
        if rest or size:
            yield number, "".join(pieces).removesuffix("\r")


def whole_text(path: Path, report: Report, encoding: str = "") -> str:
    """Return the text of a file that must be parsed as a whole. Raises :class:`ReadError` beyond ``ARTICLE_LIMIT``."""
    pieces, size = [], 0
    with open_stream(path, report) as stream:
        for block in _decoded(stream, encoding):
            pieces.append(block)
            size += len(block)
            check_article(path, size)
    return "".join(pieces).replace("\r\n", "\n")


def check_article(path: Path, size: int, position: str = "") -> None:
    """Raise :class:`ReadError` if an article has more than ``ARTICLE_LIMIT`` characters."""
    if size > ARTICLE_LIMIT:
        problem = f"an article of more than {ARTICLE_LIMIT:,} characters."
        raise ReadError(path, problem, position, "Divide the file into articles.")


def head(path: Path, size: int = BLOCK) -> bytes:
    """Return the first decompressed bytes of a file."""
    data = bytearray()
    with open_stream(path) as stream:
        while len(data) < size and (block := stream.read(size - len(data))):
            data += block
    return bytes(data)


@dataclass(frozen=True)
class FileHead:
    """Decompressed beginning of a file, used by format detectors."""

    path: Path
    data: bytes

    @classmethod
    def of(cls, path: Path) -> FileHead:
        """Return the head of a file. Raises :class:`ReadError` if the file cannot be read or is empty."""
        return cls(path, head(path))

    @property
    def suffix(self) -> str:
        """The lower-case suffix of the file name with its dot, without that of a compression."""
        packed = self.path.suffix.lower() in (".gz", ".bz2", ".xz")
        return (Path(self.path.stem).suffix if packed else self.path.suffix).lower()

    @property
    def binary_at(self) -> int | None:
        """Offset of the first byte that indicates binary data, None for text."""
        if self._wide[1]:
            return None
        control = sum(self.data.count(byte) for byte in _CONTROL)
        if b"\0" not in self.data and control <= len(self.data) // 20:
            return None
        return next(index for index, byte in enumerate(self.data) if byte in _CONTROL)

    @cached_property
    def text(self) -> str:
        """The decoded text without leading white space, empty for binary data.

        Bytes that are not UTF-8 are replaced; the readers report them with their position.
        """
        mark, encoding = self._wide
        if encoding:
            return self.data[mark:].decode(encoding, errors="replace").lstrip()
        return "" if self.binary_at is not None else self.data.decode("utf-8", errors="replace").lstrip()

    @cached_property
    def _wide(self) -> tuple[int, str]:
        """Length of the mark, and the encoding; "" if there is none and it is not UTF-16 without one."""
        return len(_bom(self.data)), wide_encoding(self.data)
