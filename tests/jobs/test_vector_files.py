"""Vectors of large corpora, which jobs store in files."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.jobs.test_kinds import do
from themescope.core.errors import Cancelled
from themescope.db.store import Store
from themescope.jobs.common import vectors
from themescope.jobs.common.job import JobContext, Stop
from themescope.jobs.queue.runner import resume_here
from themescope.jobs.services import installation

ARTICLES = 12


@pytest.fixture
def large(twelve: Store) -> Store:
    """A store for which every corpus is large, with a corpus and a model."""
    store = Store(replace(twelve.settings, vector_files_from=1))
    do(store, "train", method="mean-vectors", name="mean", corpus="C")
    return store


def stored(store: Store) -> dict[int, Any]:
    with store.reading() as r:
        return r.embeddings.get(r.models.by_name("mean").id, range(1, ARTICLES + 1))


def test_a_cancelled_job_keeps_its_files_and_resumes(large: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BATCH_SENTENCES", 20)
    monkeypatch.setattr(vectors, "FILE_SENTENCES", 20)
    args = {"corpus": "C", "model": "mean"}
    progress, shares = JobContext.progress, set[float]()

    def cancelling(context: JobContext, done: float, total: float, message: str = "") -> None:
        shares.update({done / total} if "embedded" in message else ())
        if len(shares) > 2:  # the vectors of the first articles are stored
            context.stop(Stop.CANCEL)
        progress(context, done, total, message)

    with monkeypatch.context() as patched:
        patched.setattr(JobContext, "progress", cancelling)
        with pytest.raises(Cancelled):
            do(large, "embed", **args)
    kept = len(stored(large))
    assert 0 < kept < ARTICLES
    assert resume_here(large, "embed", args, quiet=True)["embedded"] == ARTICLES - kept
    assert len(stored(large)) == ARTICLES


def test_a_bundle_of_a_large_corpus(large: Store, tmp_path: Path) -> None:
    do(large, "embed", corpus="C", model="mean")
    before = stored(large)
    file = tmp_path / "bundle.zip"
    do(large, "export-bundle", corpus="C", models=["mean"], file=str(file))
    do(large, "import-bundle", file=str(file), corpus="D")
    with large.reading() as r:
        copies = [a.id for a in r.corpora.articles(r.corpora.by_name("D").id, limit=ARTICLES)]
        found = r.embeddings.get(r.models.by_name("mean").id, copies)
        assert len(r.embeddings.files()) >= 1
    assert all(np.array_equal(found[copy], before[i]) for i, copy in enumerate(copies, 1))


def test_the_doctor_names_a_damaged_file(large: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_accelerator", lambda: iter(()))
    monkeypatch.setattr(installation, "_word_vectors", lambda: iter(()))

    def look(vectors: bool = False) -> list[installation.Examined]:
        return [check for check in installation.examine(vectors) if check.name == "vector files"]

    assert look() == []
    do(large, "embed", corpus="C", model="mean")
    (path,) = (large.settings.home / "vectors").iterdir()
    (fine,) = look(vectors=True)
    assert not fine.problem and "1 in " in fine.found
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert not look()[0].problem
    (changed,) = look(vectors=True)
    assert changed.problem and str(path) in changed.found and "does not match its name" in changed.found
    os.truncate(path, 99)
    assert look()[0].problem
