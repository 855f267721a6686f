"""A given-up import: out of the way at once, removed step by step."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.jobs.helpers import write_articles
from tests.jobs.test_kinds import do
from themescope.core.errors import Cancelled
from themescope.core.types import Article, Paragraph, Section
from themescope.db.store import Store
from themescope.jobs.kinds.import_corpus import ImportProgress, remove_unfinished
from themescope.jobs.queue.worker import CLEANUP_FILES_S, LEFTOVER_AGE, Worker, remove_leftovers


def unfinished(store: Store, articles: int) -> int:
    paragraph = Paragraph("One. Two.", ("One.", "Two."))
    texts = [Article(f"Article {i}", (Section("", 1, (paragraph,), ()),)) for i in range(articles)]
    with store.writing() as w:
        corpus = w.corpora.create("C", "en")
        w.corpora.add_articles(corpus.id, texts)
        w.corpora.abandon(corpus.id)
    return corpus.id


def rows(store: Store) -> list[int]:
    with store.reading() as r:
        count = "SELECT count(*) FROM "
        return [
            r.corpora.connection.exec_driver_sql(count + table).scalar_one()
            for table in ("corpus", "article", "section", "sentence")
        ]


def test_it_goes_in_steps_from_its_end(store: Store) -> None:
    corpus_id = unfinished(store, 250)
    with store.writing() as w:
        assert w.corpora.create("C", "en").id != corpus_id
        assert w.corpora.shrink(corpus_id)
    with store.reading() as r:
        assert [a.position for a in r.corpora.articles(corpus_id, limit=1000)] == list(range(150))
    assert remove_unfinished(store, corpus_id)
    assert rows(store) == [1, 0, 0, 0]
    assert remove_unfinished(store, corpus_id)


def test_what_time_is_too_short_for_is_swept(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = unfinished(sqlite_store, 250)
    assert not remove_unfinished(sqlite_store, corpus_id, seconds=0)
    assert rows(sqlite_store) == [1, 150, 150, 300]
    monkeypatch.setattr("themescope.jobs.queue.worker.LEFTOVER_AGE", LEFTOVER_AGE * 0)
    assert remove_leftovers(sqlite_store) == [f"unfinished import {corpus_id}"]
    assert rows(sqlite_store) == [0, 0, 0, 0]


def test_a_cancelled_import_frees_its_name_however_much_is_left(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [str(write_articles(tmp_path, 500))]

    def cancel(self: ImportProgress, done: float, total: float, message: str = "") -> None:
        if self.articles:
            raise Cancelled

    with monkeypatch.context() as patched, pytest.raises(Cancelled):
        patched.setattr("themescope.jobs.kinds.import_corpus.CANCEL_S", 0)
        patched.setattr(ImportProgress, "progress", cancel)
        do(sqlite_store, "import-corpus", files=files, corpus="C")
    assert do(sqlite_store, "import-corpus", files=files, corpus="C")["articles"] == 500


@pytest.mark.parametrize("kind", ["build-triplets", "clean-triplets", "learn-labels"])
def test_the_set_of_a_waiting_job_is_left(kind: str, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite_store.writing() as w:
        corpus = w.corpora.finish(w.corpora.create("C", "en").id, {})
        for name in ("wanted", "abandoned"):
            w.triplets.create(corpus.id, name, "sentences", {}, 0, name)
        w.jobs.add(kind, "Some triplets", {"name": "wanted"})
    monkeypatch.setattr("themescope.jobs.queue.worker.LEFTOVER_AGE", LEFTOVER_AGE * 0)
    assert remove_leftovers(sqlite_store) == ["abandoned"]


def test_old_jobs_go_with_checkpoints_and_the_file_shrinks(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite_store.writing() as w:
        ids = [w.jobs.add("toy", "x" * 5_000, {}).id for _ in range(400)]
        for id in ids:
            w.jobs.request_cancel(id, 0)
        last = w.jobs.add("toy", "queued", {}).id
    checkpoint = sqlite_store.artifacts.checkpoint_folder(ids[0])
    monkeypatch.setattr("themescope.db.repositories.jobs.JOBS_KEPT", -timedelta(days=1))
    path = sqlite_store.settings.home / "themescope.db"

    def free() -> int:
        with closing(sqlite3.connect(path)) as db:
            return int(db.execute("PRAGMA freelist_count").fetchone()[0])

    worker = Worker(sqlite_store, warm_up=False)
    for cleaned in range(2):
        assert free() < 10 and checkpoint.exists() is not bool(cleaned)
        worker._files_cleaned = -CLEANUP_FILES_S
        worker._present()
    with sqlite_store.reading() as r:
        assert [job.id for job in r.jobs.list(limit=9)] == [last]
    sqlite_store.close()
    assert free() < 10
