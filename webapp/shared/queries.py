"""Queries that several pages use. They read through the read-only engine, so a page never waits for a writer.

Only immutable data is cached: sentences, map points and labels. Caches know a record by a digest or a time of creation
(:data:`HASHES`), because ids may be reused after a deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from themescope.core.columns import ColumnLevel, ColumnType, Values, plain_values
from themescope.core.errors import UnknownNameError
from themescope.core.records.stored import (
    ArticleRecord,
    ColumnRecord,
    CorpusRecord,
    JobRecord,
    JobStatus,
    MapRecord,
    ModelRecord,
    RunRecord,
    ScoreRecord,
)
from themescope.core.text.languages import Shares
from themescope.core.types import Ids, Labels, SectionRecord, Sentence, Value
from themescope.db.access import Right
from themescope.db.records import BenchmarkRecord, MapPoints, TripletSetRecord, WorkerRecord
from themescope.db.store import Store, Unit
from themescope.jobs.common import models as model_choice
from themescope.jobs.common.models import LEAST_ARTICLES, articles_of
from themescope.jobs.queue.control import without_paths
from themescope.webapp.shared import people
from themescope.webapp.shared.components import succeeds

T = TypeVar("T")
HEADLINE = "ami"
"""Metric shown where there is room for one: corrected for chance, and a column of the paper's table."""
ACTIVE = (JobStatus.QUEUED, JobStatus.RUNNING)
_HEARTBEAT_S = 6.0  # workers send a heartbeat every 2 s
HASHES: dict[str | type[Any], Callable[[Any], Any]] = {
    BenchmarkRecord: lambda benchmark: (benchmark.id, benchmark.digest),
    CorpusRecord: lambda corpus: (corpus.id, corpus.name, corpus.created, corpus.articles, corpus.sentences),
    MapRecord: lambda record: record.digest,
    TripletSetRecord: lambda found: (found.id, found.created),
}
"""What identifies a record in a cache (``hash_funcs``)."""


def store() -> Store:
    """Return the store for the person of this session, whose role and blind tasks limit what they write and see.

    Raises ``AccessError`` if sign-in is required and nobody has signed in.
    """
    inside = get_script_run_ctx(suppress_warning=True) is not None
    person = people.current_person() if inside else ""
    return people.server_store().by(people.writing_person, lambda: person)


def read(query: Callable[[Unit], T]) -> T:
    """Return the result of a query over the read-only repositories of the store."""
    with store().reading() as repositories:
        return query(repositories)


def write(change: Callable[[Unit], object]) -> bool:
    """Write to the store, also in a callback; show the error as a toast, and return whether there was none."""

    def make() -> None:
        with store().writing() as repositories:
            change(repositories)

    return succeeds(make)


_EDITS: list[tuple[int, int]] = []
"""Stamp of the edits of corpora that the caches of this process know."""


def follow_edits() -> None:
    """Empty the caches if texts or articles of a corpus were edited since: their keys do not tell of it."""
    stamp = read(lambda r: r.corpus_edits.stamp())
    if _EDITS and [stamp] != _EDITS:
        st.cache_data.clear()
        st.cache_resource.clear()
    _EDITS[:] = [stamp]


def corpora() -> list[CorpusRecord]:
    """Return the corpora that are ready."""
    return read(lambda r: r.corpora.list())


def articles(corpus_id: int, search: str = "", offset: int = 0, limit: int = 50) -> list[ArticleRecord]:
    """Return one page of the articles whose title matches."""
    return read(lambda r: r.corpora.articles(corpus_id, search=search, offset=offset, limit=limit))


def article_titled(corpus_id: int, title: str) -> ArticleRecord | None:
    """Return the first article with exactly this title, or None."""
    return next(iter(read(lambda r: r.corpora.articles_by_title(corpus_id, title))), None)


@st.cache_data(show_spinner=False, max_entries=64)
def topic_counts(corpus_id: int, created: datetime) -> dict[tuple[str, str], int]:
    """Return (topic, split) → number of articles; ``created`` makes the cache key unique."""
    return read(lambda r: r.corpora.topic_counts(corpus_id))


