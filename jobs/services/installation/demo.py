"""The demo: text of an installed package, and a chain of jobs on it.

Nothing is downloaded or precomputed: the demo shows the results of the same jobs that users run on their own corpora.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from themescope.core.errors import MissingExtraError
from themescope.core.paths import default_models
from themescope.core.records.stored import JobRecord
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services.pipeline import Choices, queue_pipeline

CORPUS = "Wikipedia sample"
TRIPLETS = "Wikipedia sample, sentences"
BENCHMARK = "Wikipedia sample, sections"
SMALL_NET = "triplets-sen, trained here"
ARTICLE = "Autism"
"""Test article with eight sections; no model of the demo is trained on it."""

_DUMP = "enwiki-latest-pages-articles1.xml-*.bz2"
_CLUSTERERS = ("iclust", "kmeans")
_SMALL_SETTINGS = {"hidden": 100, "attention": 100, "epochs": 4, "batch_size": 64}


def seed_demo(store: Store) -> list[JobRecord]:
    """Queue the demo if the store is empty, and return its jobs."""
    if not _is_empty(store):
        return []
    chain = _Chain(store)
    text = chain.add("import-corpus", {"files": [str(demo_dump())], "corpus": CORPUS})
    sampled = {"corpus": CORPUS, "name": TRIPLETS, "rules": {"profile": "max-signal"}}
    triplets = chain.add("build-triplets", sampled, text)
    benchmark = {"corpus": CORPUS, "name": BENCHMARK, "rules": {"sections": "top"}, "splits": ["validation", "test"]}
    ready = chain.add("build-benchmark", benchmark, triplets)
    chain.add("cluster", {"clusterer": "random", "benchmark": BENCHMARK}, ready)
    models = _models(chain, ready)
    for name, made in models.items():
        chain.compare(name, made)
    best, made = next(iter(models.items()))
    chain.add("project", {"corpus": CORPUS, "model": best, "titles": [ARTICLE]}, made)
    chain.jobs += queue_pipeline(store, CORPUS, "en", Choices(best), after=made)
    small = {"method": "triplets-sen", "name": SMALL_NET, "triplets": TRIPLETS}
    trained = chain.add("train", small | {"settings": _SMALL_SETTINGS}, triplets)
    chain.compare(SMALL_NET, trained)
    return chain.jobs


def demo_dump() -> Path:
    """Return the fragment of an English Wikipedia dump in gensim's wheel; raise ``MissingExtraError`` without it."""
    package = importlib.util.find_spec("gensim")
    for folder in (package.submodule_search_locations or []) if package else []:
        for path in sorted(Path(folder, "test", "test_data").glob(_DUMP)):
            return path
    raise MissingExtraError("The demo", "gensim", "demo")


class _Chain:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.jobs: list[JobRecord] = []

    def add(self, kind: str, args: Mapping[str, Any], after: int | None = None) -> int:
        """Queue a job and return its id, on which the next ones can depend."""
        self.jobs.append(enqueue(self._store, kind, args, after=after, files_known=True))
        return self.jobs[-1].id

    def compare(self, model: str, after: int) -> None:
        """Queue the jobs whose results the page Compare shows for a model."""
        self.add("evaluate-triplets", {"model": model, "triplets": TRIPLETS}, after)
        for clusterer in _CLUSTERERS:
            self.add("cluster", {"model": model, "clusterer": clusterer, "benchmark": BENCHMARK}, after)


def _models(chain: _Chain, after: int) -> dict[str, int]:
    """Return models that need no training, the best first: name → job that must be done before its use."""
    made = dict.fromkeys(default_models(), after)
    made["mean-vectors"] = chain.add("train", {"method": "mean-vectors", "name": "mean-vectors"}, after)
    made["tfidf"] = chain.add("train", {"method": "tfidf", "name": "tfidf", "corpus": CORPUS}, after)
    return made


def _is_empty(store: Store) -> bool:
    with store.reading() as r:
        contents: Iterable[list[Any]] = (r.corpora.list(include_unready=True), r.models.list(), r.jobs.list(limit=1))
        return not any(contents)


def import_sample(store: Store) -> list[JobRecord]:
    """Queue the import of the text of the demo into a store with projects, and the jobs that follow."""
    job = enqueue(store, "import-corpus", {"files": [str(demo_dump())], "corpus": CORPUS}, files_known=True)
    return [job, *queue_pipeline(store, CORPUS, "en", after=job.id)]
