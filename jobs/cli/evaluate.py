"""`themescope evaluate scb`, `themescope evaluate triplets` and `themescope evaluate sick`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from core.clustering import REGISTRY as CLUSTERERS
from core.errors import ReadError
from core.metrics import REGISTRY as METRICS
from jobs.cli.resolve import MODEL_HELP, benchmark_for, looks_like_file, model_for
from jobs.cli.shell import Shell, common, pass_shell, settings_of, settings_option
from jobs.cli.tables import interval, table

METHODS = click.option("--method", "methods", multiple=True, required=True, help=f"{MODEL_HELP} (Repeat it.)")


@click.group()
def evaluate() -> None:
    """Measure models: clustering against sections, triplets, pairs of sentences, topics, or summaries."""


@evaluate.command()
@click.argument("source")
@METHODS
@click.option(
    "--clusterer", "clusterers", multiple=True, default=("iclust", "kmeans"), help="Id of a clusterer (repeatable)."
)
@click.option("--split", "splits", multiple=True, help="Split to take articles from; default: test.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of sampling and initialisation."
)
@settings_option("benchmark")
@common
@pass_shell
def scb(shell: Shell, source: str, methods: tuple[str, ...], clusterers: tuple[str, ...], **options: Any) -> None:
    """Cluster SOURCE (a published CSV file, a corpus or a benchmark) and compare the clusters with its sections."""
    from core.tasks.scb import ScbRules

    for clusterer in clusterers:
        CLUSTERERS.get(clusterer)
    rules = settings_of(ScbRules, options["pairs"])
    benchmark, corpus = benchmark_for(shell, source, options["splits"], rules, options["seed"])
    models = [model_for(shell, method, corpus) for method in methods]
    rows = [
        shell.run("cluster", {"benchmark": benchmark, "model": model, "clusterer": clusterer, "seed": options["seed"]})
        for model, clusterer in _combinations(models, clusterers)
    ]
    shell.show({"benchmark": benchmark, "corpus": corpus, "rows": rows}, _clustering_table(benchmark, rows))


@evaluate.command()
@click.argument("source")
@METHODS
@click.option("--split", type=click.Choice(("train", "validation", "test")), default="test", show_default=True)
@common
@pass_shell
def triplets(shell: Shell, source: str, methods: tuple[str, ...], split: str) -> None:
    """Measure triplet accuracy on SOURCE: a triplet set, or a CSV file with columns Sentence1, Sentence2, Sentence3."""
    corpus = ""
    if looks_like_file(source):
        if not Path(source).is_file():
            raise ReadError(source, "this file does not exist.")
        where: dict[str, str] = {"file": str(Path(source).absolute())}
    else:
        with shell.store.reading() as r:
            corpus = r.corpora.get(r.triplets.by_name(source).corpus_id).name
        where = {"triplets": source, "split": split}
    rows = [shell.run("evaluate-triplets", {"model": model_for(shell, method, corpus), **where}) for method in methods]
    shell.show({"source": source, "rows": rows}, _triplet_table(rows))


@evaluate.command()
@click.argument("source", type=click.Path(path_type=Path))
@METHODS
@click.option("--cosine", is_flag=True, help="Use the cosine alone, without a regressor trained on the training pairs.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the regressor.")
@common
@pass_shell
def sick(shell: Shell, source: Path, methods: tuple[str, ...], cosine: bool, seed: int) -> None:
    """Predict the relatedness of the sentence pairs of SOURCE: a folder with the files of SICK, or its full file."""
    args = {"sick": str(source.absolute()), "regressor": not cosine, "seed": seed}
    rows = [shell.run("evaluate-relatedness", {"model": model_for(shell, method), **args}) for method in methods]
    shell.show({"source": str(source), "rows": rows}, _pairs_table(rows))


def _combinations(models: Sequence[str], clusterers: Sequence[str]) -> list[tuple[str, str]]:
    """Return every pair of model and clusterer; clusterers that use no vectors appear once, without a model."""
    found = [("", c) for c in clusterers if "no-vectors" in CLUSTERERS.get(c).tags]
    return found + [(m, c) for m in models for c in clusterers if "no-vectors" not in CLUSTERERS.get(c).tags]


def _clustering_table(benchmark: str, rows: Sequence[Mapping[str, Any]]) -> str:
    titles = {card.id: card.title for card in METRICS}
    lines = [
        {"model": row["model"] or "–", "clusterer": row["clusterer"]}
        | {titles[id]: interval(row["scores"].get(id)) for id in titles}
        | {"seconds": row["seconds"]}
        for row in rows
    ]
    notes = [
        f"{row['model']} learned from {row['articles_seen_in_training']:,} of these articles; its scores are too high."
        for row in {row["model"]: row for row in rows}.values()
        if row["articles_seen_in_training"]
    ]
    articles = next(iter(rows[0]["scores"].values()))["n"] if rows and rows[0]["scores"] else 0
    return "\n".join([f"{benchmark}: means over {articles:,} articles with 95 % intervals", "", table(lines), *notes])


def _triplet_table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for row in rows:
        score = next(iter(row["scores"].values()))
        lines.append(
            {"model": row["model"], "accuracy": interval(score), "groups": score["n"], "seconds": row["seconds"]}
        )
    return table(lines)


def _pairs_table(rows: Sequence[Mapping[str, Any]]) -> str:
    titles = {"pearson": "Pearson r", "spearman": "Spearman ρ", "mse": "MSE"}
    return table(
        [
            {"model": row["model"]}
            | {title: interval(row["scores"].get(metric)) for metric, title in titles.items()}
            | {"seconds": row["seconds"]}
            for row in rows
        ]
    )
