"""What the HTTP API sends besides the records of the store: parts of lists, and records with what belongs to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from themescope.core.records.stored import Described, Json, LabellingRecord, ModelRecord, Role
from themescope.core.types import Split

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Described, Generic[T]):
    """A part of a list."""

    items: list[T]
    total: int
    """Number of items in the whole list."""
    offset: int
    """Number of items before this part."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class UploadedFile(Described):
    """A file that was uploaded; the server removes it after a week."""

    name: str
    path: str
    """Its path on the server, for the arguments of a job."""
    bytes: int
    """Size."""


@dataclass(frozen=True, slots=True)
class LocatedSentence(Described):
    """A sentence with its position."""

    id: int
    text: str
    article_id: int
    article: str
    """Title of the article."""
    section: str
    """Heading of the section; "" for the text before the first one."""
    position: int
    """Index in the article."""
    paragraph: int = 0
    """Index of the paragraph in its section."""
    start: int = -1
    """Offset of its first character in its paragraph, in characters; -1 if unknown."""


@dataclass(frozen=True, slots=True)
class Match(Described):
    """A sentence that a search found."""

    sentence: LocatedSentence
    cosine: float | None
    """Cosine similarity to the query for a search by meaning."""


@dataclass(frozen=True, slots=True)
class SearchResult(Described):
    """Matches of a search: in reading order, or the most similar first for a search by meaning."""

    items: list[Match]
    total: int
    """Number of sentences that contain the text; for a search by meaning, of the matches returned."""
    offset: int
    model_id: int | None
    """The model of a search by meaning."""

    def __iter__(self) -> Iterator[Match]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class ModelDescription(Described):
    """Description of a model."""

    model: ModelRecord
    title: str
    """Title of the method."""
    summary: str
    source: str
    """Paper of the method."""
    notes: Sequence[str]
    """Limits of the model, and the models that it is built on."""
    text: str
    """Model card in Markdown: training, scores, limits, licences; "" for a model that was trained here."""


@dataclass(frozen=True, slots=True)
class PointPage(Described):
    """Points of a map; item i of each list is one sentence."""

    sentence_ids: list[int]
    x: list[float]
    y: list[float]
    total: int
    """Number of points of the whole map."""
    offset: int


@dataclass(frozen=True, slots=True)
class NamedTheme(Described):
    """A cluster of sentences with a name."""

    number: int
    """Number of the theme in its run, from 0."""
    name: str
    size: int
    """Number of sentences."""
    words: list[str]
    """Characteristic words, the most characteristic first."""
    central: list[int]
    """Ids of the most central sentences."""
    subtitle: str = ""
    """Description of the theme, else its most central sentence."""


@dataclass(frozen=True, slots=True)
class ThemeLevel(Described):
    """A level of a hierarchy of themes: each theme lies inside one theme of every level with fewer."""

    run_id: int
    themes: int
    """Number of themes."""


@dataclass(frozen=True, slots=True)
class ThemeRun(Described):
    """Themes found in a corpus."""

    id: int
    corpus_id: int
    model_id: int
    sentences: int
    reason: str
    """Why this number of themes was suggested; "" if a person chose it."""
    created: datetime
    themes: list[NamedTheme]
    """Largest first."""
    level: int = 0
    """Place of these themes among the levels."""
    levels: list[ThemeLevel] = field(default_factory=list)
    """Nested levels of the same result, each a run of its own, the one with the fewest themes first."""


@dataclass(frozen=True, slots=True)
class ThemeMember(Described):
    """A sentence with its theme."""

    sentence: LocatedSentence
    theme: int
    """Number of the theme."""
    margin: float
    """Similarity to its own theme minus similarity to the nearest other one; below 0 the confidence is low."""


@dataclass(frozen=True, slots=True)
class LabelledCluster(Described):
    """A cluster of a labelling."""

    number: int
    """Number in the labelling, which is never used again."""
    name: str
    size: int
    """Number of sentences."""
    theme: int | None = None
    """Number of the theme of which it is a sub-theme; null for a theme."""
    codes: list[int] = field(default_factory=list)
    """Numbers of its codes, if it is a combination of codes of a labelling with several per sentence."""


