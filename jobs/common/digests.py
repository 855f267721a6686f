"""Digests of inputs and code revisions that identify stored results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from core.config import digest_of
from core.registry import Card
from core.types import Article


@cache
def code_version() -> str:
    """Return the version of the installed package, or "source"."""
    try:
        return metadata.version("themescope")
    except metadata.PackageNotFoundError:
        return "source"


def work_digest(kind: Card, /, *parts: Card, **inputs: Any) -> str:
    """Return the digest of a piece of work.

    ``kind`` is the card of the job kind and ``parts`` are those of the implementations that compute in it (models,
    clusterers, metrics …): a new revision of any of them gives a new digest. ``inputs`` are JSON values.
    """
    cards = [[card.id, card.revision] for card in (kind, *parts)]
    return digest_of({"cards": cards, **inputs})


def file_digest(path: Path) -> str:
    """Return the digest of the bytes of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def folder_digest(path: Path) -> str:
    """Return the digest of the files in a folder, whatever its name; of a file, that of its bytes."""
    if not path.is_dir():
        return file_digest(path)
    return digest_of([[file.name, file_digest(file)] for file in sorted(path.iterdir()) if file.is_file()])


def tree_digest(path: Path) -> str:
    """Return the digest of all files below a folder with their relative paths; of a file, that of its bytes."""
    if not path.is_dir():
        return file_digest(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return digest_of([[file.relative_to(path).as_posix(), file_digest(file)] for file in files])


class TextDigest:
    """Digest of the text of a corpus, independent of the order of its articles."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._articles: list[bytes] = []

    def add(self, article: Article) -> None:
        """Add an article; 16 bytes are kept of it."""
        digest = hashlib.blake2b(digest_size=16)
        for part in _parts(article):
            digest.update(part.encode("utf-8", "surrogatepass"))
            digest.update(b"\x00")
        self._articles.append(digest.digest())

    def __str__(self) -> str:
        total = hashlib.blake2b(self._language.encode("utf-8"), digest_size=8)
        for article in sorted(self._articles):
            total.update(article)
        return total.hexdigest()


def _parts(article: Article) -> Iterable[str]:
    yield article.title
    if article.topic or article.part:
        yield f"\x03{article.topic}\x03{article.part}"
    for section in article.sections:
        yield f"\x01{section.level}\x01{section.title}"
        for paragraph in section.paragraphs:
            yield "\x02"
            yield from paragraph.sentences or (paragraph.text,)
