"""Job kind: import a list of sentences as a corpus of one article, with a section per group."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from core.config import option
from core.errors import DataError, UnknownNameError
from core.protocols import Report
from core.readers.sentence_lists import Sheet, likely_column, read_sheet
from core.types import Article, Paragraph, Section
from jobs.common.job import JobConfig, JobContext
from jobs.common.reading import read_files
from jobs.common.results import TextDigest, file_digest

READER = "list"
"""Reader recorded in the import report of such a corpus."""


@dataclass(frozen=True)
class ImportListConfig(JobConfig):
    """Arguments of importing a list of sentences."""

    file: str = option("", "Path of the file on the worker's machine.", file=True)
    corpus: str = option("", "Name of the new corpus.")
    column: str = option("", "Column of the sentences; empty: the one with the longest cells.")
    group: str = option("", "Column of the group of a sentence, such as its source; empty: none.")
    language: str = option("en", "Language of the text, as a two-letter code.")

    def validate(self) -> None:
        """Check that a file and a name are given."""
        self.require("file", "corpus")

    def title(self) -> str:
        """Return a title with the corpus."""
        return f"Import the list “{self.corpus}”"


def run(args: ImportListConfig, context: JobContext) -> dict[str, Any]:
    """Read and store the list; a list that this job has already stored is returned."""
    path = Path(args.file)
    context.progress(0, 1, "Reading the file")
    (sheet,) = read_files([path], partial(_sheets, path), context)
    article, report = article_of(sheet, args)
    digest = TextDigest(args.language)
    digest.add(article)
    report |= {"digest": str(digest), "files": [path.name], "file_digests": [file_digest(path)], "readers": [READER]}
    found = _stored(context, args.corpus, report)
    if found is None:
        context.progress(0.5, 1, "Storing the sentences")
        with context.writing() as w:
            record = w.corpora.create(args.corpus, args.language)
            w.corpora.add_articles(record.id, [article])
            found = w.corpora.finish(record.id, report)
    return {
        "corpus": found.name,
        "corpus_id": found.id,
        "sentences": found.sentences,
        "groups": len(article.sections) if args.group else 0,
        "skipped": report["skipped"],
        "cut": sheet.cut,
    }


def _sheets(path: Path, report: Report) -> Generator[Path | Sheet]:
    yield path
    yield read_sheet(path)


def article_of(sheet: Sheet, args: ImportListConfig) -> tuple[Article, dict[str, Any]]:
    """Return an article, groups in order of their first sentence, and the numbers of skipped rows."""
    column = args.column or likely_column(sheet)
    for name in filter(None, (column, args.group)):
        if name not in sheet.columns:
            raise UnknownNameError("column", name, sheet.columns)
    texts = sheet.column(column)
    groups: Sequence[str] = sheet.column(args.group) if args.group else [""] * len(texts)
    parts: dict[str, list[str]] = {}
    for text, group in zip(texts, groups, strict=True):
        if text:
            parts.setdefault(group, []).append(text)
    empty = len(texts) - sum(map(len, parts.values()))
    if empty == len(texts):
        raise DataError(f"The column {column!r} has no sentences. Choose another one.")
    sections = tuple(
        Section(group, 2 if group else 1, tuple(Paragraph("", (text,)) for text in lines), (group,) if group else ())
        for group, lines in parts.items()
    )
    report = {"skipped": {"empty rows": empty} if empty else {}, "settings": {"column": column, "group": args.group}}
    return Article(args.corpus, sections, source=READER), report


def _stored(context: JobContext, name: str, report: dict[str, Any]) -> Any:
    """Return the corpus that an earlier attempt of this job stored, if any."""
    with context.store.reading() as r:
        found = [c for c in r.corpora.list() if c.name == name]
    same = found and all(found[0].report.get(key) == report[key] for key in ("digest", "settings", "readers"))
    return found[0] if same else None
