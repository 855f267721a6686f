"""`themescope labels`: export and import labellings, or let a language model code sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import click

from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.estimates.report import REFERENCES, count_text, estimates, paragraphs, replication_files
from themescope.core.estimates.shares import COUNTED, ShareEstimate
from themescope.core.labelling.markup import markdown
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.metrics.statistics import PERIODS
from themescope.core.types import Estimate
from themescope.db.records import NewLabelling
from themescope.jobs.cli.arguments import FORM, check_out, form_of, job_options, write
from themescope.jobs.cli.main import Several, Shell, command, pairs, table
from themescope.jobs.common.language_models import KIND, CodingRequest, Endpoint, estimate, newest_result, plan_of
from themescope.jobs.common.models import language_of_file
from themescope.jobs.services import tasks
from themescope.jobs.services.estimates import groups_by, open_study
from themescope.jobs.services.importing import LEFT_OUT, plan_codings
from themescope.jobs.services.labelling import files, qda_projects
from themescope.jobs.services.labelling.tables import LabelReading
from themescope.jobs.services.people import tidy
from themescope.jobs.services.report import report_file
from themescope.jobs.services.samples import SAMPLE, DrawnSample, SampleForm
from themescope.jobs.services.table_files import csv_text, excel_bytes, file_content, parquet_bytes
from themescope.jobs.services.tasks import TaskForm

_SHOWN = 20
Pair = tuple[str, str] | None
_COUNTS = ("coded", "no_code", "invented", "unusable", "failed", "examples", "requests", "known", "seconds")
_OF_OTHERS = {files.LABEL_STUDIO: files.label_studio, files.DOCCANO: files.doccano}


@click.group("labels")
def labels() -> None:
    """Export and import labellings, or let a language model code sentences."""


@command(labels)
def export(
    shell: Shell,
    name: str,
    file: Path,
    format: Annotated[str | None, "The current state for another program.", click.Choice([*_OF_OTHERS])] = None,
) -> None:
    """Write the labelling NAME into FILE.

    .jsonl contains the whole history with its people, and can be imported again; .csv, .xlsx and .parquet contain the
    current state. CSV and Excel are safe for spreadsheets, the others are unchanged.
    """
    ending = check_out(file, "Labellings", [file.suffix.lower()] if format else [".jsonl", *_TABLES])
    with shell.store.reading() as r:
        record = r.labellings.by_name(name)
    if ending in _TABLES and not format:
        rows = files.rows(shell.store, record.id)
        write(file, file_content(shell.store, record.corpus_id, _TABLES[ending], files.HEADER, rows))
    else:
        write(file, (_OF_OTHERS[format] if format else files.export_lines)(shell.store, record.id))
    shell.show({"file": str(file), "sentences": record.sentences}, f"{record.sentences:,} sentences in {file}.")


_TABLES: dict[str, Callable[..., Any]] = {
    ".csv": csv_text,
    ".xlsx": partial(excel_bytes, title="labels"),
    ".parquet": parquet_bytes,
}


@command(labels, more=FORM)
def import_(
    shell: Shell,
    file: Path,
    corpus: Annotated[str, "Corpus of the sentences."],
    article: Annotated[str, "Title of the article, if all sentences are from one."] = "",
    name: Annotated[str, "Name of the new labelling; default: the file name."] = "",
    person: Annotated[str, "Owner of the labelling."] = "",
    cluster: Annotated[str, "--cluster COLUMN", "Column of the cluster."] = "",
    id: Annotated[str, "--id COLUMN", "Column of the sentence's id."] = "",
    text: Annotated[str, "--text COLUMN", "Column of the exact sentence text."] = "",
    note: Annotated[str, "--note COLUMN", "Column of a note."] = "",
    theme: Annotated[str, "--theme COLUMN", "Column of the theme of the cluster."] = "",
    together: Annotated[bool, "Assign all sentences that have the same text."] = False,
    several: Annotated[bool, "Of several rows for one sentence, keep the codes of all."] = False,
    machine: Annotated[bool, "A program made the labels: nothing is learned from them."] = False,
    skip: Annotated[bool, "Skip rows or passages without a sentence; otherwise nothing is imported."] = False,
    problems: Annotated[Path | None, "CSV file for the rows that match no sentence."] = None,
    texts: Annotated[bool, "Import the texts of a REFI-QDA project as a new corpus first."] = False,
    dry_run: Annotated[bool, "Show what would be imported, without importing it."] = False,
    **form: Any,
) -> None:
    """Import labels from FILE (csv, tsv, xlsx, ods, json, jsonl) with a sentence and its cluster in each row.

    An exported labelling (.jsonl) is imported with its history. Columns that are not given are recognised by name,
    also those that say who made a label: source (human, machine or imported), coder and probability. Of BERTopic, the
    table of get_document_info() and the folder of a saved model are accepted, and so are the exports of Label Studio,
    doccano, Argilla, Potato, Prodigy, CATMA, QualCoder, MAXQDA and Taguette. Several labels of a cell are several
    codes. Where several annotators judged the same sentences, each has a labelling, named after them; a ZIP file may
    have a table of each.

    A REFI-QDA project (.qdpx) is imported with its codebook, notes and coded sentences.
    """
    if texts:
        with TemporaryDirectory() as folder:
            qda_projects.write_texts(file, out := Path(folder) / f"{file.stem}.jsonl")
            args = {"files": [str(out)], "corpus": corpus, "language": language_of_file(out, "")}
            shell.run("import-corpus", args)
    with shell.store.reading() as r:
        record = r.corpora.by_name(corpus)
        titled = r.corpora.articles_by_title(record.id, article) if article else []
        if article and not titled:
            raise UnknownNameError("article", article, [a.title for a in r.corpora.articles(record.id, search=article)])
    if len(titled) > 1:
        raise DataError(f"{len(titled)} articles are called {article!r}. Leave --article out.")
    article_id = titled[0].id if titled else None
    named = {"cluster": cluster, "note": note, "theme": theme}
    columns = {key: column for key, column in named.items() if column}
    if id or text:
        columns |= {"id": id, "text": text}
    how = LabelReading(columns, together, several, bool(cluster), form_of(form))
    found = plan_codings(shell.store, record, file, article_id, how)
    counts: dict[str, Any] = {**found.counts()}
    left = found.left_out()
    if problems and left:
        write(problems, csv_text(LEFT_OUT, left))
    if not dry_run:
        if not skip:
            found.check_whole()
        new = NewLabelling(record.id, name or found.name, person, article_id=article_id)
        counts["labelling"] = ", ".join(one.name for one in found.begin(shell.store, new, machine or None))
    told = [f"{place}: {reason}: {text}" for place, text, _, reason in left]
    more = [f"… and {len(told) - _SHOWN:,} more (all with --json)"] if len(told) > _SHOWN else []
    shell.show(
        counts | {"left_out": [dict(zip(LEFT_OUT, one, strict=True)) for one in left], "remarks": found.remarks()},
        "\n".join([pairs(counts), *found.remarks(), *told[:_SHOWN], *more]).rstrip(),
    )


_SETTINGS = ["sentences", "limit", "batch", "instructions", "name", "person", "timeout", "parallel", "seed"]


@command(labels, more=job_options(KIND, _SETTINGS), queued=True)
def code(
    shell: Shell,
    labelling: str,
    send: Annotated[bool, "Send the texts; without it, they are only shown."] = False,
    prices: Annotated[tuple[float, float], "Prices of a million tokens read and written."] = (0, 0),
    **options: Any,
) -> None:
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
    parts = [f"“{result['labelling']}”", pairs({name.replace("_", " "): result[name] for name in _COUNTS})]
    if "prompts" in result:
        shown = [{"instructions": row["instructions"], "accuracy": round(row["value"], 3)} for row in result["prompts"]]
        chosen = result["cross_validated"]
        told = f"Best: {result['best'] + 1}. Cross-validated accuracy of choosing the best: {chosen['value']:.3f} "
        parts += [table(shown), f"{told}[{chosen['low']:.3f}, {chosen['high']:.3f}]"]
    parts += [f"{problem['reason']}: {problem['sentence']:.80}" for problem in result["problems"]]
    shell.show(result, "\n".join(parts))


# Commands `sample`, `estimate` and `report`: a sample as a task, shares of codes, a project as a document


@command()
def estimate_(
    shell: Shell,
    labellings: tuple[str, ...],
    codes: Annotated[Several, "Code to estimate; default: all."] = (),
    by: Annotated[str, "--by COLUMN", "Column of groups: categories, or dates by period."] = "",
    period: Annotated[str | None, "Period of dates; default: one that suits.", click.Choice(PERIODS)] = None,
    pair: Annotated[Pair, "--difference GROUP GROUP", "Share in the first minus the second."] = None,
    parts: Annotated[bool, "--composition", "Part of each group among the sentences with the code."] = False,
    machine: Annotated[str, "--machine LABELLING", "Labelling of a machine in place of the predictions."] = "",
    methods: Annotated[bool, "Print the methods paragraph as well."] = False,
    replication: Annotated[
        Path | None, "Folder for a table and a script that print the same numbers; of one code."
    ] = None,
) -> None:
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
    found = {code: estimates(study.units(code), groups, pair, parts) for code in chosen}
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


@command()
def report(
    shell: Shell,
    corpus: str,
    out: Annotated[Path | None, "File to write: .html, .docx (Word) or .md (Markdown)."] = None,
    names: Annotated[Several, "--labelling", "Labelling to report; default: all."] = (),
    long: Annotated[bool, "With shares by column, the map, and how the labellings were made."] = False,
    methods: Annotated[
        Literal["markdown", "latex", "bibtex"] | None,
        "Print how the labellings were made, for the methods section of a paper, or its references.",
    ] = None,
) -> None:
    """Write the report of CORPUS: question, data, codes or themes, agreement, method, limits."""
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
        write(out, content)
        shell.show({"written": str(out), "bytes": len(content)}, f"Written: {out}")


# `themescope sample`: a random or stratified sample of a corpus, as a task for people


@command()
def sample(
    shell: Shell,
    corpus: str,
    task: str,
    people: Annotated[Several, "--person", "Who labels them."],
    number: Annotated[int | None, "Number of units to draw.", click.IntRange(min=1)] = None,
    maker: Annotated[str, "Who makes the task; default: the first person."] = "",
    overlap: Annotated[
        float, "Percentage that everybody labels; others have one person.", click.FloatRange(0, 100)
    ] = 100,
    by: Annotated[str, "--by COLUMN", "Column whose values are the strata."] = "",
    equal: Annotated[bool, "The same number of each value; default: in proportion."] = False,
    each: Annotated[Several, "--of VALUE=NUMBER", "Units of a value of --by, instead of --number."] = (),
    where: Annotated[Several, "--where COLUMN=VALUE", "Draw only these values of one column."] = (),
    new_only: Annotated[bool, "Leave out sentences of earlier samples."] = False,
    outside: Annotated[bool, "Draw only sentences that earlier samples could not have drawn."] = False,
    codes: Annotated[str, "--codes LABELLING", "Labelling whose codes and codebook people begin with."] = "",
    not_blind: Annotated[bool, "Show sections, suggestions and other people's labels."] = False,
    seed: Annotated[int, "Seed of the draw and of the order.", click.IntRange(min=0)] = 0,
) -> None:
    """Draw units of CORPUS at random and give them to people as TASK.

    A unit is what the corpus was imported by: sentence, paragraph or document. Everybody gets the units in a random
    order. The sampling probabilities are recorded with the task, and estimates are weighted by them.
    """
    names = tuple(dict.fromkeys(tidy(name) for name in people))
    chosen = [value.partition("=") for value in where]
    if len({column for column, _, _ in chosen}) > 1 or not all(sign for _, sign, _ in chosen):
        raise ConfigError("--where is COLUMN=VALUE, with the same column each time.")
    given = [value.rpartition("=") for value in each]
    if not all(sign and count.isdecimal() for _, sign, count in given) or (given and not by):
        raise ConfigError("--of is VALUE=NUMBER, of a value of the column that --by names.")
    if (number is None) != bool(given) or (equal and given):
        raise ConfigError("Give either --number or, for each value, --of.")
    with shell.store.reading() as r:
        record = r.corpora.by_name(corpus)
        start = r.labellings.by_name(codes).id if codes else None
        # Of two columns of one name, that of sentences is meant.
        keys = {column.name: (column.level.value, column.name) for column in r.columns.list(record.id)}
        if unknown := [name for name in (by, *(name for name, _, _ in chosen[:1])) if name and name not in keys]:
            raise UnknownNameError("column", unknown[0], [*keys])
        form = SampleForm(
            number or 0,
            by=keys.get(by),
            allocation=Allocation.GIVEN if given else Allocation.EQUAL if equal else Allocation.PROPORTIONAL,
            given=tuple((value, int(count)) for value, _, count in given),
            where=(keys[chosen[0][0]], tuple(value for _, _, value in chosen)) if chosen else None,
            new_only=new_only,
            outside=outside,
        )
    plan = DistributionPlan(names, overlap / 100 if len(names) > 1 else 0, len(names), Order.RANDOM, seed)
    what = TaskForm(record.id, task, tidy(maker) or names[0], (), plan, blind=not not_blind, sample=form)
    if codes:
        what = replace(what, start=tasks.START_CLUSTERS, start_id=start)
    made = tasks.make(shell.store, what)
    drawn, unit = DrawnSample.from_json(made.settings[SAMPLE]), record.unit.value
    rows = [
        {"stratum": value or "–", f"{unit}s": units, "drawn": part, "probability": round(part / units, 6)}
        for value, units, part in drawn.strata
    ]
    shown = {"task": made.name, "unit": unit, "sample": drawn.to_json(), "strata": rows}
    shell.show(shown, f"{made.name}: {drawn.text()}\n\n{table(rows)}")
