"""`themescope reproduce`: reproduce the tables of a paper."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from themescope.core.papers import PAPERS
from themescope.jobs.cli.arguments import job_options
from themescope.jobs.cli.shell import Shell, background, common, pass_shell, table
from themescope.jobs.queue.runner import resume_here

if TYPE_CHECKING:
    from themescope.core.papers.spec import Paper


@click.command()
@click.argument("paper", type=click.Choice(list(PAPERS)))
@job_options(
    "reproduce",
    ["profile", "tables", "corpus", "data", "words", "triplets", "scb", "sick", "queue_trainings", "articles", "seeds",
     "replace"],
)  # fmt: skip
@click.option(
    "--document", type=click.Path(path_type=Path),
    help="Output file, written when all tables are computed, with their records beside it as JSON "
    "[docs/results-PAPER.md; docs/results-PAPER-PROFILE.md for another profile than full].",
)  # fmt: skip
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
    from themescope.jobs.papers.document import cell, heading

    with shell.store.reading() as r:
        record = r.papers.find(declared.id, id, profile)
    if record is None:
        return ""
    content = record.content
    rows = [
        {"": row["title"]} | {column["title"]: cell(content, row, column) for column in content["columns"]}
        for row in content["rows"]
    ]
    return f"{heading(id, content['title'])}\n\n{table(rows)}"
