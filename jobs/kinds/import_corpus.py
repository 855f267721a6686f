"""Job kind: import files as a corpus, in batches, resumable after any article.

The corpus stays invisible until the last article is in. What the store already holds is the checkpoint: a resumed
import reads its files from the start, skips as many articles as are stored, and goes on.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

from core.config import option
from core.errors import Cancelled, ConfigError, DataError, DuplicateNameError, UnknownNameError
from core.types import Article
from db.records import CorpusRecord, JobStatus
from jobs.common.config import JobConfig
from jobs.common.context import JobContext
from jobs.common.digests import TextDigest
from jobs.common.removal import remove_unfinished
from jobs.kinds import REGISTRY
from jobs.kinds.import_sources import Counter, Sources

logger = logging.getLogger(__name__)

BATCH_SENTENCES = 2_000
BATCH_ARTICLES = 200
CANCEL_S = 1.0
"""Seconds that a cancelled import may spend on removing its rows, because a person waits."""
SMALL_FILE = 2_000_000
"""Input size in bytes below which a single process is faster."""


@dataclass(frozen=True)
class ImportConfig(JobConfig):
    """Arguments of an import."""

    files: tuple[str, ...] = option((), "Paths of the files to read, as the worker sees them.", file=True)
    corpus: str = option("", "Name of the new corpus.")
    language: str = option("en", "Language of the text, as a two-letter code; decides how sentences are split.")
    reader: str = option("", "Reader to use; empty means: detect the format from the content.")
    settings: Mapping[str, Any] = option({}, "Settings of the reader.")
    workers: int = option(0, "Processes that split sentences; 0 means one for each core.", low=0, high=256)

    def validate(self) -> None:
        """Check names, reader and settings before the job is queued."""
        from core.readers import REGISTRY as READERS

        self.require("files", "corpus")
        if any(not isinstance(f, str) for f in self.files):
            raise ConfigError(f"{self.named('files')} must be a list of paths.")
        if self.reader:
            READERS.configure(self.reader, self.settings)

    def title(self) -> str:
        """Return a title with the file, or the number of files, and the corpus."""
        what = _short(Path(self.files[0]).name) if len(self.files) == 1 else f"{len(self.files)} files"
        return f"Import {what} into “{self.corpus}”"


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:28]}…{name[-11:]}"


def run(args: ImportConfig, context: JobContext) -> dict[str, Any]:
    """Import the files; raise ``ReadError`` and leave the store unchanged if a file is damaged."""
    from core.text.splitting import SentenceSplitter

    SentenceSplitter(args.language)
    sources = Sources([Path(f) for f in args.files], args.reader, args.settings)
    record = _open(args, context, sources.stamp())
    if record.ready:
        return _result(record)
    try:
        digest = TextDigest(args.language)
        _import(args, context, record, sources, digest)
        return _result(_close(context, record, sources.report() | {"digest": str(digest)}))
    except Exception as error:
        _take_back(context, record, CANCEL_S if isinstance(error, Cancelled) else math.inf)
        raise


def _take_back(context: JobContext, record: CorpusRecord, seconds: float = math.inf) -> None:
    """Release the name and remove the stored rows within ``seconds``; a worker removes the rest."""
    with context.writing() as w:
        w.corpora.abandon(record.id)
    remove_unfinished(context.store, record.id, seconds)


def _open(args: ImportConfig, context: JobContext, stamp: str) -> CorpusRecord:
    """Return a new corpus, or the one that an earlier attempt of this job left."""
    marker = context.checkpoint_folder() / "corpus"
    try:
        with context.store.reading() as r:
            found = r.corpora.by_name(args.corpus)
    except UnknownNameError:
        found = None
    if found is not None:
        if marker.is_file() and marker.read_text(encoding="utf-8") == f"{found.id} {stamp}":
            return found
        _remove_orphan(args, context, found)
    with context.writing() as w:
        record = w.corpora.create(args.corpus, args.language)
    marker.write_text(f"{record.id} {stamp}", encoding="utf-8")
    return record


def _remove_orphan(args: ImportConfig, context: JobContext, found: CorpusRecord) -> None:
    """Delete an abandoned import under this name, or raise an error that the name is taken."""
    if found.ready:
        raise DuplicateNameError("corpus", args.corpus)
    with context.store.reading() as r:
        others = [
            job
            for status in (JobStatus.RUNNING, JobStatus.QUEUED)
            for job in r.jobs.list(limit=10_000, status=status)
            if job.kind in REGISTRY and "fills-a-corpus" in REGISTRY.get(job.kind).tags
            if job.id != context.job_id and job.args.get("corpus") in ("", args.corpus)
        ]
    begun = [job for job in others if job.status is JobStatus.RUNNING or job.attempt > 0]
    if begun:
        raise DuplicateNameError("corpus", args.corpus, f"Job {begun[0].id} is importing it right now.")
    _take_back(context, found)


def _import(
    args: ImportConfig, context: JobContext, record: CorpusRecord, sources: Sources, digest: TextDigest
) -> None:
    from core.text.splitting import split_articles

    with context.store.reading() as r:
        stored = r.corpora.imported_articles(record.id)
    counter = Counter(context, stored)
    read = _digested(sources.articles(counter), digest)
    for _ in islice(read, stored):
        pass
    workers = args.workers or (os.cpu_count() or 1)
    split = split_articles(read, args.language, 1 if sources.size < SMALL_FILE else workers)
    with closing(cast("Generator[Article]", split)):
        for batch in batches(split):
            with context.writing() as w:
                w.corpora.add_articles(record.id, batch)
            counter.add(batch)
    counter.progress(1, 1)
    if counter.articles == 0:
        skipped = ", ".join(f"{n} × {why}" for why, n in sources.report()["skipped"].items())
        raise DataError(
            f"No article was found in {', '.join(Path(f).name for f in args.files)}, read as "
            f"{', '.join(sorted(set(sources.ids)))}" + (f" (skipped: {skipped})." if skipped else ".")
        )


def _digested(articles: Iterator[Article], digest: TextDigest) -> Iterator[Article]:
    for article in articles:
        digest.add(article)
        yield article


def batches(articles: Iterator[Article]) -> Iterator[list[Article]]:
    """Yield batches of whole articles with about 2,000 sentences."""
    batch: list[Article] = []
    sentences = 0
    for article in articles:
        batch.append(article)
        sentences += article.sentence_count()
        if sentences >= BATCH_SENTENCES or len(batch) >= BATCH_ARTICLES:
            yield batch
            batch, sentences = [], 0
    if batch:
        yield batch


def _close(context: JobContext, record: CorpusRecord, report: dict[str, Any]) -> CorpusRecord:
    with context.writing() as w:
        w.corpora.finish(record.id, report)
    with context.store.reading() as r:
        return r.corpora.get(record.id)


def _result(record: CorpusRecord) -> dict[str, Any]:
    return {
        "corpus": record.name,
        "corpus_id": record.id,
        "articles": record.articles,
        "sections": record.sections,
        "paragraphs": record.paragraphs,
        "sentences": record.sentences,
        "skipped": dict(record.report.get("skipped", {})),
        "digest": record.report.get("digest", ""),
    }
