"""Records of stored objects.

``id`` is the store's stable id; a record that has not been stored yet has id 0. Times are UTC and aware.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.columns import ColumnLevel
from themescope.core.types import Ids, Matrix, Points, Split

Json = Mapping[str, Any]


class JobStatus(StrEnum):
    """Status of a job; ``done``, ``failed`` and ``cancelled`` are final unless the job is retried."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Return whether the status is final."""
        return self in (JobStatus.DONE, JobStatus.FAILED, JobStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class CorpusRecord:
    """A corpus. ``ready`` is False while it is being imported; pages show only ready ones."""

    id: int
    name: str
    language: str
    ready: bool
    created: datetime
    articles: int = 0
    sections: int = 0
    paragraphs: int = 0
    sentences: int = 0
    report: Json = field(default_factory=dict)
    """Import report: files, reader, config, and skipped items by reason."""

    @property
    def has_sections(self) -> bool:
        """Whether an article has more than one section; lists of sentences have not."""
        return self.sections > self.articles


@dataclass(frozen=True, slots=True)
class ArticleRecord:
    """An article without its text."""

    id: int
    corpus_id: int
    position: int
    title: str
    url: str
    source: str
    bucket: int
    sections: int
    sentences: int
    topic: str = ""
    """The document's label; "" where its source gives none."""
    part: str = ""
    """"train" or "test" as the source marks it, or ""."""

    @property
    def split(self) -> Split:
        """Return the split, a hash of the title."""
        from themescope.core.types import split_of_bucket

        return split_of_bucket(self.bucket)


@dataclass(frozen=True, slots=True)
class ColumnRecord:
    """A column of a corpus: a further field of its articles or sentences."""

    id: int
    corpus_id: int
    position: int
    name: str
    level: ColumnLevel
    type: str
    """One of :class:`themescope.core.columns.ColumnType`; "" while the corpus is being imported."""
    about: Json
    """``missing``; of a category ``categories``, most frequent first, with ``counts``; of a number ``low``, ``high``
    and whether all are ``whole``; of a date ``low``, ``high`` and whether all are ``days``."""

    @property
    def categories(self) -> Sequence[str]:
        """Names of the categories by code."""
        return self.about.get("categories", ())

    @property
    def label(self) -> str:
        """Name for a person, with the level of a column of articles."""
        return self.name if self.level is ColumnLevel.SENTENCE else f"{self.name} (article)"


@dataclass(frozen=True, slots=True)
class TripletSetRecord:
    """A sampled set of triplets. ``counts`` holds the sizes of the splits and the number that each rule removed."""

    id: int
    corpus_id: int
    name: str
    kind: str
    """"sentences" (positives and negatives are sentence ids) or "titles" (they are section ids)."""
    config: Json
    seed: int
    digest: str
    """Digest of the content: the same rules on the same text give the same digest."""
    counts: Json
    ready: bool
    created: datetime
    revision: int = 1
    """Revision of the job kind that made the set."""


@dataclass(frozen=True, slots=True)
class TripletSections:
    """Section titles of the triplets of a split; row i of every (n,) array is triplet i."""

    ids: Ids
    articles: Ids
    own: npt.NDArray[np.int32]
    """Index in ``titles`` of the pivot's section."""
    other: npt.NDArray[np.int32]
    """Index in ``titles`` of the negative's section."""
    titles: Sequence[str]
    """Distinct titles; empty for the lead."""


@dataclass(frozen=True, slots=True)
class TripletMeasures:
    """Lengths and distances of the sentences of a split's triplets; row i of every (n,) array is triplet i."""

    ids: Ids
    articles: Ids
    words: Ids
    """Words of the shortest of the three sentences; of a set of kind "titles", of the pivot."""
    distance: Ids
    """Paragraphs between the pivot and the sentence of its own section; -1 where that is a title."""


class Verdict(StrEnum):
    """Verdict of a reviewer: whether the label of a triplet is right."""

    GOOD = "good"
    BAD = "bad"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class TripletReview:
    """One person's verdict on one triplet. Reviews are only added; a person's latest one counts."""

    id: int
    set_id: int
    triplet_id: int
    person: str
    """"" if the person has no name."""
    verdict: Verdict | None
    """None withdraws the person's earlier verdict."""
    note: str
    created: datetime


@dataclass(frozen=True, slots=True)
class TripletCard:
    """Triplet with its texts and titles, for review."""

    id: int
    split: Split
    article_id: int
    article: str
    pivot: str
    positive: str
    negative: str
    pivot_section: str
    negative_section: str
    pivot_id: int
    positive_id: int
    negative_id: int


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A fitted model. ``artifact`` is the digest of its folder in the data folder."""

    id: int
    name: str
    method: str
    config: Json
    seed: int
    digest: str
    """Digest of the method with its revision, the config, the data and the seed."""
    corpus_id: int | None
    triplet_set_id: int | None
    metrics: Json
    artifact: str
    created: datetime
    revision: int = 1
    """Revision of the method that the stored vectors of the model were computed with."""
    multilingual: bool = False
    """A person said that the model reads many languages, which its method does not tell."""


@dataclass(frozen=True, slots=True)
class BenchmarkRecord:
    """A clustering benchmark: articles, their sentences, and the section of each as true cluster."""

    id: int
    corpus_id: int
    name: str
    config: Json
    digest: str
    counts: Json
    created: datetime
    revision: int = 1
    """Revision of the job kind that built the benchmark."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One measurement of a model: a clustering of a benchmark, a triplet accuracy, topics of a corpus and so on."""

    id: int
    kind: str
    """What was measured: "clustering", "triplets", "relatedness", "topics", "summaries"."""
    digest: str
    model_id: int | None
    """None for rows that need no vectors, such as random labels."""
    benchmark_id: int | None
    triplet_set_id: int | None
    corpus_id: int | None
    """The corpus, for runs on a whole one."""
    clusterer: str
    config: Json
    seed: int
    seconds: float
    created: datetime


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """A metric of a run: for one article, or (``article_id`` None) the mean with its 95 % interval over articles."""

    run_id: int
    article_id: int | None
    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int = 1


@dataclass(frozen=True, slots=True)
class MapRecord:
    """A two-dimensional projection of the sentences of some articles by one model."""

    id: int
    corpus_id: int
    model_id: int
    name: str
    config: Json
    seed: int
    digest: str
    faithfulness: float
    """Share of the true 15 nearest neighbours that are kept on the map, 0…1."""
    sampled_from: int
    """Number of candidate sentences; larger than the number of points if they are a sample."""
    created: datetime


@dataclass(frozen=True, slots=True)
class MapPoints:
    """The points of a map: (n,) sentence ids and (n, 2) coordinates."""

    sentence_ids: Ids
    points: Points


@dataclass(frozen=True, slots=True)
class SentencePlaces:
    """Positions of sentences without their text; row i of every (n,) array is one sentence."""

    ids: Ids
    articles: Ids
    positions: Ids
    """Index of the sentence in its article."""
    sections: npt.NDArray[np.int32]
    """Index in ``titles`` of its section."""
    titles: Sequence[str]
    """Distinct titles; empty for the lead."""


@dataclass(frozen=True, slots=True)
class PaperTableRecord:
    """A table of a paper as last reproduced with a profile; the next reproduction replaces it."""

    id: int
    paper: str
    name: str
    """Id of the table in the paper's spec."""
    profile: str
    arguments: Json
    """Arguments of the job that made it: corpus, files, seeds; sufficient to reproduce it."""
    content: Json
    """Rows, columns, tests and the data used, as ``themescope.jobs.papers`` wrote them."""
    created: datetime


@dataclass(frozen=True, slots=True)
class VectorIndexRecord:
    """Index of a model's vectors of a corpus, a file beside those of vectors."""

    model_id: int
    corpus_id: int
    digest: str
    size: int
    """Bytes."""
    vectors: int
    recall: float
    """Recall@10 of the search with this index, 0…1, measured on a sample of its vectors."""


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Vectors of one article and model, of shape (n, dim), rows in sentence order."""

    article_id: int
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A background job; its row, not the queue, holds its state."""

    id: int
    kind: str
    title: str
    args: Json
    status: JobStatus
    queue: str
    progress: float
    """Share done, 0…1."""
    message: str
    attempt: int
    owner: str
    after: int | None
    """Id of a job that must be done before this one may start."""
    cancel: bool
    created: datetime
    started: datetime | None
    heartbeat: datetime | None
    ended: datetime | None
    error: str
    """Error message for the user."""
    traceback: str
    """Traceback for the log; empty if the input caused the error."""
    result: Json


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One point of a job's live curve."""

    name: str
    step: float
    value: float


@dataclass(frozen=True, slots=True)
class JobStatistics:
    """Counts and oldest times of all jobs."""

    counts: Mapping[tuple[str, JobStatus], int]
    """Number of jobs by kind and status."""
    oldest_queued: datetime | None
    """When the first of the jobs that could start was queued."""
    oldest_heartbeat: datetime | None
    """The earliest of the last heartbeats of running jobs."""


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker process that has sent a heartbeat recently."""

    owner: str
    queue: str
    started: datetime
    heartbeat: datetime


@dataclass(frozen=True, slots=True)
class SavedViewRecord:
    """View of a page that somebody saved."""

    id: int
    page: str
    """URL path of the page, such as "compare"."""
    name: str
    query: str
    """Query string of the URL."""
    person: str
    created: datetime


@dataclass(frozen=True, slots=True)
class SelectionRecord:
    """Selection of sentences that somebody named or shared; the ids are read separately."""

    id: int
    corpus_id: int
    name: str
    """Empty for a selection that was only shared as a link."""
    person: str
    created: datetime
    origin: Json
    """How the selection was made, see ``themescope.core.labelling.selections.Origin``."""
    digest: str
    """Hash of the ids."""
    sentences: int
