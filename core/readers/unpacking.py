"""One limit for everything that is decompressed: sizes that no real file has are refused."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable

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
