"""Data classes of experiment specs.

A :class:`Paper` names its data (triplet sets, benchmarks), its models and its tables; a row of a table says what is
measured (one of the :data:`Measure` classes), what was published, and in a sentence how ours differs. A declaration
computes nothing: the job ``reproduce`` carries it out, and everything in it is a name, a number or a setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from core.errors import ConfigError, DuplicateNameError, UnknownNameError

Settings: TypeAlias = Mapping[str, Any]
Numbers: TypeAlias = Mapping[str, float]

TEXT_WORDS, PAIR_WORDS = "text", "pairs"
"""Slots of word vectors: of running text, and of the vocabulary of the sentence pairs alone."""

BETTER, SIMILAR = "better", "similar"
"""What a paper may claim of two rows."""


@dataclass(frozen=True, slots=True)
class CorpusData:
    """A corpus that is imported from the data folder, unless the store has it."""

    id: str
    title: str
    """Its name in the store."""
    files: tuple[str, ...]
    """Patterns of its files below the data folder."""
    reader: str
    settings: Settings = field(default_factory=dict)
    """Settings of the reader."""


@dataclass(frozen=True, slots=True)
class TripletData:
    """A set of triplets that is sampled from the corpus."""

    id: str
    kind: str = "sentences"
    rules: Settings = field(default_factory=dict)
    """Settings over those of the profile."""
    replaceable: bool = False
    """A person's own copy of the published files takes its place."""


@dataclass(frozen=True, slots=True)
class BenchmarkData:
    """A clustering benchmark that is built from the corpus; a copy of the published file takes its place."""

    id: str
    rules: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """A method with its settings and its data; fitted once for each seed, and used in any number of rows."""

    id: str
    method: str
    triplets: str = ""
    """Id of the triplet set it learns from."""
    words: str = ""
    """Slot of the word vectors it reads."""
    settings: Settings = field(default_factory=dict)
    budget: str = ""
    """Which budget of the profile holds for its training; settings of the model come before those of the budget."""
    parts: tuple[str, ...] = ()
    """Models that it joins."""
    random: bool = True
    """False: nothing about its fit is random, so that one serves all seeds."""
    pretrained: bool = False
    """The default pretrained model; nothing is fitted."""
    corpus: str = ""
    """Id of the corpus whose text it learns from; empty: the corpus of articles."""


@dataclass(frozen=True, slots=True)
class CountTriplets:
    """Numbers of triplets and articles: metrics train, validation, test and articles."""

    triplets: str


@dataclass(frozen=True, slots=True)
class CountBenchmark:
    """The size of a benchmark, under the names of ``core.tasks.scb.PUBLISHED``."""

    benchmark: str


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Triplet accuracy of a model on the test part of a set."""

    model: str
    triplets: str
    regressor: bool = False
    """Compare by the relatedness that a regressor of sentence pairs predicts, not by distance."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters of every article of a benchmark against its sections; an empty model for clusterers without vectors."""

    model: str
    clusterer: str
    benchmark: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relatedness:
    """Relatedness of sentence pairs (SICK): by a regressor on the vectors, or by plain cosine."""

    model: str
    regressor: bool = True


@dataclass(frozen=True, slots=True)
class CountTopics:
    """The size of a topic task: metrics documents, sentences, annotated, train, validation and test."""

    labels: str
    """Model whose vectors choose the labelled sentences of its corpus."""
    settings: Settings = field(default_factory=dict)
    """Arguments of the evaluation beside these: task."""


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics of labelled sentences, by classifying and by clustering a model's vectors."""

    model: str
    labels: str
    """Model whose vectors choose the labelled sentences; its corpus is the one."""
    settings: Settings = field(default_factory=dict)
    """Arguments of the evaluation beside these: task, tune, unit, classifier."""


@dataclass(frozen=True, slots=True)
class ChosenSetting:
    """The value of a setting with the best weighted F1 on the held-out documents: metric value."""

    models: Mapping[float, str]
    """Value → model that was fitted with it."""
    labels: str
    settings: Settings = field(default_factory=dict)
    """Arguments of the evaluations beside these."""


@dataclass(frozen=True, slots=True)
class CountSummaries:
    """The size of a collection of summaries: metrics documents, and mean sentences and references of each."""

    documents: str


@dataclass(frozen=True, slots=True)
class Summaries:
    """ROUGE-1 of summaries of the documents in a file of the data folder."""

    documents: str
    """Path of the file below the data folder."""
    summarizer: str = "lexrank"
    model: str = ""
    """Whose vectors the summarizer looks at; empty for one that looks at none."""


