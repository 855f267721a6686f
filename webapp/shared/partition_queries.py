"""Ways in which the sentences of one article are divided: its sections, clusterings, themes, people's labellings.

A source lists what it has of an article; whoever keeps partitions of another kind adds a function to ``SOURCES``, and
every page that lets a person choose a partition offers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from core.clustering import REGISTRY as CLUSTERERS
from core.types import Ids, Labels
from db.label_records import LabellingRecord, Sharing
from db.records import ArticleRecord, BenchmarkRecord, ModelRecord, RunRecord
from webapp.shared import queries
from webapp.shared.people import UNNAMED, current_person

NO_VECTORS = "no vectors"
LEAD = "(no heading)"


@dataclass(frozen=True, slots=True)
class Division:
    """Sentences of an article with the label of each; row i of both arrays is one sentence."""

    sentence_ids: Ids
    labels: Labels
    names: Mapping[int, str] = field(default_factory=dict)
    """What clusters are called; those that have no name are numbered."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A division that can be loaded. Within an article every name occurs once, so that it can stand in an address."""

    name: str
    kind: str
    """What it is, for a person: "sections", "clustering", "themes", "labelling"."""
    load: Callable[[], Division]


Source = Callable[[ArticleRecord, datetime], Sequence[Partition]]
"""From an article and the creation of its corpus (which makes keys of caches unique) to its partitions."""


def partitions(article: ArticleRecord, created: datetime) -> list[Partition]:
    """Every partition of an article, sections first; equal names are numbered."""
    found: dict[str, Partition] = {}
    for partition in (p for source in SOURCES for p in source(article, created)):
        name, number = partition.name, 2
        while name in found:
            name, number = f"{partition.name} ({number})", number + 1
        found[name] = Partition(name, partition.kind, partition.load)
    return list(found.values())


def sections(article: ArticleRecord, created: datetime) -> list[Partition]:
    """The sections as they are written."""

    def load() -> Division:
        titles, sentences = queries.article_text(article.id, created)
        names = {s.position: s.title or LEAD for s in titles}
        ids = np.array([s.id for s in sentences], dtype=np.int64)
        return Division(ids, np.array([s.section for s in sentences], dtype=np.int32), names)

    return [Partition("Sections", "sections", load)]


def runs(article: ArticleRecord, created: datetime) -> list[Partition]:
    """Clusterings of benchmarks that hold the article, and themes that were found in its corpus; newest first."""
    with queries.store().reading() as r:
        found, models = r.runs.of_article(article.id)[::-1], {m.id: m for m in r.models.list()}
        benchmarks = {b.id: b for b in r.benchmarks.list()}

    def partition(run: RunRecord) -> Partition:
        of = benchmarks.get(run.benchmark_id or -1)
        return Partition(partition_name(run, models.get(run.model_id or -1), of), run.kind, lambda: _labelled(run))

    def _labelled(run: RunRecord) -> Division:
        with queries.store().reading() as r:
            labels = r.runs.labels(run.id, article.id)[article.id]
            items = r.benchmarks.items_of(article.id)
        if run.benchmark_id in items:
            return Division(items[run.benchmark_id].sentence_ids, labels)
        _, sentences = queries.article_text(article.id, created)
        named = {place: str(theme["name"]) for place, theme in enumerate(run.config.get("themes", ()))}
        return Division(np.array([s.id for s in sentences], dtype=np.int64), labels, named)

    return [partition(run) for run in found]


def labellings(article: ArticleRecord, created: datetime) -> list[Partition]:
    """What people made of the article, newest first; blind labellings only for those who own them."""
    with queries.store().reading() as r:
        found = r.labellings.of_article(article.id)[::-1]
    me = current_person()

    def partition(record: LabellingRecord) -> Partition:
        by = f" · {record.owner or UNNAMED}" if record.kind is Sharing.OWN else f" · {record.kind.value}"
        return Partition(record.name + by, "labelling", lambda: _placed(record))

    def _placed(record: LabellingRecord) -> Division:
        with queries.store().reading() as r:
            ids, numbers, names = r.labellings.placed(record.id, article.id)
        return Division(ids, numbers.astype(np.int32), names)

    return [partition(record) for record in found if not record.blind or record.owner == me]


SOURCES: tuple[Source, ...] = (sections, runs, labellings)


def run_name(run: RunRecord, model: ModelRecord | None) -> str:
    """Model and clusterer, with the seed where it is not the usual one."""
    how = clusterer_title(run.clusterer) if run.clusterer else run.kind.capitalize()
    seed = f", seed {run.seed}" if run.seed else ""
    return f"{model.name} · {how}{seed}" if model else f"{how}{seed}"


def partition_name(run: RunRecord, model: ModelRecord | None, benchmark: BenchmarkRecord | None) -> str:
    """:func:`run_name`, with the benchmark, because an article may be in several."""
    return run_name(run, model) + (f" on {benchmark.name}" if benchmark else "")


def clusterer_title(id: str) -> str:
    """The title on a clusterer's card; its id where this version has no such card."""
    return CLUSTERERS.get(id).title if id in CLUSTERERS else id
