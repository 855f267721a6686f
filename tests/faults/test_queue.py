"""Workers are stopped and killed in the middle of an import."""

from __future__ import annotations

from pathlib import Path

from tests.jobs.helpers import PATIENCE_S, get, wait_ended, wait_for, worker_process, write_articles
from tests.jobs.test_worker import HALF_STORED, copied_store, stored, text_of
from themescope.db.records import JobStatus
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.foreground import run_here


def test_an_import_that_is_stopped_and_killed_equals_an_undisturbed_one(
    sqlite_store: Store, empty_sqlite_file: Path, tmp_path: Path
) -> None:
    args = {"files": [str(write_articles(tmp_path, 100))], "corpus": "C", "workers": 1}
    job = enqueue(sqlite_store, "import-corpus", args)
    with worker_process(HALF_STORED) as worker:
        wait_for(lambda: stored(sqlite_store, "C"))
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0
    row = get(sqlite_store, job.id)
    assert (row.status, row.attempt, stored(sqlite_store, "C") > 0) == (JobStatus.QUEUED, 0, True)
    with sqlite_store.reading() as r:
        assert (r.corpora.list(), r.workers.alive()) == ([], [])
    with worker_process():
        row = wait_ended(sqlite_store, job.id)
    assert (row.status, row.attempt) == (JobStatus.DONE, 1)
    calm = copied_store(empty_sqlite_file, tmp_path / "calm")
    run_here(calm, "import-corpus", args, quiet=True)
    assert text_of(sqlite_store, "C")[1] == text_of(calm, "C")[1]
