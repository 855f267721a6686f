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
from themescope.core.labelling.markup import counted
from themescope.core.labelling.partition import code_clusters
from themescope.core.readers.table import SENTENCES
from themescope.core.readers.tables import Sheet, TableForm, read_sheet
from themescope.core.readers.workbooks import is_sheet
from themescope.core.records.stored import CorpusRecord, JobRecord, LabellingRecord
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.bundles.parts import BUNDLE, contents
from themescope.jobs.common.articles import ready_corpus
from themescope.jobs.common.files import ArchiveReader, is_archive
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import language_of_file
from themescope.jobs.common.reading import call_apart
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services.labelling import files, qda_projects, starts, tables
from themescope.jobs.services.labelling.qda_projects import ProjectPlan
from themescope.jobs.services.labelling.tables import AS_GUESSED, LabelReading
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
    CODING = "coding"
    """A coding with its history, as Themescope exports it."""


LEFT_OUT = ("place", "text", "cluster", "reason")
"""Columns of the table of what is left out, whose rows can be corrected and imported again."""


@dataclass(frozen=True, slots=True, eq=False)
class Codings:
    """The codings of a file, as they fit a corpus."""

    name: str
    path: Path
    plan: ProjectPlan | tuple[tables.Plan, ...] | None
    """What becomes of a project, or of each coder's rows of a table; None: a coding with its history."""
    machine: bool = False
    """Whether a program made the labels, as far as the file says."""

    @property
    def _plans(self) -> tuple[tables.Plan, ...]:
        return self.plan if isinstance(self.plan, tuple) else ()

    @property
    def matched(self) -> int:
        """Return the number of texts or rows that fit."""
        if isinstance(self.plan, ProjectPlan):
            return self.plan.matched
        return max((plan.rows for plan in self._plans), default=1)

    @property
    def says_who(self) -> bool:
        """Return whether the file says who or what made the labels."""
        return not self._plans or any(plan.makers for plan in self._plans)

    def counts(self) -> dict[str, int]:
        """Return what was found, in words."""
        if isinstance(plan := self.plan, ProjectPlan):
            counts = {
                "texts": plan.matched,
                "texts not found": len(plan.unmatched),
                "codes": len(code_clusters(plan.codings[0].partition)),
                "coded sentences": plan.coded,
                "passages": plan.passages,
                "found in part": plan.partly,
                "lost": plan.lost,
                "sentences with several codes": plan.several,
            }
            return counts | ({"coders": len(plan.codings)} if len(plan.codings) > 1 else {})
        if not (plans := self._plans):
            return {}
        counts = {
            "rows": sum(plan.rows for plan in plans),
            "clusters": len(plans[0].names),
            "placed": len(placed := {id for plan in plans for id, codes in plan.placed.items() if codes}),
            "without a label": len({id for plan in plans for id in plan.placed} - placed),
            "sentences": plans[0].sentences,
            "not found": sum(len(plan.missing) for plan in plans),
            "ambiguous": sum(len(plan.ambiguous) for plan in plans),
            "contradicting": sum(len(plan.contradicting) for plan in plans),
            "with several codes": sum(plan.several for plan in plans),
        }
        return counts | ({"annotators": len(plans), "differing": tables.differing(plans)} if len(plans) > 1 else {})

    def remarks(self) -> list[str]:
        """Return cells that are read otherwise than they stand there, and what is not read."""
        return [*dict.fromkeys(remark for plan in self._plans for remark in plan.remarks)]

    def left_out(self) -> list[tuple[str, str, str, str]]:
        """Return what is left out or changed, see :data:`LEFT_OUT`."""
        if isinstance(self.plan, ProjectPlan):
            return [(one.place, one.text, "", one.reason) for one in self.plan.account.entries]
        return [(f"row {one.row}", one.text, one.cluster, one.why) for plan in self._plans for one in plan.problems]

    def check_whole(self) -> None:
        """Raise :class:`DataError`, which names the first, if rows or passages have no sentence."""
        lost = self.plan.lost if isinstance(self.plan, ProjectPlan) else len(self.left_out())
        if lost:
            found = [one for one in self.left_out() if not isinstance(self.plan, ProjectPlan) or "without" in one[3]]
            listed = "; ".join(f"{place}: {why}" for place, _, _, why in found[:5]) + ("; …" if lost > 5 else "")
            raise DataError(
                f"{lost:,} rows or passages match no sentence, so nothing was imported ({listed}). Correct or skip "
                "them; --problems writes them into a file."
            )

    def begin(self, store: Store, new: NewLabelling, machine: bool | None = None) -> list[LabellingRecord]:
        """Make them labellings, one for each coder; ``machine``: whether a program made all labels, if it is known."""
        if self.plan is None:
            with self.path.open(encoding="utf-8", newline="") as lines:
                return [files.import_lines(store, new.corpus_id, lines, self.path)]
        if isinstance(self.plan, ProjectPlan):
            return qda_projects.begin(store, replace(new, article_id=self.plan.article_id), self.plan, self.path.name)
        made = self.machine if machine is None else machine
        each = [(plan.coder, tables.from_plan(plan, self.path.name, made)) for plan in self.plan]
        return starts.begin_each(store, new, each)


