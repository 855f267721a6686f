"""Command line, which runs the same jobs as the pages in the foreground."""

from __future__ import annotations

import os

# Waiting OpenMP threads must not occupy a core that another process needs: with two processes on two cores, 2.4 s
# became 18 s. Torch reads this when it is imported, so it is set first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import click

from themescope.jobs.cli.shell import Commands, DeferredCommand

COMMANDS = {
    "import": (
        "imports:import_",
        "Import FILES as a new corpus, or the bundle that `export bundle` wrote, with its labellings.",
    ),
    "append": ("imports:append", "Add FILES to a corpus as a wave."),
    "edit": (
        "imports:edit",
        "Remove a wave or articles of CORPUS, or correct a text; without an option, list what was edited.",
    ),
    "sample": ("estimates:sample", "Draw units of CORPUS at random and give them to people as TASK."),
    "triplets": (
        "work:triplets",
        "Sample weakly labelled triplets from CORPUS, or import a CSV or JSON lines file with the columns pivot, "
        "positive and negative.",
    ),
    "train": ("work:train", "Fit METHOD and store it as a model."),
    "add-model": (
        "work:add_model",
        "Add the saved model, or the sentence-transformers encoder, in FOLDER to the store.",
    ),
    "embed": ("lists_of_sentences:embed", "Compute the vectors of SOURCE."),
    "similar": ("lists_of_sentences:similar", "Find the nearest neighbours of SENTENCE in a corpus or a file."),
    "cluster": (
        "lists_of_sentences:cluster",
        "Find the themes of SOURCE: a file, written with a theme for each sentence to --out, or a corpus.",
    ),
    "estimate": (
        "estimates:estimate",
        "Estimate the share of codes from the labels in LABELLINGS and the machine's predictions.",
    ),
    "report": (
        "estimates:report",
        "Write the report of CORPUS: question, data, codes or themes with intervals, agreement, method, limits.",
    ),
    "evaluate": (
        "evaluate:evaluate",
        "Measure models: clustering against sections, triplets, sentence pairs, topics, or summaries.",
    ),
    "reproduce": ("evaluate:reproduce", "Reproduce the tables of PAPER and compare them with the published numbers."),
    "map": ("work:map_", "Compute a map of CORPUS, or of some of its articles."),
    "list": (
        "lists:list_",
        "List what is registered (methods, clusterers, readers, metrics, summarizers, kinds of jobs) or stored.",
    ),
    "labels": ("labels:labels", "Export and import labellings, or let a language model code sentences."),
    "export": ("work:export", "Write a corpus as a bundle or a Hugging Face dataset, or a model into a folder."),
    "mcp": (
        "administration:mcp",
        "Serve a program, such as a language model, on standard input and output (Model Context Protocol).",
    ),
    "people": ("administration:people_", "Manage accounts and roles (viewer, labeller, admin)."),
    "jobs": ("jobs:jobs_", "Run, list, follow, cancel and retry jobs; queue the demo."),
    "worker": ("administration:worker", "Run queued jobs until stopped."),
    "backup": (
        "administration:backup",
        "Write a backup of the whole store to the new FILE, while people work, and compare it with its checksums.",
    ),
    "restore": (
        "administration:restore",
        "Restore the backup FILE into an empty data folder and an empty database, and compare it with its checksums.",
    ),
    "doctor": (
        "administration:doctor",
        "Check the installation: Python, packages, store, queue, worker, disk, word vectors.",
    ),
}
"""Function in a module of this package, and the first sentence of its help, by name of the command."""


def _show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from themescope.jobs.common.results import code_version

        click.echo(f"themescope, version {code_version()}")
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Train, cluster with and evaluate sentence embeddings for thematic clustering.

    Settings come from the environment: THEMESCOPE_HOME (data folder), DATABASE_URL.
    """


for name, (function, summary) in COMMANDS.items():
    main.add_command(DeferredCommand(name, f"{__package__}.{function}", summary))

if __name__ == "__main__":
    main()
