"""Shards of an import: pieces of files that one worker parses, cleans and splits into sentences at once.

The pieces of a file are cut in the process of the job, which also stores the articles. A shard whose articles are all
stored is not computed again by another attempt of the job: its completion record has what the import needs of it.
Worker processes start with the imports of this module only: no database, no models.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from themescope.core.columns import ColumnLevel, column_name
from themescope.core.errors import AmbiguousFileError, ReadError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.arrow_tables import files_below
from themescope.core.readers.formats import detect
from themescope.core.text.cleaning import clean
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import (
    SILENT,
    UNREADABLE,
    Article,
    CodingUnit,
    Executor,
    Paragraph,
    PiecewiseReader,
    ReadAccount,
    Reader,
    Report,
    Section,
    Shard,
    SubReport,
    TypedReader,
    Value,
)
from themescope.jobs.common.reading import each_apart, read_files, sent_by, time_limit
from themescope.jobs.executors import as_data

COUNTED_BYTES = 20_000_000
"""Size of files that are read whole before they are imported."""
_BEGINNING = 3
"""Articles that are read of larger ones."""

Piece = tuple[int, Any]
"""Index of a file, and a piece of it; an article if its reader does not read piecewise."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Result of a shard."""

    articles: list[Article]
    """Articles with sentences and without the texts of their paragraphs, in order."""
    digests: list[bytes]
    """Digest of the text of each article."""
    account: ReadAccount = field(default_factory=ReadAccount)
    """What was left out or changed."""
    types: dict[str, str] = field(default_factory=dict)
    """Types of columns that the files declare."""


class ParseShard:
    """Function that parses the pieces of a shard and splits their paragraphs. Raises ``ReadError``."""

    def __init__(self, files: Sequence[tuple[Path, Reader]], language: str, unit: CodingUnit) -> None:
        self.files, self._splitter, self._unit = files, SentenceSplitter(language), unit

    def __call__(self, pieces: Sequence[Piece] | bytes) -> Parsed:
        """Return the articles of the pieces, which may be packed (see :func:`_packed`)."""
        if isinstance(pieces, bytes):  # of the process that read the files, which one of them may have taken over
            pieces = list(sent_by(self.files[0][0], pieces))
        done = Parsed([], [])
        with time_limit() as begin:
            for file, piece in pieces:
                path, reader = self.files[file]
                begin(path)
                found = reader.parse(path, piece) if isinstance(reader, PiecewiseReader) else piece
                own = getattr(reader, "account", None)
                if isinstance(own, ReadAccount) and isinstance(reader, PiecewiseReader):
                    done.account.add(own.take())
                if isinstance(found, Article):
                    found = cleaned(found, done.account)
                    done.digests.append(article_digest(found))
                    done.articles.append(_without_texts(split_article(found, self._splitter, self._unit)))
                else:
                    done.account.skip(found)
        return done

    def shard(self, name: str, pieces: Sequence[Piece]) -> Parsed:
        """Return the articles of a shard; its name is added to an exception."""
        try:
            return self(pieces)
        except Exception as error:
            error.add_note(f"This happened in {name}.")
            raise


FIRST_UNITS = 8
"""Units at the beginning of a file that are shown before it is imported."""


@dataclass(frozen=True, slots=True)
class FirstUnit:
    """One of the first units of a file, as it would be stored."""

    article: str
    text: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Amount:
    """What a file would add to a corpus."""

    reader: str
    articles: int
    units: int
    columns: frozenset[tuple[ColumnLevel, str]]
    first: tuple[FirstUnit, ...]
    account: ReadAccount
    """What would be left out and changed, and how the file was understood."""
    whole: bool = True
    """False where only the beginning of the file was read."""


