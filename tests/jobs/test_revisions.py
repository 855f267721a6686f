"""Cached work is computed again when an implementation that took part in it has a new revision."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.test_kinds import do
from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.models import REGISTRY as METHODS
from themescope.core.models.artifact import read_info
from themescope.core.readers import REGISTRY as READERS
from themescope.core.registry import Registry
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.text.word_vectors import REGISTRY as TABLES
from themescope.db.records import VectorBlock
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.papers.sources import corpus_of


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("documents") / "documents.jsonl"
    found = {"id": "d", "text": "A river ran by. A stone lay there. It rained.", "summaries": ["A river ran."]}
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


Revise = Callable[[Registry, str], None]


@pytest.fixture
def revise(monkeypatch: pytest.MonkeyPatch) -> Revise:
    """Raise the revision of a card for the time of a test."""

    def raise_revision(registry: Registry, id: str) -> None:
        card = registry.get(id)
        monkeypatch.setitem(registry._cards, id, replace(card, revision=card.revision + 1))

    return raise_revision


TRAIN = ("train", {"method": "mean-vectors", "name": "N", "settings": {"vocabulary_limit": 2000}})
CLUSTER = ("cluster", {"model": "M", "clusterer": "kmeans", "benchmark": "B"})
TRIPLETS = ("evaluate-triplets", {"model": "M", "triplets": "T"})
MAP = ("project", {"corpus": "C", "model": "M", "limit": 50, "settings": {"epochs": 1}})
THEMES = ("find-themes", {"corpus": "C", "model": "M", "settings": {"k": 2}})
SET = ("build-triplets", {"corpus": "C", "name": "S"})
BENCHMARK = ("build-benchmark", {"corpus": "C", "name": "D"})
SUMMARIES = ("evaluate-summaries", {"summarizer": "lead"})
TAKES_PART = [
    (TRAIN, METHODS, "mean-vectors"),
    (TRAIN, TABLES, "glove-6b-50d"),
    (CLUSTER, METHODS, "mean-vectors"),
    (CLUSTER, CLUSTERERS, "kmeans"),
    (CLUSTER, METRICS, METRICS.ids()[-1]),
    (TRIPLETS, METHODS, "mean-vectors"),
    (MAP, METHODS, "mean-vectors"),
    (THEMES, METHODS, "mean-vectors"),
    (THEMES, CLUSTERERS, "iclust"),
    (SUMMARIES, SUMMARIZERS, "lead"),
    *((work, KINDS, work[0]) for work in (TRAIN, CLUSTER, TRIPLETS, MAP, THEMES, SET, BENCHMARK, SUMMARIES)),
]


@pytest.mark.parametrize(("work", "registry", "id"), TAKES_PART, ids=lambda value: str(getattr(value, "kind", value)))
def test_work_is_found_until_an_implementation_has_a_new_revision(
    filled: Store, documents: Path, revise: Revise, work: tuple[str, dict[str, Any]], registry: Registry, id: str
) -> None:
    kind, args = work
    args = args | ({"documents": str(documents)} if kind == "evaluate-summaries" else {})
    do(filled, kind, **args)
    assert do(filled, kind, **args)["cached"]
    renamed = {"name": f"{args['name']} again"} if "name" in args else {}
    revise(registry, id)
    assert not do(filled, kind, **args | renamed)["cached"]
    assert do(filled, kind, **args | renamed)["cached"]


def test_other_implementations_and_the_version_of_the_package_have_no_part_in_it(
    filled: Store, revise: Revise, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(filled, CLUSTER[0], **CLUSTER[1])
    for registry, id in ((METHODS, "tfidf"), (CLUSTERERS, "ward"), (KINDS, "train"), (READERS, "headed-text")):
        revise(registry, id)
    assert do(filled, CLUSTER[0], **CLUSTER[1])["cached"]
    do(filled, TRAIN[0], **TRAIN[1])
    monkeypatch.setattr("themescope.jobs.kinds.train.code_version", lambda: "9.9")
    assert do(filled, TRAIN[0], **TRAIN[1])["cached"]


def test_a_model_never_has_vectors_of_two_revisions(filled: Store, revise: Revise) -> None:
    do(filled, "embed", corpus="C", model="M")
    with filled.writing() as w:
        article = w.corpora.articles(1, limit=1)[0]
        stale = w.embeddings.get(1, [article.id])[article.id] * 0 + 7
        w.embeddings.add(1, [VectorBlock(article.id, stale)])
    assert do(filled, "embed", corpus="C", model="M")["embedded"] == 0
    revise(METHODS, "mean-vectors")
    assert do(filled, "embed", corpus="C", model="M")["embedded"] == 30
    assert do(filled, "embed", corpus="C", model="M")["cached"]
    with filled.reading() as r:
        assert (r.embeddings.get(1, [article.id])[article.id] != 7).any()
    assert find_model(filled, "M").revision == METHODS.get("mean-vectors").revision == 2


def test_a_model_is_stored_with_the_revision_that_made_it(filled: Store, revise: Revise) -> None:
    revise(METHODS, "mean-vectors")
    do(filled, TRAIN[0], **TRAIN[1])
    made = find_model(filled, "N")
    assert (made.revision, find_model(filled, "M").revision) == (2, 1)
    assert read_info(filled.artifacts.path(made.artifact))["record"]["revision"] == 2


@pytest.mark.parametrize(("registry", "id"), [(READERS, "headed-text"), (KINDS, "import-corpus")])
def test_a_new_reader_reads_files_again(
    filled: Store, thirty: Path, revise: Revise, registry: Registry, id: str
) -> None:
    def run(kind: str, args: Any) -> dict[str, Any]:
        return do(filled, kind, **args)

    assert corpus_of(filled, run, [thirty], "C") == "C"
    revise(registry, id)
    assert corpus_of(filled, run, [thirty], "C") == "C 2"
    assert corpus_of(filled, run, [thirty], "C") == "C 2"
    words = {"method": "tfidf", "corpus": "C"}
    assert not do(filled, "train", name="one", **words)["cached"]
    assert not do(filled, "train", name="other", **words | {"corpus": "C 2"})["cached"]


def test_a_checkpoint_of_older_code_is_not_resumed(filled: Store, revise: Revise) -> None:
    seen: list[list[str]] = []

    class Left(Exception):
        """Ends the training in the middle."""

    def fit(self: Any, corpus: Any, report: Any) -> None:
        folder = report.checkpoint_folder()
        seen.append(sorted(path.name for path in folder.iterdir()))
        (folder / "state").write_text("half done", encoding="utf-8")
        raise Left

    with filled.writing() as w:
        job = w.jobs.add("train", "t", {})
    config = KINDS.get("train").config_class()(method="tfidf", name="N", corpus="C")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("themescope.core.models.bag_of_words.Tfidf.fit", fit)
        for revised in (False, False, True):
            if revised:
                revise(METHODS, "tfidf")
            with pytest.raises(Left):
                KINDS.get("train").resolve()(config, JobContext(filled, job, "test"))
    assert seen == [["digest.txt"], ["digest.txt", "state"], ["digest.txt"]]
