"""Commands that create triplet sets, models and maps, and export corpora and models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from themescope.core.config import Config
from themescope.core.errors import ArtifactError, ConfigError, ReadError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.jobs.cli.arguments import (
    announce,
    done,
    here,
    job_command,
    looks_like_file,
    settings_of,
    settings_option,
)
from themescope.jobs.cli.main import CANCELLED, FAILED, Shell, background, common, pass_shell, table
from themescope.jobs.cli.main import pairs as fields
from themescope.jobs.common.models import find_model
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.queue.control import cancel, retry, worker_alive
from themescope.jobs.queue.runner import Bar
from themescope.jobs.queue.runner import follow as follow_job


def _rules(args: dict[str, Any]) -> type[Config]:
    from themescope.core.triplets.rules import TripletRules

    return TripletRules


def _named(shell: Shell, args: dict[str, Any]) -> dict[str, Any] | tuple[str, dict[str, Any]]:
    if looks_like_file(args["corpus"]):
        return "import-triplets", _own(shell, args["corpus"], args["name"])
    with shell.store.reading() as r:
        return args | {"name": args["name"] or r.triplets.usable_name(f"{args['corpus']} {args['kind']}")}


def _own(shell: Shell, file: str, name: str = "") -> dict[str, Any]:
    """Return the arguments of importing a file of triplets."""
    path = Path(file)
    if not path.is_file():
        raise ReadError(file, "this file does not exist.")
    with shell.store.reading() as r:
        return {"file": str(path.absolute()), "name": name or r.triplets.usable_name(path.stem)}


triplets = job_command("triplets", "build-triplets", ["corpus"], _named, _rules)


def _trained_on(shell: Shell, args: dict[str, Any]) -> dict[str, Any]:
    """Import the triplets of a file that is named in place of a set."""
    if looks_like_file(args["triplets"]):
        args["triplets"] = here(shell, "import-triplets", _own(shell, args["triplets"]))["triplets"]
    return announce(shell, args | {"name": args["name"] or args["method"]})


def _of_method(args: dict[str, Any]) -> type[Config]:
    from themescope.core.models import REGISTRY as METHODS

    return METHODS.get(args["method"]).config_class()


train = job_command(
    "train",
    "train",
    ["method"],
    _trained_on,
    _of_method,
    help="Fit METHOD and store it as a model. Ctrl-C stops it; `jobs retry` resumes from the checkpoint.",
)
add_model = job_command(
    "add-model",
    "add-model",
    ["folder"],
    lambda shell, args: announce(shell, args | {"name": args["name"] or Path(args["folder"]).name}),
)


def _projection(args: dict[str, Any]) -> type[Config]:
    from themescope.core.projection import UmapConfig

    return UmapConfig


map_ = job_command("map", "project", ["corpus"], settings=_projection, leave_out=["within"])


@click.group("export")
def export() -> None:
    """Write a corpus as a bundle or a Hugging Face dataset, or a model into a folder."""


export.add_command(
    job_command(
        "bundle",
        "export-bundle",
        ["corpus", "file"],
        help="Write CORPUS with its labellings and their history into FILE (a zip), which `import` reads elsewhere.",
    )
)
export.add_command(
    job_command(
        "dataset",
        "export-dataset",
        ["corpus", "folder"],
        help="Write CORPUS into the new FOLDER: Parquet files and a card, which datasets.load_dataset(FOLDER) reads.",
    )
)


@export.command("model")
@click.argument("model")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(("themescope", "sentence-transformers")),
    default="themescope",
    show_default=True,
    help="sentence-transformers: a folder that SentenceTransformer(FOLDER) loads.",
)
@click.option(
    "--small",
    is_flag=True,
    help="Round weights to 8 bits and word vectors to 6 bits, compress the files, and name pretrained models that the "
    "model is built on instead of copying them.",
)
@common
@pass_shell
def export_model(shell: Shell, model: str, folder: Path, format_: str, small: bool) -> None:
    """Write MODEL to FOLDER. `add-model` adds it to another store."""
    from themescope.core.models.artifact import load_model, save_for_sentence_transformers, save_model
    from themescope.core.tasks.density import copy_calibration

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArtifactError(f"{str(folder)!r} exists and is not an empty folder. Choose a new one.")
    if small and format_ != "themescope":
        raise ConfigError("--small is for the format themescope only.")
    record = find_model(shell.store, model)
    source = shell.store.artifacts.path(record.artifact)
    fitted, info = load_model(source)
    if format_ == "sentence-transformers":
        save_for_sentence_transformers(fitted, folder)
        facts = {"format": format_}
    else:
        facts = {"digest": save_model(fitted, info["method"], folder, info["record"], small=small)}
        copy_calibration(source, folder)
    size = sum(file.stat().st_size for file in folder.rglob("*"))
    done(shell, {"model": record.name, "folder": str(folder), **facts, "megabytes": round(size / 1e6, 1)})


# `themescope jobs`: run, list, follow, cancel and retry jobs, and queue the demo


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
    from themescope.jobs.services.installation import seed_demo

    jobs = seed_demo(shell.store)
    text = "The store is not empty, so no job was queued."
    if jobs:
        text = f"{len(jobs)} jobs are queued. A worker runs them in a few minutes: themescope worker"
    shell.show({"jobs": [{"id": job.id, "kind": job.kind, "title": job.title} for job in jobs]}, text)


def _show_job(shell: Shell, job: JobRecord) -> None:
    text = f"Job {job.id} ({job.title}) is {job.status.value}." + (f" {job.error}" if job.error else "")
    shell.show(_plain(job), text + (" It will stop within seconds." if job.cancel else ""))


def _plain(job: JobRecord) -> dict[str, Any]:
    return {**asdict(job), "status": job.status.value}
