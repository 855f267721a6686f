"""`themescope evaluate`, which measures models, and `themescope reproduce`, the tables of a paper."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.errors import ReadError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.papers import PAPERS
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.jobs.cli.arguments import (
    MODEL_HELP,
    benchmark_for,
    job_options,
    looks_like_file,
    model_for,
    settings_of,
)
from themescope.jobs.cli.main import FEW, Json, Shell, background, common, interval, pass_shell, seed_option, table
from themescope.jobs.common.models import find_model
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.queue.runner import resume_here

Measured = tuple[dict[str, Any], str]
"""What a measurement returns, and how it is printed."""


def _scb(shell: Shell, source: str, methods: Sequence[str], chosen: Json, given: Sequence[str]) -> Measured:
    """Cluster a benchmark, a corpus or a published CSV file, and compare the clusters with its sections."""
    from themescope.core.tasks.scb import ScbRules

    clusterers, seed = chosen["clusterers"], chosen["seed"]
    for clusterer in clusterers:
        CLUSTERERS.get(clusterer)
    benchmark, corpus = benchmark_for(shell, source, chosen["splits"], settings_of(ScbRules, given), seed)
    models = [model_for(shell, method, corpus) for method in methods]
    plain = [one for one in clusterers if "no-vectors" in CLUSTERERS.get(one).tags]
    pairs = [("", one) for one in plain] + [(model, one) for model in models for one in clusterers if one not in plain]
    rows = [
        shell.run("cluster", {"benchmark": benchmark, "model": model, "clusterer": clusterer, "seed": seed})
        for model, clusterer in pairs
    ]
    biased = [
        f"{row['model']} was trained on {row['articles_seen_in_training']:,} of these articles: its scores are biased."
        for row in {row["model"]: row for row in rows}.values()
        if row["articles_seen_in_training"]
    ]
    articles = next(iter(rows[0]["scores"].values()))["n"] if rows and rows[0]["scores"] else 0
    spread = "with 95 % intervals" if articles >= FEW else f"(fewer than {FEW}, so without intervals)"
    head = f"{benchmark}: means over {articles:,} articles {spread}"
    scores = _scores(rows, "model", "clusterer", titles={card.id: card.title for card in METRICS})
    return {"benchmark": benchmark, "corpus": corpus, "rows": rows}, "\n".join([head, "", scores, *biased])


def _triplets(shell: Shell, source: str, methods: Sequence[str], chosen: Json, given: Sequence[str]) -> Measured:
    """Measure triplet accuracy; a model whose vectors depend on the article has a second row with the whole article."""
    from themescope.jobs.common.vectors import method_of

    corpus, where = "", _settings("evaluate-triplets", given)
    if looks_like_file(source):
        if not Path(source).is_file():
            raise ReadError(source, "this file does not exist.")
        where["file"] = str(Path(source).absolute())
    else:
        with shell.store.reading() as r:
            corpus = r.corpora.get(r.triplets.by_name(source).corpus_id).name
        where |= {"triplets": source} | ({"split": chosen["splits"][0]} if chosen["splits"] else {})
    models = [model_for(shell, method, corpus) for method in methods]
    rows = [shell.run("evaluate-triplets", {"model": model, **where}) for model in models]
    for model in models if corpus else ():
        if "per-article" in method_of(find_model(shell.store, model)).tags:
            rows.append(shell.run("evaluate-triplets", {"model": model, **where, "context": True}))
    lines = []
    for row in rows:
        score = next(iter(row["scores"].values()))
        name = row["model"] + (", with the article" if row["context"] else "")
        lines.append({"model": name, "accuracy": interval(score), "groups": score["n"], "seconds": row["seconds"]})
    return {"source": source, "rows": rows}, table(lines)


def _sick(shell: Shell, source: str, methods: Sequence[str], chosen: Json, given: Sequence[str]) -> Measured:
    """Predict the relatedness of the sentence pairs of SICK."""
    if not Path(source).exists():
        raise ReadError(source, "this file does not exist.")
    args = {"sick": str(Path(source).absolute()), "seed": chosen["seed"], **_settings("evaluate-relatedness", given)}
    rows = [shell.run("evaluate-relatedness", {"model": model_for(shell, method), **args}) for method in methods]
    titles = {"pearson": "Pearson r", "spearman": "Spearman ρ", "mse": "MSE"}
    return {"source": source, "rows": rows}, _scores(rows, "model", titles=titles)


def _topics(shell: Shell, corpus: str, methods: Sequence[str], chosen: Json, given: Sequence[str]) -> Measured:
    """Predict the topics of documents from single sentences, by classification and by clustering."""
    args = {"corpus": corpus, "seed": chosen["seed"], **_settings("evaluate-topics", given)}
    if "labels" in args:
        args["labels"] = model_for(shell, args["labels"], corpus)
    rows = [shell.run("evaluate-topics", {"model": model_for(shell, method, corpus), **args}) for method in methods]
    counts = ", ".join(f"{value:,} {name}" for name, value in rows[0]["counts"].items())
    stopped = [f"The classifier of {row['model']} did not converge." for row in rows if not row["converged"]]
    return {"corpus": corpus, "rows": rows}, "\n".join([counts, "", _scores(rows, "model"), *stopped])


def _summaries(shell: Shell, source: str, methods: Sequence[str], chosen: Json, given: Sequence[str]) -> Measured:
    """Summarise documents by LexRank and baselines, and compare with reference summaries (ROUGE-1)."""
    args = {"documents": str(Path(source).absolute()), "seed": chosen["seed"], **_settings("evaluate-summaries", given)}
    rows = [shell.run("evaluate-summaries", {"summarizer": baseline, **args}) for baseline in chosen["baselines"]]
    for method in methods:
        model = model_for(shell, method)
        rows.append(shell.run("evaluate-summaries", {"summarizer": "lexrank", "model": model, **args}))
    return {"source": source, "rows": rows}, _scores(rows, "summarizer", "model")


def _settings(kind: str, given: Sequence[str]) -> dict[str, Any]:
    return settings_of(KINDS.get(kind).config_class(), given, complete=False)


def _scores(rows: Sequence[Mapping[str, Any]], *about: str, titles: Mapping[str, str] | None = None) -> str:
    """Return a table of results: what each is about, its scores (by default those of the first), and its time."""
    lines, shown = [], titles or {name: name for name in rows[0]["scores"]}
    for row in rows:
        scores = {title: interval(row["scores"].get(name)) for name, title in shown.items()}
        lines.append({name: row[name] or "–" for name in about} | scores | {"seconds": row["seconds"]})
    return table(lines)


_MEASURES: dict[str, Callable[[Shell, str, Sequence[str], Json, Sequence[str]], Measured]] = {
    "scb": _scb,
    "triplets": _triplets,
    "sick": _sick,
    "topics": _topics,
    "summaries": _summaries,
}


@click.command()
@click.argument("what", type=click.Choice(list(_MEASURES)))
@click.argument("source")
@click.option("--method", "methods", multiple=True, help=f"{MODEL_HELP} (Repeat it.)")
@click.option("--clusterer", "clusterers", multiple=True, default=("iclust", "kmeans"), help="For scb (repeatable).")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    type=click.Choice([card.id for card in SUMMARIZERS if "vectors" not in card.tags]),
    help="For summaries: summarizer that needs no model (repeatable).",
)
@click.option("--split", "splits", multiple=True, help="For scb and triplets: split to measure on; default: test.")
@seed_option("Seed of sampling and initialisation.")
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the measurement, see `list jobs --json`; for scb, a rule of the benchmark.",
)
@common
@pass_shell
def evaluate(
    shell: Shell, what: str, source: str, methods: tuple[str, ...], given: tuple[str, ...], **chosen: Any
) -> None:
    """Measure models: clustering against sections, triplets, sentence pairs, topics, or summaries.

    SOURCE is, for scb, a published CSV file, a corpus or a benchmark; for triplets, a set, or a CSV file with the
    columns Sentence1, Sentence2, Sentence3; for sick, a folder with the files of SICK, or its full file; for topics, a
    corpus; for summaries, a file of JSON lines, or a folder with documents/ and references/.
    """
    if not methods and not (what == "summaries" and chosen["baselines"]):
        raise click.UsageError("Name at least one --method" + (" or --baseline." if what == "summaries" else "."))
    shell.show(*_MEASURES[what](shell, source, methods, chosen, given))


# `themescope reproduce`: reproduce the tables of a paper


@click.command()
@click.argument("paper", type=click.Choice(list(PAPERS)))
@job_options(
    "reproduce",
    ["profile", "tables", "corpus", "data", "words", "triplets", "scb", "sick", "articles", "seeds", "replace"],
)
@click.option(
    "--document",
    type=click.Path(path_type=Path),
    help="Output file, written when all tables are computed, with their records beside it as JSON "
    "[docs/results-PAPER.md; docs/results-PAPER-PROFILE.md for another profile than full].",
)
@background
@common
@pass_shell
def reproduce(shell: Shell, paper: str, tables: tuple[str, ...], document: Path | None, **options: Any) -> None:
    """Reproduce the tables of PAPER and compare them with the published numbers. Stored results are reused."""
    name = f"results-{paper}.md" if options["profile"] == "full" else f"results-{paper}-{options['profile']}.md"
    written = (document or Path("docs") / name).absolute()
    args: dict[str, Any] = {"paper": paper, "tables": list(tables), "document": str(written)}
    args |= {name: value for name, value in options.items() if value}
    args |= {name: str(Path(args[name]).absolute()) for name in ("data", "triplets", "scb", "sick") if name in args}
    if shell.background:
        result = shell.run("reproduce", args)
        shell.show(result, f"Job {result['job']} is queued.")
        return
    result = resume_here(shell.store, "reproduce", args, quiet=shell.json and not sys.stderr.isatty())
    shell.show(result, _text(shell, result))


def _text(shell: Shell, result: dict[str, Any]) -> str:
    from themescope.core.papers import paper
    from themescope.jobs.papers.document import cell, heading

    texts = []
    for id in result["tables"]:
        with shell.store.reading() as r:
            record = r.papers.find(paper(result["paper"]).id, id, result["profile"])
        if record is None:
            texts.append("")
            continue
        content, columns = record.content, record.content["columns"]
        rows = [
            {"": row["title"]} | {column["title"]: cell(content, row, column) for column in columns}
            for row in content["rows"]
        ]
        texts.append(f"{heading(id, content['title'])}\n\n{table(rows)}")
    done = "All results were stored already."
    if not result["cached"]:
        done = f"{result['computed']:,} steps were computed, {result['reused']:,} were stored already."
    if result["rows_not_measured"]:
        missing = f"{result['rows_not_measured']} of {result['rows']} rows"
        done += f" {missing} could not be measured; the file has the reasons."
    return "\n\n".join([*texts, done, f"Written to {result['document']}"])
