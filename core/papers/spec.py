"""Data classes of experiment specs.

A :class:`Paper` consists of its data (triplet sets, benchmarks), models and tables; a row of a table has a measurement,
the published numbers, and a sentence on how ours differs. Specs contain only names, numbers and settings; the job
``reproduce`` runs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from themescope.core.errors import ConfigError, DuplicateNameError, UnknownNameError
from themescope.core.types import Split

Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CountTriplets:
    """Numbers of triplets and articles: metrics train, validation, test and articles."""

    triplets: str


@dataclass(frozen=True, slots=True)
class CountBenchmark:
    """The size of a benchmark, under the names of ``themescope.core.tasks.scb.PUBLISHED``."""

    benchmark: str


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Triplet accuracy of a model on the test part of a set."""

    model: str
    triplets: str
    regressor: bool = False
    """Compare by the relatedness that a regressor of sentence pairs predicts, not by distance."""


@dataclass(frozen=True, slots=True)
class ClusteringMeasures:
    """Clusters of every article of a benchmark against its sections; ``model`` is empty for random labels."""

    model: str
    clusterer: str
    benchmark: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RelatednessMeasures:
    """Relatedness of sentence pairs (SICK), by a regressor on the vectors or by cosine."""

    model: str
    regressor: bool = True


@dataclass(frozen=True, slots=True)
class ExamplePredictions:
    """Relatedness of one pair of SICK: its score, as metric score, and what regressors predict."""

    pair: tuple[str, str]
    models: Mapping[str, str]
    """Metric → id of the model."""


@dataclass(frozen=True, slots=True)
class CountTopics:
    """The size of a topic task: metrics documents, sentences, annotated, train, validation and test."""

    labels: str
    """Model whose vectors select the labelled sentences of its corpus."""
    settings: Settings = field(default_factory=dict)
    """Further arguments of the evaluation: task."""


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics of labelled sentences, by classification and by clustering of a model's vectors."""

    model: str
    labels: str
    """Model whose vectors select the labelled sentences of its corpus."""
    settings: Settings = field(default_factory=dict)
    """Further arguments of the evaluation: task, tune, unit, classifier."""


@dataclass(frozen=True, slots=True)
class ChosenSetting:
    """The value of a setting with the best weighted F1 on the held-out documents: metric value."""

    models: Mapping[float, str]
    """Value → id of the model fitted with it."""
    labels: str
    settings: Settings = field(default_factory=dict)
    """Further arguments of the evaluations."""


@dataclass(frozen=True, slots=True)
class CountSummaries:
    """The size of a collection of summaries: metrics documents, and mean sentences and references of each."""

    documents: str


@dataclass(frozen=True, slots=True)
class SummaryMeasures:
    """ROUGE-1 of summaries of the documents in a file of the data folder."""

    documents: str
    """Path of the file below the data folder."""
    summarizer: str = "lexrank"
    model: str = ""
    """Model whose vectors the summarizer uses; empty for none."""


Measure: TypeAlias = (
    CountTriplets
    | CountBenchmark
    | CountTopics
    | CountSummaries
    | Accuracy
    | ClusteringMeasures
    | RelatednessMeasures
    | ExamplePredictions
    | Topics
    | ChosenSetting
    | SummaryMeasures
)


def models_of(measure: Measure) -> tuple[str, ...]:
    """Return the ids of the models that a measurement uses."""
    named = [getattr(measure, field_name, "") for field_name in ("model", "labels")]
    several = measure.models.values() if isinstance(measure, ChosenSetting | ExamplePredictions) else ()
    return tuple(model for model in (*named, *several) if model)


Numbers: TypeAlias = Mapping[str, float]

TEXT_WORDS, PAIR_WORDS = "text", "pairs"
"""Names of word vectors: for running text, and for the vocabulary of the sentence pairs only."""

BETTER, SIMILAR = "better", "similar"
"""Relations of two rows that a paper may claim."""


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
class TripletSource:
    """A set of triplets that is sampled from the corpus."""

    id: str
    kind: str = "sentences"
    rules: Settings = field(default_factory=dict)
    """Settings over those of the profile."""
    replaceable: bool = False
    """Whether a copy of the published files replaces it, if there is one."""


