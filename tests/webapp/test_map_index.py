"""Search by meaning on a map of a large corpus, which goes through the index."""

from pathlib import Path

import numpy as np
import pytest

from tests.jobs.helpers import write_articles
from themescope.db.store import Store
from themescope.jobs.common import vectors
from themescope.jobs.kinds import project
from themescope.jobs.queue.runner import run_here
from themescope.webapp.features.map import controls as search
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.shared import queries


def test_the_index_finds_what_the_exact_search_finds(
    sqlite_store: Store, tmp_path: Path, usearch: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (vectors, project):
        monkeypatch.setattr(module, "INDEX_FROM", 20)
    run_here(sqlite_store, "import-corpus", {"files": [str(write_articles(tmp_path, 12))], "corpus": "C"}, quiet=True)
    run_here(sqlite_store, "train", {"method": "mean-vectors", "name": "mean", "corpus": "C"}, quiet=True)
    run_here(sqlite_store, "project", {"corpus": "C", "model": "mean"}, quiet=True)
    record = queries.maps(1)[0]
    whole = map_scene.opened(record)
    sentence = int(whole.ids[7])
    exact = search.by_meaning(record, whole, sentence, 5)
    assert not exact.note and len(exact.rows) == 5
    monkeypatch.setattr(search, "INDEX_FROM", 20)
    search.by_meaning.clear()
    for scene in (whole, whole.only(np.arange(len(whole.ids)) % 10 > 0)):
        through = search.by_meaning(record, scene, sentence, 5)
        assert "recall@10" in through.note
        assert through.cosines is not None and exact.cosines is not None
        assert sentence not in scene.ids[through.rows]
        if scene is whole:
            assert np.allclose(through.cosines, exact.cosines, atol=1e-3)
