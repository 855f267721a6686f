"""Search by meaning through the index of a large corpus."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.jobs.helpers import write_articles
from themescope.core.compute import cosines
from themescope.core.errors import ArtifactError
from themescope.db.records import VectorIndexRecord
from themescope.db.store import Store
from themescope.jobs.common import vectors as indexes
from themescope.jobs.kinds import project as embed
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import search
from themescope.jobs.services.installation import doctor

ARTICLES = 12


def do(store: Store, kind: str, /, **args: Any) -> dict[str, Any]:
    return run_here(store, kind, args, quiet=True)


@pytest.fixture
def large(sqlite_store: Store, tmp_path: Path, usearch: None, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store for which every corpus is large, with an embedded corpus."""
    for module in (indexes, embed):
        monkeypatch.setattr(module, "INDEX_FROM", 20)
    do(sqlite_store, "import-corpus", files=[str(write_articles(tmp_path, ARTICLES))], corpus="C")
    do(sqlite_store, "train", method="mean-vectors", name="mean", corpus="C")
    do(sqlite_store, "embed", corpus="C", model="mean")
    return sqlite_store


def index_of(store: Store) -> VectorIndexRecord | None:
    with store.reading() as r:
        return search.index_of(store, r.models.by_name("mean").id, r.corpora.by_name("C").id)


def test_embedding_builds_the_index_once(large: Store) -> None:
    index = index_of(large)
    assert index is not None and 0.9 <= index.recall <= 1
    again = do(large, "embed", corpus="C", model="mean")
    assert again["cached"] and again["indexed"] == index.vectors and index_of(large) == index
    (path,) = (large.settings.home / "vectors").glob("*.usearch")
    assert path.stem == index.digest and path.stat().st_size == index.size
    assert "recall@10" in search.recall_note(index)


def test_the_search_gives_exact_cosines(large: Store) -> None:
    index = index_of(large)
    assert index is not None
    with large.reading() as r:
        model = r.models.by_name("mean")
        blocks = r.embeddings.get(model.id, range(1, ARTICLES + 1))
    query = blocks[3][:1]
    near = search.near(large, model, index, query, 10)
    assert (near.articles[0], near.cosines[0]) == (3, pytest.approx(1, abs=1e-5)) or near.cosines[0] > 0.9999
    assert (np.diff(near.cosines) <= 0).all()
    for article, position, cosine in zip(near.articles, near.positions, near.cosines, strict=True):
        assert cosines(query, blocks[int(article)][[int(position)]])[0] == pytest.approx(cosine, abs=1e-6)
    best = max(float(cosines(query, block).max()) for block in blocks.values())
    assert near.cosines[0] == pytest.approx(best, abs=1e-5)


def test_changed_vectors_need_a_new_index(large: Store) -> None:
    index = index_of(large)
    assert index is not None
    with large.writing() as w:
        model = w.models.by_name("mean").id
        (block,) = w.embeddings.get(model, [5]).values()
        from themescope.db.records import VectorBlock

        w.embeddings.add(model, [VectorBlock(5, -block)])
    assert index_of(large) is None
    do(large, "embed", corpus="C", model="mean")
    rebuilt = index_of(large)
    assert rebuilt is not None and rebuilt.digest != index.digest
    folder = large.settings.home / "vectors"
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    assert large.remove_unused_vector_files() == [index.digest]
    assert [path.stem for path in folder.iterdir()] == [rebuilt.digest]


def test_a_damaged_index_is_named(large: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_accelerator", lambda: iter(()))
    monkeypatch.setattr(doctor, "_word_vectors", lambda: iter(()))
    (path,) = (large.settings.home / "vectors").glob("*.usearch")
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    (check,) = [check for check in doctor.examine(vectors=True) if check.name == "indexes"]
    assert check.problem and str(path) in check.found
    index = index_of(large)
    assert index is not None
    with large.reading() as r:
        model = r.models.by_name("mean")
        query = r.embeddings.get(model.id, [1])[1][:1]
    with pytest.raises(ArtifactError, match="does not match its name"):
        search.near(large, model, index, query, 10)
