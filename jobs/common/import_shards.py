"""Shards of an import: pieces of files that one worker parses, cleans and splits into sentences at once.

The pieces of a file are cut in the process of the job, which also stores the articles. A shard whose articles are all
stored is not computed again by another attempt of the job: its completion record has what the import needs of it.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from core.protocols import Executor, PiecewiseReader, Reader, Report, SubReport
from core.types import Article, Shard
from jobs.common.parsing import Parsed, ParseShard, Piece

logger = logging.getLogger(__name__)

SHARD_CHARACTERS = 1 << 18
"""Characters of the pieces of a shard, at least."""


class ShardLog:
    """Completion records of an import, one line per shard: the digests of its articles, and what was skipped."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / f"shards-{SHARD_CHARACTERS}.jsonl"

    def resume(self, stored: int) -> list[Parsed]:
        """Return the first shards whose articles are among the ``stored`` ones, and forget all others."""
        kept: list[Parsed] = []
        end = 0
        for line in self._file.read_bytes().splitlines(keepends=True) if self._file.exists() else ():
            record = _record(line)
            if record is None or len(record.digests) > stored:
                break
            stored -= len(record.digests)
            end += len(line)
            kept.append(record)
        if self._file.exists():
            os.truncate(self._file, end)
        return kept

    def add(self, shard: Parsed) -> None:
        """Append the record of a shard."""
        values = {"digests": b"".join(shard.digests).hex(), "skipped": shard.skipped}
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(values) + "\n")


def _record(line: bytes) -> Parsed | None:
    """Return the record of a line, without articles; None for a line that a killed process left unfinished."""
    try:
        values = json.loads(line)
    except json.JSONDecodeError:
        return None
    digests = bytes.fromhex(values["digests"])
    return Parsed([], [digests[i : i + 16] for i in range(0, len(digests), 16)], Counter(values["skipped"]))


def parsed_shards(
    files: Sequence[tuple[Path, Reader]], language: str, executor: Executor, report: Report, log: ShardLog, stored: int
) -> Generator[Parsed]:
    """Yield the shards of files in order, those with a record without their articles; ``stored`` articles are stored.

    Of the first shard that is computed, the articles that are stored already are left out.
    """
    kept = log.resume(stored)
    logger.info("%d shards of the import are stored.", len(kept))
    yield from kept
    left = stored - sum(len(record.digests) for record in kept)
    parse = ParseShard(files, language)
    with closing(cast("Generator[Parsed]", executor.map(parse, _shards(files, report, len(kept)), report=report))) as r:
        for parsed in r:
            log.add(parsed)
            here, left = min(left, len(parsed.articles)), max(left - len(parsed.articles), 0)
            yield replace(parsed, articles=parsed.articles[here:])


def _shards(files: Sequence[tuple[Path, Reader]], report: Report, skip: int) -> Iterator[Shard]:
    """Yield the shards after the first ``skip``."""
    pieces: list[Piece] = []
    size = number = 0
    for file, piece, length in _pieces(files, report):
        pieces.append((file, piece))
        size += length
        if size >= SHARD_CHARACTERS:
            number += 1
            if number > skip:
                yield Shard(f"part {number:,} of the text", pieces)
            pieces, size = [], 0
    if pieces and number >= skip:
        yield Shard(f"part {number + 1:,} of the text", pieces)


def _pieces(files: Sequence[tuple[Path, Reader]], report: Report) -> Iterator[tuple[int, Any, int]]:
    """Yield the index of the file, a piece, and its size in characters, in order."""
    sizes = [max(path.stat().st_size, 1) for path, _ in files]
    before = 0
    for file, (path, reader) in enumerate(files):
        part = SubReport(report, before / sum(sizes), (before + sizes[file]) / sum(sizes))
        before += sizes[file]
        if isinstance(reader, PiecewiseReader):
            yield from ((file, piece, size) for piece, size in reader.pieces(path, part))
        else:
            yield from ((file, article, _characters(article)) for article in reader.read(path, part))


def _characters(article: Article) -> int:
    return sum(
        len(part)
        for section in article.sections
        for paragraph in section.paragraphs
        for part in paragraph.sentences or (paragraph.text,)
    )
