"""Command `experiment`: trainings with every combination of settings and seeds of a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import click

from themescope.core.config import options
from themescope.core.errors import ConfigError
from themescope.core.records.stored import JobStatus
from themescope.db.store import Store
from themescope.jobs.cli.shell import Shell, background, common, pass_shell, table
from themescope.jobs.kinds import check_job
from themescope.jobs.kinds.train import TrainConfig
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.foreground import resume_here
from themescope.jobs.services.table_files import csv_text

_SEEDS = "seeds"


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--curves", type=click.Path(path_type=Path, dir_okay=False), default=None,
    help="CSV file for the points of the curves of all trainings.",
)  # fmt: skip
@background
@common
@pass_shell
def experiment(shell: Shell, file: Path, curves: Path | None) -> None:
    """Train a method with every combination of the settings and seeds in FILE (TOML).

    The keys are those of the job `train`. A setting that is a list is varied, and so is `seeds`. Trainings that are
    done are not repeated, and the one that was interrupted goes on.
    """
    if curves is not None and shell.background:
        raise click.UsageError("--curves needs the trainings to be done. Run the command again without --background.")
    plan = trainings(file)
    rows = []
    for varied, args in plan:
        if shell.background:
            job = enqueue(shell.store, "train", args)
            rows.append({"model": args["name"], **varied, "job": job.id})
            continue
        result = resume_here(shell.store, "train", args, quiet=shell.json)
        numbers = {name: round(v, 4) for name, v in result.items() if name.startswith("validation")}
        rows.append({"model": args["name"], **varied, **numbers})
    if curves is not None:
        header = ("model", "curve", "step", "value")
        curves.write_text(csv_text(header, _points(shell.store, [args["name"] for _, args in plan])), encoding="utf-8")
    shell.show({"trainings": rows}, table(rows))


def trainings(file: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return what is varied, and the arguments of the job, of each training in an experiment file.

    Raises :class:`ConfigError` for the first one that could not be run.
    """
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file.name} is not TOML: {error}.") from None
    known = {*options(TrainConfig), _SEEDS} - {"seed"}
    if unknown := [*given.keys() - known]:
        raise ConfigError(f"{file.name}: there is no key {sorted(unknown)[0]!r}, only {', '.join(sorted(known))}.")
    settings, seeds = given.pop("settings", {}), given.pop(_SEEDS, [0])
    if not isinstance(settings, Mapping) or not isinstance(seeds, list) or not seeds:
        raise ConfigError(f"{file.name}: `settings` is a table, such as [settings], and `seeds` a list of numbers.")
    lists = {name: value for name, value in settings.items() if isinstance(value, list)} | {_SEEDS: seeds}
    made = []
    for values in product(*lists.values()):
        varied = dict(zip(lists, values, strict=True))
        seed = varied.pop(_SEEDS)
        shown = [*(f"{name} {value}" for name, value in varied.items()), *([f"seed {seed}"] if len(seeds) > 1 else [])]
        name = ", ".join([str(given.get("name") or given.get("method", "")), *shown])
        args = {**given, "name": name, "settings": {**settings, **varied}, "seed": seed}
        made.append((varied | {"seed": seed}, check_job("train", args).to_dict()))
    return made


def _points(store: Store, models: list[str]) -> list[tuple[str, str, float, float]]:
    with store.reading() as r:
        done = [job for job in r.jobs.list(limit=10_000, status=(JobStatus.DONE,)) if job.kind == "train"]
        newest = {job.args["name"]: job.id for job in reversed(done)}
        return [
            (model, point.name, point.step, point.value)
            for model in models
            if model in newest
            for point in r.jobs.metrics(newest[model])
        ]
