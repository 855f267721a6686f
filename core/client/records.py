"""Records of the HTTP API: what the server sends and the client returns.

Ids are those of the store and never reused. Times are aware and in UTC. The text below a field is its description in
the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

T = TypeVar("T")


class Described:
    """Base class of records, whose field descriptions pydantic reads."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"use_attribute_docstrings": True}


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


# --- text -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Corpus(Described):
    """A set of documents that were imported together: a project."""

    id: int
    name: str
    language: str
    """ISO 639-1 code."""
    articles: int
    """Number of articles."""
    sections: int
    """Number of sections."""
    paragraphs: int
    """Number of paragraphs."""
    sentences: int
    """Number of sentences."""
    created: datetime


@dataclass(frozen=True, slots=True)
class Article(Described):
    """A document without its text."""

    id: int
    corpus_id: int
    position: int
    """Index in the corpus."""
    title: str
    url: str
    topic: str
    """Label of the document in its source, or ""."""
    split: str
    """"train", "validation" or "test", from a hash of the title."""
    sections: int
    """Number of sections."""
    sentences: int
    """Number of sentences."""


@dataclass(frozen=True, slots=True)
class Section(Described):
    """Text under one heading."""

    position: int
    """Index in the article."""
    level: int
    title: str
    """Heading; "" for the text before the first one."""


@dataclass(frozen=True, slots=True)
class Sentence(Described):
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


@dataclass(frozen=True, slots=True)
class Column(Described):
    """A further field of the articles or sentences of a corpus."""

    id: int
    name: str
    level: str
    """What has a value: "article" or "sentence"."""
    type: str
    """"text", "category", "number" or "date"."""
    missing: int
    """Number of articles or sentences without a value."""
    categories: list[str]
    """Values of a category, the most frequent first."""
    low: float | str | None
    """Least number, or first date in ISO form."""
    high: float | str | None
    """Greatest number, or last date in ISO form."""


@dataclass(frozen=True, slots=True)
class Selection(Described):
    """Sentences of a corpus that a person selected and named."""

    id: int
    corpus_id: int
    name: str
    """"" if the selection was only shared as a link."""
    person: str
    created: datetime
    origin: str
    """How the sentences were selected."""
    sentences: int
    """Number of sentences."""


@dataclass(frozen=True, slots=True)
class Match(Described):
    """A sentence that a search found."""

    sentence: Sentence
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
    note: str
    """How exact the search was; "" for an exact one."""

    def __iter__(self) -> Iterator[Match]:
        return iter(self.items)


# --- models, maps, runs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Model(Described):
    """A method fitted to data."""

    id: int
    name: str
    method: str
    """Id of the method, such as "triplets-sen"."""
    seed: int
    corpus_id: int | None
    triplet_set_id: int | None
    created: datetime


@dataclass(frozen=True, slots=True)
class ModelCard(Described):
    """Description of a model."""

    model: Model
    title: str
    """Title of the method."""
    summary: str
    source: str
    """Paper of the method."""
    settings: dict[str, Any]
    metrics: dict[str, Any]
    """Numbers of the training."""
    notes: list[str]
    """Limits of the model, and the models that it is built on."""
    text: str
    """Model card in Markdown: training, scores, limits, licences; "" for a model that was trained here."""


@dataclass(frozen=True, slots=True)
class Map(Described):
    """A projection of sentences to two dimensions."""

    id: int
    name: str
    corpus_id: int
    model_id: int
    faithfulness: float | None
    """Share of the nearest neighbours that the map keeps, 0…1; null if it was not measured."""
    sampled_from: int
    """Number of sentences of which the points are a sample, or all."""
    created: datetime


@dataclass(frozen=True, slots=True)
class MapPoints(Described):
    """Points of a map; item i of each list is one sentence."""

    sentence_ids: list[int]
    x: list[float]
    y: list[float]
    total: int
    """Number of points of the whole map."""
    offset: int


@dataclass(frozen=True, slots=True)
class Score(Described):
    """Mean of a metric over articles or triplets."""

    metric: str
    value: float
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None
    """Upper end of the 95 % interval."""
    n: int
    """Number of articles or triplets."""


@dataclass(frozen=True, slots=True)
class Run(Described):
    """One measurement of a model: a clustering of a benchmark, a triplet accuracy, themes of a corpus and so on."""

    id: int
    kind: str
    """"clustering", "triplets", "themes" and so on."""
    model_id: int | None
    corpus_id: int | None
    benchmark_id: int | None
    triplet_set_id: int | None
    clusterer: str
    seed: int
    seconds: float
    created: datetime
    scores: list[Score]


