"""Load test behind a proxy: people on the pages of two web servers, jobs on two workers; one of each is killed.

nginx with the configuration of docs/deploy, sign-in, HTTPS and sticky sessions. At regular intervals, the web server
with more open pages and a worker that runs a job are killed in turn with SIGKILL. The web server is started again 10
seconds later, the worker immediately. At the end, every edit that a page has acknowledged must be in the history, the
last one of a sentence must be in the current state, and every job must be done with all of its articles.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._page_people import Page, label
from benchmarks._proxied import Installation, installation, trusting
from themescope.core.labelling.changes import ChangeSet, SentenceChanges
from themescope.core.labelling.history import replay, rewind
from themescope.core.labelling.partition import Partition
from themescope.db.label_records import Role
from themescope.db.records import JobStatus
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services import people as accounts
from themescope.jobs.services import sign_in as sessions
from themescope.webapp.shared.cookies import cookie

PASSWORD = "a password of this test"
_DOWN_S, _JOB_ARTICLES, _END_S = 10.0, 400, 240.0


def run(
    store: Store, labelling: int, people: int, seconds: float, kills: int, pause: float, folder: Path
) -> dict[str, Any]:
    """Run the test with so many kills, and return its results."""
    names = [f"user {number}" for number in range(people)]
    cookies_of = sign_in(store, names)
    with store.reading() as r:
        partition = r.labellings.snapshot(labelling).partition
        name = r.labellings.get(labelling).name
    environment = {
        "THEMESCOPE_HOME": str(store.settings.home),
        "DATABASE_URL": store.settings.database_url,
        "QUEUE_URL": store.settings.queue_url,
        "THEMESCOPE_LOGIN": "always",
        "THEMESCOPE_LOG_FORMAT": "json",
    }
    stop, events = threading.Event(), _Events()
    with installation(folder, environment, workers=2) as processes:
        trust = trusting(folder)
        shares = np.array_split(np.column_stack([partition.ids, partition.numbers]), people)
        threads = []
        for person, share in zip(names, shares, strict=True):
            page = Page(processes.url, trust, cookies_of[person], name)
            given = (page, dict(share.tolist()), sorted(partition.clusters), pause, stop, events.of(person))
            threads.append(threading.Thread(target=label, args=given))
        for thread in threads:
            thread.start()
        jobs, held = _kill(store, processes, events, folder, seconds, kills)
        stop.set()
        for thread in threads:
            thread.join(120)
        job_results = _job_results(store, jobs, held)
    results = _results(store, labelling, partition, events)
    return {"people": people, "seconds": seconds, "kills": kills, "pause": pause, **results, **job_results}


def _kill(
    store: Store, processes: Installation, events: _Events, folder: Path, seconds: float, kills: int
) -> tuple[list[int], list[int]]:
    """Kill web servers and workers in turn during so many seconds; return the ids of all jobs, and of those killed."""
    jobs, held = _queue_jobs(store, folder, range(2)), []
    began = time.monotonic()
    for number in range(kills):
        _sleep_until(began + seconds * (number + 1) / (kills + 1))
        if number % 2 == 0:
            web = _kill_web(processes, events)
            time.sleep(_DOWN_S)
            processes.start_web(web)
        else:
            jobs += _queue_jobs(store, folder, range(len(jobs), len(jobs) + 2))
            worker, ran = _kill_worker(store, processes)
            held += ran
            processes.start_worker(worker)
    _sleep_until(began + seconds)
    return jobs, held


def _sleep_until(end: float) -> None:
    time.sleep(max(end - time.monotonic(), 0.0))


def sign_in(store: Store, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Add accounts, the first as admin, and return the cookies of a session of each."""
    os.environ["THEMESCOPE_HOME"] = str(store.settings.home)  # where the key of the cookies is
    cookies_of: dict[str, dict[str, str]] = {}
    for name in names:
        accounts.add(store, name, Role.LABELLER if cookies_of else Role.ADMIN, PASSWORD)
        cookies_of[name] = dict([cookie(sessions.sign_in(store, name, PASSWORD, "benchmark"), secure=True)])
    return cookies_of


