"""Command line, which runs the same jobs as the pages in the foreground."""

from __future__ import annotations

import os

# Waiting OpenMP threads must not occupy a core that another process needs: with two processes on two cores, 2.4 s
# became 18 s. Torch reads this when it is imported, so it is set first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import click

from themescope.jobs.cli.administration import backup, demo, doctor, mcp, restore, worker
from themescope.jobs.cli.coding import code
from themescope.jobs.cli.estimates import estimate
from themescope.jobs.cli.evaluate import evaluate
from themescope.jobs.cli.imports import append, edit, import_, place_wave, skipped
from themescope.jobs.cli.jobs import jobs_
from themescope.jobs.cli.labels import labels, methods
from themescope.jobs.cli.lists import list_
from themescope.jobs.cli.lists_of_sentences import cluster, embed, name_themes, similar
from themescope.jobs.cli.people import people_
from themescope.jobs.cli.reproduce import reproduce
from themescope.jobs.cli.samples import sample
from themescope.jobs.cli.shell import Commands
from themescope.jobs.cli.work import add_model, bundle, dataset, export_model, map_, train, triplets
from themescope.jobs.common.results import code_version


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(code_version(), prog_name="themescope")
def main() -> None:
    """Train, cluster with and evaluate sentence embeddings for thematic clustering.

    Settings come from the environment: THEMESCOPE_HOME (data folder), DATABASE_URL.
    """


COMMANDS = (
    import_, append, place_wave, edit, skipped, sample, triplets, train, add_model, export_model, embed, similar,
    cluster, name_themes, code, estimate, evaluate, reproduce, map_, list_, labels, methods, bundle, dataset, mcp,
    people_, jobs_, worker, backup, restore, demo, doctor,
)  # fmt: skip
for command in COMMANDS:
    main.add_command(command)

if __name__ == "__main__":
    main()
