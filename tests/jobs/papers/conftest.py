"""A store with articles and the data of a tiny paper, and a function that reproduces it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import themescope.jobs.papers.tables  # noqa: F401 -- before the tiny paper is added, because the help text of a setting lists the papers
from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import SICK_HEADER, WORDS, write_articles
from tests.jobs.papers.tiny_paper import KNOWN
from themescope.core.papers import PAPERS
from themescope.db.store import Store
from themescope.jobs.queue.runner import resume_here, run_here


def content(store: Store, table: str, paper: str = "tiny") -> dict[str, Any]:
    with store.reading() as r:
        record = r.papers.find(paper, table, "quick")
    assert record is not None
    return dict(record.content)


def rows(store: Store, table: str, paper: str = "tiny") -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in content(store, table, paper)["rows"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Articles, word vectors of their words, and pairs whose relatedness is the share of common words."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    text = write_articles(folder, 60).read_text(encoding="utf-8")
    words = sorted({w.strip(".=").lower() for w in text.split()} - {""})
    lines = [f"{word} " + " ".join(f"{x:.4f}" for x in rng.normal(size=8)) for word in words]
    (folder / "words.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rng = np.random.default_rng(0)
    (folder / "sick").mkdir()
    for name, n in (("train", 40), ("trial", 12), ("test_annotated", 30)):
        pairs = [SICK_HEADER]
        for i in range(n):
            common, w = int(rng.integers(0, 5)), rng.permutation(WORDS)
            both = (" ".join(w[:4]), " ".join([*w[:common], *w[4 : 8 - common]]))
            pairs.append(f"{i}\t{both[0]}\t{both[1]}\t{1.0 + common}\tNEUTRAL\n")
        if name == "test_annotated":
            pairs.append(f"{n}\t{KNOWN[0]}\t{KNOWN[1]}\t4.5\tNEUTRAL\n")
        (folder / "sick" / f"SICK_{name}.txt").write_text("".join(pairs), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def home(make_home: MakeHome, data: Path) -> Path:
    args = {"files": [str(data / "articles-60.txt")], "corpus": "C"}
    return make_home(lambda store: run_here(store, "import-corpus", args, quiet=True))


@pytest.fixture
def corpus(copy_home: CopyHome, home: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with the corpus "C", the tiny paper among the papers, and regressors that learn for a moment only."""
    monkeypatch.setattr("themescope.core.tasks.relatedness._MOST_BLOCKS", 1)
    # The networks of a test take two or three steps; a start that stays the best state is a model here.
    monkeypatch.setattr("themescope.core.models.base.require_learned", lambda metrics: None)
    monkeypatch.setitem(PAPERS, "tiny", "tests.jobs.papers.tiny_paper:TINY")
    return copy_home(home)


@pytest.fixture
def reproduce(corpus: Store, data: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def run(**args: Any) -> dict[str, Any]:
        given = {"paper": "tiny", "corpus": "C", "words": str(data / "words.txt"), "sick": str(data / "sick")}
        written = {"document": str(tmp_path / "docs" / "results.md"), "replace": True}
        return resume_here(corpus, "reproduce", {**given, **written, **args}, quiet=True)

    return run