@dataclass(frozen=True, slots=True)
class LabellingState(Described):
    """Current state of a labelling."""

    labelling: LabellingRecord
    clusters: list[LabelledCluster]
    unassigned: int
    """Number of sentences in no cluster."""
    step: int
    """Id of the last step; 0 at the start."""
    can_undo: bool
    """Whether you have a step to undo."""
    can_redo: bool


@dataclass(frozen=True, slots=True)
class SentenceLabel(Described):
    """A sentence of a labelling with its cluster."""

    sentence: LocatedSentence
    cluster: int | None
    """Number of the cluster; null if the sentence is unassigned."""
    name: str
    """Name of the cluster; "" if the sentence is unassigned."""
    uncertain: bool
    note: str
    source: str
    """Who or what made the label: "human", "machine" or "imported"; "" if the sentence is unassigned."""
    coder: str
    """Name of the person, of the model or method, or of the file."""
    probability: float | None
    """Probability of the label, where a machine gave one."""


@dataclass(frozen=True, slots=True)
class JobSetting(Described):
    """A setting of a job kind."""

    name: str
    type: str
    """Types of its values, such as "integer" or "text or null"."""
    default: Any
    description: str
    choices: list[Any] | None = None
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class JobKind(Described):
    """A kind of background job."""

    id: str
    title: str
    summary: str
    settings: list[JobSetting]


@dataclass(frozen=True, slots=True)
class Me(Described):
    """The person of a token."""

    name: str
    """"" where nobody signs in and no name was entered."""
    role: str
    """"viewer", "labeller" or "admin": the role in force now."""
    rights: list[str]
    """"look", "label", "manage"."""
    version: str
    """Version of Themescope."""


# Records of what models are trained and measured on, of curves, of tables of papers, and of categories of errors


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


# Records of people and of labelling tasks


@dataclass(frozen=True, slots=True)
class PersonRecord(Described):
    """Person known to the store; "" is the person without a name."""

    name: str
    role: Role
    created: datetime
    seen: datetime | None = None
    """Time of last use of a page, to the minute."""


class ItemState(StrEnum):
    """State of an item of a task."""

    OPEN = "open"
    STARTED = "in progress"
    DONE = "done"


class Reason(StrEnum):
    """Why a person has an item."""

    DISTRIBUTION = "distribution"
    GOLD = "gold"
    ROUTING = "routing"
    """Other people disagree about its sentences."""


@dataclass(frozen=True, slots=True)
class TaskRecord(Described):
    """Labelling task without its items."""

    id: int
    corpus_id: int
    name: str
    person: str
    """Who made it."""
    created: datetime
    due: datetime | None
    closed: datetime | None
    instructions: str
    blind: bool
    settings: Mapping[str, Any]
    """``share``, ``several``, ``order``, ``seed``, ``start`` (initial clusters), ``tell`` (people see their checks)."""
    gold_id: int | None
    """Labelling whose labels are known to be right; the labels of gold items are compared with it."""


@dataclass(frozen=True, slots=True)
class MemberRecord(Described):
    """Person of a task."""

    task_id: int
    person: str
    labelling_id: int | None
    """The person's labelling; None before the person begins."""
    quota: int | None
    """Maximum number of items from the distribution."""


@dataclass(frozen=True, slots=True)
class ItemRecord(Described):
    """Sentences of an article, by position, that one person labels."""

    id: int
    task_id: int
    article_id: int
    first: int
    last: int
    """Position of the last sentence, inclusive."""
    person: str
    place: int
    """Place in the order of the person."""
    reason: Reason
    opened: datetime | None
    done: datetime | None

    @property
    def state(self) -> ItemState:
        """State of the item."""
        if self.done is not None:
            return ItemState.DONE
        return ItemState.OPEN if self.opened is None else ItemState.STARTED

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return self.last - self.first + 1

    @property
    def range(self) -> tuple[int, int, int]:
        """Article and positions, which are the same for all people who label the item."""
        return self.article_id, self.first, self.last
