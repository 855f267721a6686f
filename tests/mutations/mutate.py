"""Mutations of sample files that keep their structure: tokens of text, values of JSON, members of archives, packings.

A mutation is determined by the sample and a seed. Bytes are changed too, but rarely: most damaged bytes are refused at
the first check of a format, and reach nothing behind it.
"""

import bz2
import gzip
import io
import json
import lzma
import re
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.core.readers.hostile import SYNTAX
from tests.core.readers.samples import zipped

MOST_BYTES = 200_000
TOKENS = re.compile(
    rb"<!--|-->|</?\w+|/?>|\[\[|\]\]|\{\{|\}\}|\{\||\|\}|==+|&#?\w+;?|\r\n|\n|\d+|\w+|[^\S\n]+|.", re.DOTALL
)
PACKINGS: tuple[Callable[[bytes], bytes], ...] = (gzip.compress, bz2.compress, lzma.compress)
_SYNTAX = sorted({part.encode() for cases in SYNTAX.values() for case in cases for part in case if 0 < len(part) < 50})
WORDS = (
    *(b"", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xe2\x80\xa8", b"\x85", b"\x1b", b"\r", b"\t"),
    *(b"-1", b"0", b"1e999", b"NaN", b"Infinity", b"9" * 25, b"9" * 4_301, b"0x10", b"1_000", "٣".encode(), b"2" * 10),
    *(b"null", b"true", b"__class__", b"constructor", b"../../etc/passwd", b"C:\\x", b"=1+1", b"a" * 5_000),
    *("é", "e\u0301", "😀", "\u202e", "\u200b", "ﬀ", "İ"),
)
"""Tokens that programs often do not expect."""
VALUES = (
    *("null", "true", "-1", "0", "1.5", "1e308", "1e999", "NaN", "Infinity", "9" * 19, "9" * 400, "9" * 4_301),
    *('""', '"x"', '"\\u0000"', '"\\ud800"', '"\\u2028"', '"' + "a" * 50_000 + '"', "[]", "{}", "[null]", '{"a": 1}'),
    *("[" * 500 + "]" * 500, "[" * 20_000 + "]" * 20_000, "[" + "1," * 5_000 + "1]"),
)
"""JSON values of another kind or size than expected."""


def mutated(data: bytes, random: Random, others: Sequence[bytes] = (), *, packed: bool = False) -> bytes:
    """Return a mutation of a sample; ``others`` lend parts. ``packed`` allows a compressed result."""
    if data.startswith(b"PK\x03\x04"):
        return _archive(data, random, others)
    is_tar = data[257:262] == b"ustar"
    for _ in range(random.choice((1, 1, 2, 4))):
        kind = random.random()
        if is_tar and kind < 0.8:
            data = _tar(data, random, others)
            continue
        if kind < 0.35 and data.lstrip().startswith((b"{", b"[")):
            data = _json_lines(data, random)
        elif kind < 0.9:
            data = _tokens(data, random, others)
        else:
            data = _bytes(data, random)
    data = data[:MOST_BYTES]
    if packed and random.random() < 0.15:
        data = random.choice(PACKINGS)(data)
        if random.random() < 0.5:
            data = _bytes(data, random)
    return data


def _tokens(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    tokens = TOKENS.findall(data) or [b""]
    at, length = random.randrange(len(tokens)), random.choice((1, 1, 2, 5, 20))
    there = tokens[at : at + length]
    choice = random.randrange(8)
    if choice == 0:
        there = []
    elif choice == 1:
        there = there * random.choice((2, 3, 10, 300))
    elif choice == 2:
        there = there[::-1]
    elif choice == 3:
        there = [_word(random)]
    elif choice == 4:
        there = [_word(random) * random.choice((1, 1, 2, 50, 2_000)), *there]
    elif choice == 5:
        to = random.randrange(len(tokens))
        there = tokens[to : to + length] + there
    elif choice == 6 and others:
        other = TOKENS.findall(random.choice(others)) or [b""]
        begin = random.randrange(len(other))
        there = other[begin : begin + random.choice((1, 10, 100))]
    else:
        tokens = tokens[:at]
    return b"".join([*tokens[:at], *there, *tokens[at + length :]])


_TAR_FIELDS = ((0, 100), (100, 108), (124, 136), (136, 148), (156, 157), (157, 257), (257, 265), (345, 500))
"""Begin and end of name, mode, size, time, type, link, version and prefix in the header of a tar archive."""
_SIZES = (b"size=-1", b"size=" + b"9" * 30)
_PAX = (b"path=sci.med/9", *_SIZES, b"hdrcharset=\xff", b"GNU.sparse.map=a,b", b"GNU.sparse.major=1")


def _tar(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Change the header or the content of one member, or put extended headers in front; checksums are made right."""
    blocks = [data[at : at + 512] for at in range(0, len(data), 512)]
    heads = [at for at, block in enumerate(blocks) if block[257:262] == b"ustar"] or [0]
    at = random.choice(heads)
    header, choice = bytearray(blocks[at].ljust(512, b"\0")), random.randrange(4)
    if choice == 0:
        begin, end = random.choice(_TAR_FIELDS)
        header[begin:end] = _tokens(bytes(header[begin:end]), random, others)[: end - begin].ljust(end - begin, b"\0")
        blocks[at] = _checked(header)
    elif choice == 1:
        text = _tokens(b"".join(blocks[at + 1 : at + 3]), random, others)
        blocks[at + 1 : at + 3] = [text[: random.choice((512, 1_024, len(text)))]]
    else:
        line = b" " + random.choice(_PAX) + b"\n"
        length = random.choice((b"%d" % (len(line) + 2), b"0", b"9" * 5_000))
        content = (length + line) * random.choice((1, 2, 300)) + random.choice((b"", b"1" * 20_000))
        header[124:136] = b"%011o\0" % random.choice((len(content), len(content), 0, 1 << 30))
        header[156:157] = random.choice((b"x", b"g", b"L", b"K", b"X", b"S", b"x"))
        extended = _checked(header) + content.ljust(-(-len(content) // 512) * 512, b"\0")
        blocks[at:at] = [extended] * random.choice((1, 1, 2, 40))
    return b"".join(blocks)


def _checked(header: bytearray) -> bytes:
    """Return the header of a tar archive with the right checksum."""
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def _word(random: Random) -> bytes:
    word = random.choice(random.choice((WORDS, _SYNTAX)))
    return word.encode() if isinstance(word, str) else word


def _bytes(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 2, 8))):
        if changed:
            changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed[: random.randrange(len(changed) + 1)] if random.random() < 0.2 else changed)


def _json_lines(data: bytes, random: Random) -> bytes:
    """Change a value of one line, which may be the whole file."""
    lines = data.splitlines(keepends=True)
    at = random.randrange(len(lines))
    for whole, text in ((False, lines[at]), (True, data)):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        changed = _json(value, random).encode("utf-8", "surrogatepass") + b"\n"
        return changed if whole else b"".join([*lines[:at], changed, *lines[at + 1 :]])
    return _tokens(data, random, ())


_MARK = "value that is replaced"


def _json(value: Any, random: Random) -> str:
    """Return the text of a JSON value in which one value or key is replaced, removed or repeated."""
    places: list[tuple[Any, Any]] = []
    _collect(value, places)
    if not places:
        return random.choice(VALUES)
    container, key = random.choice(places)
    choice = random.randrange(6)
    if choice == 0:
        del container[key]
    elif choice == 1 and isinstance(container, dict):
        container[random.choice(("", "x", "\0", str(key) * 2))] = container.pop(key)
    elif choice == 1 or (choice == 2 and isinstance(container, list)):
        container.extend([container[key]] * random.choice((1, 5, 300)))
    elif choice == 2:
        container[key] = {str(key): container[key]}
    else:
        container[key] = _MARK
    return json.dumps(value).replace(json.dumps(_MARK), random.choice(VALUES))


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        places.append((value, key))
        _collect(inner, places)


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _archive(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    if random.random() < 0.15:
        return _bytes(data, random)
    return zipped(mutated_members(unpacked(data), random, others))


def mutated_members(members: dict[str, bytes], random: Random, others: Sequence[bytes] = ()) -> dict[str, bytes]:
    """Return members of which one is changed, removed, renamed or added."""
    name = random.choice(sorted(members))
    choice = random.random()
    if choice < 0.75:
        return members | {name: mutated(members[name], random, others)}
    rest = {n: d for n, d in members.items() if n != name}
    if choice < 0.85:
        return rest
    new = random.choice(("../x", "/x", "x/", "a\\b", "x" * 300, name.upper(), f"{name}/x", "é", "\u202e.txt"))
    return {**rest, new: members[name]} if choice < 0.95 else {**members, new: b"x"}
