"""`themescope worker`, `themescope demo` and `themescope doctor`."""

from __future__ import annotations

import logging

import click

from jobs.cli.shell import FAILED, Shell, common, pass_shell
from jobs.cli.tables import table


@click.command()
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of jobs to run in parallel."
)
@click.option("--queue", "queue_name", default="default", show_default=True, help="Name of the queue.")
@click.option("--warm-up/--no-warm-up", default=True, help="Precompile the code that maps need while idle.")
@common
@pass_shell
def worker(shell: Shell, workers: int, queue_name: str, warm_up: bool) -> None:
    """Run queued jobs until stopped. Interrupted jobs are queued again and resume."""
    from jobs.queue.worker import run_worker

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    run_worker(shell.store, workers, queue_name, warm_up)


@click.command()
@common
@pass_shell
def demo(shell: Shell) -> None:
    """Queue the demo: Wikipedia articles, triplets, models, comparison, maps. Requires an empty store."""
    from jobs.services.demo import seed_demo

    jobs = seed_demo(shell.store)
    text = (
        f"{len(jobs)} jobs are queued. A worker does them in a few minutes: themescope worker"
        if jobs
        else "The store is not empty, so nothing was queued."
    )
    shell.show({"jobs": [{"id": job.id, "kind": job.kind, "title": job.title} for job in jobs]}, text)


@click.command()
@common
@pass_shell
def doctor(shell: Shell) -> int:
    """Check the installation: Python, packages, store, queue, worker, disk, word vectors. Exits with 1 on a problem."""
    from jobs.services.doctor import examine

    checks = examine()
    rows = [{"": check.mark, "what": check.name, "found": check.found} for check in checks]
    problems = [check.name for check in checks if check.problem]
    values = [{"name": c.name, "ok": not c.problem, "warning": c.warning, "found": c.found} for c in checks]
    end = f"{len(problems)} problem(s)." if problems else "No problems found."
    shell.show({"ok": not problems, "checks": values}, f"{table(rows)}\n\n{end}")
    return FAILED if problems else 0
