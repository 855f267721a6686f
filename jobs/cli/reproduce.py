"""`themescope reproduce`: reproduce the tables of a paper."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from themescope.core.papers import PAPERS
from themescope.jobs.cli.shell import Shell, background, common, pass_shell, table
from themescope.jobs.queue.foreground import resume_here

if TYPE_CHECKING:
    from themescope.core.papers.spec import Paper

_PATH = click.Path(exists=True, path_type=Path)


@click.command()
@click.argument("paper", type=click.Choice(list(PAPERS)))
@click.option("--profile", default="quick", show_default=True, help="Computational effort: quick, full, …")
@click.option("--table", "tables", multiple=True, help="Table to reproduce (repeatable); default: all.")
@click.option("--corpus", default="", help="Name of a corpus in the store; default: the data folder's articles.")
@click.option("--data", type=_PATH, help="Folder with data sets: wikipedia/articles, vectors, sick.")
@click.option("--words", default="", help="Table of word vectors for running text: an id or a file.")
@click.option("--triplets", type=_PATH, help="Folder with your copy of the published triplets (CSV), or the test file.")
@click.option("--scb", type=_PATH, help="Your copy of the published clustering benchmark (CSV).")
@click.option("--sick", type=_PATH, help="Your copy of SICK.")
@click.option("--queue-trainings", is_flag=True, help="Queue the trainings as jobs, so that other workers take part.")
@click.option("--articles", type=click.IntRange(min=1), help="Maximum number of evaluated articles of each data set.")
@click.option("--seeds", type=click.IntRange(min=0), help="Number of seeds of random steps.")
@click.option(
    "--document", type=click.Path(path_type=Path),
    help="Output file, written when all tables are computed, with their records beside it as JSON "
    "[docs/results-PAPER.md; docs/results-PAPER-PROFILE.md for another profile than full].",
)  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace the output file if it exists.")
@background
@common
@pass_shell
def reproduce(
    shell: Shell,
    paper: str,
    tables: tuple[str, ...],
    document: Path | None,
    **options: Any,
) -> None:
    """Reproduce the tables of PAPER and compare them with the published numbers. Stored results are reused."""
    name = f"results-{paper}.md" if options["profile"] == "full" else f"results-{paper}-{options['profile']}.md"
    args: dict[str, Any] = {
        "paper": paper,
        "tables": list(tables),
        "document": str((document or Path("docs") / name).absolute()),
    }
    given = {name: value for name, value in options.items() if value}
    args |= {name: str(value.absolute()) if isinstance(value, Path) else value for name, value in given.items()}
    if shell.background:
        result = shell.run("reproduce", args)
        shell.show(result, f"Job {result['job']} is queued.")
        return
    result = resume_here(shell.store, "reproduce", args, quiet=shell.json and not sys.stderr.isatty())
    shell.show(result, _text(shell, result))


def _text(shell: Shell, result: dict[str, Any]) -> str:
    from themescope.core.papers import paper

    declared = paper(result["paper"])
    texts = [_table_text(shell, declared, id, result["profile"]) for id in result["tables"]]
    done = "All results were stored already."
    if not result["cached"]:
        done = f"{result['computed']:,} steps were computed, {result['reused']:,} were stored already."
    if result["rows_not_measured"]:
        done += (
            f" {result['rows_not_measured']} of {result['rows']} rows could not be measured; the file has the reasons."
        )
    return "\n\n".join([*texts, done, f"Written to {result['document']}"])


def _table_text(shell: Shell, declared: Paper, id: str, profile: str) -> str:
    from themescope.jobs.papers.document import cell

    with shell.store.reading() as r:
        record = r.papers.find(declared.id, id, profile)
    if record is None:
        return ""
    content = record.content
    rows = [
        {"": row["title"]} | {column["title"]: cell(content, row, column) for column in content["columns"]}
        for row in content["rows"]
    ]
    return f"{id}: {content['title']}\n\n{table(rows)}"
