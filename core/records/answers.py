"""What the HTTP API sends besides the records of the store: parts of lists, and records with what belongs to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from themescope.core.records.people import ItemRecord
from themescope.core.records.stored import Described, LabellingRecord, ModelRecord

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
class OpenedItem(Described):
    """An item of a task with what is needed to label it."""

    item: ItemRecord
    labelling: LabellingRecord
    """The person's labelling."""
    selection_id: int
    """Selection of the sentences of the item."""


@dataclass(frozen=True, slots=True)
class Heading(Described):
    """Text under one heading."""

    position: int
    """Index in the article."""
    level: int
    title: str
    """Heading; "" for the text before the first one."""


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
    note: str
    """How exact the search was; "" for an exact one."""

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