def plan_codings(
    store: Store, corpus: CorpusRecord, path: Path, article: int | None = None, how: LabelReading = AS_GUESSED
) -> Codings:
    """Match the codings of a file to the sentences of a corpus, or of one of its articles.

    The file is a project of another program, a table of labels, or a coding that was exported with its history. Raises
    ``DataError`` if nothing fits.
    """
    if _is_project(path) or path.suffix.lower() == ".qdpx":
        plan = qda_projects.plan_project(store, corpus.id, path)
        missing = qda_projects.without_texts(plan.account)
        if not plan.matched:
            advice = missing or "Import it as a project of its own (--texts)."
            raise DataError(f"None of the texts of {path.name} is in {corpus.name!r}. {advice}")
        if plan.passages and not plan.coded:
            why = missing or ", ".join(f"{n:,} × {reason}" for reason, n in plan.account.skipped.items())
            raise DataError(f"None of the {plan.passages:,} passages of {path.name} has a unit here: {why}")
        return Codings(plan.name[:_NAME].strip() or _name_of(path), path, plan)
    if _is_coding(path):
        return Codings(_name_of(path), path, None)
    if path.suffix.lower() == ".qdc":
        raise DataError(f"{path.name} has codes without texts. Import it on the page Codebook.")
    saved = files.is_saved(path)
    sheet = files.saved_labels(store, corpus.id, article, path) if saved else label_sheet(path, how.form)
    return _of_table(store, corpus, path, sheet, article, how)


def _of_table(
    store: Store, corpus: CorpusRecord, path: Path, sheet: Sheet, article: int | None, how: LabelReading
) -> Codings:
    columns = replace(tables.likely_columns(sheet), **how.columns)
    columns = replace(columns, theme=columns.theme if columns.theme != columns.cluster else "")
    plans = tables.plans(store, corpus.id, article, sheet, columns, how)
    return Codings(_name_of(path), path, plans, tables.hides_makers(sheet))


def _name_of(path: Path) -> str:
    return path.stem[:_NAME].strip() or "Labels"


def label_sheet(path: Path, form: TableForm | None = None) -> Sheet:
    """Return the table of labels of a file, read in a process of its own."""
    return call_apart(path, files.read_labels, path, form)


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a file is."""

    kind: FileKind
    name: str = ""
    """Name for a new project."""
    about: str = ""
    """What it has, as one line."""
    codings: Codings | None = None
    """Its codings, if texts or units are those of the corpus that was asked about; they are added to it then."""


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
    if _is_coding(path):
        found = Codings(_name_of(path), path, None)
        return Recognised(FileKind.CODING, path.stem, "Coding with its history", found if corpus is not None else None)
    return _labels(store, path, corpus) if path.stat().st_size <= _LOOKED_AT else TEXTS


def _bundle(path: Path) -> Recognised:
    with ArchiveReader(path, BUNDLE) as bundle:
        about = contents(bundle.about, path)
    owners = sorted({one.owner for one in about.labellings if one.owner})
    parts = [
        counted(about.corpus.articles, "text"),
        counted(about.corpus.sentences, "unit"),
        counted(len(about.labellings), "coding") + _by(owners),
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
        parts = [counted(len(project.titles()), "text"), counted(codes, "code"), counted(len(project.coders), "coder")]
        name = project.name
    about = f"Project of {program} (QDPX): {', '.join(parts)}"
    found: Codings | None = None
    if corpus is not None:
        with suppress(DataError):  # none of its texts is there
            found = plan_codings(store, corpus, path)
    if found is not None and isinstance(plan := found.plan, ProjectPlan):
        fits = plan.passages - plan.partly - plan.lost
        about += f"; {counted(plan.matched, 'text')} and {fits:,} of {counted(plan.passages, 'passage')} found here"
        about += f", {plan.partly:,} in part" if plan.partly else ""
    return Recognised(FileKind.PROJECT, name, about, found)


def _is_coding(path: Path) -> bool:
    """Return whether a file is a coding with its history, as Themescope exports it."""
    if path.suffix.lower() != ".jsonl" or not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(200).startswith(b'{"format": "themescope labelling"')


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
    codings: Codings | None = None
    coders = [*filter(None, dict.fromkeys(sheet.column(coder)))] if coder else []
    if corpus is not None:
        with suppress(DataError):  # no row is a unit of it
            codings = _of_table(store, corpus, path, sheet, None, AS_GUESSED)
            coders = [one.coder for one in codings._plans if one.coder] or coders
        with store.reading() as r:
            known = {column.name for column in r.columns.list(corpus.id)}
        if not foreign and column_name(columns.cluster) in known:  # the table of the project itself, or a wave
            return TEXTS
    matched = 0 if codings is None else codings.matched
    if not foreign and 2 * matched < len(sheet.rows):
        return TEXTS
    units = matched or len({*sheet.column(columns.text or columns.id)})
    about = f"Labels of {counted(units, 'unit')}{_by(coders[:5])}"
    return Recognised(FileKind.LABELS, path.stem.replace("_", " "), about, codings)


def _sheet(path: Path) -> tuple[Sheet, bool]:
    """Return the table of labels of a file, and whether another program wrote it so."""
    if zipfile.is_zipfile(path) and not is_sheet(path):
        sheet = files.read_labels(path)
        return sheet, "label" in sheet.columns and len({*sheet.column("annotator")}) > 1
    plain = read_sheet(path, 100, keep_lines=True)
    return files.read_labels(path), files.as_labels(plain).columns != plain.columns


def _by(people: Sequence[str]) -> str:
    return f" by {', '.join(people)}" if people else ""


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
        since = [one for one in r.labellings.list(corpus.id) if one.created >= begun]
        made = [one for one in since if one.origin.get("name") == path.name]
    if not made:
        context.progress(0, 1, "Matching the texts")
        codings = plan_codings(store, corpus, path)
        made = codings.begin(store, NewLabelling(corpus.id, codings.name, args.person))
    return {"labelling": made[0].name, "labellings": [one.name for one in made]}
