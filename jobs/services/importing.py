"""What files are by their content, and the jobs by which they start a project or add to one."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import uuid4

from themescope.core.columns import column_name
from themescope.core.config import option
from themescope.core.errors import DataError, ThemescopeError
from themescope.core.labelling.codebook.qda_project import QDE
from themescope.core.labelling.codebook.qda_reader import ProjectReader
from themescope.core.readers.table import SENTENCES
from themescope.core.readers.tables import Sheet, read_sheet
from themescope.core.readers.workbooks import is_sheet
from themescope.core.records.stored import CorpusRecord, JobRecord, LabellingRecord
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.bundles.parts import BUNDLE, contents
from themescope.jobs.common.archive import ArchiveReader, is_archive
from themescope.jobs.common.articles import ready_corpus
from themescope.jobs.common.importing.reading import call_apart
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import language_of_file
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services.labelling import files, qda_projects, tables
from themescope.jobs.services.pipeline import queue_pipeline

_LOOKED_AT = 20_000_000
"""Size of a table that is looked at for labels."""
_NAME = 180


class FileKind(Enum):
    """What a file is to a project."""

    TEXTS = "texts"
    BUNDLE = "bundle"
    """A project of another Themescope."""
    PROJECT = "project"
    """A REFI-QDA project of another program."""
    LABELS = "labels"
    """A table of labels."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a file is."""

    kind: FileKind
    name: str = ""
    """Name for a new project."""
    about: str = ""
    """What it has, as one line."""
    matched: int = 0
    """Number of texts or units that the project has which was asked about; its codings are added to that then."""
    entries: tuple[tuple[str, str, str], ...] = ()
    """What is left out or changed of the codings then: reason, place and text."""


TEXTS = Recognised(FileKind.TEXTS)


def recognised(store: Store, path: Path, corpus: CorpusRecord | None) -> Recognised:
    """Return what a file is, by its content, and whether its codings are of units of a corpus.

    Raises ``ReadError`` for a damaged bundle or project.
    """
    if not path.is_file():
        return TEXTS
    if is_archive(path, BUNDLE):
        return _bundle(path)
    if _is_project(path):
        return _project(store, path, corpus)
    return _labels(store, path, corpus) if path.stat().st_size <= _LOOKED_AT else TEXTS


def _bundle(path: Path) -> Recognised:
    with ArchiveReader(path, BUNDLE) as bundle:
        about = contents(bundle.about, path)
    owners = sorted({one.owner for one in about.labellings if one.owner})
    parts = [
        _count(about.corpus.articles, "text"),
        _count(about.corpus.sentences, "unit"),
        _count(len(about.labellings), "coding") + _by(owners),
        *(["vectors of " + ", ".join(model.name for model in about.models)] if about.models else []),
    ]
    return Recognised(FileKind.BUNDLE, about.corpus.name, f"Project of Themescope (bundle): {', '.join(parts)}")


