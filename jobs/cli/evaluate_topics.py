"""`themescope evaluate topics` and `themescope evaluate summaries`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from core.tasks.summaries import REGISTRY as SUMMARIZERS
from jobs.cli.evaluate import METHODS
from jobs.cli.resolve import MODEL_HELP, model_for
from jobs.cli.shell import Shell, common, pass_shell
from jobs.cli.tables import interval, table


@click.command()
@click.argument("corpus")
@METHODS
@click.option(
    "--labels", help="Model or method whose vectors select the labelled sentences; default: the evaluated one."
)
@click.option("--tune", is_flag=True, help="Choose the classifier's C on the held-out documents.")
@click.option("--unit", is_flag=True, help="Normalise vectors to length 1 before clustering.")
@click.option("--part", type=click.Choice(("test", "validation")), default="test", show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the clustering.")
@common
@pass_shell
def topics(shell: Shell, corpus: str, methods: tuple[str, ...], labels: str | None, **options: Any) -> None:
    """Predict the topics of the documents of CORPUS from single sentences, by classification and by clustering."""
    chosen_by = {"labels": model_for(shell, labels, corpus)} if labels else {}
    args = {"corpus": corpus, **chosen_by, **{name: options[name] for name in ("tune", "unit", "part", "seed")}}
    rows = [shell.run("evaluate-topics", {"model": model_for(shell, method, corpus), **args}) for method in methods]
    shell.show({"corpus": corpus, "rows": rows}, _topics_table(rows))


@click.command()
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
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random order.")
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
    shell.show({"source": str(source), "rows": rows}, _summaries_table(rows))


def _topics_table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0]["scores"])
    lines = [
        {"model": row["model"]} | {n: interval(row["scores"].get(n)) for n in names} | {"seconds": row["seconds"]}
        for row in rows
    ]
    counts = ", ".join(f"{value:,} {name}" for name, value in rows[0]["counts"].items())
    stopped = [f"The classifier of {row['model']} stopped before it converged." for row in rows if not row["converged"]]
    return "\n".join([counts, "", table(lines), *stopped])


def _summaries_table(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        [
            {"summarizer": row["summarizer"], "model": row["model"] or "–"}
            | {name: interval(score) for name, score in row["scores"].items()}
            | {"seconds": row["seconds"]}
            for row in rows
        ]
    )
