"""A real worker process: killed, stopped, asked to cancel."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.helpers import PATIENCE_S, get, kill, wait_ended, wait_for, worker_process, write_articles
from tests.servers import PostgresServer
from themescope.core.records.stored import CorpusRecord, JobRecord, JobStatus
from themescope.core.types import Split
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.runner import run_here

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9 is a matter of POSIX systems")

NET = {
    "hidden": 16,
    "attention": 8,
    "epochs": 2,
    "batch_size": 16,
    "patience_stop": 1000,
    "threads": 1,
    "vocabulary_limit": 2000,
    "checkpoint_seconds": 0.0,
    "precision": "fp32",
    "device": "cpu",
}


HALF_STORED = ("write", 2)  # the corpus is made and its first batch of articles is in
SOME_STEPS = ("progress", 12)


def copied_store(file: Path, folder: Path) -> Store:
    """A store of its own with what is in the file of another."""
    folder.mkdir()
    shutil.copy(file, folder / "themescope.db")
    return Store(Settings.in_folder(folder))


def text_of(store: Store, corpus: str) -> tuple[CorpusRecord, str]:
    """The corpus, and a digest of every row of it."""
    digest = hashlib.sha256()
    with store.reading() as r:
        record = r.corpora.by_name(corpus)
        for found in r.corpora.iterate(record.id):
            digest.update(repr(found).encode())
    return record, digest.hexdigest()


def stored(store: Store, corpus: str) -> int:
    """How many articles of an import are in so far."""
    with store.reading() as r:
        for record in r.corpora.list(include_unready=True):
            if record.name == corpus:
                return r.corpora.imported_articles(record.id)
    return 0


class TestImport:
    def test_killed_it_equals_an_undisturbed_import(
        self, sqlite_store: Store, empty_sqlite_file: Path, tmp_path: Path
    ) -> None:
        args = {"files": [str(write_articles(tmp_path, 100))], "corpus": "C", "workers": 1}
        job = enqueue(sqlite_store, "import-corpus", args)
        with worker_process(HALF_STORED) as worker:
            wait_for(lambda: stored(sqlite_store, "C"))
            kill(worker)
        assert get(sqlite_store, job.id).status is JobStatus.RUNNING
        assert 0 < stored(sqlite_store, "C") < 100
        with sqlite_store.reading() as r:
            assert r.corpora.list() == []
        with worker_process():
            row = wait_ended(sqlite_store, job.id)
        assert (row.status, row.attempt) == (JobStatus.DONE, 2)
        calm = copied_store(empty_sqlite_file, tmp_path / "calm")
        run_here(calm, "import-corpus", args, quiet=True)
        (_, disturbed), (record, undisturbed) = text_of(sqlite_store, "C"), text_of(calm, "C")
        assert record.articles == 100
        assert row.result["digest"] == record.report["digest"]
        assert disturbed == undisturbed


@pytest.fixture
def prepared(sqlite_store: Store, tmp_path: Path) -> Store:
    """A store with a small triplet set, in its file and nowhere beside it."""
    files = [str(write_articles(tmp_path, 12))]
    run_here(sqlite_store, "import-corpus", {"files": files, "corpus": "C"}, quiet=True)
    run_here(sqlite_store, "build-triplets", {"corpus": "C", "name": "T"}, quiet=True)
    sqlite_store.close()
    return sqlite_store


def _train(name: str = "net") -> dict[str, Any]:
    return {"method": "triplets-sen", "name": name, "triplets": "T", "settings": NET, "seed": 3}


def _weights(store: Store) -> dict[str, bytes]:
    with store.reading() as r:
        (model,) = r.models.list()
    folder = store.artifacts.path(model.artifact)
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


def _saved(store: Store, job: JobRecord) -> int:
    """When the checkpoint of a training was written last; 0 before the first."""
    files = list(store.artifacts.checkpoint_folder(job.id).glob("*.safetensors"))
    return max((path.stat().st_mtime_ns for path in files), default=0)


def _owners(store: Store) -> list[str]:
    with store.reading() as r:
        return [worker.owner for worker in r.workers.alive()]


class TestTraining:
    @pytest.mark.slow
    def test_killed_and_stopped_it_ends_with_the_same_weights(self, prepared: Store, tmp_path: Path) -> None:
        calm = copied_store(prepared.settings.home / "themescope.db", tmp_path / "calm")
        job = enqueue(prepared, "train", _train())
        with worker_process(SOME_STEPS) as worker:
            wait_for(lambda: _saved(prepared, job))
            kill(worker)
        assert get(prepared, job.id).status is JobStatus.RUNNING
        before = _saved(prepared, job)
        with worker_process(SOME_STEPS) as worker:
            wait_for(lambda: _saved(prepared, job) != before)
            owner = get(prepared, job.id).owner
            assert owner in _owners(prepared)
            worker.terminate()
            worker.wait(PATIENCE_S)
        row = get(prepared, job.id)
        assert (row.status, row.attempt) == (JobStatus.QUEUED, 1)
        assert owner not in _owners(prepared)
        with worker_process():
            row = wait_ended(prepared, job.id)
        assert (row.status, row.attempt) == (JobStatus.DONE, 2)
        run_here(calm, "train", _train(), quiet=True)
        assert _weights(prepared) == _weights(calm)

    def test_test_articles_are_not_among_what_it_learned_from(self, prepared: Store) -> None:
        from themescope.core.models.artifact import read_info, saw_title

        small = _train() | {"settings": NET | {"epochs": 1}, "keep_start": True}
        run_here(prepared, "train", small, quiet=True)
        with prepared.reading() as r:
            (model,) = r.models.list()
            every = r.corpora.articles(model.corpus_id, limit=99)
        titles = {split: [a.title for a in every if a.split is split] for split in Split}
        info = read_info(prepared.artifacts.path(model.artifact))
        assert any(saw_title(info, title) for title in titles[Split.TRAIN])
        assert not any(saw_title(info, title) for title in titles[Split.TEST])


@pytest.mark.postgres
def test_everything_on_postgresql(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, themescope_home: Path
) -> None:
    url = postgres_server.new_database()
    monkeypatch.setenv("DATABASE_URL", url)
    store = Store(Settings.from_environment())
    store.migrate()
    first = enqueue(store, "import-corpus", {"files": [str(write_articles(tmp_path, 30))], "corpus": "C"})
    second = enqueue(store, "build-triplets", {"corpus": "C", "name": "T"}, after=first.id)
    third = enqueue(store, "train", {"method": "tfidf", "name": "M", "corpus": "C"}, after=second.id)
    last = enqueue(store, "evaluate-triplets", {"model": "M", "triplets": "T"}, after=third.id)
    with worker_process():
        row = wait_ended(store, last.id)
    assert row.status is JobStatus.DONE, row.error
    assert row.result["scores"]["triplet accuracy"]["n"] > 0
    store.close()
