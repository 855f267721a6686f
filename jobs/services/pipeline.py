"""Pipeline: the jobs that compute vectors, themes and a map of a corpus after its import, and what remains of a job.

Every job finds a stored result of the same work, so the pipeline of a corpus can be queued again at any time. The
module also queues reproductions of papers (the entry point ``themescope.paper_runner``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from themescope.core.models import REGISTRY as METHODS
from themescope.core.paths import DEFAULT, default_models
from themescope.core.records.stored import ArticleRecord, CorpusRecord, JobRecord, JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.models import best_first, language_note, within_article
from themescope.jobs.queue.control import cancel, enqueue, retry
from themescope.jobs.queue.runner import resume_here

ANALYSED = 100_000
"""Maximum number of sentences that get vectors and themes: ten minutes on two cores with the default model."""
MAPPED = 20_000
"""Maximum number of sentences on the map."""
_ANY_LANGUAGE = "any-language"
"""Tag of the method that is fitted to the corpus where no model reads its language."""
_LISTED = 1_000
_UNFINISHED = (JobStatus.FAILED, JobStatus.CANCELLED)
THEMES = "find-themes"
"""The job kind whose result is a set of themes."""
_TITLES = {"embed": "Embed", THEMES: "Find themes in", "project": "Draw the map of"}
"""Titles of jobs whose model is chosen when they begin."""
IMPORTS = frozenset({"import-corpus", "import-list", "import-bundle"})


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of a person for the work after an import; empty ones are made by the pipeline."""

    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of finding themes."""


def default_for(store: Store, language: str) -> str:
    """Return the best model for text in ``language``, "default" for that of its kind, "" if none reads it."""
    best = next(iter(best_first(store, {language: 1.0})), None)
    if best is None:
        return ""
    other_language = bool(language_note(store, best, {language: 1.0}))
    unsuited = other_language or within_article(best) or _ANY_LANGUAGE in METHODS.get(best.method).tags
    return "" if unsuited else DEFAULT if best.name in default_models()[:1] else best.name


def follow_ups(
    store: Store, corpus: str, language: str, choices: Choices | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """Return kind and arguments of the jobs after the import of ``corpus``, in order."""
    choices = choices or Choices()
    model = choices.model or default_for(store, language)
    found: list[tuple[str, dict[str, Any]]] = []
    if not model:
        method = METHODS.tagged(_ANY_LANGUAGE)[0].id
        model = f"{method}, {corpus}"
        found.append(("train", {"method": method, "name": model, "corpus": corpus}))
    what = {"corpus": corpus, "model": model}
    found.append(("embed", what | {"limit": ANALYSED}))
    found.append((THEMES, what | {"limit": ANALYSED, "settings": dict(choices.settings)}))
    found.append(("project", what | {"within": ANALYSED, "limit": MAPPED}))
    return found


def queue_pipeline(
    store: Store, corpus: str, language: str, choices: Choices | None = None, after: int | None = None
) -> list[JobRecord]:
    """Queue the jobs after an import, each waiting for the one before; the first waits for the job ``after``."""
    jobs: list[JobRecord] = []
    for kind, args in follow_ups(store, corpus, language, choices):
        title = f"{_TITLES[kind]} “{corpus}”" if kind in _TITLES else ""
        jobs.append(enqueue(store, kind, args, title=title, after=jobs[-1].id if jobs else after))
    return jobs


def queue_wave(store: Store, corpus: str, wave: str, after: int) -> list[JobRecord]:
    """Queue what follows a wave that the job ``after`` adds: its places, and predictions where there were some."""
    jobs = [enqueue(store, "place-wave", {"corpus": corpus, "wave": wave}, after=after)]
    with store.reading() as r:
        of_corpus = r.labellings.list(r.corpora.by_name(corpus).id)
        predicted = [record.name for record in of_corpus if r.predictions.newest(record.id) is not None]
    for name in predicted:
        title = f"Label the rest of “{name}”"
        jobs.append(enqueue(store, "predict-labels", {"labelling": name}, title=title, after=jobs[-1].id))
    return jobs


def cluster_article(store: Store, corpus: CorpusRecord, article: ArticleRecord, ordered: bool = True) -> JobRecord:
    """Queue the clustering of one article by the model for its language, else by the newest model fitted to it.

    Without any, it is the default model. The order of its sentences counts unless ``ordered`` is false.
    """
    with store.reading() as r:
        fitted = [model.name for model in r.models.list() if model.corpus_id == corpus.id]
    model = default_for(store, corpus.language) or [*default_models()[:1], *fitted][-1]
    args: dict[str, Any] = {"corpus": corpus.name, "model": model, "article": article.id}
    if not ordered:
        args["settings"] = {"order": 0.0}
    return enqueue(store, THEMES, args, title=f"Cluster “{article.title}”")


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One step of a pipeline: its newest job, and whether its result is stored."""

    name: str
    """"Import", "Embed", "Themes" or "Map"."""
    job: JobRecord | None
    ready: bool

    @property
    def active(self) -> bool:
        """Whether the job of the step is queued or running."""
        return self.job is not None and not self.job.status.ended

    @property
    def failed(self) -> bool:
        """Whether the newest job of the step failed or was cancelled; an import only if there is no such corpus."""
        unfinished = self.job is not None and self.job.status in _UNFINISHED
        return unfinished and not (self.ready and self.job is not None and self.job.kind in IMPORTS)


