"""`themescope evaluate`: measure models by clustering, triplets, sentence pairs, topics and summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.errors import ReadError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.jobs.cli.arguments import (
    MODEL_HELP,
    benchmark_for,
    looks_like_file,
    model_for,
    settings_of,
    settings_option,
)
from themescope.jobs.cli.shell import Shell, common, interval, pass_shell, seed_option, table
from themescope.jobs.common.models import find_model

METHODS = click.option("--method", "methods", multiple=True, required=True, help=f"{MODEL_HELP} (Repeat it.)")


@click.group()
def evaluate() -> None:
    """Measure models: clustering against sections, triplets, sentence pairs, topics, or summaries."""


@evaluate.command()
@click.argument("source")
@METHODS
@click.option(
    "--clusterer", "clusterers", multiple=True, default=("iclust", "kmeans"), help="Id of a clusterer (repeatable)."
)
@click.option("--split", "splits", multiple=True, help="Split to take articles from; default: test.")
@seed_option("Seed of sampling and initialisation.")
@settings_option("benchmark")
@common
@pass_shell
def scb(shell: Shell, source: str, methods: tuple[str, ...], clusterers: tuple[str, ...], **options: Any) -> None:
    """Cluster SOURCE (a published CSV file, a corpus or a benchmark) and compare the clusters with its sections."""
    from themescope.core.tasks.scb import ScbRules

    for clusterer in clusterers:
        CLUSTERERS.get(clusterer)
    rules = settings_of(ScbRules, options["pairs"])
    benchmark, corpus = benchmark_for(shell, source, options["splits"], rules, options["seed"])
    models = [model_for(shell, method, corpus) for method in methods]
    rows = [
        shell.run("cluster", {"benchmark": benchmark, "model": model, "clusterer": clusterer, "seed": options["seed"]})
        for model, clusterer in _combinations(models, clusterers)
    ]
    biased = [
        f"{row['model']} was trained on {row['articles_seen_in_training']:,} of these articles: its scores are biased."
        for row in {row["model"]: row for row in rows}.values()
        if row["articles_seen_in_training"]
    ]
    articles = next(iter(rows[0]["scores"].values()))["n"] if rows and rows[0]["scores"] else 0
    head = f"{benchmark}: means over {articles:,} articles with 95 % intervals"
    scores = _scores(rows, "model", "clusterer", titles={card.id: card.title for card in METRICS})
    shell.show({"benchmark": benchmark, "corpus": corpus, "rows": rows}, "\n".join([head, "", scores, *biased]))


@evaluate.command()
@click.argument("source")
@METHODS
@click.option("--split", type=click.Choice(("train", "validation", "test")), default="test", show_default=True)
@common
@pass_shell
def triplets(shell: Shell, source: str, methods: tuple[str, ...], split: str) -> None:
    """Measure triplet accuracy on SOURCE: a triplet set, or a CSV file with columns Sentence1, Sentence2, Sentence3.

    A model whose vectors depend on the article has a second row for a set, with the whole article as context.
    """
    from themescope.jobs.common.vectors import method_of

    corpus = ""
    if looks_like_file(source):
        if not Path(source).is_file():
            raise ReadError(source, "this file does not exist.")
        where: dict[str, Any] = {"file": str(Path(source).absolute())}
    else:
        with shell.store.reading() as r:
            corpus = r.corpora.get(r.triplets.by_name(source).corpus_id).name
        where = {"triplets": source, "split": split}
    models = [model_for(shell, method, corpus) for method in methods]
    rows = [shell.run("evaluate-triplets", {"model": model, **where}) for model in models]
    for model in models if corpus else ():
        if "per-article" in method_of(find_model(shell.store, model)).tags:
            rows.append(shell.run("evaluate-triplets", {"model": model, **where, "context": True}))
    lines = []
    for row in rows:
        score = next(iter(row["scores"].values()))
        lines.append(
            {
                "model": row["model"] + (", with the article" if row["context"] else ""),
                "accuracy": interval(score),
                "groups": score["n"],
                "seconds": row["seconds"],
            }
        )
    shell.show({"source": source, "rows": rows}, table(lines))


@evaluate.command()
@click.argument("source", type=click.Path(path_type=Path))
@METHODS
@click.option("--cosine", is_flag=True, help="Use the cosine alone, without a regressor trained on the training pairs.")
@seed_option("Seed of the regressor.")
@common
@pass_shell
def sick(shell: Shell, source: Path, methods: tuple[str, ...], cosine: bool, seed: int) -> None:
    """Predict the relatedness of the sentence pairs of SOURCE: a folder with the files of SICK, or its full file."""
    args = {"sick": str(source.absolute()), "regressor": not cosine, "seed": seed}
    rows = [shell.run("evaluate-relatedness", {"model": model_for(shell, method), **args}) for method in methods]
    titles = {"pearson": "Pearson r", "spearman": "Spearman ρ", "mse": "MSE"}
    shell.show({"source": str(source), "rows": rows}, _scores(rows, "model", titles=titles))


def _combinations(models: Sequence[str], clusterers: Sequence[str]) -> list[tuple[str, str]]:
    """Return every pair of model and clusterer; clusterers that use no vectors appear once, without a model."""
    found = [("", c) for c in clusterers if "no-vectors" in CLUSTERERS.get(c).tags]
    return found + [(m, c) for m in models for c in clusterers if "no-vectors" not in CLUSTERERS.get(c).tags]


def _scores(rows: Sequence[Mapping[str, Any]], *about: str, titles: Mapping[str, str] | None = None) -> str:
    """Return a table of results: what each is about, its scores (by default those of the first), and its time."""
    shown = titles or {name: name for name in rows[0]["scores"]}
    return table(
        [
            {name: row[name] or "–" for name in about}
            | {title: interval(row["scores"].get(name)) for name, title in shown.items()}
            | {"seconds": row["seconds"]}
            for row in rows
        ]
    )


@evaluate.command()
@click.argument("corpus")
@METHODS
@click.option(
    "--labels", help="Model or method whose vectors select the labelled sentences; default: the evaluated one."
)
@click.option("--tune", is_flag=True, help="Choose the classifier's C on the held-out documents.")
@click.option("--unit", is_flag=True, help="Normalise vectors to length 1 before clustering.")
@click.option("--part", type=click.Choice(("test", "validation")), default="test", show_default=True)
@seed_option("Seed of the clustering.")
@common
@pass_shell
def topics(shell: Shell, corpus: str, methods: tuple[str, ...], labels: str | None, **options: Any) -> None:
    """Predict the topics of the documents of CORPUS from single sentences, by classification and by clustering."""
    chosen_by = {"labels": model_for(shell, labels, corpus)} if labels else {}
    args = {"corpus": corpus, **chosen_by, **{name: options[name] for name in ("tune", "unit", "part", "seed")}}
    rows = [shell.run("evaluate-topics", {"model": model_for(shell, method, corpus), **args}) for method in methods]
    counts = ", ".join(f"{value:,} {name}" for name, value in rows[0]["counts"].items())
    stopped = [f"The classifier of {row['model']} did not converge." for row in rows if not row["converged"]]
    shell.show({"corpus": corpus, "rows": rows}, "\n".join([counts, "", _scores(rows, "model"), *stopped]))


@evaluate.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--method", "methods", multiple=True, help=f"For LexRank. {MODEL_HELP} (Repeat it.)")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    type=click.Choice([card.id for card in SUMMARIZERS if "vectors" not in card.tags]),
    help="Summarizer that needs no model (repeatable).",
)
@click.option(
    "--words", type=click.IntRange(min=1), default=100, show_default=True, help="Length of a summary in words."
)
@click.option("--keep-stop-words", is_flag=True, help="Count function words in ROUGE as well.")
@seed_option("Seed of the random order.")
@common
@pass_shell
def summaries(shell: Shell, source: Path, methods: tuple[str, ...], baselines: tuple[str, ...], **options: Any) -> None:
    """Summarise the documents of SOURCE and compare with reference summaries (ROUGE-1).

    SOURCE is a file of JSON lines, or a folder with documents/ and references/.
    """
    if not methods and not baselines:
        raise click.UsageError("Name at least one --method or --baseline.")
    args = {
        "documents": str(source.absolute()),
        "words": options["words"],
        "seed": options["seed"],
        "rouge": {"remove_stop_words": False} if options["keep_stop_words"] else {},
    }
    rows = [shell.run("evaluate-summaries", {"summarizer": baseline, **args}) for baseline in baselines]
    for method in methods:
        model = model_for(shell, method)
        rows.append(shell.run("evaluate-summaries", {"summarizer": "lexrank", "model": model, **args}))
    shell.show({"source": str(source), "rows": rows}, _scores(rows, "summarizer", "model"))
