"""`themescope labels`: export and import labellings, or let a language model code sentences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.records.stored import CorpusRecord, LabellingRecord
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.cli.arguments import form_of, form_options, job_options
from themescope.jobs.cli.shell import Shell, background, common, pairs, pass_shell, table
from themescope.jobs.common.files import check_target, whole
from themescope.jobs.common.language_models.coding import KIND, CodingRequest, estimate, newest_result, plan_of
from themescope.jobs.common.language_models.requests import Endpoint
from themescope.jobs.common.models import language_of_file
from themescope.jobs.services.importing import LEFT_OUT, LabelReading, plan_codings
from themescope.jobs.services.labelling import files, qda_projects
from themescope.jobs.services.table_files import csv_text, excel_bytes, file_content, parquet_bytes

_SHOWN = 20
_COUNTS = {
    "coded": "sentences coded", "no_code": "that no code fits", "invented": "with a code that is not in the codebook",
    "unusable": "without a usable answer", "failed": "not asked or not answered",
    "examples": "left out as examples of the prompt", "requests": "requests sent", "known": "answers kept from before",
    "seconds": "seconds",
}  # fmt: skip
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
            "endpoint": endpoint.url, "model": endpoint.model,
            "requests": found.requests, "requests at most": found.most,
            "texts": len(plan.texts), "left out as examples": plan.examples, "tokens read, about": found.read,
            "tokens written, about": found.written,
            "seconds, about": "unknown before the first job" if found.seconds is None else round(found.seconds),
        }  # fmt: skip
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
