"""Measure the processes of an installation: how fast a command starts, and the memory of a worker after the demo.

    python -m benchmarks.processes [--home FOLDER] [--idle 150]

Commands: medians of five of the CPU seconds (user and system) of ``themescope --help`` and of completion in a shell,
beside Python alone. Worker: it runs the demo in ``--home``, or in a new folder, and then waits ``--idle`` seconds; the
memory is the resident set of the process and of its children.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil

from themescope.core.records.stored import JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services.installation.demo import seed_demo

_REPEAT = 5
_COMMAND = "import sys; sys.argv = ['themescope', *sys.argv[1:]]; from themescope.__main__ import command; command()"
_COMPLETION = {"_THEMESCOPE_COMPLETE": "bash_complete", "COMP_WORDS": "themescope ", "COMP_CWORD": "1"}
_OPEN = (JobStatus.QUEUED, JobStatus.RUNNING)


def cpu_seconds(arguments: Sequence[str], variables: Mapping[str, str]) -> float:
    """Return the median CPU seconds of Python with ``arguments``."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], env={**os.environ, **variables}, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return statistics.median(once() for _ in range(_REPEAT))


def resident(process: psutil.Process) -> float:
    """Return the resident megabytes of a process and of its children."""
    total = 0
    for one in (process, *process.children(recursive=True)):
        try:
            total += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6


def worker_memory(home: Path, idle: float) -> None:
    """Run the demo with a worker, and print its memory at most, at the end of the last job, and while idle."""
    store = Store(Settings.in_folder(home))
    store.migrate()
    jobs = seed_demo(store)
    environment = {**os.environ, "THEMESCOPE_HOME": str(home)}
    with (home / "worker.log").open("ab") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "themescope.jobs.cli", "worker"], env=environment, stdout=log, stderr=log
        )
    process, most, started = psutil.Process(worker.pid), 0.0, time.monotonic()
    try:
        while _open_jobs(store):
            time.sleep(0.5)
            most = max(most, resident(process))
        took, ended = time.monotonic() - started, time.monotonic()
        print(f"{len(jobs)} jobs in {took:.0f} s; at most {most:.0f} MB, after the last job {resident(process):.0f} MB")
        while (waited := time.monotonic() - ended) < idle:
            time.sleep(min(30.0, idle - waited))
            print(f"idle for {time.monotonic() - ended:.0f} s: {resident(process):.0f} MB", flush=True)
    finally:
        worker.terminate()
        worker.wait(20)
        store.close()


def _open_jobs(store: Store) -> bool:
    with store.reading() as r:
        return bool(r.jobs.list(limit=1, status=_OPEN))


def main() -> None:
    """Print the CPU seconds of the commands, then the memory of the worker."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="empty folder for the demo; a temporary one by default")
    parser.add_argument("--idle", type=float, default=150, help="seconds to wait after the demo (default: %(default)s)")
    args = parser.parse_args()
    print(f"Python alone: {cpu_seconds(['-c', 'pass'], {}):.2f} CPU s")
    print(f"themescope --help: {cpu_seconds(['-c', _COMMAND, '--help'], {}):.2f} CPU s")
    print(f"completion: {cpu_seconds(['-c', _COMMAND], _COMPLETION):.2f} CPU s", flush=True)
    with ExitStack() as stack:
        home = args.home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="themescope-processes-")))
        worker_memory(home, args.idle)


if __name__ == "__main__":
    main()