@st.cache_data(show_spinner=False, max_entries=64)
def article_text(article_id: int, created: datetime) -> tuple[list[SectionRecord], list[Sentence]]:
    """Return sections and sentences of an article; ``created``, of its corpus, makes the cache key unique."""
    return read(lambda r: (r.corpora.sections(article_id), r.corpora.sentences(article_id)))


def sentences(ids: Ids) -> dict[int, Sentence]:
    """Return sentences by id."""
    return read(lambda r: r.corpora.sentences_by_id(ids))


def triplet_sets(corpus_id: int | None = None) -> list[TripletSetRecord]:
    """Return the triplet sets that are ready."""
    return [t for t in read(lambda r: r.triplets.list(corpus_id)) if t.ready]


def triplet_sets_to_read(corpus_id: int) -> list[TripletSetRecord]:
    """Return the triplet sets of a project that are ready, those with evaluations first."""
    runs = read(lambda r: r.runs.list(kind="triplets"))
    evaluated = {run.triplet_set_id for run in runs}
    return sorted(triplet_sets(corpus_id), key=lambda found: found.id not in evaluated)


def models() -> list[ModelRecord]:
    """Return every stored model."""
    return read(lambda r: r.models.list())


def model_by_id(model_id: int | None) -> ModelRecord | None:
    """Return a stored model, or None if it was deleted."""
    return next((m for m in models() if m.id == model_id), None)


def selectable_models() -> list[ModelRecord]:
    """Return the models that a job can use by name: the stored ones, and pretrained ones that are not stored yet."""
    return model_choice.selectable_models(store())


def best_first(
    shares: Shares, corpus_id: int | None = None, models: Sequence[ModelRecord] = (), across: bool = True
) -> list[ModelRecord]:
    """Return ``models``, by default all selectable ones, as ``jobs.common.models.best_first`` orders them."""
    return model_choice.best_first(store(), shares, corpus_id, models=models, across=across)


def benchmarks(corpus_id: int | None = None) -> list[BenchmarkRecord]:
    """Return all benchmarks."""
    return read(lambda r: r.benchmarks.list(corpus_id))


@st.cache_data(show_spinner=False, max_entries=16)
def benchmark_articles(ids: tuple[int, ...]) -> frozenset[int]:
    """Return the ids of the articles that are in one of some benchmarks."""
    return read(lambda r: frozenset(item for id in ids for item in r.benchmarks.article_ids(id)))


def clusterings(benchmark_id: int | None = None) -> list[RunRecord]:
    """Return clusterings, newest first."""
    return read(lambda r: r.runs.list(benchmark_id=benchmark_id, kind="clustering"))[::-1]


def clustered_benchmarks(corpus_id: int | None = None) -> list[BenchmarkRecord]:
    """Return the benchmarks (of a project) with clusterings: those that tell methods apart first, then the newest."""
    clustered = {run.benchmark_id for run in clusterings()}
    found = [b for b in benchmarks(corpus_id) if b.id in clustered]
    return sorted(found, key=lambda b: (articles_of(b) < LEAST_ARTICLES, -b.created.timestamp()))


def mean_scores(run_ids: Iterable[int]) -> dict[int, dict[str, ScoreRecord]]:
    """Return run id → metric → mean with interval."""
    scores: dict[int, dict[str, ScoreRecord]] = {}
    for score in read(lambda r: r.runs.scores(list(run_ids))):
        if score.article_id is None:
            scores.setdefault(score.run_id, {})[score.metric] = score
    return scores


@st.cache_data(show_spinner=False, max_entries=16)
def labels(run_id: int, digest: str) -> dict[int, Labels]:
    """Return article id → labels of its sentences, in the order of the benchmark item."""
    return read(lambda r: r.runs.labels(run_id))


@st.cache_data(show_spinner=False, max_entries=8)
def benchmark_sentences(benchmark_id: int, digest: str) -> dict[int, Ids]:
    """Return article id → ids of its sentences in a benchmark."""
    items = read(lambda r: r.benchmarks.items(benchmark_id))
    return {item.article_id: item.sentence_ids for item in items}


