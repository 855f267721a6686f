"""Records of what models are trained and measured on, of curves, and of tables of papers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from themescope.core.records.stored import Described, Json


@dataclass(frozen=True, slots=True)
class TripletSetRecord(Described):
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
class BenchmarkRecord(Described):
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
class PaperTableRecord(Described):
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
class MetricPoint(Described):
    """One point of a job's live curve."""

    name: str
    step: float
    value: float
