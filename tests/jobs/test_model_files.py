"""The files of deleted models: told by the doctor, removed by a worker, never taken from a job that writes them."""

import os
import shutil
import time
from pathlib import Path
from threading import Thread

import pytest

from tests.faults.test_database import damage
from tests.jobs.helpers import wait_for
from themescope.db.store import Store
from themescope.jobs.queue.worker import Worker
from themescope.jobs.services.installation import Examined, examine

LONG_AGO = 200_000.0


def put(store: Store, text: str, age: float = 0.0) -> str:
    def write(folder: Path) -> None:
        (folder / "weights").write_text(text, encoding="utf-8")

    digest = store.artifacts.put(write)
    if age:
        os.utime(store.artifacts.path(digest), (time.time() - age,) * 2)
    return digest


def enter(store: Store, artifact: str) -> None:
    with store.writing() as w:
        w.models.add(name="M", method="tfidf", config={}, seed=0, digest="d", artifact=artifact)


def told(store: Store, monkeypatch: pytest.MonkeyPatch, name: str = "model files") -> Examined:
    monkeypatch.setenv("THEMESCOPE_HOME", str(store.settings.home))
    monkeypatch.setattr("themescope.jobs.services.installation._accelerator", lambda: iter(()))
    monkeypatch.setattr("themescope.jobs.services.installation._word_vectors", lambda: iter(()))
    return next(check for check in examine() if check.name == name)


def test_a_worker_removes_the_files_of_deleted_models_and_no_others(sqlite_store: Store) -> None:
    used, gone = put(sqlite_store, "used", LONG_AGO), put(sqlite_store, "gone", LONG_AGO)
    on_its_way = put(sqlite_store, "a job has written it and is about to enter the model")
    enter(sqlite_store, used)
    worker = Worker(sqlite_store, warm_up=False)
    thread = Thread(target=worker.run)
    thread.start()
    try:
        wait_for(lambda: not sqlite_store.artifacts.has(gone))
    finally:
        worker.stop()
        thread.join()
    assert sqlite_store.artifacts.has(used) and sqlite_store.artifacts.has(on_its_way)


def test_the_doctor_tells_files_of_no_model_and_models_with_changed_or_no_files(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = put(sqlite_store, "used")
    enter(sqlite_store, artifact)
    assert told(sqlite_store, monkeypatch) == Examined("model files", "present for every model (1)")
    put(sqlite_store, "unused")
    check = told(sqlite_store, monkeypatch)
    assert not check.problem and "1 without a model" in check.found
    folder = sqlite_store.artifacts.path(artifact)
    (folder / "weights").write_text("usee", encoding="utf-8")
    check = told(sqlite_store, monkeypatch)
    assert check.problem and "changed or damaged for M" in check.found
    shutil.rmtree(folder)
    check = told(sqlite_store, monkeypatch)
    assert check.problem and "missing for M" in check.found


def test_the_doctor_finds_a_damaged_page(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite_store.writing() as w:
        for number in range(200):
            w.jobs.add("toy", f"{number} {'x' * 200}", {})
    sqlite_store.close()
    damage(sqlite_store.settings.home / "themescope.db", b"100 xxx")
    check = told(sqlite_store, monkeypatch, "store")
    assert check.problem and "damaged" in check.found