def amount_of(
    path: Path, reader: str, settings: Mapping[str, Any], language: str, unit: CodingUnit, most: int = 0
) -> Amount:
    """Return what a file adds, read by a reader and divided into units; ``most``: articles that are read, 0 for all."""
    splitter, articles, units, columns = SentenceSplitter(language), 0, 0, set[tuple[ColumnLevel, str]]()
    first: list[FirstUnit] = []
    built, whole = READERS.build(reader, settings), True
    with closing(built.read(path, SILENT)) as found:
        for article in found:
            if most and articles == most:
                whole = False
                break
            articles += 1
            split = split_article(article, splitter, unit)
            units += split.sentence_count()
            if len(first) < FIRST_UNITS:
                texts = (t for section in split.sections for part in section.paragraphs for t in part.sentences)
                for at, text in enumerate(islice(texts, FIRST_UNITS - len(first))):
                    own = {name: column[at] for name, column in split.sentence_values.items()}
                    first.append(FirstUnit(article.title, text, {**article.values, **own}))
            columns |= {(ColumnLevel.ARTICLE, column_name(name)) for name in article.values}
            columns |= {(ColumnLevel.SENTENCE, column_name(name)) for name in article.sentence_values}
    account = _account(path, built, several=False)
    return Amount(reader, articles, units, frozenset(columns), tuple(first), account, whole)


def amounts_of(files: Mapping[Path, Mapping[str, Any]], language: str, unit: CodingUnit) -> list[Amount | ReadError]:
    """Return what files add, each with its “reader”, by default the detected one, and “settings”; or what is wrong.

    Of files beyond the first :data:`COUNTED_BYTES`, only the beginning is read.
    """
    left, most = COUNTED_BYTES, dict[Path, int]()
    for path in files:
        left -= sum(file.stat().st_size for file in files_below(path))
        most[path] = 0 if left >= 0 else _BEGINNING

    return each_apart([*files], partial(_amount, dict(files), language, unit, most))


def _amount(
    files: Mapping[Path, Mapping[str, Any]], language: str, unit: CodingUnit, most: Mapping[Path, int], path: Path
) -> Amount:
    own = files[path]
    reader = own.get("reader") or detect(path)
    return amount_of(path, reader, own.get("settings") or {}, language, unit, most[path])


def cleaned(article: Article, account: ReadAccount) -> Article:
    """Return an article whose texts are in one form of characters, see :func:`themescope.core.text.cleaning.clean`."""
    if all(clean(part) == part for part in _parts(article)):
        return article
    changed = 0

    def form(text: str) -> str:
        nonlocal changed
        found = clean(text)
        changed += found != text
        return found

    sections = tuple(
        Section(
            form(section.title),
            section.level,
            tuple(Paragraph(form(p.text), tuple(map(form, p.sentences))) for p in section.paragraphs),
            tuple(map(clean, section.path)),
        )
        for section in article.sections
    )
    title = form(article.title)
    account.change("text with invisible characters or letters in another form", n=changed)
    return replace(article, title=title, sections=sections)


def _account(path: Path, reader: Reader, several: bool) -> ReadAccount:
    """Return the account of a reader that read a whole file; with several files, places name theirs."""
    found = getattr(reader, "account", None)
    if not isinstance(found, ReadAccount):
        found = ReadAccount(skipped=Counter(reader.skipped))
    if not several:
        return found
    entries = [one._replace(place=", ".join(filter(None, (path.name, one.place)))) for one in found.entries]
    notes = {f"{path.name}, {name}": note for name, note in found.notes.items()}
    return ReadAccount(found.skipped, found.changed, entries, notes)


def _without_texts(article: Article) -> Article:
    """Return an article with sentences only, so that no text is sent twice."""
    sections = (
        replace(section, paragraphs=tuple(replace(paragraph, text="") for paragraph in section.paragraphs))
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


T = TypeVar("T")
Files = Sequence[tuple[Path, Reader]]
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
            try:
                values = json.loads(line)
            except json.JSONDecodeError:  # a killed process left the line unfinished
                break
            joint = bytes.fromhex(values["digests"])
            digests = [joint[i : i + 16] for i in range(0, len(joint), 16)]
            if len(digests) > stored:
                break
            stored -= len(digests)
            end += len(line)
            kept.append(Parsed([], digests, ReadAccount.from_json(values["account"])))
        if self._file.exists():
            os.truncate(self._file, end)
        return kept

    def add(self, shard: Parsed) -> None:
        """Append the record of a shard."""
        values = {"digests": b"".join(shard.digests).hex(), "account": shard.account.to_json()}
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(values) + "\n")