def _is_project(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as found:
            return any(name.lower().endswith(QDE) for name in found.namelist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False


def _project(store: Store, path: Path, corpus: CorpusRecord | None) -> Recognised:
    with ProjectReader(path) as project:
        program, codes = project.origin or "another program", len(project.codes)
        parts = [_count(len(project.titles()), "text"), _count(codes, "code"), _count(len(project.coders), "coder")]
        name = project.name
    about = f"Project of {program} (QDPX): {', '.join(parts)}"
    plan = qda_projects.plan_project(store, corpus.id, path) if corpus is not None else None
    if plan is None or not plan.matched:
        return Recognised(FileKind.PROJECT, name, about)
    found = plan.passages - plan.partly - plan.lost
    about += f"; {_count(plan.matched, 'text')} and {found:,} of {_count(plan.passages, 'passage')} found here"
    about += f", {plan.partly:,} in part" if plan.partly else ""
    entries = tuple((one.reason, one.place, one.text) for one in plan.account.entries)
    return Recognised(FileKind.PROJECT, name, about, plan.matched, entries)


def _labels(store: Store, path: Path, corpus: CorpusRecord | None) -> Recognised:
    """Return the labels of another program's table, or of one whose texts are units of the corpus; else texts."""
    try:
        sheet, foreign = call_apart(path, _sheet, path)
        columns = tables.likely_columns(sheet)
        if not columns.cluster or not (columns.text or columns.id):
            return TEXTS
    except ThemescopeError:
        return TEXTS
    coder = columns.coder or ("annotator" if "annotator" in sheet.columns else "")
    plans: tuple[tables.Plan, ...] = ()
    coders = [*filter(None, dict.fromkeys(sheet.column(coder)))] if coder else []
    if corpus is not None:
        with suppress(DataError):  # no row is a unit of it
            plans = _plans(store, corpus.id, sheet)
            coders = [one.coder for one in plans if one.coder] or coders
        with store.reading() as r:
            known = {column.name for column in r.columns.list(corpus.id)}
        if not foreign and column_name(columns.cluster) in known:  # the table of the project itself, or a wave
            return TEXTS
    matched = max((one.rows for one in plans), default=0)
    if not foreign and 2 * matched < len(sheet.rows):
        return TEXTS
    units = matched or len({*sheet.column(columns.text or columns.id)})
    about = f"Labels of {_count(units, 'unit')}{_by(coders[:5])}"
    entries = [(why, f"row {row}", text) for row, text, _, why in tables.problem_rows(plans)]
    return Recognised(FileKind.LABELS, path.stem.replace("_", " "), about, matched, tuple(entries))


def _sheet(path: Path) -> tuple[Sheet, bool]:
    """Return the table of labels of a file, and whether another program wrote it so."""
    if zipfile.is_zipfile(path) and not is_sheet(path):
        sheet = files.read_labels(path)
        return sheet, "label" in sheet.columns and len({*sheet.column("annotator")}) > 1
    plain = read_sheet(path, 100)
    return files.read_labels(path), files.as_labels(plain).columns != plain.columns


def _plans(store: Store, corpus_id: int, sheet: Sheet) -> tuple[tables.Plan, ...]:
    return tables.plans(store, corpus_id, None, sheet, tables.likely_columns(sheet), together=True, several=True)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _by(people: Sequence[str]) -> str:
    return f" by {', '.join(people)}" if people else ""


# --- jobs -------------------------------------------------------------------------------------------------------------


def queue_import(store: Store, path: Path, found: Recognised, name: str, person: str) -> list[JobRecord]:
    """Queue what makes a recognised file the new project ``name``: its texts, its codings, and what follows."""
    if found.kind is FileKind.BUNDLE:
        return [enqueue(store, "import-bundle", {"file": str(path), "corpus": name}, title=f"Import {name}")]
    out = path.with_name(f"{uuid4().hex}.jsonl")
    args: dict[str, Any] = {"files": [str(out)], "corpus": name}
    if found.kind is FileKind.PROJECT:
        qda_projects.write_texts(path, out)
    else:
        sheet, _ = call_apart(path, _sheet, path)
        texts = dict.fromkeys(filter(None, sheet.column(tables.likely_columns(sheet).text)))
        out.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        args |= {"reader": "table", "settings": {"text": "text", "rows": SENTENCES, "name": name}}
    language = language_of_file(out)
    job = enqueue(store, "import-corpus", args | {"language": language}, title=f"Import {name}")
    coded = {"file": str(path), "corpus": name, "person": person}
    codings = enqueue(store, "import-codings", coded, after=job.id)
    return [job, codings, *queue_pipeline(store, name, language, after=job.id)]


@dataclass(frozen=True)
class ImportCodingsConfig(JobConfig):
    """Arguments of importing the codings of a file."""

    file: str = option(
        "", "Path of a REFI-QDA project, or of a table of labels, on the worker's machine.", file=True, required=True
    )
    corpus: str = option("", "Name of the corpus whose sentences are coded.", required=True)
    person: str = option("", "Owner of the labellings.")

    def title(self) -> str:
        """Return a title with the file and the corpus."""
        return f"Add the codings of {Path(self.file).name} to “{self.corpus}”"


def import_codings(args: ImportCodingsConfig, context: JobContext) -> Mapping[str, Any]:
    """Make the codings of a file labellings of a corpus, once."""
    path, store = Path(args.file), context.store.by(lambda: args.person)
    corpus = ready_corpus(store, args.corpus)
    with store.reading() as r:
        begun = r.jobs.get(context.job_id).created
        made = [
            one for one in r.labellings.list(corpus.id) if one.created >= begun and one.origin.get("name") == path.name
        ]
    if not made:
        context.progress(0, 1, "Matching the texts")
        made = begin_codings(store, path, corpus, args.person)
    return {"labelling": made[0].name, "labellings": [one.name for one in made]}


def begin_codings(store: Store, path: Path, corpus: CorpusRecord, person: str) -> list[LabellingRecord]:
    """Make the codings of a file labellings of a corpus, one for each coder; raise ``DataError`` if none of it fits."""
    new = NewLabelling(corpus.id, path.stem[:_NAME].strip() or corpus.name, person)
    if not _is_project(path):
        sheet, _ = call_apart(path, _sheet, path)
        return tables.begin(store, new, _plans(store, corpus.id, sheet), path.name, tables.hides_makers(sheet))
    plan = qda_projects.plan_project(store, corpus.id, path)
    if not plan.matched:
        raise DataError(f"None of the texts of {path.name} is in {corpus.name!r}. Import it as a project of its own.")
    name = plan.name[:_NAME].strip() or new.name
    return qda_projects.begin(store, replace(new, name=name, article_id=plan.article_id), plan, path.name)
