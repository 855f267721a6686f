"""Records of what models are trained and measured on, of curves, of tables of papers, and of categories of errors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from themescope.core.records.stored import Described, Json
from themescope.core.types import Split


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


class Verdict(StrEnum):
    """Verdict of a reviewer: whether the label of a triplet is right."""

    GOOD = "good"
    BAD = "bad"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class TripletReview(Described):
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
class TripletCard(Described):
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
