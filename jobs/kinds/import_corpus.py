"""Job kinds: import files as a corpus, in batches, resumable after any article; and a list of sentences.

The corpus is hidden until the last article is stored. The stored articles are the checkpoint: a resumed import cuts its
files into the same shards and skips those whose articles are stored. A list is a table that the reader of tables reads
as one article, with a section per group; all its other columns are kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from themescope.core.config import config_from_dict, option
from themescope.core.errors import Cancelled, ConfigError, DataError, DuplicateNameError, ReadError, UnknownNameError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.arrow_tables import files_below, is_dataset
from themescope.core.readers.formats import detect
from themescope.core.readers.table import SENTENCES
from themescope.core.readers.tables import TableForm
from themescope.core.records.stored import ColumnRecord, CorpusRecord, JobStatus
from themescope.core.types import UNREADABLE, Article, CodingUnit, ReadAccount, Reader, Report, SubReport
from themescope.db.store import Store
from themescope.jobs.common.articles import TextDigest, file_digest
from themescope.jobs.common.columns import LEFT_OUT, KeptColumns, check_types, find_types
from themescope.jobs.common.import_shards import ShardLog, parsed_shards
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import REPORTED, language_report
from themescope.jobs.executors import LocalConfig, LocalExecutor
from themescope.jobs.kinds import REGISTRY as KINDS

BATCH_SENTENCES = 2_000
BATCH_ARTICLES = 200
CANCEL_S = 1.0
"""Seconds that a cancelled import may spend on removing its rows; the worker's cleanup removes the rest."""
SMALL_FILE = 5_000_000
"""Input size in bytes below which a single process is faster."""


