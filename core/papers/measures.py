"""Measurements of experiment specs: what the row of a table measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

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
    context: bool = False
    """Embed all sentences of an article of the triplets together, not only those of its triplets."""


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


@dataclass(frozen=True, slots=True)
class Cost:
    """Costs of a model: metrics seconds (training), megabytes (saved model) and speed (sentences/s)."""

    model: str
    benchmark: str
    """Benchmark whose articles are embedded for the speed."""


@dataclass(frozen=True, slots=True)
class Combined:
    """Metrics of several measurements of a row; those that cannot be measured are left out, with the reason."""

    parts: Mapping[str, tuple[Measure, str]]
    """Name of the metric in the row → (measurement, its metric)."""


Measure: TypeAlias = (
    CountTriplets
    | CountBenchmark
    | CountTopics
    | CountSummaries
    | Accuracy
    | ClusteringMeasures
    | RelatednessMeasures
    | Topics
    | ChosenSetting
    | SummaryMeasures
    | Cost
    | Combined
)


def models_of(measure: Measure) -> tuple[str, ...]:
    """Return the ids of the models that a measurement uses."""
    if isinstance(measure, Combined):
        return tuple(model for part, _ in measure.parts.values() for model in models_of(part))
    named = [getattr(measure, field_name, "") for field_name in ("model", "labels")]
    several = measure.models.values() if isinstance(measure, ChosenSetting) else ()
    return tuple(model for model in (*named, *several) if model)
