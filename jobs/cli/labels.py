"""`themescope labels`: export and import labellings, or let a language model code sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.labelling.code_sets import code_clusters
from themescope.core.readers.tables import Sheet
from themescope.core.records.stored import LabellingRecord
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.cli.arguments import form_of, form_options
from themescope.jobs.cli.coding import code
from themescope.jobs.cli.shell import Shell, common, pairs, pass_shell
from themescope.jobs.common.files import check_target, whole
from themescope.jobs.common.importing.reading import call_apart
from themescope.jobs.common.models import language_of_file
from themescope.jobs.services.labelling import files, qda_projects, tables
from themescope.jobs.services.table_files import csv_text, excel_bytes, file_content, parquet_bytes

_SHOWN = 20
_OF_OTHERS: dict[str, Callable[[Store, LabellingRecord], bytes]] = {
    files.LABEL_STUDIO: lambda store, record: files.label_studio(store, record.id).encode("utf-8"),
    files.DOCCANO: lambda store, record: files.doccano(store, record.id).encode("utf-8"),
}


@click.group("labels")
def labels() -> None:
    """Export and import labellings, or let a language model code sentences."""


@labels.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--format", "format", type=click.Choice(list(_OF_OTHERS)), help="The current state for another program.")
@common
@pass_shell
def export(shell: Shell, name: str, file: Path, format: str | None) -> None:
    """Write the labelling NAME into FILE.

    .jsonl contains the whole history with its people, and can be imported again; .csv, .xlsx and .parquet contain the
    current state. CSV and Excel are safe for spreadsheets, the others are unchanged.
    """
    write = _OF_OTHERS[format] if format else _WRITERS.get(file.suffix.lower())
    if write is None:
        raise ConfigError(f"Labellings are written as {', '.join(_WRITERS)}, not as {file.suffix or 'no ending'!r}.")
    check_target(file)
    with shell.store.reading() as r:
        record = r.labellings.by_name(name)
    with whole(file) as partial:
        partial.write_bytes(write(shell.store, record))
    shell.show({"file": str(file), "sentences": record.sentences}, f"{record.sentences:,} sentences in {file}.")


def _table(write: Callable[..., Any], store: Store, record: LabellingRecord) -> Any:
    """Return the current state with the columns of the corpus."""
    return file_content(store, record.corpus_id, write, files.HEADER, files.rows(store, record.id))


_WRITERS: dict[str, Callable[[Store, LabellingRecord], bytes]] = {
    ".jsonl": lambda store, record: files.export_lines(store, record.id).encode("utf-8"),
    ".csv": lambda store, record: str(_table(csv_text, store, record)).encode("utf-8"),
    ".xlsx": partial(_table, partial(excel_bytes, title="labels")),
    ".parquet": partial(_table, parquet_bytes),
}


@labels.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--corpus", required=True, help="Corpus of the sentences.")
@click.option("--article", default="", help="Title of the article, if all sentences are from one.")
@click.option("--name", default="", help="Name of the new labelling; default: the file name.")
@click.option("--person", default="", help="Owner of the labelling.")
@click.option("--cluster", "cluster", default="", metavar="COLUMN", help="Column of the cluster.")
@click.option("--id", "id", default="", metavar="COLUMN", help="Column of the sentence's id.")
@click.option("--text", "text", default="", metavar="COLUMN", help="Column of the exact sentence text.")
@click.option("--note", "note", default="", metavar="COLUMN", help="Column of a note.")
@click.option("--theme", "theme", default="", metavar="COLUMN", help="Column of the theme of the cluster.")
@click.option("--together", is_flag=True, help="Assign all sentences that have the same text.")
@click.option("--several", is_flag=True, help="Of several rows for one sentence, keep the codes of all.")
@click.option("--machine", is_flag=True, help="A program made the labels: nothing is learned from them.")
@click.option("--skip", is_flag=True, help="Skip rows or passages without a sentence; otherwise nothing is imported.")
@click.option("--problems", type=click.Path(path_type=Path), help="CSV file for the rows that match no sentence.")
@click.option("--texts", is_flag=True, help="Import the texts of a REFI-QDA project as a new corpus first.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, without importing it.")
@form_options
@common
@pass_shell
def import_(shell: Shell, file: Path, corpus: str, article: str, dry_run: bool, skip: bool, **options: Any) -> None:
    """Import labels from FILE (csv, tsv, xlsx, ods, json, jsonl) with a sentence and its cluster in each row.

    An exported labelling (.jsonl) is imported with its history. Columns that are not given are recognised by name,
    also those that say who made a label: source (human, machine or imported), coder and probability. Of BERTopic, the
    table of get_document_info() and the folder of a saved model are accepted, and so are the exports of Label Studio,
    doccano, Argilla, Potato, Prodigy, CATMA, QualCoder, MAXQDA and Taguette. Several labels of a cell are several
    codes. Where several annotators judged the same sentences, each has a labelling, named after them; a ZIP file may
    have a table of each.

    A REFI-QDA project (.qdpx) is imported with its codebook, notes and coded sentences.
    """
    if file.suffix.lower() == ".qdpx":
        _import_project(shell, file, corpus, options["name"], options["person"], options["texts"], skip, dry_run)
        return
    corpus_id, article_id = _where(shell.store, corpus, article)
    form = form_of(options)
    if _is_whole(file):
        with file.open(encoding="utf-8", newline="") as lines:
            record = files.import_lines(shell.store, corpus_id, lines, file)
        shell.show({"labelling": record.name}, f"Imported {record.name} with its history.")
        return
    if files.is_saved(file):
        sheet = files.saved_labels(shell.store, corpus_id, article_id, file)
    else:
        sheet = call_apart(file, files.read_labels, file, form)
    how = options["together"], options["several"], bool(options["cluster"])
    found = tables.plans(shell.store, corpus_id, article_id, sheet, _columns(sheet, options), *how)
    problems = [problem for plan in found for problem in plan.problems]
    counts: dict[str, Any] = {
        "rows": sum(plan.rows for plan in found),
        "clusters": len(found[0].names),
        "placed": len({id for plan in found for id in plan.placed}),
        "sentences": found[0].sentences,
        "not found": sum(len(plan.missing) for plan in found),
        "ambiguous": sum(len(plan.ambiguous) for plan in found),
        "contradicting": sum(len(plan.contradicting) for plan in found),
        "with several codes": sum(plan.several for plan in found),
    }
    if len(found) > 1:
        counts["annotators"] = len(found)
        counts["differing"] = tables.differing(found)
    if options["problems"] and problems:
        with whole(options["problems"]) as part:
            part.write_text(csv_text(tables.PROBLEMS, tables.problem_rows(found)), encoding="utf-8", newline="")
    if not dry_run:
        if not skip:
            tables.check_whole(found)
        new = NewLabelling(corpus_id, options["name"] or file.stem, options["person"], article_id=article_id)
        machine = options["machine"] or tables.hides_makers(sheet)
        made = tables.begin(shell.store, new, found, file.name, machine)
        counts["labelling"] = ", ".join(record.name for record in made)
    told = [f"row {t.row}: {t.why}" for t in problems]
    remarks = list(dict.fromkeys(remark for plan in found for remark in plan.remarks))
    shell.show(
        counts | {"left_out": [asdict(t) for t in problems], "remarks": remarks},
        "\n".join([pairs(counts), *remarks, *told[:_SHOWN]]).rstrip(),
    )


def _import_project(
    shell: Shell, file: Path, corpus: str, name: str, person: str, texts: bool, skip: bool, dry_run: bool
) -> None:
    if texts:
        with TemporaryDirectory() as folder:
            qda_projects.write_texts(file, out := Path(folder) / f"{file.stem}.jsonl")
            args = {"files": [str(out)], "corpus": corpus, "language": language_of_file(out, "")}
            shell.run("import-corpus", args)
    corpus_id, _ = _where(shell.store, corpus, "")
    plan = qda_projects.plan_project(shell.store, corpus_id, file)
    if not plan.matched:
        raise DataError(f"None of the texts of the project is in {corpus!r}. Import them as a new corpus (--texts).")
    listed = [f"{one.reason}: {one.place}: {one.text}" for one in plan.account.entries]
    counts: dict[str, Any] = {
        "texts": plan.matched,
        "texts not found": len(plan.unmatched),
        "codes": len(code_clusters(plan.codings[0].partition)),
        "coded sentences": plan.coded,
        "passages": plan.passages,
        "found in part": plan.partly,
        "lost": plan.lost,
        "sentences with several codes": plan.several,
    }
    if len(plan.codings) > 1:
        counts["coders"] = len(plan.codings)
    if not dry_run:
        if plan.lost and not skip:
            raise DataError(f"{plan.lost:,} coded passages have no sentence, so nothing was imported. See --dry-run.")
        new = NewLabelling(corpus_id, name or plan.name, person, article_id=plan.article_id)
        made = qda_projects.begin(shell.store, new, plan, file.name)
        counts["labelling"] = ", ".join(record.name for record in made)
    more = [f"… and {len(listed) - _SHOWN:,} more (all with --json)"] if len(listed) > _SHOWN else []
    shell.show(
        counts | {"account": plan.account.to_json()}, "\n".join([pairs(counts), *listed[:_SHOWN], *more]).rstrip()
    )


def _where(store: Store, corpus: str, article: str) -> tuple[int, int | None]:
    with store.reading() as r:
        found = r.corpora.by_name(corpus)
        if not article:
            return found.id, None
        titled = r.corpora.articles_by_title(found.id, article)
        if not titled:
            near = [a.title for a in r.corpora.articles(found.id, search=article)]
            raise UnknownNameError("article", article, near)
    if len(titled) > 1:
        raise DataError(f"{len(titled)} articles are called {article!r}. Leave --article out.")
    return found.id, titled[0].id


def _is_whole(file: Path) -> bool:
    """Return whether a file is a labelling that `labels export` wrote."""
    if file.suffix.lower() != ".jsonl" or not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(200).startswith(b'{"format": "themescope labelling"')


def _columns(sheet: Sheet, given: dict[str, Any]) -> tables.LabelColumns:
    likely = tables.likely_columns(sheet)
    if given["id"] or given["text"]:
        likely = replace(likely, id=given["id"], text=given["text"])
    cluster, note, theme = (given[name] or getattr(likely, name) for name in ("cluster", "note", "theme"))
    return replace(likely, cluster=cluster, note=note, theme=theme if theme != cluster else "")


labels.add_command(code)
