"""The first articles of a file, to look at before importing it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from core.protocols import SILENT
from core.readers import REGISTRY
from core.readers.detect import detect
from core.types import Article


@dataclass(frozen=True, slots=True)
class Preview:
    """What an import would begin with."""

    reader: str
    articles: tuple[Article, ...]
    skipped: dict[str, int]
    """What was passed over before and between these articles, by reason."""


def preview(path: Path, reader_id: str | None = None, settings: Mapping[str, Any] | None = None, n: int = 5) -> Preview:
    """Read the first ``n`` articles (paragraphs not yet split) by ``reader_id``, or by the detected reader.

    Raises :class:`core.errors.ReadError` for a file that cannot be read so far.
    """
    id = reader_id or detect(path)
    reader = REGISTRY.build(id, settings)
    with closing(reader.read(path, SILENT)) as articles:
        first = tuple(islice(articles, n))
        return Preview(id, first, reader.skipped)
