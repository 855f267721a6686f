"""Queries that several pages use. They read through the read-only engine, so a page never waits for a writer.

Only immutable data is cached: sentences, map points and labels. Cache keys contain a digest or a time of creation,
because ids may be reused after a deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.errors import UnknownNameError
from core.types import Ids, Labels, SectionRecord, Sentence
from db.records import (
    ArticleRecord,
    BenchmarkRecord,
    CorpusRecord,
    JobRecord,
    JobStatus,
    MapPoints,
    MapRecord,
    MetricPoint,
    ModelRecord,
    RunRecord,
    ScoreRecord,
    SentencePlaces,
    TripletSetRecord,
    WorkerRecord,
)
from db.store import Store
from jobs.common import models as stored
from webapp.shared import login, people
from webapp.shared import store as house

T = TypeVar("T")
ACTIVE = (JobStatus.QUEUED, JobStatus.RUNNING)
_HEARTBEAT_S = 6.0  # workers send a heartbeat every 2 s


def store() -> Store:
    """Return the store for the person of this session, whose role limits what they write.

    Raises
    ------
    AccessError
        If sign-in is required and nobody has signed in.
    """
    if get_script_run_ctx(suppress_warning=True) is not None and house.shared():
        login.require()
    return house.store().by(people.current_person)


def _read(ask: Callable[[Any], T]) -> T:
    with store().reading() as repositories:
        return ask(repositories)


def _or_none(ask: Callable[[Any], T]) -> T | None:
    try:
        return _read(ask)
    except UnknownNameError:
        return None


# ---------------------------------------------------------------- corpora


def corpora() -> list[CorpusRecord]:
    """Every corpus that is ready."""
    return _read(lambda r: r.corpora.list())


def articles(corpus_id: int, search: str = "", offset: int = 0, limit: int = 50) -> list[ArticleRecord]:
    """One page of articles whose title matches."""
    return _read(lambda r: r.corpora.articles(corpus_id, search=search, offset=offset, limit=limit))


def count_articles(corpus_id: int, search: str = "") -> int:
    """How many articles match."""
    return _read(lambda r: r.corpora.count_articles(corpus_id, search=search))


def article_titled(corpus_id: int, title: str) -> ArticleRecord | None:
    """The (first) article with exactly this title."""
    return next(iter(_read(lambda r: r.corpora.articles_by_title(corpus_id, title))), None)


@st.cache_data(show_spinner=False, max_entries=64)
def topic_counts(corpus_id: int, created: datetime) -> dict[tuple[str, str], int]:
    """(topic, part) → articles; ``created`` makes the key unique."""
    return _read(lambda r: r.corpora.topic_counts(corpus_id))


@st.cache_data(show_spinner=False, max_entries=64)
def article_text(article_id: int, created: datetime) -> tuple[list[SectionRecord], list[Sentence]]:
    """Sections and sentences of an article; ``created`` is its corpus's, which makes the key unique."""
    return _read(lambda r: (r.corpora.sections(article_id), r.corpora.sentences(article_id)))


def sentences(ids: Ids) -> dict[int, Sentence]:
    """Sentences by id, any number of them."""
    return _read(lambda r: r.corpora.sentences_by_id(ids))


# ---------------------------------------------------------------- triplets


def triplet_sets(corpus_id: int | None = None) -> list[TripletSetRecord]:
    """Every triplet set that is ready."""
    return [t for t in _read(lambda r: r.triplets.list(corpus_id)) if t.ready]


def triplet_sets_to_read() -> list[TripletSetRecord]:
    """Every triplet set that is ready, those on which a model was evaluated first: there is more to see on them."""
    runs = _read(lambda r: r.runs.list(kind="triplets"))
    evaluated = {run.triplet_set_id for run in runs}
    return sorted(triplet_sets(), key=lambda found: found.id not in evaluated)


def triplet_runs(set_id: int) -> list[RunRecord]:
    """Evaluations of models on a triplet set, newest first."""
    return _read(lambda r: r.runs.list(kind="triplets", triplet_set_id=set_id))[::-1]


# ---------------------------------------------------------------- models, benchmarks, runs


def models() -> list[ModelRecord]:
    """Return every stored model."""
    return _read(lambda r: r.models.list())


def selectable_models() -> list[ModelRecord]:
    """Return the models that a job can use by name: the stored ones, and pretrained ones that are not stored yet."""
    return stored.selectable_models(store())


def benchmarks(corpus_id: int | None = None) -> list[BenchmarkRecord]:
    """Every benchmark."""
    return _read(lambda r: r.benchmarks.list(corpus_id))


def clusterings(benchmark_id: int | None = None, model_id: int | None = None) -> list[RunRecord]:
    """Clusterings, newest first."""
    return _read(lambda r: r.runs.list(benchmark_id=benchmark_id, model_id=model_id, kind="clustering"))[::-1]