class _Events:
    """Log of what pages said, by all people; thread-safe."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def of(self, person: str) -> Any:
        def log(**event: Any) -> None:
            with self._lock:
                self.all.append({"person": person, "time": time.monotonic(), **event})

        return log

    def named(self, name: str) -> list[dict[str, Any]]:
        with self._lock:
            return [event for event in self.all if event["event"] == name]


def _queue_jobs(store: Store, folder: Path, numbers: range) -> list[int]:
    """Queue imports that keep the workers busy."""
    words = "The harbour was closed in winter, and nobody saw a ship for months."
    sections = [{"title": f"Part {i}", "level": 2, "paragraphs": [words] * 4} for i in range(6)]
    jobs = []
    for corpus in numbers:
        path = folder / f"articles-{corpus}.jsonl"
        with path.open("w", encoding="utf-8") as out:
            for article in range(_JOB_ARTICLES):
                out.write(json.dumps({"title": f"Article {corpus}.{article}", "sections": sections}) + "\n")
        args = {"files": [str(path)], "corpus": f"imported {corpus}", "workers": 1}
        jobs.append(enqueue(store, "import-corpus", args).id)
    return jobs


def _kill_web(processes: Installation, events: _Events) -> int:
    """Kill the web server with more open pages, and return its number."""
    routes = {event["person"]: event["route"] for event in events.named("connected")}
    number = "ab".index(Counter(routes.values()).most_common(1)[0][0])
    processes.web[number].kill()
    processes.web[number].wait()
    events.of("")(event="killed")
    return number


def _kill_worker(store: Store, processes: Installation) -> tuple[int, list[int]]:
    """Kill a worker that runs a job; return its number and the ids of its jobs. Waits for one at most 20 seconds."""
    until = time.monotonic() + 20
    while True:
        with store.reading() as r:
            running = r.jobs.list(status=JobStatus.RUNNING)
        for number, process in enumerate(processes.workers):
            held = [job.id for job in running if job.owner.split(":")[1] == str(process.pid)]
            if held or time.monotonic() > until:
                process.kill()
                process.wait()
                return number, held
        time.sleep(0.05)


def _job_results(store: Store, jobs: list[int], held: list[int]) -> dict[str, Any]:
    """Wait for the end of all jobs."""
    until = time.monotonic() + _END_S
    while True:
        with store.reading() as r:
            rows = [r.jobs.get(id) for id in jobs]
            articles = {corpus.name: corpus.articles for corpus in r.corpora.list()}
        if all(row.status.ended for row in rows) or time.monotonic() > until:
            break
        time.sleep(0.5)
    return {
        "jobs": len(rows),
        "jobs_done": sum(row.status is JobStatus.DONE for row in rows),
        "jobs_of_the_killed_worker": len(held),
        "their_attempts": [row.attempt for row in rows if row.id in held],
        "imports_complete": all(articles.get(f"imported {n}") == _JOB_ARTICLES for n in range(len(jobs))),
    }


def _results(store: Store, labelling: int, first: Partition, events: _Events) -> dict[str, Any]:
    """Compare the acknowledged edits with the history and the current state."""
    with store.reading() as r:
        history = r.label_steps.since(labelling, 0)
        current = r.labellings.snapshot(labelling).partition
    change_sets = [change_set for _, change_set in history]
    saved = events.named("saved")
    stored: Counter[tuple[str, int, int]] = Counter()
    for step, changes in history:
        stored.update((step.person, *move) for move in _moves(changes))
    acknowledged = Counter((event["person"], event["sentence"], event["cluster"]) for event in saved)
    unacknowledged = {event["sentence"] for event in events.named("disconnected")}
    last = {event["sentence"]: event["cluster"] for event in saved if event["sentence"] not in unacknowledged}
    rows = current.rows(np.array([*last], dtype=np.int64))
    wrong = int((current.numbers[rows] != np.array([*last.values()])).sum())
    return {
        "saved": len(saved),
        "steps": len(history),
        "lost": (acknowledged - stored).total() + wrong,
        "errors": [event["person"] for event in events.named("refused")],
        "replayed": replay(first, change_sets).to_bytes() == current.to_bytes(),
        "undone": rewind(current, change_sets).to_bytes() == first.to_bytes(),
        "not_acknowledged": len(events.named("disconnected")),
        **_times(events, saved),
    }


def _moves(changes: ChangeSet) -> list[tuple[int, int]]:
    parts = [change for change in changes if isinstance(change, SentenceChanges) and change.field == "cluster"]
    return [(int(id), int(new)) for part in parts for id, new in zip(part.ids, part.new, strict=True)]


def _times(events: _Events, saved: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return milliseconds of saved edits, and seconds from the end of a web server to a page on the other one."""
    kills = [event["time"] for event in events.named("killed")]
    connected = [event["time"] for event in events.named("connected")]
    waits = [at - max(kill for kill in kills if kill < at) for at in connected if kills and at > kills[0]]
    times = np.array([event["seconds"] for event in saved] or [0.0]) * 1000
    return {
        "reconnected": len(waits),
        "reconnected_after_s": [round(float(np.percentile(waits, q)), 1) for q in (50, 100)] if waits else [],
        "p50_ms": round(float(np.percentile(times, 50)), 1),
        "p95_ms": round(float(np.percentile(times, 95)), 1),
        "max_ms": round(float(times.max()), 1),
    }