@dataclass(frozen=True, slots=True)
class Clustering(Described):
    """Clusters of the sentences of one article in a run; item i of both lists is one sentence."""

    run_id: int
    article_id: int
    sentence_ids: list[int]
    clusters: list[int]
    """Cluster numbers from 0; -1 for a sentence in no cluster."""


@dataclass(frozen=True, slots=True)
class Theme(Described):
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
class ThemeRun(Described):
    """Themes found in a corpus."""

    id: int
    corpus_id: int
    model_id: int
    sentences: int
    reason: str
    """Why this number of themes was suggested; "" if a person chose it."""
    created: datetime
    themes: list[Theme]
    """Largest first."""


@dataclass(frozen=True, slots=True)
class ThemeMember(Described):
    """A sentence with its theme."""

    sentence: Sentence
    theme: int
    """Number of the theme."""
    margin: float
    """Similarity to its own theme minus similarity to the nearest other one; below 0 the confidence is low."""


# --- labellings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cluster(Described):
    """A cluster of a labelling."""

    number: int
    """Number in the labelling, which is never used again."""
    name: str
    size: int
    """Number of sentences."""
    theme: int | None = None
    """Number of the theme of which it is a sub-theme; null for a theme."""


@dataclass(frozen=True, slots=True)
class CaseSentence(Described):
    """A sentence of a case as it was when the case was added."""

    text: str
    article: str
    section: str
    role: str
    """In a triplet: "pivot", "positive" or "negative"; elsewhere empty."""
    placed: str
    """Where models or people placed it."""


@dataclass(frozen=True, slots=True)
class ErrorCase(Described):
    """A case of an error notebook, with the facts of the moment at which it was added."""

    id: int
    kind: str
    """"triplet", "sentence", "group" or "disagreement"."""
    source: str
    """Where it was found."""
    sentences: list[CaseSentence]
    """At most 50."""
    sentence_ids: list[int]
    models: list[str]
    """Models that were wrong, or that placed the sentences."""
    margins: dict[str, float]
    """Model → distance of pivot and negative minus distance of pivot and positive."""
    predicted: str
    notes: list[str]
    categories: dict[str, list[str]]
    """Person → categories; an empty list where the person judged that none applies."""
    sample: str
    """Random sample that it is part of; empty for a case that was picked by hand."""
    person: str
    created: datetime


@dataclass(frozen=True, slots=True)
class Labelling(Described):
    """Clusters made by people, with a history."""

    id: int
    corpus_id: int
    name: str
    sharing: str
    """Who may change it: "own" (its owner), "shared" (everybody) or "gold" (everybody; made from several)."""
    owner: str
    article_id: int | None
    """The article of its sentences; null for more than one."""
    sentences: int
    """Number of sentences."""
    created: datetime


@dataclass(frozen=True, slots=True)
class LabellingState(Described):
    """Current state of a labelling."""

    labelling: Labelling
    clusters: list[Cluster]
    unassigned: int
    """Number of sentences in no cluster."""
    step: int
    """Id of the last step; 0 at the start."""
    can_undo: bool
    """Whether you have a step to undo."""
    can_redo: bool


@dataclass(frozen=True, slots=True)
class Label(Described):
    """A sentence of a labelling with its cluster."""

    sentence: Sentence
    cluster: int | None
    """Number of the cluster; null if the sentence is unassigned."""
    name: str
    """Name of the cluster; "" if the sentence is unassigned."""
    uncertain: bool
    note: str


@dataclass(frozen=True, slots=True)
class Step(Described):
    """An entry of the history of a labelling."""

    id: int
    kind: str
    """"do", "undo" or "redo"."""
    operation: str
    """"assign", "create", "merge", "rename" and so on."""
    summary: str
    person: str
    created: datetime
    target: int | None
    """Id of the step that was undone or redone."""
    reason: str
    selection_method: str
    size: int
    """Number of changed sentences."""


# --- jobs and accounts ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting(Described):
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
    settings: list[Setting]


@dataclass(frozen=True, slots=True)
class Job(Described):
    """Work in the background."""

    id: int
    kind: str
    title: str
    status: str
    """"queued", "running", "done", "failed" or "cancelled"."""
    progress: float
    """Share done, 0…1."""
    message: str
    arguments: dict[str, Any]
    after: int | None
    """Id of the job that has to be done before this one starts."""
    created: datetime
    started: datetime | None
    ended: datetime | None
    error: str
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether the job is done, failed or was cancelled."""
        return self.status in ("done", "failed", "cancelled")


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