def clustered_benchmarks() -> list[BenchmarkRecord]:
    """Every benchmark on which something was clustered, newest first."""
    clustered = {run.benchmark_id for run in clusterings()}
    return sorted((b for b in benchmarks() if b.id in clustered), key=lambda b: b.created, reverse=True)


def runs_of(model_id: int) -> list[RunRecord]:
    """Everything that was measured of a model, newest first."""
    return _read(lambda r: r.runs.list(model_id=model_id))[::-1]


def mean_scores(run_ids: Iterable[int]) -> dict[int, dict[str, ScoreRecord]]:
    """Run id → metric → mean with its interval."""
    scores: dict[int, dict[str, ScoreRecord]] = {}
    for score in _read(lambda r: r.runs.scores(list(run_ids))):
        if score.article_id is None:
            scores.setdefault(score.run_id, {})[score.metric] = score
    return scores


@st.cache_data(show_spinner=False, max_entries=16)
def labels(run_id: int, digest: str) -> dict[int, Labels]:
    """Article id → labels of its sentences, in the order of the benchmark's item."""
    return _read(lambda r: r.runs.labels(run_id))


@st.cache_data(show_spinner=False, max_entries=8)
def benchmark_sentences(benchmark_id: int, digest: str) -> dict[int, Ids]:
    """Article id → ids of its sentences in a benchmark."""
    items = _read(lambda r: r.benchmarks.items(benchmark_id))
    return {item.article_id: item.sentence_ids for item in items}


# ---------------------------------------------------------------- maps


def maps(corpus_id: int | None = None) -> list[MapRecord]:
    """Every map, newest first."""
    return sorted(_read(lambda r: r.maps.list(corpus_id)), key=lambda m: m.created, reverse=True)


def map_points(map_id: int) -> MapPoints:
    """The points of a map."""
    return _read(lambda r: r.maps.points(map_id))


def sentence_places(ids: Ids) -> SentencePlaces:
    """Where sentences stand, in the order of their ids; those that are gone are left out."""
    return _read(lambda r: r.maps.places(ids))


def sentence_ids_with(corpus_id: int, text: str) -> Ids:
    """Ids of the sentences of a corpus that hold ``text``, whatever the case."""
    return _read(lambda r: r.maps.sentences_with(corpus_id, text))


def articles_by_id(ids: Ids) -> dict[int, ArticleRecord]:
    """Articles by id, any number of them."""
    return _read(lambda r: r.corpora.articles_by_id(ids))


# ---------------------------------------------------------------- jobs


def jobs(limit: int = 100) -> list[JobRecord]:
    """Jobs, newest first."""
    return _read(lambda r: r.jobs.list(limit=limit))


def active_jobs(kinds: Iterable[str] | None = None) -> list[JobRecord]:
    """Jobs that wait or run, oldest first."""
    wanted = set(kinds) if kinds is not None else None
    found = _read(lambda r: r.jobs.list(limit=500, status=ACTIVE))
    return sorted((j for j in found if wanted is None or j.kind in wanted), key=lambda j: j.id)


def job(job_id: int) -> JobRecord | None:
    """One job, or None when it is gone."""
    return _or_none(lambda r: r.jobs.get(job_id))


def training_of(model_id: int) -> JobRecord | None:
    """The job that trained a model, where it is still listed."""
    done = _read(lambda r: r.jobs.list(limit=500, status=(JobStatus.DONE,)))
    return next((j for j in done if j.kind == "train" and j.result.get("model_id") == model_id), None)


def metrics(job_id: int) -> list[MetricPoint]:
    """The live curves of a job."""
    return _read(lambda r: r.jobs.metrics(job_id))


def worker_alive() -> bool:
    """Return whether a worker has sent a heartbeat lately; pages notice a stopped worker within 10 seconds."""
    return bool(_read(lambda r: r.workers.alive(within_s=_HEARTBEAT_S)))


def usable_corpus_name(wanted: str) -> str:
    """``wanted``, numbered where a corpus of that name exists already."""
    return _read(lambda r: r.corpora.usable_name(wanted))


def usable_model_name(wanted: str) -> str:
    """``wanted``, numbered where a model of that name exists already; nothing stays nothing, for the form to refuse."""
    wanted = wanted.strip()
    return str(_read(lambda r: r.models.usable_name(wanted))) if wanted else ""


def fingerprint() -> tuple[int, ...]:
    """Return a value that changes whenever a corpus, model, benchmark, run or map is added or deleted."""

    def ask(r: Any) -> tuple[int, ...]:
        lists = (r.corpora.list(), r.models.list(), r.benchmarks.list(), r.runs.list(), r.maps.list())
        return tuple(hash(tuple(record.id for record in found)) for found in lists)

    return _read(ask)


def job_states() -> tuple[tuple[int, str], ...]:
    """Return (id, status) of every recent job."""
    return tuple((j.id, j.status.value) for j in jobs(limit=500))


def workers() -> list[WorkerRecord]:
    """Return the workers with a recent heartbeat."""
    return _read(lambda r: r.workers.alive(within_s=_HEARTBEAT_S))
