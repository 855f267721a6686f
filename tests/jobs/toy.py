"""A kind of job that does what its argument says: small enough to see what the machinery around it does."""

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from themescope.core.config import option
from themescope.core.errors import DataError
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.kinds import JobCard

RUNS: Counter[int] = Counter()
"""How often each job's work was begun in this process."""


@dataclass(frozen=True)
class ToyConfig(JobConfig):
    what: str = option("count", "What to do.", choices=("count", "refuse", "break", "spin", "checkpoint", "store"))
    steps: int = option(3, "How many steps.", low=0)
    pause: float = option(0.0, "Seconds between two steps.", low=0)

    def title(self) -> str:
        return f"Toy that does {self.what}"


def run(args: ToyConfig, context: JobContext) -> dict[str, Any]:
    RUNS[context.job_id] += 1
    match args.what:
        case "refuse":
            raise DataError("There is nothing to work on.")
        case "break":
            return {}["nothing"]
        case "spin":
            _spin(context)
        case "checkpoint":
            return _count_on(args, context)
        case "store":
            return _store(args, context)
    for step in range(args.steps):
        context.progress(step + 1, args.steps, f"step {step + 1}")
        context.metric("height", step, step * 10.0)
        time.sleep(args.pause)
    return {"steps": args.steps}


def _count_on(args: ToyConfig, context: JobContext) -> dict[str, Any]:
    """Count in a file, and stop for good (spin) once at half way, the first time."""
    file = context.checkpoint_folder() / "count"
    start = int(file.read_text()) if file.exists() else 0
    for step in range(start, args.steps):
        file.write_text(str(step + 1))
        context.progress(step + 1, args.steps)
        if start == 0 and step + 1 == args.steps // 2:
            _spin(context)
    return {"started_at": start}


def _store(args: ToyConfig, context: JobContext) -> dict[str, Any]:
    """Count in the row of the job, and resume from there."""
    with context.store.reading() as r:
        start = int(r.jobs.get(context.job_id).result.get("stored", 0))
    for step in range(start, args.steps):
        with context.writing() as w:
            w.jobs.note(context.job_id, stored=step + 1)
        context.progress(step + 1, args.steps, "storing")
        time.sleep(args.pause)
    return {"stored": args.steps, "started_at": start}


def _spin(context: JobContext) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        context.progress(1, 2, "spinning")
        time.sleep(0.01)
    raise TimeoutError("Nobody told the toy to stop.")


CARD = JobCard(
    id="toy",
    title="Toy",
    summary="Does what it is told.",
    source="The tests",
    factory="tests.jobs.toy:run",
    config="tests.jobs.toy:ToyConfig",
)