@dataclass(frozen=True, slots=True)
class BenchmarkData:
    """A clustering benchmark that is built from a corpus, or read from a copy of the published file."""

    id: str
    rules: Settings = field(default_factory=dict)
    """Settings over those of the profile."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A method with its settings and data, fitted once for each seed and used in any number of rows."""

    id: str
    method: str
    triplets: str = ""
    """Id of the triplet set it is trained on."""
    words: str = ""
    """Name of its word vectors."""
    settings: Settings = field(default_factory=dict)
    budget: str = ""
    """Budget of the profile for its training; settings of the model override those of the budget."""
    parts: tuple[str, ...] = ()
    """Ids of its submodels."""
    random: bool = True
    """False if its fit is deterministic: there is one model for all seeds, or one for each of its submodels."""
    pretrained: str = ""
    """Name of the pretrained model that it is, which is not fitted."""
    corpus: str = ""
    """Id of the corpus it is trained on; empty for the corpus of articles."""
    validation: str = ""
    """Id of the triplet set whose validation triplets decide early stopping, if it is another one."""
    seeds: int = 0
    """Maximum number of seeds; 0: all of the profile."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    id: str
    title: str
    measure: Measure
    deviation: str
    """A sentence on how ours differs from the paper, if it does."""
    published: Numbers = field(default_factory=dict)
    """Metric → number as printed; empty for rows of our own."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A relation of two rows that the paper states or that follows from its numbers; tested on the same articles."""

    first: str
    second: str
    metric: str
    relation: str = BETTER


def claims(metric: str, better: Mapping[str, Iterable[str]], prefix: str = "") -> tuple[Claim, ...]:
    """Return claims that rows are better than others: id → ids of worse rows, all after a ``prefix``."""
    return tuple(Claim(prefix + row, prefix + other, metric) for row, others in better.items() for other in others)


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A metric of a table, with ``digits`` after the decimal point; ``lower_is_better`` for errors."""

    metric: str
    title: str
    digits: int = 3
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of the paper, followed by rows of our own."""

    id: str
    title: str
    source: str
    about: str
    columns: tuple[MetricColumn, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()

    def row(self, id: str) -> Row:
        """Return the row with this id."""
        return _by_id(self.rows, id, f"row of table {self.id}")


@dataclass(frozen=True, slots=True)
class RunProfile:
    """Compute budget: seeds, volume of data, and budgets of training; and the evaluated articles."""

    id: str
    title: str
    about: str
    """What it computes, in full sentences, for forms; documents of results take what was computed from its records."""
    seeds: tuple[int, ...]
    triplet_rules: Settings = field(default_factory=dict)
    benchmark_rules: Settings = field(default_factory=dict)
    budgets: Mapping[str, Settings] = field(default_factory=dict)
    split: Split = Split.TEST
    """Split of the evaluated articles."""
    articles: int = 0
    """Maximum number of evaluated articles of a benchmark and of a triplet set; 0: all."""
    documents: int = 0
    """Maximum number of documents of a topic task; 0: all."""


@dataclass(frozen=True, slots=True)
class Paper:
    """Experiment specs of one paper."""

    id: str
    title: str
    citation: str
    triplets: tuple[TripletSource, ...]
    benchmarks: tuple[BenchmarkData, ...]
    models: tuple[ModelSpec, ...]
    tables: tuple[ResultTable, ...]
    profiles: tuple[RunProfile, ...]
    corpora: tuple[CorpusData, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the results should know before the tables, as paragraphs of Markdown."""

    def __post_init__(self) -> None:
        for family in (self.triplets, self.benchmarks, self.models, self.tables, self.profiles, self.corpora):
            _check_unique(family)
        for model in self.models:
            for triplets in filter(None, (model.triplets, model.validation)):
                self.triplet_data(triplets)
            _ = self.corpus_data(model.corpus) if model.corpus else None
            for part in model.parts:
                self.model(part)
        for table in self.tables:
            self._check(table)

    def table(self, id: str) -> ResultTable:
        """Return the table with this id; the error suggests the nearest ids."""
        return _by_id(self.tables, id, f"table of {self.id}")

    def model(self, id: str) -> ModelSpec:
        """Return the model with this id."""
        return _by_id(self.models, id, f"model of {self.id}")

    def corpus_data(self, id: str) -> CorpusData:
        """Return the corpus with this id."""
        return _by_id(self.corpora, id, f"corpus of {self.id}")

    def triplet_data(self, id: str) -> TripletSource:
        """Return the triplet set with this id."""
        return _by_id(self.triplets, id, f"triplet set of {self.id}")

    def benchmark(self, id: str) -> BenchmarkData:
        """Return the benchmark with this id."""
        return _by_id(self.benchmarks, id, f"benchmark of {self.id}")

    def profile(self, id: str) -> RunProfile:
        """Return the profile with this id; the error suggests the nearest ids."""
        return _by_id(self.profiles, id, f"profile of {self.id}")

    def _check(self, table: ResultTable) -> None:
        _check_unique(table.rows)
        metrics = {column.metric for column in table.columns}
        for row in table.rows:
            for used in models_of(row.measure):
                self.model(used)
            for field_name, find in (("triplets", self.triplet_data), ("benchmark", self.benchmark)):
                if id := getattr(row.measure, field_name, ""):
                    find(id)
            if not set(row.published) <= metrics:
                raise ConfigError(f"Row {row.id!r} of table {table.id} has published numbers without a column.")
        for claim in table.claims:
            table.row(claim.first), table.row(claim.second)
            if claim.metric not in metrics:
                raise ConfigError(f"A claim of table {table.id} is about {claim.metric!r}, which is not a column.")


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
