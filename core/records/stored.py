"""Records of stored objects: a repository returns them, a service passes them on, the HTTP API sends them.

``id`` is the store's stable id and never reused; a record that has not been stored yet has id 0. Times are UTC and
aware. The text below a field is its description in the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, NotRequired, TypedDict, cast

from themescope.core.columns import ColumnLevel
from themescope.core.types import CodingUnit, Split, split_of_bucket

Json = Mapping[str, Any]
FAILURES_OF = "failures_of"
"""Key in the report of a corpus of failures of the name of its project."""
MODEL = "model"
"""Origin of a labelling in which a model coded by a codebook."""


class Described:
    """Base class of records, whose field descriptions pydantic reads."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"use_attribute_docstrings": True}


@dataclass(frozen=True, slots=True)
class CorpusSummary(Described):
    """A set of documents that were imported together: a project."""

    id: int
    name: str
    language: str
    """ISO 639-1 code."""
    created: datetime
    articles: int
    """Number of articles."""
    sections: int
    """Number of sections."""
    paragraphs: int
    """Number of paragraphs."""
    sentences: int
    """Number of sentences."""


@dataclass(frozen=True, slots=True)
class CorpusRecord(CorpusSummary):
    """A corpus with what the HTTP API does not send. ``ready`` is False during the import; pages show ready ones."""

    ready: bool
    report: Json = field(default_factory=dict)
    """Import report: files, reader, config, and skipped items by reason."""

    @property
    def unit(self) -> CodingUnit:
        """What its stored sentences are; rows of a table that contain sentences are stored as they are."""
        return CodingUnit(self.report.get("unit", CodingUnit.SENTENCE))

    @property
    def digest(self) -> str:
        """Digest of its text; "" in stores of early versions."""
        return str(self.report.get("digest", ""))

    @property
    def wave_columns(self) -> tuple[str, ...]:
        """Names of the columns that tell waves apart, which its files do not have."""
        return tuple(self.report.get("wave_columns", ()))

    @property
    def failures_of(self) -> str:
        """Name of the project whose failures it collects; "" for a corpus of texts."""
        return str(self.report.get(FAILURES_OF, ""))

    @property
    def has_sections(self) -> bool:
        """Whether an article has more than one section; lists of sentences have not."""
        return self.sections > self.articles


class EditKind(StrEnum):
    """What an edit of a corpus does."""

    WAVE = "wave"
    """A wave was removed."""
    ARTICLES = "articles"
    """Articles were removed."""
    TEXT = "text"
    """The text of a sentence was corrected."""


@dataclass(frozen=True, slots=True)
class CorpusEditRecord(Described):
    """An edit of a corpus after its import, which can be undone."""

    id: int
    corpus_id: int
    kind: EditKind
    what: str
    """Name of the wave, title of the first article, or title of the article of the sentence."""
    sentence_id: int
    """Corrected sentence; 0 for a removal."""
    before: str
    """Text before the correction; "" for a removal."""
    after: str
    """Text after the correction; "" for a removal."""
    articles: int
    """Number of articles removed."""
    sentences: int
    """Number of sentences removed or corrected."""
    labels: int
    """Number of labels on these sentences, in all labellings."""
    person: str
    created: datetime
    undone: datetime | None = None

    @property
    def summary(self) -> str:
        """Return what was done in one line."""
        if self.kind is EditKind.TEXT:
            return f"text corrected in “{self.what}”: “{self.before}” → “{self.after}”"
        of = f"wave “{self.what}”" if self.kind is EditKind.WAVE else f"“{self.what}”"
        more = f" and {self.articles - 1:,} more" if self.kind is EditKind.ARTICLES and self.articles > 1 else ""
        return f"{of}{more} removed: {self.sentences:,} sentence{'s' * (self.sentences != 1)}"