def parsed_shards(
    files: Files,
    language: str,
    executor: Executor | None,
    report: Report,
    log: ShardLog,
    stored: int,
    skip_unreadable: bool = False,
    unit: CodingUnit = CodingUnit.SENTENCE,
) -> Generator[Parsed]:
    """Yield the shards of files in order, those with a record without their articles; ``stored`` articles are stored.

    Without an executor, the process that reads the files also parses them. Of the first shard that is computed, the
    articles that are stored already are left out. A last shard without articles tells how many entries readers skip,
    and the types of columns that they know.
    """
    kept = log.resume(stored)
    logger.info("%d shards of the import are stored.", len(kept))
    yield from kept
    left = stored - sum(len(record.digests) for record in kept)
    notes = Parsed([], [])
    read = partial(_shards, files, SHARD_CHARACTERS, skip_unreadable, len(kept))
    with closing(_computed(read, ParseShard(files, language, unit), executor, report, notes)) as shards:
        for parsed in shards:
            log.add(parsed)
            here, left = min(left, len(parsed.articles)), max(left - len(parsed.articles), 0)
            yield replace(parsed, articles=parsed.articles[here:])
    if notes.account or notes.types:
        yield notes


def _computed(
    read: Callable[..., Any], parse: ParseShard, executor: Executor | None, report: Report, notes: Parsed
) -> Generator[Parsed]:
    """Yield the shards of :func:`_shards`, and add to ``notes`` what the readers say at the end."""
    paths = [path for path, _ in parse.files]
    if executor is None:
        yield from _counted(read_files(paths, partial(read, parse.shard), report), notes)
    else:
        with closing(_counted(read_files(paths, partial(read, _packed), report), notes)) as shards:
            yield from executor.map(parse, shards, report=report)


def _packed(name: str, pieces: list[Piece]) -> Shard:
    """Return a shard that passes through the process of the job as bytes, from the reading process to a worker."""
    return Shard(name, as_data(pieces))


def _counted(items: Generator[T, None, Parsed], notes: Parsed) -> Generator[T]:
    found = yield from items
    notes.account.add(found.account)
    notes.types.update(found.types)


def _shards(
    files: Files,
    characters: int,
    skip_unreadable: bool,
    skip: int,
    shard: Callable[[str, list[Piece]], T],
    report: Report,
) -> Generator[Path | T, None, Parsed]:
    """Yield the path of every file, and the shards after the first ``skip``; return what the readers say at the end."""
    pieces: list[Piece] = []
    size = number = 0
    for each in _pieces(files, skip_unreadable, report):
        if isinstance(each, Path):
            yield each
            continue
        file, piece, length = each
        pieces.append((file, piece))
        size += length
        if size >= characters:
            number += 1
            if number > skip:
                yield shard(f"part {number:,} of the text", pieces)
            pieces, size = [], 0
    if pieces and number >= skip:
        yield shard(f"part {number + 1:,} of the text", pieces)
    notes = Parsed([], [])
    for path, reader in files:
        notes.account.add(_account(path, reader, several=len(files) > 1))
        notes.types.update(reader.types if isinstance(reader, TypedReader) else {})
    return notes


def _pieces(files: Files, skip_unreadable: bool, report: Report) -> Iterator[Path | tuple[int, Any, int]]:
    """Yield the path of every file, then the index of the file, a piece, and its size in characters, in order."""
    sizes = [max(path.stat().st_size, 1) for path, _ in files]
    before = 0
    for file, (path, reader) in enumerate(files):
        yield path
        part = SubReport(report, before / sum(sizes), (before + sizes[file]) / sum(sizes))
        before += sizes[file]
        try:
            if isinstance(reader, PiecewiseReader):
                yield from ((file, piece, size) for piece, size in reader.pieces(path, part))
            else:
                yield from ((file, article, _characters(article)) for article in reader.read(path, part))
        except ReadError as error:
            account = getattr(reader, "account", None)
            if not skip_unreadable or isinstance(error, AmbiguousFileError) or not isinstance(account, ReadAccount):
                raise
            account.skip(UNREADABLE, error.position, f"{error.problem} {error.advice}".strip())


def _characters(article: Article) -> int:
    values = [article.values.values(), *article.sentence_values.values()]
    return sum(len(value) for column in values for value in column if isinstance(value, str)) + sum(
        len(part)
        for section in article.sections
        for paragraph in section.paragraphs
        for part in paragraph.sentences or (paragraph.text,)
    )
