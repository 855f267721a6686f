"""Seconds until the state of a job is true again after a fault, for each kind of job and fault.

    python -m benchmarks.faults [kill stop …] [--kinds embed train …] [--runs 3] [--parallel 4] [--markdown FILE]

Jobs run in a real worker, and the fault hits the middle of the job, where the worker pauses after every report and
transaction. ``artifact`` and ``page`` damage files before the job begins. Run it from the root of the repository, with
the servers of the tests: ``flush`` starts Redis, ``restart`` PostgreSQL. Linux only.

Seconds count from the end of the fault, or from its beginning if it lasts, until the row of the job says what is true:
a living worker runs it or it waits for one, or it has ended, with a reason if it failed; for ``artifact`` and ``page``,
from the beginning of the job to its end. The second number is the seconds to the end of the job. ``resumed``: another
attempt did the job; ``continued``: the same attempt did; ``done``: it began after the fault; ``missed``: it had ended
before. ``rows`` tells whether every table has as many rows as without a fault if the job is done, and as before the job
if it failed, and whether pages showed only complete results meanwhile. Cases run side by side, since most of their time
is waiting.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import sqlalchemy as sa

from benchmarks._fault_cases import LIMIT_S, Case, Condition, MissedError, Place, Results, results
from benchmarks._fault_data import KINDS, fill, write_files
from tests.servers import postgres, redis
from themescope.db.records import JobRecord, JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.backups.restoring import restore_backup
from themescope.jobs.backups.writing import write_backup
from themescope.jobs.queue.control import send
from themescope.jobs.queue.huey_queue import JobQueue

LOCK_S, FAULT_S = 60.0, 5.0
MIDDLE = 10
"""Highest number of the pause at which a fault happens: some jobs report the more often the faster they are."""
NEVER = 1_000_000
"""Number of a pause that no job reaches."""
BY_PARTS = ("embedding",)
"""Tables whose rows are complete results each: a job that failed may leave some of them."""


def ended(row: JobRecord) -> bool:
    """Return whether the job has ended."""
    return row.status.ended


# Each fault is a generator: it causes the fault, yields the condition of a true state, and then ends what lasts.


def kill(case: Case) -> Iterator[Condition]:
    """End the worker by SIGKILL; another one starts."""
    worker = case.catch()
    worker.kill()
    worker.wait()
    taken = case.taken()
    case.start()
    yield taken


def stop(case: Case) -> Iterator[Condition]:
    """End the worker by SIGTERM; another one starts."""
    worker, taken = case.catch(), case.taken()
    worker.send_signal(signal.SIGTERM)
    case.start()
    yield taken


def lock(case: Case) -> Iterator[Condition]:
    """Keep the write lock of SQLite for a minute."""
    case.catch()
    with closing(sqlite3.connect(case.home / "themescope.db", isolation_level=None, timeout=60)) as db:
        db.execute("BEGIN IMMEDIATE")
        time.sleep(LOCK_S)
        progressing = case.progressing()
        db.execute("ROLLBACK")
    yield progressing


def full(case: Case) -> Iterator[Condition]:
    """Let the worker enlarge no file for five seconds."""
    worker = case.catch()
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    time.sleep(FAULT_S)
    progressing = case.progressing()
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    yield progressing


def readonly(case: Case) -> Iterator[Condition]:
    """Let nobody create or remove files in the data folder from now on."""
    case.catch()
    for folder, _, _ in os.walk(case.home):
        Path(folder).chmod(0o555)
    yield case.progressing()


def flush(case: Case) -> Iterator[Condition]:
    """Remove all messages from Redis before the worker starts."""
    queue = JobQueue(case.store.settings.queue_url)
    queue.huey.flush()
    queue.close()
    case.start()
    yield case.taken()


def restart(case: Case) -> Iterator[Condition]:
    """Restart PostgreSQL."""
    case.catch()
    assert case.server is not None
    case.server.restart()
    yield case.progressing()


def jump(days: int, case: Case) -> Iterator[Condition]:
    """Move the clock of the worker."""
    case.catch()
    (case.home.parent / "days").write_text(str(days), encoding="utf-8")
    yield case.progressing()


def two(case: Case) -> Iterator[Condition]:
    """Start two workers, and send the message of the running job again."""
    case.catch(2)
    send(case.store, case.job.id)
    yield case.progressing()
    time.sleep(FAULT_S)


def revision(case: Case) -> Iterator[Condition]:
    """Let another version migrate the store until the worker has stopped; then a worker of that version starts."""
    worker, taken = case.catch(), case.taken()
    ours = migrated(case.store, "9999")
    yield taken
    worker.wait(LIMIT_S)
    migrated(case.store, ours)
    case.start()


def migrated(store: Store, revision: str) -> str:
    """Let the store have the tables of another revision, and return the one before."""
    with store.writing() as w:
        before = str(w.jobs.connection.scalar(sa.text("SELECT version_num FROM alembic_version")))
        w.jobs.connection.execute(sa.text("UPDATE alembic_version SET version_num = :new"), {"new": revision})
    return before


def artifact(case: Case) -> Iterator[Condition]:
    """Change a digit in the largest file of the model before the job begins."""
    with case.store.reading() as r:
        folder = case.store.artifacts.path(r.models.by_name("M").artifact)
    weights = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(weights.read_bytes())
    content[max(at for at, byte in enumerate(content) if chr(byte).isdigit())] ^= 1
    weights.write_bytes(content)
    yield from begin(case)


def page(case: Case) -> Iterator[Condition]:
    """Damage a page with sentences in the SQLite file before the job begins."""
    case.store.close()
    file = case.home / "themescope.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = int(db.execute("PRAGMA page_size").fetchone()[0])
    content = bytearray(file.read_bytes())
    pages = [at for at in range(0, len(content), size) if b"was seen near" in content[at : at + size]]
    at = pages[len(pages) // 2]
    content[at : at + 100] = b"\xff" * 100
    file.write_bytes(content)
    yield from begin(case)


def begin(case: Case) -> Iterator[Condition]:
    """Let a worker begin the job; its state is true once it has ended."""
    case.release()
    case.start()
    case.wait(lambda row: row.status is not JobStatus.QUEUED)
    yield ended


FAULTS: dict[str, Callable[[Case], Iterator[Condition]]] = {
    "kill": kill,
    "stop": stop,
    "full": full,
    "readonly": readonly,
    "lock": lock,
    "restart": restart,
    "flush": flush,
    "ahead": partial(jump, 1),
    "back": partial(jump, -1),
    "two": two,
    "revision": revision,
    "artifact": artifact,
    "page": page,
}


@dataclass(frozen=True)
class Base:
    """Files to import, a filled data folder to copy, and a backup of a filled store on PostgreSQL."""

    files: Path
    home: Path
    backup: Path
    redis_url: str
    _numbers: Iterator[int] = field(default_factory=count)

    def place(self, fault: str, home: Path, stack: ExitStack) -> Place:
        """Make a store for a fault, and return where it is."""
        if fault == "restart":
            server = stack.enter_context(postgres())
            url = server.new_database()
            restore_backup(Settings.in_folder(home, url), self.backup)
            return Place(url, url, server)
        shutil.copytree(self.home, home)
        number = next(self._numbers) % 16
        return Place("", f"{self.redis_url.rpartition('/')[0]}/{number}" if fault == "flush" else "")


@dataclass(frozen=True)
class Outcome:
    """What became of a job: seconds to a true state and to its end, and what is wrong with its results."""

    how: str
    seconds: float = LIMIT_S
    total: float = LIMIT_S
    reason: str = ""
    wrong: str = ""


def prepare(files: Path, faults: list[str], redis_url: str) -> Base:
    """Write the files, and fill the stores that the faults need."""
    base = Base(files, files / "home", files / "postgres.zip", redis_url)
    write_files(files)
    store = Store(Settings.in_folder(base.home))
    fill(store, files)
    store.close()
    if "restart" in faults:
        with postgres() as server:
            store = Store(Settings.in_folder(files / "postgres", server.new_database()))
            fill(store, files)
            write_backup(store, base.backup)
            store.close()
    return base


def undisturbed(kind: str, base: Base) -> tuple[Results, int]:
    """Return the results of the job without a fault, and the number of the pause in its middle."""
    with tempfile.TemporaryDirectory() as own, ExitStack() as stack:
        home = Path(own) / "home"
        case = Case(kind, base.files, home, NEVER, base.place("", home, stack))
        stack.callback(case.close)
        case.start()
        row = case.wait(ended)
        if row.status is not JobStatus.DONE:
            raise RuntimeError(f"{kind} fails without a fault: {row.error}")
        return results(case.store), min((case.pauses + 1) // 2, MIDDLE)


def run(fault: str, kind: str, base: Base, calm: Future[tuple[Results, int]]) -> Outcome:
    """Run a job with a fault."""
    wanted, middle = calm.result()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own, ExitStack() as stack:
        home = Path(own) / "home"
        case = Case(kind, base.files, home, middle, base.place(fault, home, stack))
        stack.callback(case.close)
        try:
            return measured(FAULTS[fault](case), case, wanted)
        except MissedError:
            return Outcome("missed", 0.0, 0.0)
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            return Outcome(str(error))


def measured(fault: Iterator[Condition], case: Case, wanted: Results) -> Outcome:
    """Cause the fault, and wait for a true state and the end of the job."""
    condition = next(fault)
    begun = time.monotonic()
    first = case.wait(condition)
    seconds, meanwhile = time.monotonic() - begun, results(case.store)
    next(fault, None)
    case.release()

    def lost(row: JobRecord) -> bool:
        return first.status is JobStatus.RUNNING and row.attempt > first.attempt

    if lost(case.wait(lambda row: ended(row) or lost(row))):  # it was running, and its attempt failed after all
        seconds = time.monotonic() - begun
    row = case.wait(ended)
    total, wrong = time.monotonic() - begun, differences(case, row, meanwhile, wanted)
    how = row.status.value
    if row.status is JobStatus.DONE and case.owner:
        how = "continued" if (row.owner, row.attempt) == (case.owner, 1) else "resumed"
    reason = re.sub(r"[0-9a-f]{32}|partial-\w+", "…", row.error.replace(str(case.home), "…"))
    return Outcome(how, seconds, total, reason, wrong)


def differences(case: Case, row: JobRecord, meanwhile: Results, wanted: Results) -> str:
    """Return how rows differ from those of a complete job or none, and which partial results pages showed."""
    before, found, done = case.before, results(case.store), row.status is JobStatus.DONE
    right = wanted if done else before
    wrong = {name: n for name, n in found.rows.items() if n != right.rows[name]}
    if not done:  # steps of a reproduction are complete results too
        parts = found.rows if row.kind == "reproduce" else BY_PARTS
        wrong = {name: n for name, n in wrong.items() if name not in parts or n > wanted.rows[name]}
    texts = [f"{name}: {n:,} rows instead of {right.rows[name]:,}" for name, n in wrong.items()]
    for state in (meanwhile, found):
        for name, n in state.shown.items():
            if not before.shown[name] <= n <= wanted.shown[name]:
                texts.append(f"{n} {name} shown")
    return "; ".join(texts)


def line(kind: str, fault: str, found: list[Outcome]) -> str:
    """Return the text of one cell: worst seconds to a true state and to the end, and what became of each job."""
    seconds, total = max(each.seconds for each in found), max(each.total for each in found)
    right = "WRONG" if any(each.wrong for each in found) else "right"
    text = f"{kind:20} {fault:8} {seconds:6.1f} s {total:6.1f} s  rows {right}  {', '.join(o.how for o in found)}"
    return "\n".join([text, *(f"{'':20} {note}" for o in found for note in (o.reason, o.wrong) if note)])


def markdown(faults: list[str], cells: dict[tuple[str, str], list[Outcome]]) -> str:
    """Return the table of kinds and faults, and the reasons of jobs that failed."""
    reasons: dict[str, int] = {}

    def outcome(one: Outcome) -> str:
        how = f"{one.how} [{reasons.setdefault(one.reason, len(reasons) + 1)}]" if one.reason else one.how
        return f"**{how}, wrong: {one.wrong}**" if one.wrong else how

    def cell(found: list[Outcome]) -> str:
        return f"{max(one.seconds for one in found):.1f} s, {' or '.join(dict.fromkeys(map(outcome, found)))}"

    kinds = dict.fromkeys(kind for kind, _ in cells)
    table = [f"| | {' | '.join(faults)} |", "|---" * (len(faults) + 1) + "|"]
    table += [f"| `{kind}` | {' | '.join(cell(cells[kind, fault]) for fault in faults)} |" for kind in kinds]
    return "\n".join([*table, "", *(f"{number}. {reason}" for reason, number in reasons.items()), ""])


def main() -> None:
    """Print one line for each kind and fault, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", choices=[*FAULTS, []], default=[])
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=1, help="cases at a time, at most 16")
    parser.add_argument("--markdown", type=Path, help="file for the table")
    args = parser.parse_args()
    args.faults = args.faults or list(FAULTS)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        redis_url = stack.enter_context(redis()) if "flush" in args.faults else ""
        base = prepare(Path(folder), args.faults, redis_url)
        pool = stack.enter_context(ThreadPoolExecutor(args.parallel))
        calm = {kind: pool.submit(undisturbed, kind, base) for kind in args.kinds}
        runs = {
            (kind, fault): [pool.submit(run, fault, kind, base, calm[kind]) for _ in range(args.runs)]
            for kind in args.kinds
            for fault in args.faults
        }
        cells = {}
        for (kind, fault), futures in runs.items():
            cells[kind, fault] = [future.result() for future in futures]
            print(line(kind, fault, cells[kind, fault]), flush=True)
    if args.markdown:
        args.markdown.write_text(markdown(args.faults, cells), encoding="utf-8")


if __name__ == "__main__":
    main()