@dataclass(frozen=True, slots=True)
class ArticleRecord(Described):
    """A document without its text."""

    id: int
    corpus_id: int
    position: int
    """Index in the corpus."""
    title: str
    url: str
    source: str
    bucket: int
    """Hash of the title, 0…999, which decides the split."""
    sections: int
    """Number of sections."""
    sentences: int
    """Number of sentences."""
    topic: str = ""
    """The document's label; "" where its source gives none."""
    part: str = ""
    """"train" or "test" as the source marks it, or ""."""

    split: Split = field(init=False, default=Split.TRAIN)
    """"train", "validation" or "test", from the hash of the title."""

    def __post_init__(self) -> None:
        """Set the split."""
        object.__setattr__(self, "split", split_of_bucket(self.bucket))


@dataclass(frozen=True, slots=True)
class ColumnRecord(Described):
    """A column of a corpus: a further field of its articles or sentences."""

    id: int
    corpus_id: int
    position: int
    name: str
    level: ColumnLevel
    """What has a value: "article" or "sentence"."""
    type: str
    """One of :class:`themescope.core.columns.ColumnType`; "" while the corpus is being imported."""
    about: Json
    """``missing``; of a category ``categories``, most frequent first, with ``counts``; of a number ``low``, ``high``
    and whether all are ``whole``; of a date ``low``, ``high`` and whether all are ``days``."""

    @property
    def categories(self) -> Sequence[str]:
        """Names of the categories by code."""
        found: Sequence[str] = self.about.get("categories", ())
        return found

    @property
    def label(self) -> str:
        """Name for a person, with the level of a column of texts."""
        return self.name if self.level is ColumnLevel.SENTENCE else f"{self.name} (text)"


@dataclass(frozen=True, slots=True)
class SelectionRecord(Described):
    """Selection of sentences that somebody named or shared; the ids are read separately."""

    id: int
    corpus_id: int
    name: str
    """Empty for a selection that was only shared as a link."""
    person: str
    created: datetime
    origin: Json
    """How the selection was made, see ``themescope.core.labelling.operations.Origin``."""
    digest: str
    """Hash of the ids."""
    sentences: int


@dataclass(frozen=True, slots=True)
class ModelRecord(Described):
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
class MapRecord(Described):
    """A two-dimensional projection of the sentences of some articles by one model."""

    id: int
    corpus_id: int
    model_id: int
    name: str
    config: Json
    seed: int
    digest: str
    faithfulness: float | None
    """Share of the true 15 nearest neighbours that are kept on the map, 0…1; NaN (in JSON null) if not measured."""
    sampled_from: int
    """Number of candidate sentences; larger than the number of points if they are a sample."""
    created: datetime

    @property
    def articles(self) -> tuple[int, ...]:
        """Ids of the articles that it shows; () for a map of the whole corpus."""
        return tuple(self.config.get("articles", ()))


@dataclass(frozen=True, slots=True)
class ScoreRecord(Described):
    """A metric of a run: for one article, or (``article_id`` None) the mean with its 95 % interval over articles."""

    run_id: int
    article_id: int | None
    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int = 1


class StoredTheme(TypedDict):
    """A theme in the result of a run."""

    name: str
    words: list[str]
    size: int
    central: list[int]
    """Ids of its central sentences, most central first."""
    description: NotRequired[str]
    """Of a language model."""
    default_name: NotRequired[str]
    """The computed name, where a language model gave another."""
    naming: NotRequired[dict[str, str]]
    """What became of the answer of a language model: ``state``, ``reason``, ``suggestion``."""
    wave: NotRequired[str]
    """Name of the wave in which it was new."""


class ThemesResult(TypedDict):
    """What a run that found themes stores beside labels and margins, see :mod:`themescope.jobs.kinds.themes`."""

    corpus_id: int
    settings: dict[str, Any]
    curves: NotRequired[dict[str, Any]]
    reason: str
    """Reason for the suggested number of themes; "" if it was given."""
    interval: NotRequired[list[int]]
    sentences: int
    distinct: NotRequired[int]
    usual: NotRequired[int]
    compared: NotRequired[int]
    sampled_from: NotRequired[int]
    """Sentences of the corpus, of which those of the run may be a sample."""
    frequent: NotRequired[list[dict[str, int]]]
    """Texts that are repeated often: ``id``, ``count`` and ``theme``."""
    themes: list[StoredTheme]
    """Label c is theme c, largest first."""
    level: NotRequired[int]
    levels: NotRequired[list[int]]
    """Number of themes of each level, fewest first."""
    level_of: NotRequired[int]
    """Id of the run of the suggested level, in those of the others."""
    continues: NotRequired[int]
    """Id of the run whose themes a wave was placed in."""
    article: NotRequired[int]
    title: NotRequired[str]
    """Title of the article, for themes of one article."""
    naming: NotRequired[dict[str, Any] | None]
    """How many names a language model gave, and which one."""


