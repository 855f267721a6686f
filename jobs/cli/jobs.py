"""`themescope jobs`: run, list, follow, cancel and retry jobs, and queue the demo."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from themescope.core.records.stored import JobRecord, JobStatus
from themescope.jobs.cli.arguments import settings_of, settings_option
from themescope.jobs.cli.shell import CANCELLED, FAILED, Shell, background, common, pass_shell, table
from themescope.jobs.cli.shell import pairs as fields
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.queue.control import cancel, retry, worker_alive
from themescope.jobs.queue.runner import Bar
from themescope.jobs.queue.runner import follow as follow_job


@click.group("jobs")
def jobs_() -> None:
    """Run, list, follow, cancel and retry jobs; queue the demo."""


@jobs_.command("run")
@click.argument("kind")
@settings_option("job")
@background
@common
@pass_shell
def run(shell: Shell, kind: str, pairs: tuple[str, ...]) -> None:
    """Run a job of KIND. `list jobs --json` shows every kind with its settings."""
    result = shell.run(kind, settings_of(KINDS.get(kind).config_class(), pairs))
    shell.show(result, fields(result))


@jobs_.command("list")
@click.option("--status", type=click.Choice([s.value for s in JobStatus]), help="Only jobs of this status.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=30, show_default=True, help="Number of jobs, newest first."
)
@common
@pass_shell
def list_(shell: Shell, status: str | None, limit: int) -> None:
    """List jobs, newest first."""
    with shell.store.reading() as r:
        found = r.jobs.list(limit=limit, status=JobStatus(status) if status else None)
    rows = [
        {
            "id": j.id,
            "status": j.status.value,
            "done": f"{j.progress:.0%}",
            "title": j.title,
            "message": j.error or j.message,
        }
        for j in found
    ]
    alive = worker_alive(shell.store)
    note = "" if alive else "\n\nNo worker is running. Start one with: themescope worker"
    shell.show({"jobs": [_plain(j) for j in found], "worker_alive": alive}, table(rows, empty="No jobs yet.") + note)


@jobs_.command()
@click.argument("job_id", type=int)
@click.option("--follow", is_flag=True, help="Wait for its end; exit with 0 (done), 1 (failed) or 130 (cancelled).")
@common
@pass_shell
def show(shell: Shell, job_id: int, follow: bool) -> int:
    """Show a job with its arguments, result and metrics."""
    if follow:
        with shell.store.reading() as r:
            bar = Bar(r.jobs.get(job_id).title, quiet=shell.json)
        ended = follow_job(shell.store, job_id, lambda row: bar(row.progress, row.message or row.status.value))
        bar.end(ended.status is JobStatus.DONE)
        _show_job(shell, ended)
        return {JobStatus.DONE: 0, JobStatus.CANCELLED: CANCELLED}.get(ended.status, FAILED)
    with shell.store.reading() as r:
        job, points = r.jobs.get(job_id), r.jobs.metrics(job_id)
    values = _plain(job)
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        curves.setdefault(point.name, []).append((point.step, point.value))
    last = {f"last {name}": points[-1][1] for name, points in curves.items()}
    shown = {k: v for k, v in values.items() if v not in (None, "", {})}
    shell.show({**values, "metrics": curves}, fields(shown | last))
    return 0


@jobs_.command("cancel")
@click.argument("job_id", type=int)
@common
@pass_shell
def cancel_(shell: Shell, job_id: int) -> None:
    """Cancel a job. A running job stops within seconds."""
    _show_job(shell, cancel(shell.store, job_id))


@jobs_.command("retry")
@click.argument("job_id", type=int)
@common
@pass_shell
def retry_(shell: Shell, job_id: int) -> None:
    """Queue a failed or cancelled job again. It resumes from its checkpoint."""
    _show_job(shell, retry(shell.store, job_id))


@jobs_.command("demo")
@common
@pass_shell
def demo(shell: Shell) -> None:
    """Queue the demo: Wikipedia articles, triplets, models, comparison, maps. Requires an empty store."""
    from themescope.jobs.services.installation.demo import seed_demo

    jobs = seed_demo(shell.store)
    text = (
        f"{len(jobs)} jobs are queued. A worker runs them in a few minutes: themescope worker"
        if jobs
        else "The store is not empty, so no job was queued."
    )
    shell.show({"jobs": [{"id": job.id, "kind": job.kind, "title": job.title} for job in jobs]}, text)


def _show_job(shell: Shell, job: JobRecord) -> None:
    text = f"Job {job.id} ({job.title}) is {job.status.value}." + (f" {job.error}" if job.error else "")
    shell.show(_plain(job), text + (" It will stop within seconds." if job.cancel else ""))


def _plain(job: JobRecord) -> dict[str, Any]:
    return {**asdict(job), "status": job.status.value}
