"""Commands around the product itself: worker, demo, doctor."""

from __future__ import annotations

import logging

import click

from jobs.cli.shell import FAILED, Shell, common, pass_shell
from jobs.cli.tables import table


@click.command()
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Jobs done side by side.")
@click.option("--queue", "queue_name", default="default", show_default=True, help="Queue to work on.")
@click.option("--warm-up/--no-warm-up", default=True, help="Compile what maps need while there is nothing to do.")
@common
@pass_shell
def worker(shell: Shell, workers: int, queue_name: str, warm_up: bool) -> None:
    """Do the jobs of the queue until stopped. Interrupted jobs go back into the queue and resume."""
    from jobs.queue.worker import run_worker

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    run_worker(shell.store, workers, queue_name, warm_up)


@click.command()
@common
@pass_shell
def demo(shell: Shell) -> None:
    """Queue the demo: Wikipedia articles, triplets, models, comparison, maps. Only on an empty store."""
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
    end = f"{len(problems)} problem(s)." if problems else "Everything is in order."
    shell.show({"ok": not problems, "checks": values}, f"{table(rows)}\n\n{end}")
    return FAILED if problems else 0