@dataclass(frozen=True, slots=True)
class RunRecord(Described):
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
    scores: Sequence[ScoreRecord] = ()
    """Means of its metrics, where they were read with it."""

    @property
    def found(self) -> ThemesResult:
        """The result of a run that found themes."""
        return cast(ThemesResult, self.config)


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
class JobSummary(Described):
    """A background job; its row, not the queue, holds its state."""

    id: int
    kind: str
    title: str
    args: Json
    status: JobStatus
    progress: float
    """Share done, 0…1."""
    message: str
    attempt: int
    after: int | None
    """Id of a job that must be done before this one may start."""
    created: datetime
    started: datetime | None
    ended: datetime | None
    error: str
    """Error message for the user."""
    result: Json


@dataclass(frozen=True, slots=True)
class JobRecord(JobSummary):
    """A background job with what the HTTP API does not send."""

    queue: str
    owner: str
    cancel: bool
    heartbeat: datetime | None
    traceback: str
    """Traceback for the log; empty if the input caused the error."""


class Role(StrEnum):
    """Role of a person, which decides what they may change."""

    VIEWER = "viewer"
    """Read only."""
    LABELLER = "labeller"
    """Change their own labellings and the shared ones, and review triplets."""
    ADMIN = "admin"
    """Everything: other people's labellings, imports, jobs, deletion and roles."""


class Sharing(StrEnum):
    """Who may change a labelling."""

    OWN = "own"
    """Its owner."""
    SHARED = "shared"
    """Everybody."""
    GOLD = "gold"
    """Everybody; it is the outcome of an adjudication."""


@dataclass(frozen=True, slots=True)
class LabellingRecord(Described):
    """Clusters made by people, with a history, without its sentences."""

    id: int
    corpus_id: int
    name: str
    kind: Sharing
    """Who may change it."""
    owner: str
    blind: bool
    """Whether sections, suggestions and other people's labels are hidden during labelling."""
    article_id: int | None
    """The article of the labelling; None for more than one."""
    origin: Mapping[str, Any]
    """Initial state: "from" ("run", "sections", "labelling", "nothing", "file"), and its name."""
    sentences: int
    created: datetime
    deleted: datetime | None = None

    @property
    def by_model(self) -> bool:
        """Whether a model coded it by a codebook."""
        return self.origin.get("from") == MODEL

    @property
    def members(self) -> tuple[datetime, int]:
        """What tells, with the id, which sentences the labelling has."""
        return self.created, self.sentences

    def editable_by(self, person: str, role: Role) -> bool:
        """Return whether a person with that role may change it: a private one belongs to its owner and to admins."""
        return role is not Role.VIEWER and (self.kind is not Sharing.OWN or self.owner == person or role is Role.ADMIN)


@dataclass(frozen=True, slots=True)
class PredictionRecord(Described):
    """Codes predicted for sentences without a label: the rest of a labelling, or a wave. They are no labels."""

    id: int
    labelling_id: int
    wave: str
    """Name of the wave; empty for the rest of the labelling."""
    model: str
    """Name of the model of the vectors."""
    step: int
    """Last step of the labelling that was learned from."""
    labels: int
    """Number of labels that were learned from: of people, for a wave also of machines."""
    sentences: int
    """Number of sentences: all of the labelling, the labelled ones learned without the labels of their documents."""
    codes: tuple[int, ...]
    """Numbers of the clusters, in the order of the columns of probabilities."""
    report: Json
    """Quality on held-out labels, see :class:`themescope.core.labelling.prediction.PredictionReport`; of a wave,
    what fits no code, see :mod:`themescope.jobs.kinds.place_wave`."""
    created: datetime
