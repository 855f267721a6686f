"""What the workers of an import compute. Processes start with these imports only: no database, no models."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from themescope.core.protocols import PiecewiseReader, Reader
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import Article, Paragraph
from themescope.jobs.common.importing.reading import time_limit

Piece = tuple[int, Any]
"""Index of a file, and a piece of it; an article if its reader does not read piecewise."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Result of a shard."""

    articles: list[Article]
    """Articles with sentences and without the texts of their paragraphs, in order."""
    digests: list[bytes]
    """Digest of the text of each article."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Number of skipped pieces by reason."""
    types: dict[str, str] = field(default_factory=dict)
    """Types of columns that the files declare."""


class ParseShard:
    """Function that parses the pieces of a shard and splits their paragraphs. Raises ``ReadError``."""

    def __init__(self, files: Sequence[tuple[Path, Reader]], language: str) -> None:
        self._files, self._splitter = files, SentenceSplitter(language)

    def __call__(self, pieces: Sequence[Piece]) -> Parsed:
        """Return the articles of the pieces."""
        done = Parsed([], [])
        with time_limit() as begin:
            for file, piece in pieces:
                path, reader = self._files[file]
                begin(path)
                found = reader.parse(path, piece) if isinstance(reader, PiecewiseReader) else piece
                if isinstance(found, Article):
                    done.digests.append(article_digest(found))
                    done.articles.append(_without_texts(split_article(found, self._splitter)))
                else:
                    done.skipped[found] += 1
        return done

    def shard(self, name: str, pieces: Sequence[Piece]) -> Parsed:
        """Return the articles of a shard; its name is added to an exception."""
        try:
            return self(pieces)
        except Exception as error:
            error.add_note(f"This happened in {name}.")
            raise


def _without_texts(article: Article) -> Article:
    """Return an article with sentences only, so that no text is sent twice."""
    sections = (
        replace(section, paragraphs=tuple(Paragraph("", paragraph.sentences) for paragraph in section.paragraphs))
        for section in article.sections
    )
    return replace(article, sections=tuple(sections))


def article_digest(article: Article) -> bytes:
    """Return the digest of the text of an article, 16 bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(article):
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\x00")
    return digest.digest()


def _parts(article: Article) -> Iterable[str]:
    yield article.title
    if article.topic or article.part:
        yield f"\x03{article.topic}\x03{article.part}"
    for section in article.sections:
        yield f"\x01{section.level}\x01{section.title}"
        for paragraph in section.paragraphs:
            yield "\x02"
            yield from paragraph.sentences or (paragraph.text,)
