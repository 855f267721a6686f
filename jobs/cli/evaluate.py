"""`themescope evaluate`, which measures models, and `themescope reproduce`, the tables of a paper."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import click

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.papers import PAPERS
from themescope.core.papers import paper as paper_of
from themescope.core.tasks.scb import ScbRules
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.types import Split
from themescope.jobs.cli.arguments import (
    MODEL_HELP,
    existing,
    is_file,
    job_options,
    model_for,
    settings_of,
    settings_option,
)
from themescope.jobs.cli.main import Json, Seed, Several, Shell, command, table
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import method_of
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.papers.document import cell, heading
from themescope.jobs.papers.sources import corpus_of
from themescope.jobs.queue.runner import resume_here

FEW = 10
"""Number of groups below which the interval of a bootstrap over them is too narrow to be shown."""
Measured = tuple[dict[str, Any], str]
"""What a measurement returns, and how it is printed."""


def _scb(shell: Shell, source: str, methods: Sequence[str], chosen: Json, given: Sequence[str]) -> Measured:
    """Cluster a benchmark, a corpus or a published CSV file, and compare the clusters with its sections."""
    tags = {clusterer: CLUSTERERS.get(clusterer).tags for clusterer in chosen["clusterers"]}
    benchmark, corpus = _benchmark(shell, source, chosen["splits"], settings_of(ScbRules, given), chosen["seed"])
    models = [model_for(shell, method, corpus) for method in methods]
    pairs = [("", one) for one in tags if "no-vectors" in tags[one]]
    pairs += [(model, one) for model in models for one in tags if "no-vectors" not in tags[one]]
    args = {"benchmark": benchmark, "seed": chosen["seed"]}
    rows = [shell.run("cluster", {**args, "model": model, "clusterer": clusterer}) for model, clusterer in pairs]
    biased = [
        f"{model} was trained on {seen:,} of these articles: its scores are biased."
        for model, seen in {row["model"]: row["articles_seen_in_training"] for row in rows}.items()
        if seen
    ]
    articles = next(iter(rows[0]["scores"].values()))["n"] if rows and rows[0]["scores"] else 0
    spread = "with 95 % intervals" if articles >= FEW else f"(fewer than {FEW}, so without intervals)"
    head = f"{benchmark}: means over {articles:,} articles {spread}"
    scores = _scores(rows, "model", "clusterer", titles={card.id: card.title for card in METRICS})
    return {"benchmark": benchmark, "corpus": corpus, "rows": rows}, "\n".join([head, "", scores, *biased])


def _benchmark(
    shell: Shell, source: str, splits: Sequence[str], rules: Mapping[str, Any], seed: int
) -> tuple[str, str]:
    """Return (benchmark, corpus) for a published CSV file, a corpus or a benchmark; build it if missing."""
    with shell.store.reading() as r:
        known = next((b for b in r.benchmarks.list() if b.name == source), None)
        if known is not None:
            return source, r.corpora.get(known.corpus_id).name
    corpus = source
    if is_file(source):
        corpus = corpus_of(shell.store, partial(shell.run, here=True), [Path(source)], Path(source).stem, "scb-csv")
        rules, splits = {"as_given": True}, [split.value for split in Split]
    with shell.store.reading() as r:
        name = r.benchmarks.usable_name(f"{corpus} benchmark")
    args: dict[str, object] = {"corpus": corpus, "name": name, "rules": rules, "seed": seed}
    args |= {"splits": list(splits)} if splits else {}
    return str(shell.run("build-benchmark", args, here=True)["benchmark"]), corpus


def _triplets(shell: Shell, source: str, methods: Sequence[str], chosen: Json, given: Sequence[str]) -> Measured:
    """Measure triplet accuracy; a model whose vectors depend on the article has a second row with the whole article."""
    corpus, where = "", _settings("evaluate-triplets", given)
    if is_file(source):
        where["file"] = existing(source)
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
    args = {"sick": existing(source), "seed": chosen["seed"], **_settings("evaluate-relatedness", given)}
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
    each = [{"summarizer": baseline} for baseline in chosen["baselines"]]
    each += [{"summarizer": "lexrank", "model": model_for(shell, method)} for method in methods]
    rows = [shell.run("evaluate-summaries", {**args, **one}) for one in each]
    return {"source": source, "rows": rows}, _scores(rows, "summarizer", "model")


def _settings(kind: str, given: Sequence[str]) -> dict[str, Any]:
    return settings_of(KINDS.get(kind).config_class(), given, complete=False)


def interval(score: Mapping[str, Any] | None) -> str:
    """Return ``.512 [.498, .527]``, or a dash without a score.

    The value stands alone without an interval, and where it is one of fewer than :data:`FEW` articles or other groups.
    """
    if score is None:
        return "–"
    if score["low"] is None or score["n"] < FEW:
        return f"{score['value']:.3f}"
    return f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


def _scores(rows: Sequence[Mapping[str, Any]], *about: str, titles: Mapping[str, str] | None = None) -> str:
    """Return a table of results: what each is about, its scores (by default those of the first), and its time."""
    lines, shown = [], titles or {name: name for name in rows[0]["scores"]}
    for row in rows:
        scores = {title: interval(row["scores"].get(name)) for name, title in shown.items()}
        lines.append({name: row[name] or "–" for name in about} | scores | {"seconds": row["seconds"]})
    return table(lines)


_MEASURES = {"scb": _scb, "triplets": _triplets, "sick": _sick, "topics": _topics, "summaries": _summaries}
_BASELINES = [card.id for card in SUMMARIZERS if "vectors" not in card.tags]


@command(more=[settings_option("measurement, see `list jobs --json`; for scb, a rule of the benchmark")])
def evaluate(
    shell: Shell,
    what: Annotated[str, click.Choice([*_MEASURES])],
    source: str,
    methods: Annotated[Several, MODEL_HELP] = (),
    clusterers: Annotated[Several, "For scb."] = ("iclust", "kmeans"),
    baselines: Annotated[Several, "For summaries: summarizer that needs no model.", click.Choice(_BASELINES)] = (),
    splits: Annotated[Several, "For scb and triplets: split to measure on; default: test."] = (),
    seed: Seed = 0,
    **given: Any,
) -> None:
    """Measure models: clustering against sections, triplets, sentence pairs, topics, or summaries.

    SOURCE is, for scb, a published CSV file, a corpus or a benchmark; for triplets, a set, or a CSV file with the
    columns Sentence1, Sentence2, Sentence3; for sick, a folder with the files of SICK, or its full file; for topics, a
    corpus; for summaries, a file of JSON lines, or a folder with documents/ and references/.
    """
    if not methods and not (what == "summaries" and baselines):
        raise click.UsageError("Name at least one --method" + (" or --baseline." if what == "summaries" else "."))
    chosen = {"clusterers": clusterers, "baselines": baselines, "splits": splits, "seed": seed}
    shell.show(*_MEASURES[what](shell, source, methods, chosen, given["pairs"]))


# `themescope reproduce`: reproduce the tables of a paper


_SETTINGS = ["profile", "tables", "corpus", "data", "words", "triplets", "scb", "sick", "articles", "seeds", "replace"]


@command(more=job_options("reproduce", _SETTINGS), queued=True)
def reproduce(
    shell: Shell,
    paper: Annotated[str, click.Choice([*PAPERS])],
    document: Annotated[Path | None, "Output file; default: docs/results-PAPER.md."] = None,
    **options: Any,
) -> None:
    """Reproduce the tables of PAPER and compare them with the published numbers. Stored results are reused.

    The document is written when all tables are computed, with their records beside it as JSON. The profile is part of
    its default name, except full.
    """
    name = f"results-{paper}.md" if options["profile"] == "full" else f"results-{paper}-{options['profile']}.md"
    written = (document or Path("docs") / name).absolute()
    args: dict[str, Any] = {"paper": paper, "document": str(written)}
    args |= {name: [*one] if isinstance(one, tuple) else one for name, one in options.items() if one}
    args |= {name: str(Path(args[name]).absolute()) for name in ("data", "triplets", "scb", "sick") if name in args}
    if shell.background:
        result = shell.run("reproduce", args)
        shell.show(result, f"Job {result['job']} is queued.")
        return
    result = resume_here(shell.store, "reproduce", args, quiet=shell.json and not sys.stderr.isatty())
    texts = []
    with shell.store.reading() as r:
        for id in result["tables"]:
            if record := r.papers.find(paper_of(paper).id, id, result["profile"]):
                content = record.content
                rows = [
                    {"": row["title"], **{one["title"]: cell(content, row, one) for one in content["columns"]}}
                    for row in content["rows"]
                ]
                texts.append(f"{heading(id, content['title'])}\n\n{table(rows)}")
    done = "All results were stored already."
    if not result["cached"]:
        done = f"{result['computed']:,} steps were computed, {result['reused']:,} were stored already."
    if result["rows_not_measured"]:
        missing = f"{result['rows_not_measured']} of {result['rows']} rows"
        done += f" {missing} could not be measured; the file has the reasons."
    shell.show(result, "\n\n".join([*texts, done, f"Written to {result['document']}"]))
