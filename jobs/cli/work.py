"""Commands that create triplet sets, models and maps, and export corpora and models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click

from themescope.core.errors import ArtifactError, ConfigError
from themescope.core.models import REGISTRY as METHODS
from themescope.core.projection import UmapConfig
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.core.triplets.rules import TripletRules
from themescope.jobs.cli.arguments import announce, done, existing, is_file, job_command, settings_of, settings_option
from themescope.jobs.cli.main import CANCELLED, FAILED, Shell, command, fields, pairs, table
from themescope.jobs.common.models import find_model
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.queue.control import cancel, retry, worker_alive
from themescope.jobs.queue.runner import Bar
from themescope.jobs.queue.runner import follow as follow_job


def _named(shell: Shell, args: dict[str, Any]) -> dict[str, Any] | tuple[str, dict[str, Any]]:
    if is_file(args["corpus"]):
        return "import-triplets", _own(shell, args["corpus"], args["name"])
    with shell.store.reading() as r:
        return args | {"name": args["name"] or r.triplets.usable_name(f"{args['corpus']} {args['kind']}")}


def _own(shell: Shell, file: str, name: str = "") -> dict[str, Any]:
    """Return the arguments of importing a file of triplets."""
    path = existing(file)
    with shell.store.reading() as r:
        return {"file": path, "name": name or r.triplets.usable_name(Path(file).stem)}


def _trained_on(shell: Shell, args: dict[str, Any]) -> dict[str, Any]:
    """Import the triplets of a file that is named in place of a set."""
    if is_file(args["triplets"]):
        args["triplets"] = shell.run("import-triplets", _own(shell, args["triplets"]), here=True)["triplets"]
    return announce(shell, args | {"name": args["name"] or args["method"]})


triplets = job_command("triplets", "build-triplets", ["corpus"], _named, lambda _: TripletRules)
about = "Fit METHOD and store it as a model. Ctrl-C stops it; `jobs retry` resumes from the checkpoint."
train = job_command(
    "train", "train", ["method"], _trained_on, lambda args: METHODS.get(args["method"]).config_class(), help=about
)
add_model = job_command(
    "add-model",
    "add-model",
    ["folder"],
    lambda shell, args: announce(shell, args | {"name": args["name"] or Path(args["folder"]).name}),
)
map_ = job_command("map", "project", ["corpus"], settings=lambda _: UmapConfig, leave_out=["within"])


_FORMATS = click.Choice(["themescope", "sentence-transformers"])


@click.group("export")
def export() -> None:
    """Write a corpus as a bundle or a Hugging Face dataset, or a model into a folder."""


for name, argument, help in (
    ("bundle", "file", "Write CORPUS with its labellings and their history into FILE (a zip), for `import` elsewhere."),
    ("dataset", "folder", "Write CORPUS into the new FOLDER: Parquet files and a card, for datasets.load_dataset."),
):
    export.add_command(job_command(name, f"export-{name}", ["corpus", argument], help=help))


@command(export, "model")
def export_model(
    shell: Shell,
    model: str,
    folder: Path,
    format: Annotated[str, "The latter is a folder that SentenceTransformer(FOLDER) loads.", _FORMATS] = "themescope",
    small: Annotated[bool, "Weights of 8 bits, word vectors of 6, compressed, without pretrained submodels."] = False,
) -> None:
    """Write MODEL to FOLDER. `add-model` adds it to another store."""
    from themescope.core.models.artifact import load_model, save_for_sentence_transformers, save_model
    from themescope.core.tasks.density import copy_calibration

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArtifactError(f"{str(folder)!r} exists and is not an empty folder. Choose a new one.")
    if small and format != "themescope":
        raise ConfigError("--small is for the format themescope only.")
    record = find_model(shell.store, model)
    source = shell.store.artifacts.path(record.artifact)
    fitted, info = load_model(source)
    facts = {"format": format}
    if format == "sentence-transformers":
        save_for_sentence_transformers(fitted, folder)
    else:
        facts = {"digest": save_model(fitted, info["method"], folder, info["record"], small=small)}
        copy_calibration(source, folder)
    size = sum(file.stat().st_size for file in folder.rglob("*"))
    done(shell, {"model": record.name, "folder": str(folder), **facts, "megabytes": round(size / 1e6, 1)})


# `themescope jobs`: run, list, follow, cancel and retry jobs, and queue the demo


@click.group("jobs")
def jobs_() -> None:
    """Run, list, follow, cancel and retry jobs; queue the demo."""


@command(jobs_, more=[settings_option("job")], queued=True)
def run(shell: Shell, kind: str, **given: Any) -> None:
    """Run a job of KIND. `list jobs --json` shows every kind with its settings."""
    result = shell.run(kind, settings_of(KINDS.get(kind).config_class(), given["pairs"]))
    shell.show(result, pairs(result))


@command(jobs_)
def list_(
    shell: Shell,
    status: Annotated[str | None, "Only jobs of this status.", click.Choice([one.value for one in JobStatus])] = None,
    limit: Annotated[int, "Number of jobs, newest first.", click.IntRange(min=1)] = 30,
) -> None:
    """List jobs, newest first."""
    with shell.store.reading() as r:
        found = r.jobs.list(limit=limit, status=JobStatus(status) if status else None)
    rows = [
        {"id": j.id, "status": j.status, "done": f"{j.progress:.0%}", "title": j.title, "message": j.error or j.message}
        for j in found
    ]
    alive = worker_alive(shell.store)
    note = "" if alive else "\n\nNo worker is running. Start one with: themescope worker"
    shell.show({"jobs": [asdict(j) for j in found], "worker_alive": alive}, table(rows, empty="No jobs yet.") + note)


@command(jobs_)
def show(
    shell: Shell,
    job_id: int,
    follow: Annotated[bool, "Wait for its end; exit with 0 (done), 1 (failed) or 130 (cancelled)."] = False,
) -> int:
    """Show a job with its arguments, result and metrics."""
    with shell.store.reading() as r:
        job, points = r.jobs.get(job_id), r.jobs.metrics(job_id)
    if follow:
        bar = Bar(job.title, quiet=shell.json)
        job = follow_job(shell.store, job_id, lambda row: bar(row.progress, row.message or row.status.value))
        bar.end(job.status is JobStatus.DONE)
        _show_job(shell, job)
        return {JobStatus.DONE: 0, JobStatus.CANCELLED: CANCELLED}.get(job.status, FAILED)
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        curves.setdefault(point.name, []).append((point.step, point.value))
    shown = {name: value for name, value in asdict(job).items() if value not in (None, "", {})}
    last = {f"last {name}": curve[-1][1] for name, curve in curves.items()}
    shell.show({**asdict(job), "metrics": curves}, pairs(shown | last))
    return 0


@command(jobs_)
def cancel_(shell: Shell, job_id: int) -> None:
    """Cancel a job. A running job stops within seconds."""
    _show_job(shell, cancel(shell.store, job_id))


@command(jobs_)
def retry_(shell: Shell, job_id: int) -> None:
    """Queue a failed or cancelled job again. It resumes from its checkpoint."""
    _show_job(shell, retry(shell.store, job_id))


@command(jobs_)
def demo(shell: Shell) -> None:
    """Queue the demo: Wikipedia articles, triplets, models, comparison, maps. Requires an empty store."""
    from themescope.jobs.services.installation import seed_demo

    jobs = seed_demo(shell.store)
    queued = f"{len(jobs)} jobs are queued. A worker runs them in a few minutes: themescope worker"
    text = queued if jobs else "The store is not empty, so no job was queued."
    shell.show({"jobs": [fields(job, "id", "kind", "title") for job in jobs]}, text)


def _show_job(shell: Shell, job: JobRecord) -> None:
    text = f"Job {job.id} ({job.title}) is {job.status.value}." + (f" {job.error}" if job.error else "")
    shell.show(asdict(job), text + (" It will stop within seconds." if job.cancel else ""))
