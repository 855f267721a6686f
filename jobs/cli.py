"""The command line: the same jobs as the pages, in the foreground, with a progress bar."""

from __future__ import annotations

import os

# See jobs.app: set before anything can import torch.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import click

from jobs.console.bundles import bundle
from jobs.console.evaluate import evaluate
from jobs.console.evaluate_topics import summaries, topics
from jobs.console.jobs import jobs_
from jobs.console.labels import labels
from jobs.console.lists import list_
from jobs.console.lists_of_sentences import cluster, embed, similar
from jobs.console.people import people_
from jobs.console.reproduce import reproduce
from jobs.console.service import demo, doctor, worker
from jobs.console.shell import Commands
from jobs.console.work import add_model, export_model, import_, map_, train, triplets
from jobs.digests import code_version


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(code_version(), prog_name="themescope")
def main() -> None:
    """Learn which sentences belong to the same theme, cluster by it, and see how well that works.

    Settings come from the environment: THEMESCOPE_HOME (data folder), DATABASE_URL, QUEUE_URL.
    """


for command in (topics, summaries):
    evaluate.add_command(command)
COMMANDS = (
    import_, triplets, train, add_model, export_model, embed, similar, cluster, evaluate, reproduce,
    map_, list_, labels, bundle, people_, jobs_, worker, demo, doctor,
)  # fmt: skip
for command in COMMANDS:
    main.add_command(command)

if __name__ == "__main__":
    main()