Measure: TypeAlias = (
    CountTriplets
    | CountBenchmark
    | CountTopics
    | CountSummaries
    | Accuracy
    | Clustering
    | Relatedness
    | Topics
    | ChosenSetting
    | Summaries
)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    id: str
    title: str
    measure: Measure
    deviation: str
    """A sentence: in what ours differs from the paper's, or that it does not."""
    published: Numbers = field(default_factory=dict)
    """Metric → number as printed; empty for rows of our own."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An order of two rows that the paper states, or that follows from its numbers; tested on the same articles."""

    first: str
    second: str
    metric: str
    relation: str = BETTER


@dataclass(frozen=True, slots=True)
class Column:
    """A metric of a table; ``digits`` after the point, ``lower_is_better`` for errors."""

    metric: str
    title: str
    digits: int = 3
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper, with rows of our own below the paper's."""

    id: str
    title: str
    source: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()

    def row(self, id: str) -> Row:
        """Return the row with this id."""
        return _by_id(self.rows, id, f"row of table {self.id}")


@dataclass(frozen=True, slots=True)
class Profile:
    """Compute budget: seeds, volume of data, and budgets of training."""

    id: str
    title: str
    about: str
    """What is less than in the paper, in full sentences; printed with the results."""
    seeds: tuple[int, ...]
    triplet_rules: Settings = field(default_factory=dict)
    benchmark_rules: Settings = field(default_factory=dict)
    budgets: Mapping[str, Settings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Paper:
    """Experiment specs of one paper."""

    id: str
    title: str
    citation: str
    triplets: tuple[TripletData, ...]
    benchmarks: tuple[BenchmarkData, ...]
    models: tuple[Model, ...]
    tables: tuple[Table, ...]
    profiles: tuple[Profile, ...]
    corpora: tuple[CorpusData, ...] = ()

    def __post_init__(self) -> None:
        for family in (self.triplets, self.benchmarks, self.models, self.tables, self.profiles, self.corpora):
            _check_unique(family)
        for model in self.models:
            _ = self.triplet_data(model.triplets) if model.triplets else None
            _ = self.corpus_data(model.corpus) if model.corpus else None
            for part in model.parts:
                self.model(part)
        for table in self.tables:
            self._check(table)

    def table(self, id: str) -> Table:
        """Return the table with this id; the error suggests the nearest ids."""
        return _by_id(self.tables, id, f"table of {self.id}")

    def model(self, id: str) -> Model:
        """Return the model with this id."""
        return _by_id(self.models, id, f"model of {self.id}")

    @property
    def needs_articles(self) -> bool:
        """Whether any data is sampled from a corpus of articles with sections."""
        return bool(self.triplets or self.benchmarks)

    def corpus_data(self, id: str) -> CorpusData:
        """Return the corpus with this id."""
        return _by_id(self.corpora, id, f"corpus of {self.id}")

    def triplet_data(self, id: str) -> TripletData:
        """Return the triplet set with this id."""
        return _by_id(self.triplets, id, f"triplet set of {self.id}")

    def benchmark(self, id: str) -> BenchmarkData:
        """Return the benchmark with this id."""
        return _by_id(self.benchmarks, id, f"benchmark of {self.id}")

    def profile(self, id: str) -> Profile:
        """Return the profile with this id; the error suggests the nearest ids."""
        return _by_id(self.profiles, id, f"profile of {self.id}")

    def _check(self, table: Table) -> None:
        _check_unique(table.rows)
        metrics = {column.metric for column in table.columns}
        for row in table.rows:
            self._check_measure(row.measure)
            if not set(row.published) <= metrics:
                raise ConfigError(f"Row {row.id!r} of table {table.id} publishes what the table has no column for.")
        for claim in table.claims:
            table.row(claim.first), table.row(claim.second)
            if claim.metric not in metrics:
                raise ConfigError(f"A claim of table {table.id} is about {claim.metric!r}, which is no column.")

    def _check_measure(self, measure: Measure) -> None:
        match measure:
            case CountTriplets(triplets):
                self.triplet_data(triplets)
            case CountBenchmark(benchmark):
                self.benchmark(benchmark)
            case Accuracy(model, triplets):
                self.model(model), self.triplet_data(triplets)
            case Clustering(model, _, benchmark):
                self.benchmark(benchmark)
                _ = self.model(model) if model else None
            case Relatedness(model) | CountTopics(model):
                self.model(model)
            case Topics(model, labels):
                self.model(model), self.model(labels)
            case ChosenSetting(models, labels):
                self.model(labels), *map(self.model, models.values())
            case Summaries(_, _, model):
                _ = self.model(model) if model else None


def _check_unique(family: Iterable[_HasId]) -> None:
    seen: set[str] = set()
    for declared in family:
        if declared.id in seen:
            raise DuplicateNameError(type(declared).__name__.lower(), declared.id)
        seen.add(declared.id)


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


D = TypeVar("D", bound=_HasId)


def _by_id(family: Iterable[D], id: str, kind: str) -> D:
    found = {declared.id: declared for declared in family}
    if id not in found:
        raise UnknownNameError(kind, id, found)
    return found[id]
