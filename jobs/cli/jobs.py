"""`themescope jobs`: run, list, follow, cancel and retry jobs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from themescope.core.records.stored import JobRecord, JobStatus
from themescope.jobs.cli.arguments import settings_of, settings_option
from themescope.jobs.cli.shell import CANCELLED, FAILED, Shell, background, common, pass_shell, table
from themescope.jobs.cli.shell import pairs as fields
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.queue.control import cancel, forget, retry, worker_alive
from themescope.jobs.queue.foreground import Bar, follow


@click.group("jobs")
def jobs_() -> None:
    """Run, list, follow, cancel and retry jobs."""


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
@common
@pass_shell
def show(shell: Shell, job_id: int) -> None:
    """Show a job with its arguments, result and metrics."""
    with shell.store.reading() as r:
        job, points = r.jobs.get(job_id), r.jobs.metrics(job_id)
    values = _plain(job)
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        curves.setdefault(point.name, []).append((point.step, point.value))
    last = {f"last {name}": points[-1][1] for name, points in curves.items()}
    shown = {k: v for k, v in values.items() if v not in (None, "", {})}
    shell.show({**values, "metrics": curves}, fields(shown | last))


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


@jobs_.command("delete")
@click.argument("job_id", type=int)
@common
@pass_shell
def delete_(shell: Shell, job_id: int) -> None:
    """Delete an ended job and its checkpoint."""
    forget(shell.store, job_id)
    shell.show({"deleted": job_id}, f"Job {job_id} is deleted.")


@jobs_.command()
@click.argument("job_id", type=int)
@common
@pass_shell
def watch(shell: Shell, job_id: int) -> int:
    """Follow a job until it ends. The exit code is 0 (done), 1 (failed) or 130 (cancelled)."""
    with shell.store.reading() as r:
        bar = Bar(r.jobs.get(job_id).title, quiet=shell.json)
    job = follow(shell.store, job_id, lambda row: bar(row.progress, row.message or row.status.value))
    bar.end(job.status is JobStatus.DONE)
    _show_job(shell, job)
    return {JobStatus.DONE: 0, JobStatus.CANCELLED: CANCELLED}.get(job.status, FAILED)


def _show_job(shell: Shell, job: JobRecord) -> None:
    text = f"Job {job.id} ({job.title}) is {job.status.value}." + (f" {job.error}" if job.error else "")
    shell.show(_plain(job), text + (" It will stop within seconds." if job.cancel else ""))


def _plain(job: JobRecord) -> dict[str, Any]:
    return {**asdict(job), "status": job.status.value}