class ImportSources:
    """Files, or folders of datasets, with their readers, read one after the other."""

    def __init__(self, args: ImportConfig) -> None:
        self._args = args
        self.account = ReadAccount()
        """What was left out or changed."""
        self.types: dict[str, str] = {}
        """Types of columns that the files declare."""
        self.ids: list[str] = []
        self.files: list[tuple[Path, Reader]] = []
        """Every file with its reader."""
        for path in map(Path, args.files):
            if not path.is_file() and not is_dataset(path):
                if path.exists():
                    raise ReadError(path, "this is not a file.", advice="Name its files one by one.")
                raise ReadError(path, "this file does not exist.", advice="Check its path on the worker's machine.")
            own = args.by_file.get(str(path), {})
            try:
                id = own.get("reader") or args.reader or detect(path)
            except ReadError as error:
                if not args.skip_unreadable:
                    raise
                self.account.skip(UNREADABLE, path.name, f"{error.problem} {error.advice}".strip())
                continue
            self.ids.append(id)
            self.files.append((path, READERS.build(id, {**args.settings, **own.get("settings", {})})))

    @property
    def size(self) -> int:
        """Return the total size of the files in bytes."""
        return sum(max(path.stat().st_size, 1) for path in self._all_files())

    def _all_files(self) -> list[Path]:
        return [file for path, _ in self.files for file in files_below(path)]

    def stamp(self) -> str:
        """Return a text that changes with a file or its reader; an import resumes only if it is unchanged."""
        files = [f"{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in self._all_files()]
        return " ".join([*files, *(f"{id}:{revision}" for id, revision in _later(revisions(self.ids)))])

    def report(self) -> dict[str, Any]:
        """Return the import report that is stored with the corpus."""
        return {
            "files": [path.name for path, _ in self.files],
            "file_digests": [file_digest(path) for path in self._all_files()],
            "readers": sorted(set(self.ids)),
            "revisions": revisions(self.ids),
            "unit": self._args.unit,
            "settings": dict(self._args.settings),
            "by_file": {Path(file).name: dict(own) for file, own in self._args.by_file.items()},
            "skipped": dict(self.account.skipped),
            "changed": dict(self.account.changed),
            "notes": dict(self.account.notes),
        }


def revisions(readers: Iterable[str]) -> dict[str, int]:
    """Return id → revision of the cards that affect the sentences of files: the import itself and the readers."""
    cards = [KINDS.get("import-corpus"), *(READERS.get(id) for id in sorted(set(readers)) if id in READERS)]
    return {card.id: card.revision for card in cards}


def up_to_date(corpus: CorpusRecord) -> bool:
    """Return whether the current code would import the files of a corpus in the same way."""
    now = revisions(corpus.report.get("readers", ()))
    return _later(now) == _later(corpus.report.get("revisions", {}))


def text_key(corpus: CorpusRecord) -> list[Any]:
    """Return JSON values that identify the sentences of a corpus; they are equal if the corpus is imported again."""
    unit = [] if corpus.unit is CodingUnit.SENTENCE else [corpus.unit.value]
    return [corpus.digest or corpus.id, *_later(corpus.report.get("revisions", {})), *unit]


def _later(found: Mapping[str, int]) -> list[list[Any]]:
    """Return the revisions after the first; version 0.1, whose revisions were all 1, recorded none."""
    return [[id, revision] for id, revision in sorted(found.items()) if revision > 1]


class ImportProgress(SubReport):
    """Report that shows the number of stored articles instead of the reader's message."""

    def __init__(self, report: Report, articles: int) -> None:
        super().__init__(report, 0.0, 1.0)
        self.articles, self._share = articles, 0.0

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Forward the progress, the last one if ``total`` is not known, with the count as its message."""
        self._share = done / total if total else self._share
        super().progress(self._share, 1.0, f"{self.articles:,} articles stored")


@dataclass(frozen=True)
class ImportConfig(JobConfig):
    """Arguments of an import."""

    files: tuple[str, ...] = option(
        (),
        "Paths of the files or folders of Hugging Face datasets to read, on the worker's machine.",
        file=True,
        required=True,
    )
    corpus: str = option("", "Name of the new corpus.", required=True)
    language: str = option("en", "Language of the text as a two-letter code, for sentence splitting.")
    unit: str = option(
        CodingUnit.SENTENCE.value,
        "What is clustered and labelled: sentences, whole paragraphs (turns of a transcript), or whole documents. "
        "Rows of a table that contain sentences stay as they are.",
        choices=tuple(unit.value for unit in CodingUnit),
    )
    reader: str = option("", "Reader to use; empty: detected from the content.")
    settings: Mapping[str, Any] = option({}, "Settings of the reader.")
    by_file: Mapping[str, Any] = option({}, "Which of the inputs → its “reader” and “settings”, where they differ.")
    skip_unreadable: bool = option(False, "Leave out and list what no reader can read; else it stops the import.")
    types: Mapping[str, Any] = option(
        {},
        "Column → “text”, “category”, “number” or “date”, or “omit” to leave it out; "
        "other columns get the type that their values have.",
    )
    workers: int = option(0, "Local processes that parse the text; 0: those of EXECUTOR_URL.", low=0, high=256)

    def validate(self) -> None:
        """Check reader and settings before the job is queued."""
        if any(not isinstance(f, str) for f in self.files):
            raise ConfigError(f"{self.named('files')} must be a list of paths.")
        check_types(self.types, self.named("types"))
        if self.reader:
            READERS.configure(self.reader, self.settings)
        for file, own in self.by_file.items():
            if not isinstance(own, Mapping) or not set(own) <= {"reader", "settings"}:
                raise ConfigError(f"{self.named('by_file')}: {file} must have “reader” and “settings” only.")
            if own.get("reader"):
                READERS.configure(own["reader"], own.get("settings", {}))

    def title(self) -> str:
        """Return a title with the file, or the number of files, and the corpus."""
        what = Path(self.files[0]).name if len(self.files) == 1 else f"{len(self.files)} files"
        what = what if len(what) <= 40 else f"{what[:28]}…{what[-11:]}"
        return f"Import {what} into “{self.corpus}”"


def import_corpus(args: ImportConfig, context: JobContext) -> dict[str, Any]:
    """Import the files; raise ``ReadError`` and leave the store unchanged if a file is damaged."""
    from themescope.core.text.splitting import SentenceSplitter

    SentenceSplitter(args.language)
    sources = ImportSources(args)
    record = open_import(args, context, sources.stamp())
    if record.ready:
        return _result(record)
    try:
        digest = TextDigest(args.language)
        import_articles(args, context, record, sources, digest)
        types = sources.types | dict(args.types)
        find_types(context, record.id, lambda column: types.get(column.name, ""), context)
        report = sources.report() | {"digest": str(digest)} | language_report(context.store, record.id)
        with context.writing() as w:
            w.corpora.add_entries(record.id, sources.account.entries)
            return _result(w.corpora.finish(record.id, report))
    except Exception as error:
        remove_import(context, record, CANCEL_S if isinstance(error, Cancelled) else math.inf)
        raise


def remove_import(context: JobContext, record: CorpusRecord, seconds: float = math.inf) -> None:
    """Release the name and remove the stored rows within ``seconds``; the worker's cleanup removes the rest."""
    with context.writing() as w:
        w.corpora.abandon(record.id)
    remove_unfinished(context.store, record.id, seconds)


def open_import(args: ImportConfig, context: JobContext, stamp: str) -> CorpusRecord:
    """Return a new corpus, or the one that an earlier attempt of this job began."""
    marker = context.checkpoint_folder() / "corpus"
    try:
        with context.store.reading() as r:
            found = r.corpora.by_name(args.corpus)
    except UnknownNameError:
        found = None
    if found is not None:
        if marker.is_file() and marker.read_text(encoding="utf-8") == f"{found.id} {stamp}":
            return found
        # Delete an abandoned import under this name, or raise an error that the name is taken.
        if found.ready:
            raise DuplicateNameError("corpus", args.corpus)
        with context.store.reading() as r:
            live = r.jobs.list(limit=None, status=(JobStatus.RUNNING, JobStatus.QUEUED))
        for job in live:
            begun = job.id != context.job_id and (job.status is JobStatus.RUNNING or job.attempt > 0)
            imports = job.kind in KINDS and "fills-a-corpus" in KINDS.get(job.kind).tags
            if begun and imports and job.args.get("corpus") in ("", args.corpus):
                raise DuplicateNameError("corpus", args.corpus, f"Job {job.id} is importing it.")
        remove_import(context, found)
    with context.writing() as w:
        record = w.corpora.create(args.corpus, args.language)
    marker.write_text(f"{record.id} {stamp}", encoding="utf-8")
    return record


def import_articles(
    args: ImportConfig,
    context: JobContext,
    record: CorpusRecord,
    sources: ImportSources,
    digest: TextDigest,
    known: Iterable[ColumnRecord] = (),
) -> None:
    """Store the articles that are not stored yet; ``known`` are columns that count towards the limit besides."""
    with context.store.reading() as r:
        stored = r.corpora.imported_articles(record.id)
        kept = KeptColumns(args.types, [*known, *r.columns.list(record.id)])
    progress = ImportProgress(context, stored)
    for batch in batches(kept(_articles(args, context, sources, digest, progress))):
        with context.writing() as w:
            w.corpora.add_articles(record.id, batch)
        progress.articles += len(batch)
    progress.progress(1, 1)
    if kept.left_out:
        sources.account.skip(LEFT_OUT, text=", ".join(kept.left_out), n=len(kept.left_out))
    if progress.articles == 0:
        skipped = ", ".join(f"{n} × {why}" for why, n in sources.report()["skipped"].items())
        raise DataError(
            f"No article was found in {', '.join(Path(f).name for f in args.files)}, read as "
            f"{', '.join(sorted(set(sources.ids)))}" + (f" (skipped: {skipped})." if skipped else ".")
        )


def _articles(
    args: ImportConfig, context: JobContext, sources: ImportSources, digest: TextDigest, progress: ImportProgress
) -> Iterator[Article]:
    """Yield the split articles after those that are stored; add the digests and what is skipped of all."""
    workers = 1 if sources.size < SMALL_FILE else args.workers
    log = ShardLog(context.checkpoint_folder())
    with LocalExecutor(LocalConfig(workers)) if workers else context.executor as executor:
        alone = not executor.remote and executor.workers() == 1
        others = None if alone else executor
        how = progress.articles, args.skip_unreadable, CodingUnit(args.unit)
        with closing(parsed_shards(sources.files, args.language, others, progress, log, *how)) as shards:
            for parsed in shards:
                digest.extend(parsed.digests)
                sources.account.add(parsed.account)
                sources.types |= parsed.types
                yield from parsed.articles


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


def _result(record: CorpusRecord) -> dict[str, Any]:
    counts = {name: getattr(record, name) for name in ("articles", "sections", "paragraphs", "sentences")}
    report: dict[str, Any] = {name: dict(record.report.get(name, {})) for name in ("skipped", "changed", "notes")}
    report |= {"digest": record.digest, REPORTED: dict(record.report.get(REPORTED, {}))}
    return {"corpus": record.name, "corpus_id": record.id, **counts, **report}


def remove_unfinished(store: Store, corpus_id: int, seconds: float = math.inf) -> bool:
    """Remove an abandoned corpus within ``seconds``, if given; return True when nothing is left."""
    end = time.monotonic() + seconds
    while True:
        with store.writing() as w:
            left = w.corpora.shrink(corpus_id)
        if not left:
            return True
        if time.monotonic() >= end:
            return False


READER = "table"


@dataclass(frozen=True)
class ImportListConfig(JobConfig):
    """Arguments of importing a list of sentences."""

    TITLE = "Import the list “{corpus}”"

    file: str = option("", "Path of the file on the worker's machine.", file=True, required=True)
    corpus: str = option("", "Name of the new corpus.", required=True)
    column: str = option("", "Column of the sentences; empty: one called so, or the one with the longest cells.")
    group: str = option("", "Column of the group of a sentence, such as its source; empty: none.")
    types: Mapping[str, Any] = option({}, "Types of columns, as when a corpus is imported.")
    form: Mapping[str, Any] = option({}, "How the table is written: encoding, delimiter, sheet and so on.")
    language: str = option("en", "Language of the text, as a two-letter code.")

    def validate(self) -> None:
        """Check the types."""
        check_types(self.types, self.named("types"))
        config_from_dict(TableForm, self.form)


def import_list(args: ImportListConfig, context: JobContext) -> dict[str, Any]:
    """Import the list; return the result of the import, with the number of groups."""
    settings = {**list_settings(args.corpus, args.column, args.group), **args.form}
    whole = ImportConfig((args.file,), args.corpus, args.language, reader=READER, settings=settings, types=args.types)
    result = import_corpus(whole, context)
    return result | {"groups": result["sections"] if args.group else 0}


def list_settings(name: str, column: str = "", group: str = "") -> dict[str, str]:
    """Return the settings of the reader of tables for a list called ``name``."""
    return {"text": column, "section": group, "rows": SENTENCES, "name": name}