_STEPS: tuple[tuple[str, frozenset[str]], ...] = (
    ("Import", IMPORTS),
    ("Embed", frozenset({"embed", "train"})),
    ("Themes", frozenset({THEMES})),
    ("Map", frozenset({"project"})),
)


def steps_of(store: Store, corpus: str) -> list[PipelineStep]:
    """Return the four steps of the corpus called ``corpus``, which may still be importing."""
    with store.reading() as r:
        record = next((found for found in r.corpora.list() if found.name == corpus), None)
        jobs = [job for job in r.jobs.list(limit=_LISTED) if is_step(job) and job.args["corpus"] == corpus]
        jobs = [job for job in jobs if record is None or job.ended is None or job.ended >= record.created]
        themes = record is not None and bool(r.runs.themes(record.id, whole=True))
        drawn = record is not None and any(not found.articles for found in r.maps.list(record.id))
    embedded = record is not None and any(job.kind == "embed" and job.status is JobStatus.DONE for job in jobs)
    ready = {"Import": record is not None, "Embed": themes or drawn or embedded, "Themes": themes, "Map": drawn}
    steps = []
    for name, kinds in _STEPS:  # with the first job that has not ended, else the newest one
        own = sorted((job for job in jobs if job.kind in kinds), key=lambda job: job.id)
        active = [job for job in own if not job.status.ended]
        steps.append(PipelineStep(name, next(iter([*active, *own[::-1]]), None), ready[name]))
    return steps


def working(store: Store) -> list[str]:
    """Return the names of the corpora with a queued or running step, newest first."""
    with store.reading() as r:
        jobs = r.jobs.list(limit=_LISTED, status=(JobStatus.QUEUED, JobStatus.RUNNING))
    return list(dict.fromkeys(str(job.args["corpus"]) for job in jobs if is_step(job)))


def is_step(job: JobRecord) -> bool:
    """Return whether a job is a step of a pipeline: it is about a whole corpus, not about single articles."""
    if not job.args.get("corpus") or any(job.args.get(key) for key in ("article", "articles", "titles")):
        return False
    if job.kind == "train":
        return job.args.get("method") in {card.id for card in METHODS.tagged(_ANY_LANGUAGE)}
    return any(job.kind in kinds for _, kinds in _STEPS)


def cancel_pipeline(store: Store, corpus: str) -> None:
    """Cancel the queued and running steps of a corpus; the last one first, so that none fails because of another."""
    for step in reversed(steps_of(store, corpus)):
        if step.active and step.job is not None:
            cancel(store, step.job.id)


def retry_pipeline(store: Store, corpus: str) -> None:
    """Queue the failed and cancelled steps of a corpus again, with the jobs that they depend on."""
    for step in steps_of(store, corpus):
        id, chain = step.job.id if step.failed and step.job is not None else None, list[int]()
        with store.reading() as r:
            while id is not None and r.jobs.get(id).status in _UNFINISHED:
                chain.append(id)
                id = r.jobs.get(id).after
        for job in reversed(chain):
            with store.reading() as r:
                waits = r.jobs.get(job).status in _UNFINISHED
            if waits:
                retry(store, job)


_LEAST_PROGRESS, _LEAST_S = 0.05, 2.0
_EARLIER = 5
_ALIKE = ("method", "model", "clusterer")
"""Arguments that must be the same in an earlier job for its time to be a guide."""


def remaining_s(job: JobRecord, known: Sequence[JobRecord], now: datetime) -> float | None:
    """Return the estimated seconds until a running job ends; None where there is nothing to judge by.

    From 5 % on, the rate since the start counts; before, the median time of the last five jobs like this one among
    ``known``, newest first. A resumed job began with progress made earlier, so its rate says nothing.
    """
    if job.status is not JobStatus.RUNNING or job.started is None:
        return None
    elapsed = (now - job.started).total_seconds()
    if job.attempt <= 1 and job.progress >= _LEAST_PROGRESS and elapsed >= _LEAST_S:
        return max(0.0, elapsed * (1 - job.progress) / job.progress)
    done = [old for old in known if old.status is JobStatus.DONE and old.kind == job.kind and old.attempt <= 1]
    alike = [old for old in done if all(old.args.get(name) == job.args.get(name) for name in _ALIKE)]
    times = [(old.ended - old.started).total_seconds() for old in alike if old.started and old.ended]
    left = median(times[:_EARLIER]) - elapsed if times else 0.0
    return left if left > 0 else None


def reproduce(paper: str, profile: str, folder: Path | None, options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Run the job ``reproduce`` in this process and return its tables by id, as they are stored.

    The store is the one in ``folder``, or that of the environment. An interrupted reproduction is resumed.
    """
    store = Store(Settings.in_folder(folder) if folder else Settings.from_environment())
    try:
        store.migrate()
        result = resume_here(store, "reproduce", {"paper": paper, "profile": profile, **options}, quiet=True)
        with store.reading() as r:
            found = {table: r.papers.find(paper, table, profile) for table in result["tables"]}
        return {table: dict(record.content) for table, record in found.items() if record is not None}
    finally:
        store.close()