def maps(corpus_id: int | None = None) -> list[MapRecord]:
    """Return all maps, newest first."""
    return sorted(read(lambda r: r.maps.list(corpus_id)), key=lambda m: m.created, reverse=True)


def map_points(map_id: int) -> MapPoints:
    """Return the points of a map."""
    return read(lambda r: r.maps.points(map_id))


def articles_by_id(ids: Ids) -> dict[int, ArticleRecord]:
    """Return articles by id."""
    return read(lambda r: r.corpora.articles_by_id(ids))


def jobs(limit: int = 100) -> list[JobRecord]:
    """Return jobs, newest first."""
    return _shown(read(lambda r: r.jobs.list(limit=limit)))


def _shown(found: Sequence[JobRecord]) -> list[JobRecord]:
    """Return jobs as the person at this browser may see them."""
    return [*found] if people.may(Right.MANAGE) else [without_paths(job) for job in found]


def active_jobs(kinds: Iterable[str] | None = None) -> list[JobRecord]:
    """Return queued and running jobs, oldest first."""
    wanted = set(kinds) if kinds is not None else None
    found = read(lambda r: r.jobs.list(limit=None, status=ACTIVE))
    return sorted(_shown([j for j in found if wanted is None or j.kind in wanted]), key=lambda j: j.id)


def job(job_id: int) -> JobRecord | None:
    """Return a job, or None if it no longer exists."""
    try:
        return _shown([read(lambda r: r.jobs.get(job_id))])[0]
    except UnknownNameError:
        return None


def training_of(model_id: int) -> JobRecord | None:
    """Return the job that trained a model, or None if it no longer exists."""
    done = read(lambda r: r.jobs.list(limit=None, status=JobStatus.DONE, kind="train"))
    return next((j for j in done if j.result.get("model_id") == model_id), None)


def usable_model_name(wanted: str) -> str:
    """Return ``wanted``, numbered if a model of that name exists; "" stays "", which the form refuses."""
    wanted = wanted.strip()
    return read(lambda r: r.models.usable_name(wanted)) if wanted else ""


def fingerprint() -> tuple[tuple[int, int], ...]:
    """Return a value that changes whenever a corpus, model, benchmark, run or map is added or deleted."""
    with store().reading() as r:
        return tuple(records.stamp() for records in (r.corpora, r.models, r.benchmarks, r.runs, r.maps))


def job_states() -> tuple[tuple[int, str], ...]:
    """Return (id, status) of every recent job."""
    return tuple((j.id, j.status.value) for j in jobs(limit=500))


def workers() -> list[WorkerRecord]:
    """Return the workers that sent a heartbeat lately; pages notice a stopped worker within 10 seconds."""
    return read(lambda r: r.workers.alive(within_s=_HEARTBEAT_S))


# --- column queries ---------------------------------------------------------------------------------------------------


@st.cache_data(show_spinner=False, max_entries=64, hash_funcs=HASHES)
def columns(corpus: CorpusRecord) -> list[ColumnRecord]:
    """Return the columns of a corpus, those of articles first."""
    return read(lambda r: r.columns.list(corpus.id))


def column_values(column: ColumnRecord, sentences: Ids, articles: Ids) -> Values:
    """Return the values (n,) of n sentences, whose articles are given too."""
    ids = sentences if column.level is ColumnLevel.SENTENCE else articles
    return read(lambda r: r.columns.values(column, ids))


def plain_column(column: ColumnRecord, sentences: Ids, articles: Ids) -> list[Value]:
    """Return the values of n sentences as plain Python."""
    return plain_values(ColumnType(column.type), column_values(column, sentences, articles), column.categories)


def article_values(corpus: CorpusRecord, article_id: int) -> dict[str, Value]:
    """Return the values of an article that are not missing, by the name of the column."""
    ids = np.array([article_id], dtype=np.int64)
    of_articles = [column for column in columns(corpus) if column.level is ColumnLevel.ARTICLE]
    found = {column.name: plain_column(column, ids, ids)[0] for column in of_articles}
    return {name: value for name, value in found.items() if value is not None}
