"""`themescope labels`: export and import labellings, or let a language model code sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.estimates.report import REFERENCES, count_text, estimates, paragraphs, replication_files
from themescope.core.estimates.shares import COUNTED, ShareEstimate, composition, difference, share
from themescope.core.labelling.markup import markdown
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.metrics.statistics import PERIODS
from themescope.core.records.stored import CorpusRecord, LabellingRecord
from themescope.core.types import Estimate
from themescope.db.records import NewLabelling
from themescope.db.store import Store, Unit
from themescope.jobs.cli.arguments import form_of, form_options, job_options
from themescope.jobs.cli.main import Shell, background, common, pairs, pass_shell, seed_option, table
from themescope.jobs.common.files import check_target, whole
from themescope.jobs.common.language_models import KIND, CodingRequest, Endpoint, estimate, newest_result, plan_of
from themescope.jobs.common.models import language_of_file
from themescope.jobs.services import tasks
from themescope.jobs.services.estimates import Study, groups_by, open_study
from themescope.jobs.services.importing import LEFT_OUT, plan_codings
from themescope.jobs.services.labelling import files, qda_projects
from themescope.jobs.services.labelling.tables import LabelReading
from themescope.jobs.services.people import tidy
from themescope.jobs.services.report import report_file
from themescope.jobs.services.samples import SAMPLE, ColumnKey, DrawnSample, SampleForm
from themescope.jobs.services.table_files import csv_text, excel_bytes, file_content, parquet_bytes
from themescope.jobs.services.tasks import TaskForm

_SHOWN = 20
_COUNTS = {
    "coded": "sentences coded",
    "no_code": "that no code fits",
    "invented": "with a code that is not in the codebook",
    "unusable": "without a usable answer",
    "failed": "not asked or not answered",
    "examples": "left out as examples of the prompt",
    "requests": "requests sent",
    "known": "answers kept from before",
    "seconds": "seconds",
}
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
    if options["texts"]:
        with TemporaryDirectory() as folder:
            qda_projects.write_texts(file, out := Path(folder) / f"{file.stem}.jsonl")
            args = {"files": [str(out)], "corpus": corpus, "language": language_of_file(out, "")}
            shell.run("import-corpus", args)
    record, article_id = _where(shell.store, corpus, article)
    columns = {name: options[name] for name in ("cluster", "note", "theme") if options[name]}
    if options["id"] or options["text"]:
        columns |= {name: options[name] for name in ("id", "text")}
    how = LabelReading(columns, options["together"], options["several"], "cluster" in columns, form_of(options))
    found = plan_codings(shell.store, record, file, article_id, how)
    counts: dict[str, Any] = {**found.counts()}
    left = found.left_out()
    if options["problems"] and left:
        with whole(options["problems"]) as part:
            part.write_text(csv_text(LEFT_OUT, left), encoding="utf-8", newline="")
    if not dry_run:
        if not skip:
            found.check_whole()
        new = NewLabelling(record.id, options["name"] or found.name, options["person"], article_id=article_id)
        made = found.begin(shell.store, new, options["machine"] or None)
        counts["labelling"] = ", ".join(one.name for one in made)
    told = [f"{place}: {reason}: {text}" for place, text, _, reason in left]
    more = [f"… and {len(told) - _SHOWN:,} more (all with --json)"] if len(told) > _SHOWN else []
    shell.show(
        counts | {"left_out": [dict(zip(LEFT_OUT, one, strict=True)) for one in left], "remarks": found.remarks()},
        "\n".join([pairs(counts), *found.remarks(), *told[:_SHOWN], *more]).rstrip(),
    )


def _where(store: Store, corpus: str, article: str) -> tuple[CorpusRecord, int | None]:
    with store.reading() as r:
        found = r.corpora.by_name(corpus)
        if not article:
            return found, None
        titled = r.corpora.articles_by_title(found.id, article)
        if not titled:
            near = [a.title for a in r.corpora.articles(found.id, search=article)]
            raise UnknownNameError("article", article, near)
    if len(titled) > 1:
        raise DataError(f"{len(titled)} articles are called {article!r}. Leave --article out.")
    return found, titled[0].id


@labels.command("code")
@click.argument("labelling")
@job_options(KIND, ["sentences", "limit", "batch", "instructions", "name", "person", "timeout", "parallel", "seed"])
@click.option("--send", is_flag=True, help="Send the texts; without it, they are only shown.")
@click.option("--prices", type=(float, float), default=(0.0, 0.0), help="Prices of a million tokens read and written.")
@background
@common
@pass_shell
def code(shell: Shell, labelling: str, send: bool, prices: tuple[float, float], **options: Any) -> None:
    """Code the sentences of LABELLING by its codebook with the language model at LLM_URL.

    Shows what would be sent, where, and what it takes; nothing is sent without --send. The codes become a labelling of
    their own, made by a machine, which the page Agreement compares with people.
    """
    endpoint = Endpoint.of(shell.store.settings)
    asked = {key: options[key] for key in ("sentences", "limit", "seed", "batch")}
    instructions = options.pop("instructions")
    plan = plan_of(shell.store, CodingRequest(labelling, **asked, instructions=instructions or ("",)))
    if not send:
        found = estimate(plan, endpoint, newest_result(shell.store))
        about: dict[str, Any] = {
            "endpoint": endpoint.url,
            "model": endpoint.model,
            "requests": found.requests,
            "requests at most": found.most,
            "texts": len(plan.texts),
            "left out as examples": plan.examples,
            "tokens read, about": found.read,
            "tokens written, about": found.written,
            "seconds, about": "unknown before the first job" if found.seconds is None else round(found.seconds),
        }
        about |= {"cost, about": round(found.cost(*prices), 4)} if any(prices) else {}
        text = f"{plan.text}\n\n{pairs(about)}\n\nNothing was sent. With --send, this goes to {endpoint.url}."
        shell.show({"sent": False, **about, "text": plan.text}, text)
        return
    args = {"labelling": labelling, "endpoint": endpoint.url, "model": endpoint.model, "texts": plan.digest}
    result = shell.run(KIND, args | {"send": True, "instructions": list(instructions), **options})
    if "coded" not in result:
        shell.show(result, str(result.get("title", "")))
        return
    rows = [{"": _COUNTS[key], "number": result[key]} for key in _COUNTS]
    parts = [f"“{result['labelling']}”", table(rows)]
    if "prompts" in result:
        shown = [{"instructions": row["instructions"], "accuracy": round(row["value"], 3)} for row in result["prompts"]]
        chosen = result["cross_validated"]
        told = f"Best: {result['best'] + 1}. Cross-validated accuracy of choosing the best: {chosen['value']:.3f} "
        parts += [table(shown), f"{told}[{chosen['low']:.3f}, {chosen['high']:.3f}]"]
    parts += [f"{problem['reason']}: {problem['sentence']:.80}" for problem in result["problems"]]
    shell.show(result, "\n".join(parts))


# Commands `sample`, `estimate` and `report`: a sample as a task, shares of codes, a project as a document


@click.command("estimate")
@click.argument("labellings", nargs=-1, required=True)
@click.option("--code", "codes", multiple=True, help="Code to estimate (repeatable); default: all.")
@click.option("--by", default="", metavar="COLUMN", help="Column of groups: categories, or dates by period.")
@click.option("--period", type=click.Choice(PERIODS), default=None, help="Period of dates; default: one that suits.")
@click.option("--difference", nargs=2, default=None, metavar="GROUP GROUP", help="Share in the first minus the second.")
@click.option("--composition", "parts", is_flag=True, help="Part of each group among the sentences with the code.")
@click.option("--machine", default="", metavar="LABELLING", help="Labelling of a machine in place of the predictions.")
@click.option("--methods", is_flag=True, help="Print the methods paragraph as well.")
@click.option(
    "--replication",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Folder for a table and a script that print the same numbers; of one code.",
)
@common
@pass_shell
def estimate_(
    shell: Shell, labellings: tuple[str, ...], codes: tuple[str, ...], by: str, period: str | None,
    difference: tuple[str, str] | None, parts: bool, machine: str, methods: bool, replication: Path | None,
) -> None:  # fmt: skip
    """Estimate the share of codes from the labels in LABELLINGS and the machine's predictions.

    Three estimates with 95 % intervals: from people's sample alone, from the machine alone, and corrected for the
    machine's mistakes. Sampling probabilities are those of the samples that tasks gave to people.
    """
    with shell.store.reading() as r:
        records = [r.labellings.by_name(name) for name in labellings]
        study = open_study(r, records, r.labellings.by_name(machine) if machine else None)
        groups = groups_by(r, study, by, period or "") if by else [""] * len(study.ids)
    if unknown := [code for code in codes if code not in study.codes]:
        raise UnknownNameError("code", unknown[0], study.codes)
    chosen = codes or study.codes
    if replication is not None and len(chosen) != 1:
        raise click.UsageError("--replication is for one code; name it with --code.")
    found = {code: _found(study, code, groups, difference, parts) for code in chosen}
    text = table([_row(code, one) for code, rows in found.items() for one in rows])
    notes = [*study.holds, *study.notes]
    told = [*notes, *dict.fromkeys(note for rows in found.values() for one in rows for note in one.warnings)]
    if methods:
        for code, rows in found.items():
            told += ["", markdown(paragraphs(code, study.units(code), rows, study.coder, study.holds), REFERENCES)]
    if replication is not None:
        replication.mkdir(parents=True, exist_ok=True)
        files = replication_files(study.units(chosen[0]), groups, [str(id) for id in study.ids.tolist()], study.holds)
        for name, content in files.items():
            (replication / name).write_text(content, encoding="utf-8")
        told.append(f"Written: {', '.join(str(replication / name) for name in files)}")
    shell.show(
        {"codes": {code: [asdict(one) for one in rows] for code, rows in found.items()}, "notes": notes},
        "\n".join([text, *told]),
    )


def _found(
    study: Study, code: str, groups: list[str], pair: tuple[str, str] | None, parts: bool
) -> list[ShareEstimate]:
    units, of = study.units(code), np.array(groups)
    if pair is not None:
        for name in pair:
            if name not in groups:
                raise UnknownNameError("group", name, sorted({*groups} - {""}))
        return [difference(units, of == pair[0], of == pair[1], f"{pair[0]} – {pair[1]}")]
    if parts:
        return [composition(units, of == name, name) for name in sorted({*groups} - {""})]
    return estimates(units, groups) if any(groups) else [share(units)]


def _row(code: str, one: ShareEstimate) -> dict[str, Any]:
    ways = {"people": one.people, "machine": one.machine, "corrected": one.corrected}
    ways |= {"least": one.least, "most": one.most} if one.open else {}
    cells = {name: _cell(value) for name, value in ways.items()}
    if one.warnings == (COUNTED,):
        cells = {"units with the code": count_text(one), "checked": f"{one.checked:,}"}
        cells |= {"machine": _cell(one.machine)} if one.machine else {}
        return {"code": code, "group": one.name or "all", **cells}
    counts = {"sentences": one.units, "labels": one.labels} | ({"open": one.open} if one.open else {})
    return {"code": code, "group": one.name or "all", **cells, **counts}


def _cell(found: Estimate | None) -> str:
    if found is None:
        return "–"
    return f"{100 * found.value:.1f} % [{100 * found.low:.1f}, {100 * found.high:.1f}]"


@click.command("report")
@click.argument("corpus")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="File to write: .html, .docx (Word) or .md (Markdown).",
)
@click.option("--labelling", "names", multiple=True, help="Labelling to report (repeatable); default: all.")
@click.option("--long", is_flag=True, help="With shares by column, the map, and how the labellings were made.")
@click.option(
    "--methods",
    type=click.Choice(("markdown", "latex", "bibtex")),
    default=None,
    help="Print how the labellings were made, for the methods section of a paper, or its references.",
)
@common
@pass_shell
def report(
    shell: Shell, corpus: str, out: Path | None, names: tuple[str, ...], long: bool, methods: str | None
) -> None:
    """Write the report of CORPUS: question, data, codes or themes with intervals, agreement, method, limits."""
    from themescope.jobs.services.labelling.codebook import methods_section

    if (out is None) is (methods is None):
        raise click.UsageError("Give either --out or --methods.")
    with shell.store.reading() as r:
        record = r.corpora.by_name(corpus)
        labellings = [r.labellings.by_name(name) for name in names] or r.labellings.list(record.id)
    if methods is not None:
        text = methods_section(shell.store, [one.id for one in labellings], methods)
        shell.show({methods: text}, text.rstrip("\n"))
    elif out is not None:
        content = report_file(shell.store, record, labellings, out.suffix, long)
        out.write_bytes(content)
        shell.show({"written": str(out), "bytes": len(content)}, f"Written: {out}")


# `themescope sample`: a random or stratified sample of a corpus, as a task for people


@click.command("sample")
@click.argument("corpus")
@click.argument("task")
@click.option("--number", type=click.IntRange(min=1), default=None, help="Number of units to draw.")
@click.option("--person", "people", multiple=True, required=True, help="Who labels them (repeatable).")
@click.option("--maker", default="", help="Who makes the task; default: the first person.")
@click.option(
    "--overlap",
    type=click.FloatRange(0, 100),
    default=100,
    show_default=True,
    help="Percentage that everybody labels; each of the other units is labelled by one person.",
)
@click.option("--by", default="", metavar="COLUMN", help="Column whose values are the strata.")
@click.option("--equal", is_flag=True, help="The same number of each value; default: in proportion.")
@click.option(
    "--of",
    "given",
    multiple=True,
    metavar="VALUE=NUMBER",
    help="Units of a value of --by, instead of --number (repeatable).",
)
@click.option(
    "--where", multiple=True, metavar="COLUMN=VALUE", help="Draw only these (repeatable, values of one column)."
)
@click.option("--new-only", is_flag=True, help="Leave out sentences of earlier samples.")
@click.option("--outside", is_flag=True, help="Draw only sentences that earlier samples could not have drawn.")
@click.option("--codes", default="", metavar="LABELLING", help="Labelling whose codes and codebook people begin with.")
@click.option("--not-blind", is_flag=True, help="Show sections, suggestions and other people's labels.")
@seed_option("Seed of the draw and of the order.")
@common
@pass_shell
def sample(
    shell: Shell,
    corpus: str,
    task: str,
    number: int | None,
    people: tuple[str, ...],
    maker: str,
    overlap: float,
    by: str,
    equal: bool,
    given: tuple[str, ...],
    where: tuple[str, ...],
    new_only: bool,
    outside: bool,
    codes: str,
    not_blind: bool,
    seed: int,
) -> None:
    """Draw units of CORPUS at random and give them to people as TASK.

    A unit is what the corpus was imported by: sentence, paragraph or document. Everybody gets the units in a random
    order. The sampling probabilities are recorded with the task, and estimates are weighted by them.
    """
    names = tuple(dict.fromkeys(tidy(name) for name in people))
    chosen = [value.partition("=") for value in where]
    if len({column for column, _, _ in chosen}) > 1 or not all(sign for _, sign, _ in chosen):
        raise ConfigError("--where is COLUMN=VALUE, with the same column each time.")
    each = [value.rpartition("=") for value in given]
    if not all(sign and count.isdecimal() for _, sign, count in each) or (each and not by):
        raise ConfigError("--of is VALUE=NUMBER, of a value of the column that --by names.")
    if (number is None) != bool(each) or (equal and each):
        raise ConfigError("Give either --number or, for each value, --of.")
    allocation = Allocation.GIVEN if each else Allocation.EQUAL if equal else Allocation.PROPORTIONAL
    with shell.store.reading() as r:
        record = r.corpora.by_name(corpus)
        start = r.labellings.by_name(codes).id if codes else None
        form = SampleForm(
            number or 0,
            by=_column(r, record.id, by) if by else None,
            allocation=allocation,
            given=tuple((value, int(count)) for value, _, count in each),
            where=(_column(r, record.id, chosen[0][0]), tuple(value for _, _, value in chosen)) if chosen else None,
            new_only=new_only,
            outside=outside,
        )
    plan = DistributionPlan(names, overlap / 100 if len(names) > 1 else 0, len(names), Order.RANDOM, seed)
    made = tasks.make(
        shell.store,
        TaskForm(
            record.id, task, tidy(maker) or names[0], (), plan, blind=not not_blind, sample=form,
            start=tasks.START_CLUSTERS if codes else tasks.START_NOTHING, start_id=start,
        ),
    )  # fmt: skip
    drawn = DrawnSample.from_json(made.settings[SAMPLE])
    rows = [
        {"stratum": value or "–", f"{record.unit.value}s": units, "drawn": part, "probability": round(part / units, 6)}
        for value, units, part in drawn.strata
    ]
    text = f"{made.name}: {drawn.text()}\n\n{table(rows)}"
    shell.show({"task": made.name, "unit": record.unit.value, "sample": drawn.to_json(), "strata": rows}, text)


def _column(r: Unit, corpus_id: int, name: str) -> ColumnKey:
    """Return the column of a name, that of sentences where articles have one of the same name."""
    known = {column.name: (column.level.value, column.name) for column in r.columns.list(corpus_id)}
    if name not in known:
        raise UnknownNameError("column", name, [*known])
    return known[name]
