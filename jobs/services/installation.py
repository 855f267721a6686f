"""State of an installation: checks, health, backups, and the data that it starts with."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import Any

from themescope.core.errors import ArtifactError, MissingExtraError, ThemescopeError, with_place
from themescope.core.paths import default_models
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.files.snapshots import damage
from themescope.db.files.vector_files import problems_of
from themescope.db.passwords import signing_key
from themescope.db.settings import Settings, checkout_home
from themescope.db.store import Store
from themescope.jobs.common.files import size_text
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services.pipeline import Choices, queue_pipeline

# Readiness of the web server; and what `themescope doctor` checks

logger = logging.getLogger(__name__)

ALIVE = "/healthz"
READY = "/readyz"
OK = "ok"
_ANSWER_S = 5.0
_KEEP_S = 2.0


class Health:
    """Readiness of a process. Thread-safe.

    The state of the store is kept for 2 seconds, and one thread finds it, so that requests of strangers cost nothing. A
    store that gives no answer within 5 seconds is not ready.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._lock = Lock()
        self._asked = 0.0
        self._found: Future[str] | None = None

    def states(self) -> dict[str, str]:
        """Return the state of the store, "ok" or what is wrong; no host names, no messages of the database."""
        with self._lock:
            if self._found is None or (self._found.done() and time.monotonic() - self._asked > _KEEP_S):
                self._asked, self._found = time.monotonic(), self._thread.submit(self._state)
            found = self._found
        try:
            return {"store": found.result(_ANSWER_S)}
        except NoAnswer:
            return {"store": "no answer"}

    def close(self) -> None:
        """Stop the thread; a question without an answer is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _state(self) -> str:
        try:
            return OK if self._store.is_current() else "not migrated"
        except Exception:
            logger.warning("Not ready: the store cannot be reached.", exc_info=True)
            return "unreachable"


# Independent checks of an installation

LEAST_DISK = 2_000_000_000
"""Recommended free disk space in bytes, for a model in training, its checkpoint and the store."""


@dataclass(frozen=True)
class Examined:
    """Result of a check."""

    name: str
    found: str
    problem: bool = False
    warning: bool = False

    @property
    def mark(self) -> str:
        """Return a one-character mark for a list."""
        return "✗" if self.problem else "!" if self.warning else "✓"


def examine(vectors: bool = False) -> list[Examined]:
    """Run every check, with ``vectors`` also of the content of all vector files; never raises."""
    checks: list[Examined] = []
    for look in (_python, _packages, _accelerator, _word_vectors):
        checks += _guarded(look.__name__.strip("_"), look)
    try:
        settings = Settings.from_environment()
    except ThemescopeError as error:
        return [*checks, Examined("settings", str(error), problem=True)]
    store = Store(settings)
    for name, look_at in (
        ("data folder", _disk),
        ("store", _store),
        ("model files", _files),
        ("vector files", partial(_vector_files, content=vectors)),
        ("worker", _worker),
        ("people", _people),
    ):
        checks += _guarded(name, lambda look_at=look_at: look_at(store))  # type: ignore[misc]
    return checks


def _guarded(name: str, look: Callable[[], Iterator[Examined]]) -> list[Examined]:
    try:
        return list(look())
    except Exception as error:
        return [Examined(name, with_place(error) or type(error).__name__, problem=True)]


def _python() -> Iterator[Examined]:
    version = sys.version.split()[0]
    known = (3, 11) <= sys.version_info[:2] <= (3, 13)
    yield Examined("Python", f"{version}" + ("" if known else "; tested with 3.11 to 3.13"), warning=not known)


def _packages() -> Iterator[Examined]:
    of_extra: dict[str, list[str]] = {}
    for line in metadata.requires("themescope") or ():
        named = re.search(r"extra == .(\w+)", line)
        of_extra.setdefault(named[1] if named else "", []).append(re.split(r"[^\w.-]", line, maxsplit=1)[0])
    names = [*of_extra.pop("", ()), *of_extra.pop("app", ())]
    missing = [name for name in names if not _is_installed(name)]
    found = (
        f"missing: {', '.join(missing)}; run pip install 'themescope[app]'" if missing else f"all {len(names)} present"
    )
    yield Examined("packages", found, problem=bool(missing))
    for extra, packages in of_extra.items():
        present = all(map(_is_installed, packages))
        found = "present" if present else f"not installed (optional: pip install 'themescope[{extra}]')"
        yield Examined(f"extra {extra}", found)


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _accelerator() -> Iterator[Examined]:
    import torch

    yield Examined("torch", f"{torch.__version__}, {torch.get_num_threads()} threads")
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    yield Examined("GPU", ", ".join(names) or "none; training runs on the CPU")


def _word_vectors() -> Iterator[Examined]:
    from themescope.core.text.word_vectors import REGISTRY as TABLES
    from themescope.core.text.word_vectors import load_word_vectors

    for card in TABLES:
        try:
            words = len(load_word_vectors(card.id, 1_000))
        except ThemescopeError as error:
            yield Examined("word vectors", f"{card.id}: {error}", problem=True)
        else:
            yield Examined("word vectors", f"{card.id}: found" if words else f"{card.id}: empty", problem=not words)


def _disk(store: Store) -> Iterator[Examined]:
    home = store.settings.home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    free = shutil.disk_usage(home).free
    why = ", found in the checkout" if home == checkout_home() and not os.environ.get("THEMESCOPE_HOME") else ""
    found = f"{home}, {size_text(free)} free{why}"
    if os.access(home, os.W_OK):
        yield Examined("data folder", found, warning=free < LEAST_DISK)
        if os.name == "posix" and (others := home.stat().st_mode & 0o077):
            what = "change" if others & 0o022 else "read"
            advice = f"other people of this machine may {what} its files; to keep them out: chmod 700 {home}"
            yield Examined("data folder", advice, warning=True)
    else:
        yield Examined("data folder", f"{home} is not writable; change its permissions", problem=True)


def _store(store: Store) -> Iterator[Examined]:
    store.migrate()
    with store.reading() as r:
        corpora, models = len(r.corpora.list()), len(r.models.list())
        connection = r.models.connection
        details = damage(connection.exec_driver_sql) if connection.dialect.name == "sqlite" else ""
    label = store.settings.database_label
    if details:
        yield Examined("store", f"{label} is damaged ({details}); restore the last backup before that", problem=True)
    else:
        yield Examined("store", f"{label}, migrated; {corpora} corpora, {models} models")


def _files(store: Store) -> Iterator[Examined]:
    with store.reading() as r:
        models = r.models.list()
    unused = len(store.unused_artifacts())
    missing = [model.name for model in models if not store.artifacts.has(model.artifact)]
    changed = [model.name for model in models if model.name not in missing and _changed(store, model.artifact)]
    orphans = f"; {unused} without a model, which a worker removes after a day" if unused else ""
    found = f"present for every model ({len(models)})"
    if missing:
        found = f"missing for {', '.join(missing)}; restore the folder artifacts, or train or add these models again"
    elif changed:
        found = f"changed or damaged for {', '.join(changed)}; restore the folder artifacts, or train these again"
    yield Examined("model files", found + orphans, problem=bool(missing or changed))


def _changed(store: Store, artifact: str) -> bool:
    try:
        store.artifacts.check(artifact)
    except (OSError, ArtifactError):
        return True
    return False


def _vector_files(store: Store, content: bool) -> Iterator[Examined]:
    """Check that every file of vectors exists with its size, and with ``content`` what it holds."""
    with store.reading() as r:
        files = r.embeddings.files()
    where = store.vector_files.folder.where()
    if problems := problems_of(store.vector_files, files, content=content):
        yield Examined("vector files", f"{len(problems)} of {len(files)} in {where}: {problems[0]}", problem=True)
    elif files:
        yield Examined("vector files", f"{len(files):,} in {where}, {sum(files.values()) / 1e9:,.2f} GB")


def _worker(store: Store) -> Iterator[Examined]:
    with store.reading() as r:
        alive = r.workers.alive(within_s=10)
        waiting = len(r.jobs.list(status=JobStatus.QUEUED)) if not alive else 0
    if alive:
        yield Examined("worker", f"{len(alive)} running")
    elif waiting:
        yield Examined("worker", f"none running for {waiting} queued jobs; start one: themescope worker", problem=True)
    else:
        yield Examined("worker", "none running; start one: themescope worker", warning=True)


def _people(store: Store) -> Iterator[Examined]:
    """Check the accounts and the permissions of the key that signs cookies."""
    signing_key(store.settings.home)
    with store.reading() as r:
        logins, admins = r.logins.all(), len(r.people.admins())
    found = f"{len(logins)} can sign in" if logins else "no sign-in: names are not verified"
    yield Examined("people", f"{found}; {admins or 'no'} admin{'s' * (admins != 1)}")


# The demo: text of an installed package, and a chain of jobs on it

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
    with store.reading() as r:
        if r.corpora.list(include_unready=True) or r.models.list() or r.jobs.list(limit=1):
            return []
    jobs: list[JobRecord] = []

    def add(kind: str, args: Mapping[str, Any], after: int | None = None) -> int:
        jobs.append(enqueue(store, kind, args, after=after, files_known=True))
        return jobs[-1].id

    def compare(model: str, after: int) -> None:
        """Queue the jobs whose results the page Compare shows for a model."""
        add("evaluate-triplets", {"model": model, "triplets": TRIPLETS}, after)
        for clusterer in _CLUSTERERS:
            add("cluster", {"model": model, "clusterer": clusterer, "benchmark": BENCHMARK}, after)

    text = add("import-corpus", {"files": [str(demo_dump())], "corpus": CORPUS})
    triplets = add("build-triplets", {"corpus": CORPUS, "name": TRIPLETS, "rules": {"profile": "max-signal"}}, text)
    benchmark = {"corpus": CORPUS, "name": BENCHMARK, "rules": {"sections": "top"}, "splits": ["validation", "test"]}
    ready = add("build-benchmark", benchmark, triplets)
    add("cluster", {"clusterer": "random", "benchmark": BENCHMARK}, ready)
    models = dict.fromkeys(default_models(), ready)  # those that need no training, the best first
    models["mean-vectors"] = add("train", {"method": "mean-vectors", "name": "mean-vectors"}, ready)
    models["tfidf"] = add("train", {"method": "tfidf", "name": "tfidf", "corpus": CORPUS}, ready)
    for name, made in models.items():
        compare(name, made)
    best, made = next(iter(models.items()))
    add("project", {"corpus": CORPUS, "model": best, "titles": [ARTICLE]}, made)
    jobs += queue_pipeline(store, CORPUS, "en", Choices(best), after=made)
    small = {"method": "triplets-sen", "name": SMALL_NET, "triplets": TRIPLETS}
    compare(SMALL_NET, add("train", small | {"settings": _SMALL_SETTINGS}, triplets))
    return jobs


def demo_dump() -> Path:
    """Return the fragment of an English Wikipedia dump in gensim's wheel; raise ``MissingExtraError`` without it."""
    package = importlib.util.find_spec("gensim")
    for folder in (package.submodule_search_locations or []) if package else []:
        for path in sorted(Path(folder, "test", "test_data").glob(_DUMP)):
            return path
    raise MissingExtraError("The demo", "gensim", "demo")


def import_sample(store: Store) -> list[JobRecord]:
    """Queue the import of the text of the demo into a store with projects, and the jobs that follow."""
    job = enqueue(store, "import-corpus", {"files": [str(demo_dump())], "corpus": CORPUS}, files_known=True)
    return [job, *queue_pipeline(store, CORPUS, "en", after=job.id)]
