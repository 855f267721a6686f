"""Job kind: add the articles of files to a corpus as a wave.

The files are imported into a hidden corpus, so that the job resumes and stops as an import does. One transaction then
moves its articles behind those of the corpus; no stored article, sentence, value, label, vector or map point changes.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.columns import OMIT as OMIT_COLUMN
from themescope.core.columns import ColumnLevel, ColumnType, TypedColumn, as_text, described, plain_values, summary
from themescope.core.config import option
from themescope.core.errors import Cancelled, ConfigError, DataError, DuplicateNameError, ReadError
from themescope.core.labelling.markup import counted
from themescope.core.records.stored import ColumnRecord, CorpusRecord, JobStatus
from themescope.core.types import CodingUnit, Ids, ReadAccount
from themescope.db.repositories.blocks import packed_blocks
from themescope.db.repositories.corpus_edits import IMPORTED_DIGEST, REMOVED_WAVES, WAVES, every_wave
from themescope.db.sql import now
from themescope.db.store import Store, Unit
from themescope.jobs.common.articles import TextDigest, ready_corpus
from themescope.jobs.common.columns import (
    COUNTS,
    FIRST,
    ID_COLUMN,
    KEEP,
    WAVE,
    WAVE_DATE,
    PossibleDuplicate,
    empty_cells,
    first_wave,
    in_project,
    normalised,
    plain_cells,
    raw_values,
    rows,
    typed_column,
    typed_date,
    waves_of,
    whole_text,
)
from themescope.jobs.common.columns import LEAVE_OUT as OMIT
from themescope.jobs.common.import_shards import Amount, amounts_of
from themescope.jobs.common.job import JobContext
from themescope.jobs.kinds.import_corpus import (
    CANCEL_S,
    ImportConfig,
    ImportSources,
    import_articles,
    open_import,
    remove_import,
)

_LISTED = 1_000
"""Maximum number of duplicates and of values that are listed one by one; all are counted."""


@dataclass(frozen=True)
class AppendConfig(ImportConfig):
    """Arguments of adding a wave to a corpus."""

    corpus: str = option("", "Name of the corpus to which the articles are added.", required=True)
    language: str = option("", "Language of the text as a two-letter code; empty: that of the corpus.")
    unit: str = option(
        "",
        "What is clustered and labelled; empty: as in the corpus.",
        choices=("", *(unit.value for unit in CodingUnit)),
    )
    wave: str = option("", "Name of the wave.", required=True)
    date: str = option("", "Date of the wave, such as 2026-11-26; empty: none.")
    columns: Mapping[str, Any] = option(
        {}, "Column of the new rows → column of the corpus, where their names differ; equal names need no entry."
    )
    id_column: str = option(
        "", "Column of the corpus with ids by which duplicates are found; empty: the column “id”, if there is one."
    )
    duplicates: str = option(
        KEEP,
        "What happens to rows with an id or a text that the corpus has already: they are reported, and kept or "
        "left out.",
        choices=(KEEP, OMIT),
    )

    def validate(self) -> None:
        """Check the date and the columns as well."""
        ImportConfig.validate(self)
        if self.date and np.isnat(typed_date(self.date)):
            raise ConfigError(f"{self.named('date')} must be a date such as 2026-11-26, not {self.date!r}.")
        if len(set(self.columns.values())) < len(self.columns):
            raise ConfigError(f"{self.named('columns')}: two columns of the files have the same column of the project.")

    def title(self) -> str:
        """Return a title with the wave and the corpus."""
        return f"Add “{self.wave}” to “{self.corpus}”"


def staged_name(job_id: int) -> str:
    """Return the name of the hidden corpus into which a job imports its wave."""
    return f"wave of job {job_id}"


def append_corpus(args: AppendConfig, context: JobContext) -> dict[str, Any]:
    """Add the wave; raise ``ReadError`` and leave the corpus unchanged if a file is damaged."""
    corpus = ready_corpus(context.store, args.corpus)
    with context.store.reading() as r:
        this = r.jobs.get(context.job_id)
        others = r.jobs.list(limit=None, status=(JobStatus.RUNNING, JobStatus.QUEUED), kind=this.kind)
    # A text that distinguishes the job from those of other stores, from which a bundle may come.
    job = f"{this.id} {this.created.isoformat()}"
    done = next((wave for wave in waves_of(corpus) if wave.get("job") == job), None)
    if done is not None:  # killed after the wave was stored
        return _result(corpus, done)
    if args.wave.strip() in (FIRST, *(wave["name"] for wave in waves_of(corpus))):
        raise DuplicateNameError("wave", args.wave.strip())
    for other in others:
        begun = other.status is JobStatus.RUNNING or other.attempt > 0
        if other.id != this.id and begun and other.args.get("corpus") == args.corpus:
            raise DataError(f"Job {other.id} is adding to {args.corpus!r}. Wait for its end.")
    if args.unit not in ("", corpus.unit):
        raise DataError(
            f"The units of {args.corpus!r} are {corpus.unit.value}s. Leave the unit out, or import a new project."
        )
    language = args.language or corpus.language
    own = replace(as_in_project(context.store, args, corpus), corpus=staged_name(context.job_id), language=language)
    sources = ImportSources(own)
    staged = open_import(own, context, sources.stamp())
    try:
        digest = TextDigest(own.language)
        with context.store.reading() as r:
            known = r.columns.list(corpus.id, with_removed=True)
        import_articles(own, context, staged, sources, digest, known)
        context.progress(1, 1, "Comparing with the corpus")
        return _Wave(args, context, corpus, staged, known, sources, str(digest), job).store()
    except Exception as error:
        remove_import(context, staged, CANCEL_S if isinstance(error, Cancelled) else math.inf)
        raise


def as_in_project(store: Store, args: AppendConfig, corpus: CorpusRecord) -> AppendConfig:
    """Return the arguments with the unit of the corpus, and with each file read as :func:`.in_project` says."""
    by_file = dict[str, Any]()
    for path in args.files:
        own = args.by_file.get(path, {})
        whole = {"reader": own.get("reader") or args.reader, "settings": {**args.settings, **own.get("settings", {})}}
        try:
            with store.reading() as r:
                by_file[path] = in_project(r, corpus, path, whole, args.columns)
        except ReadError:  # reported by the import
            by_file[path] = whole
    return replace(args, by_file=by_file, unit=corpus.unit.value)


def coming(store: Store, args: AppendConfig) -> str:
    """Return how many units the files add to the corpus, and what does not fit, before they are added.

    Large files are not read in advance. Raises ``ReadError`` for a damaged one.
    """
    corpus = ready_corpus(store, args.corpus)
    by_file = {Path(path): own for path, own in as_in_project(store, args, corpus).by_file.items()}
    amounts = amounts_of(by_file, args.language or corpus.language, corpus.unit)
    for one in amounts:
        if isinstance(one, ReadError):
            raise one
    return told_of(store, corpus, args, [one for one in amounts if isinstance(one, Amount)])


def told_of(store: Store, corpus: CorpusRecord, args: AppendConfig, amounts: Sequence[Amount]) -> str:
    """Return how many units are added to a corpus, and which columns do not fit, in words."""
    with store.reading() as r:
        columns = r.columns.list(corpus.id)
    found = {(level, str(args.columns.get(name, name))) for one in amounts for level, name in one.columns}
    found = {(level, name) for level, name in found if args.types.get(name) != OMIT_COLUMN}
    known = {(c.level, c.name) for c in columns if c.name not in corpus.wave_columns}
    units, articles = sum(one.units for one in amounts), sum(one.articles for one in amounts)
    of = f" in {articles:,} documents" if articles > len(args.files) else ""
    told = [f"Adds {counted(units, 'unit')}{of} to the {corpus.sentences:,} of “{corpus.name}”."]
    if not all(one.whole for one in amounts):
        told = [f"Added as {corpus.unit.value}s, as in “{corpus.name}”. Large files are counted when they are read."]
    other = {name for _, name in known} & {name for _, name in found - known}
    for what, names in (
        ("New columns", {name for _, name in found - known} - other),
        ("Columns without values", {name for _, name in known - found} - other),
        ("Columns of sentences here and of documents there, which stay two", other),
    ):
        told += [f"{what}: {', '.join(sorted(names))}."] if names else []
    return " ".join(told)


@dataclass(frozen=True)
class _Wave:
    """The articles of a wave in their hidden corpus, and the corpus to which they are added."""

    args: AppendConfig
    context: JobContext
    corpus: CorpusRecord
    staged: CorpusRecord
    known: Sequence[ColumnRecord]
    sources: ImportSources
    digest: str
    job: str

    def store(self) -> dict[str, Any]:
        """Move the articles; return the result of the job."""
        with self.context.store.reading() as r:
            new = r.columns.list(self.staged.id)
        targets = self._targets(new)
        values = {
            column.id: typed_column(self.context.store, column, *self._type(column, target))
            for column, target in targets
        }
        repeated, counts, listed = self._duplicates(targets, values)
        without = self._without(repeated) if self.args.duplicates == OMIT else (_ids([]), _ids([]))
        added, grown, account = [], [], self.sources.account
        for column, target in targets:
            ids, found = values[column.id]
            self._count_unreadable(account, column, target, ids, found)
            kept = ~np.isin(ids, np.concatenate(without))
            found = replace(found, values=found.values[kept])
            found = replace(found, about=described(found))
            if target is not None:
                grown.append((target, ids[kept], found))
            elif found.about["missing"] < len(found.values):
                added.append((self._name(column), column.level, ids[kept], found))
        with self.context.writing() as w:
            record = self._write(w, without, added, grown, counts, listed)
        return _result(record, waves_of(record)[-1])

    # --- columns ------------------------------------------------------------------------------------------------------

    def _name(self, column: ColumnRecord) -> str:
        return str(self.args.columns.get(column.name, column.name))

    def _targets(self, new: Sequence[ColumnRecord]) -> list[tuple[ColumnRecord, ColumnRecord | None]]:
        """Return the columns of the files, each with the column of the corpus of its name and level, if any."""
        known = {(column.level, column.name): column for column in self.known}
        own = set(self.corpus.wave_columns)
        taken = own & {self._name(column) for column in new}
        if taken:
            name = min(taken)
            raise DataError(
                f"The files have a column {name!r}, but {self.corpus.name!r} keeps the waves in that one. "
                f"Give it another name (columns), or leave it out (types: omit)."
            )
        missing = sorted(set(self.args.columns) - {column.name for column in new})
        if missing:
            raise DataError(f"The files have no column {missing[0]!r} with values. Correct the names of the columns.")
        names = Counter((column.level, self._name(column)) for column in new)
        if twice := [name for (_, name), number in names.items() if number > 1]:
            raise DataError(f"Two columns of the files would be {twice[0]!r}. Give one of them another name.")
        return [(column, known.get((column.level, self._name(column)))) for column in new]

    def _type(self, column: ColumnRecord, target: ColumnRecord | None) -> tuple[str, Sequence[str]]:
        """Return the declared type of a column, which is that of the corpus where it has the column, and categories."""
        if target is not None:
            return target.type, target.categories
        return str(({**self.sources.types, **self.args.types}).get(column.name, "")), ()

    def _count_unreadable(
        self, account: ReadAccount, column: ColumnRecord, target: ColumnRecord | None, ids: Ids, found: TypedColumn
    ) -> None:
        """Count and list the values that do not fit the type of the column."""
        if target is not None and found.type != target.type:
            raise DataError(
                f"The column {target.name!r} would have more than 10,000 different values, too many for a category. "
                "Leave it out (types: omit)."
            )
        if "unreadable" not in found.about:
            return
        empty = empty_cells(found)
        wrong = [
            as_text(value)
            for known, values in raw_values(self.context.store, column)
            for value, gone in zip(values, empty[np.searchsorted(ids, known)], strict=True)
            if gone and as_text(value).strip()
        ]
        reason = f"value of “{self._name(column)}” that is no {found.type}"
        for text in wrong[:_LISTED]:
            account.skip(reason, f"column {column.name}", text)
        account.skip(reason, n=max(len(wrong) - _LISTED, 0))

    # --- duplicates ---------------------------------------------------------------------------------------------------

    def _duplicates(
        self, targets: Sequence[tuple[ColumnRecord, ColumnRecord | None]], values: Mapping[int, tuple[Ids, TypedColumn]]
    ) -> tuple[list[PossibleDuplicate], dict[str, int], list[str]]:
        """Return the rows with an id or a text that occurred before, their numbers by reason, and the first texts."""
        wanted = self.args.id_column or ID_COLUMN
        named = [column for column in self.known if column.name == wanted]
        if self.args.id_column and not named:
            raise DataError(f"{self.corpus.name!r} has no column {wanted!r} for ids. Name another one.")
        with self.context.store.reading() as r:
            texts, ids = self._seen(r, named)
            # New sentences that have values of their own are the rows of a list.
            own = [column for column, _ in targets if column.level is ColumnLevel.SENTENCE]
            parts = [known for column in own for known, _ in raw_values(self.context.store, column)]
            lists = np.unique(np.concatenate(parts)) if parts else _ids([])
            new = {
                (column.level, id): as_text(value).strip()
                for column, target in targets
                if target in named
                for id, value in zip(values[column.id][0].tolist(), plain_cells(values[column.id][1]), strict=True)
            }
            found, counts, listed = list[PossibleDuplicate](), Counter[str](), list[str]()
            for row in rows(r, self.staged.id, lists):
                id, text = new.get((row.level, row.id), ""), normalised(row.text)
                same_id = bool(id) and (row.level, id) in ids
                same_text = (row.level, text) in texts
                counts.update({"id": same_id, "text": same_text, "rows": 1})
                if same_id or same_text:
                    found.append(row)
                    listed += [row.text[:200]] if len(listed) < _LISTED else []
                ids.add((row.level, id))
                texts.add((row.level, text))
        counts["either"] = len(found)
        return found, dict(counts), listed

    def _seen(
        self, r: Unit, named: Sequence[ColumnRecord]
    ) -> tuple[set[tuple[ColumnLevel, bytes]], set[tuple[ColumnLevel, str]]]:
        """Return level and text, and level and id, of everything in the corpus."""
        sentences, articles = r.corpora.sentence_ids(self.corpus.id), r.corpora.article_ids(self.corpus.id)
        ids: set[tuple[ColumnLevel, str]] = set()
        for column in named:
            owners = sentences if column.level is ColumnLevel.SENTENCE else articles
            plain = plain_values(ColumnType(column.type), r.columns.values(column, owners), column.categories)
            ids.update((column.level, as_text(value).strip()) for value in plain if value is not None)
        texts: set[tuple[ColumnLevel, bytes]] = set()
        for _, _, found in r.corpora.iterate(self.corpus.id):
            texts.add((ColumnLevel.ARTICLE, normalised(whole_text(found))))
            texts.update((ColumnLevel.SENTENCE, normalised(sentence.text)) for sentence in found)
        return texts, ids

    def _without(self, repeated: Sequence[PossibleDuplicate]) -> tuple[Ids, Ids]:
        """Return the ids of the articles and of the sentences to leave out, which are counted; some must remain."""
        sentences = [row for row in repeated if row.level is ColumnLevel.SENTENCE]
        gone = Counter(row.article_id for row in sentences)
        with self.context.store.reading() as r:
            sizes = {id: article.sentences for id, article in r.corpora.articles_by_id(gone).items()}
            staged = r.corpora.count_articles(self.staged.id)
        whole = {id for id, number in gone.items() if number == sizes[id]}
        articles = sorted(whole | {row.id for row in repeated if row.level is ColumnLevel.ARTICLE})
        if len(articles) == staged:
            raise DataError(f"All rows of the files are in {self.corpus.name!r} already. Nothing was added.")
        for row in repeated:
            self.sources.account.skip("duplicate", f"{row.level} {row.id}", row.text[:200])
        return _ids(articles), _ids(row.id for row in sentences if row.article_id not in whole)

    # --- the transaction ----------------------------------------------------------------------------------------------

    def _write(
        self,
        w: Unit,
        without: tuple[Ids, Ids],
        added: Sequence[tuple[str, ColumnLevel, Ids, TypedColumn]],
        grown: Sequence[tuple[ColumnRecord, Ids, TypedColumn]],
        counts: Mapping[str, int],
        listed: Sequence[str],
    ) -> CorpusRecord:
        before = w.corpora.get(self.corpus.id)
        old, first = w.corpora.article_ids(self.corpus.id, True), w.corpora.imported_articles(self.corpus.id)
        report = dict(before.report)
        for kind in {"digest", IMPORTED_DIGEST} & {"digest", *report}:
            joint = f"{report.get(kind, '')} {self.digest}"
            report[kind] = hashlib.blake2b(joint.encode(), digest_size=8).hexdigest()
        record = w.corpora.absorb(self.corpus.id, self.staged, without, report)
        new = w.corpora.article_ids(self.corpus.id, True)[len(old) :]
        for target, ids, found in grown:
            w.columns.extend(target, _grown(target, found), packed_blocks(ids, found))
        for name, level, ids, found in added:
            w.columns.add(self.corpus.id, level, name, found, packed_blocks(ids, found))
        names = self._write_wave(w, old, new)
        account = self.sources.report()
        waves = every_wave(before.report) or [first_wave(before)]
        w.corpus_edits.recount(self.corpus.id)
        empty = {column.id for column in w.columns.list(self.corpus.id)} - {target.id for target, *_ in grown}
        wave = {
            "name": self.args.wave.strip(),
            "date": self.args.date.strip(),
            "first": first,
            "added": now().isoformat(),
            "job": self.job,
            **{part: getattr(record, part) - getattr(before, part) for part in COUNTS},
            **{name: account[name] for name in ("files", "file_digests", "readers", "skipped", "changed", "notes")},
            "new_columns": [name for name, *_ in added],
            "missing_columns": [one.name for one in self.known if one.id in empty and one.name not in names],
            "duplicates": dict(counts),
            "duplicate_texts": list(listed),
            "left_out": len(without[0]) + len(without[1]),
        }
        w.corpora.add_entries(self.corpus.id, self.sources.account.entries)
        w.corpora.finish(self.corpus.id, report | {WAVES: [*waves, wave], REMOVED_WAVES: [], "wave_columns": names})
        return w.corpus_edits.refresh(self.corpus.id)

    def _write_wave(self, w: Unit, old: Ids, new: Ids) -> list[str]:
        """Store name and date of the wave as columns of the articles; return the names of the two columns."""
        columns = w.columns.list(self.corpus.id, with_removed=True)
        names = list(self.corpus.wave_columns)
        if not names:
            taken = {column.name for column in columns}
            names = [f"{name} of import" if name in taken else name for name in (WAVE, WAVE_DATE)]
        there = {column.name: column for column in columns if column.level is ColumnLevel.ARTICLE}
        known = there.get(names[0])
        wave = self.args.wave.strip()
        categories = [*dict.fromkeys([*(known.categories if known else [FIRST]), wave])]
        codes = np.full(len(new), categories.index(wave), np.int32)
        if known is None:
            codes = np.concatenate([np.zeros(len(old), np.int32), codes])
        found = TypedColumn(ColumnType.CATEGORY, codes, {"categories": categories})
        _put(w, self.corpus.id, names[0], known, new if known else np.concatenate([old, new]), found)
        if self.args.date:
            dates = np.full(len(new), typed_date(self.args.date))
            found = TypedColumn(ColumnType.DATE, dates, summary(ColumnType.DATE, dates))
            _put(w, self.corpus.id, names[1], there.get(names[1]), new, found)
        return names


def _put(w: Unit, corpus_id: int, name: str, known: ColumnRecord | None, ids: Ids, found: TypedColumn) -> None:
    """Store values of a column of articles, and the column if it is not ``known``."""
    blocks = packed_blocks(ids, found)
    if known is None:
        w.columns.add(corpus_id, ColumnLevel.ARTICLE, name, found, blocks)
    else:
        w.columns.extend(known, _grown(known, found), blocks)


def _grown(column: ColumnRecord, found: TypedColumn) -> dict[str, Any]:
    """Return what is known of a column with new values; they are counted when all are stored."""
    about = {**column.about, **({"categories": found.about["categories"]} if column.categories else {})}
    unreadable = column.about.get("unreadable", 0) + found.about.get("unreadable", 0)
    return about | ({"unreadable": unreadable} if unreadable else {})


def _ids(values: Iterable[int]) -> Ids:
    return np.array(sorted(values), np.int64)


def _result(corpus: CorpusRecord, wave: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of the job: what the wave added, left out, changed, and has twice."""
    shown = {name: value for name, value in wave.items() if name not in ("job", "first", "name", "file_digests")}
    return {"corpus": corpus.name, "corpus_id": corpus.id, "wave": wave["name"], **shown}
