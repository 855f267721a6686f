"""Text to import, worker processes to kill, and patience."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import JobRecord, LabellingRecord
from themescope.core.types import Sentence
from themescope.db.store import Store, Unit
from themescope.jobs.common.job import JobContext
from themescope.jobs.queue.control import execute
from themescope.jobs.queue.runner import Runner, new_owner
from themescope.jobs.services import samples, tasks
from themescope.jobs.services.labelling import tables

ROOT = Path(__file__).resolve().parents[2]
WORDS = ("river", "stone", "window", "garden", "music", "market", "harbour", "winter", "letter", "signal", "forest")
PATIENCE_S = 180.0
"""How long to wait for what takes a second or two: a busy machine is no defect."""
SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"


def article(number: int, sections: int = 6, paragraphs: int = 4) -> str:
    """An article as text with headings; every section has words of its own."""
    lines = [f"= Article {number} =", "", f"Article {number} begins with a lead of one sentence.", ""]
    for s in range(sections):
        lines += [f"== Part {s} ==", ""]
        theme = WORDS[s % len(WORDS)]
        for p in range(paragraphs):
            other = WORDS[(number + p) % len(WORDS)]
            lines += [
                f"The {theme} of number {number} was seen near the {theme} in year {p}. "
                f"Nobody there had thought of the {other} or of any {theme} before.",
                "",
            ]
    return "\n".join(lines)


def write_articles(folder: Path, count: int, **shape: int) -> Path:
    """A file of ``count`` articles."""
    path = folder / f"articles-{count}.txt"
    path.write_text("\n".join(article(i, **shape) for i in range(count)), encoding="utf-8")
    return path


def get(store: Store, job_id: int) -> JobRecord:
    with store.reading() as r:
        return r.jobs.get(job_id)


def wait_for(condition: Callable[[], Any], seconds: float = PATIENCE_S, every: float = 0.02) -> Any:
    """The first true value of ``condition``."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(every)
    return value


def wait_ended(store: Store, job_id: int) -> JobRecord:
    """The row of the job once it has ended."""
    wait_for(lambda: get(store, job_id).status.ended)
    return get(store, job_id)


def run_job(store: Store, job_id: int) -> None:
    """Run a queued job in this thread, whatever else is queued; nothing happens if it cannot be claimed."""
    owner = new_owner()
    with store.writing() as w:
        job = w.jobs.claim(job_id, owner)
    if job is not None:
        execute(store, job, JobContext(store, job, owner))


class PatientRunner(Runner):
    """A runner whose clock a test moves on, so that nobody has to wait until a job counts as abandoned."""

    def __init__(self, store: Store) -> None:
        self.time = 0.0
        super().__init__(store, clock=lambda: self.time)

    def watch(self, seconds: float) -> list[int]:
        """Look at the heartbeats once a second; return the ids of the jobs that are abandoned at the end."""
        abandoned = self.look()
        for _ in range(math.ceil(seconds)):
            self.time += 1.0
            abandoned = self.look()
        return abandoned


def program(*words: object, held: tuple[str, int] | None = None) -> list[str]:
    """The command line of the program; ``held`` as in :mod:`tests.jobs.held`."""
    module = ("themescope.jobs.cli",) if held is None else ("tests.jobs.held", *held)
    return [sys.executable, "-m", *(str(word) for word in (*module, *words))]


def program_environment() -> dict[str, str]:
    """The environment of the test, for a program that starts in any folder."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


@contextmanager
def worker_thread(store: Store) -> Iterator[None]:
    """A worker in a thread of the test, which need not import everything anew."""
    runner, ended = Runner(store), threading.Event()

    def work() -> None:
        while not ended.is_set():
            if not runner.run_next():
                ended.wait(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def worker_process(held: tuple[str, int] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A worker as a process of its own, in the environment of the test; killed at the end if it still runs.

    It takes over jobs after a shorter silence than usual (see :mod:`tests.jobs.held`).
    """
    command, env = program("worker", "--no-warm-up", held=held or ("nothing", 0)), program_environment()
    process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def kill(process: subprocess.Popen[bytes]) -> None:
    """No warning, no clean-up."""
    process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait()


def partition_of(store: Store, labelling_id: int) -> Partition:
    """The state of a labelling."""
    with store.reading() as r:
        return r.labellings.snapshot(labelling_id).partition


def only_plan(*args: Any, **options: Any) -> tables.Plan:
    """Return the plan of a table of labels that has those of one annotator."""
    (found,) = tables.plans(*args, tables.LabelReading(**{"together": False, "several": False} | options))
    return found


def open_item(store: Store, item_id: int) -> LabellingRecord:
    """Begin with an item of a task as its person does on the page Code; return the person's labelling."""
    with store.reading() as r:
        item = r.tasks.item(item_id)
    labelling = tasks.begin_labelling(store, item.task_id, item.person)
    tasks.record_progress(store, (), item_id)
    with store.reading() as r:
        return r.labellings.get(labelling)


def sentences_of_item(r: Unit, range_of: samples.Range) -> list[Sentence]:
    """The sentences of an item in reading order."""
    return r.corpora.sentences_at(samples.places_of([range_of]))


def finish_item(store: Store, item_id: int) -> None:
    """Record that the sentences of an item have their codes, as the page Code does."""
    tasks.record_progress(store, (item_id,), None)
