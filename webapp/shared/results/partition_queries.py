"""Partitions of sentences: sections, clusterings, themes and labellings.

A source lists the partitions of one kind that an article has. A new kind takes one more function in ``SOURCES``; every
page with a choice of partitions then offers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.records.stored import (
    ArticleRecord,
    CorpusRecord,
    LabellingRecord,
    MapRecord,
    ModelRecord,
    RunRecord,
    Sharing,
)
from themescope.core.types import Ids, Labels, Sentence
from themescope.db.records import BenchmarkRecord
from themescope.jobs.common.model_choice import SCORE, corpus_shares
from themescope.jobs.services.themes import theme_arrays
from themescope.webapp.shared import queries
from themescope.webapp.shared.people import UNNAMED, current_person
from themescope.webapp.shared.text import distinct

NO_VECTORS = "no vectors"
LEAD = "(no heading)"
TASK = "Task: "
"""Beginning of the name of a labelled text that a task consists of."""


@dataclass(frozen=True, slots=True)
class Division:
    """Sentences of an article with the label of each; row i of both arrays is one sentence."""

    sentence_ids: Ids
    labels: Labels
    names: Mapping[int, str] = field(default_factory=dict)
    """Names of clusters; unnamed ones are numbered."""


@dataclass(frozen=True, slots=True)
class ClusteringRun:
    """Partition that can be loaded; its name is unique within an article and used in URLs."""

    name: str
    kind: str
    """Kind: "sections", "clustering", "themes" or "labelling"."""
    load: Callable[[], Division]


Source = Callable[[ArticleRecord, datetime], Sequence[ClusteringRun]]
"""Function of an article and the creation time of its corpus (for cache keys) that returns partitions."""


def partitions(article: ArticleRecord, created: datetime) -> list[ClusteringRun]:
    """Return the partitions of an article, sections first; equal names are numbered."""
    found = [partition for source in SOURCES for partition in source(article, created)]
    names = distinct(partition.name for partition in found)
    return [replace(partition, name=name) for partition, name in zip(found, names, strict=True)]


def _sections(article: ArticleRecord, created: datetime) -> list[ClusteringRun]:
    """Return the sections of an article as a partition."""

    def load() -> Division:
        titles, sentences = queries.article_text(article.id, created)
        names = {s.position: s.title or LEAD for s in titles}
        ids = np.array([s.id for s in sentences], dtype=np.int64)
        return Division(ids, np.array([s.section for s in sentences], dtype=np.int32), names)

    return [ClusteringRun("Sections", "sections", load)]


def _runs(article: ArticleRecord, created: datetime) -> list[ClusteringRun]:
    """Return the clusterings of benchmarks with the article, best first, then themes of its corpus, newest first.

    Random baselines come last.
    """
    with queries.store().reading() as r:
        found, models = r.runs.of_article(article.id)[::-1], {m.id: m for m in r.models.list()}
        benchmarks = {b.id: b for b in r.benchmarks.list()}
        scores = {s.run_id: s.value for s in r.runs.scores([run.id for run in found]) if s.metric == SCORE}
    found.sort(key=lambda run: (run.model_id is None, run.id not in scores, -scores.get(run.id, 0.0)))

    def partition(run: RunRecord) -> ClusteringRun:
        of = benchmarks.get(run.benchmark_id or -1)
        return ClusteringRun(partition_name(run, models.get(run.model_id or -1), of), run.kind, lambda: _labelled(run))

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


def _labellings(article: ArticleRecord, created: datetime) -> list[ClusteringRun]:
    """Return the labellings of the article that this person may see, newest first; blind ones only for their owners."""
    me = current_person()
    found = queries.read(lambda r: r.labellings.of_article(article.id))[::-1]

    def partition(record: LabellingRecord) -> ClusteringRun:
        by = f" · {record.owner or UNNAMED}" if record.kind is Sharing.OWN else f" · {record.kind.value}"
        return ClusteringRun(record.name + by, "labelling", lambda: _placed(record))

    def _placed(record: LabellingRecord) -> Division:
        with queries.store().reading() as r:
            ids, numbers, names = r.labellings.placed(record.id, article.id)
        return Division(ids, numbers.astype(np.int32), names)

    return [partition(record) for record in found if not record.blind or record.owner == me]


SOURCES: tuple[Source, ...] = (_sections, _runs, _labellings)


def partition_name(run: RunRecord, model: ModelRecord | None, benchmark: BenchmarkRecord | None) -> str:
    """Return model, clusterer, a seed other than the default, and the benchmark: an article may be in several."""
    how = clusterer_title(run.clusterer) if run.clusterer else run.kind.capitalize()
    seed = f", seed {run.seed}" if run.seed else ""
    where = f" on {benchmark.name}" if benchmark else ", this article" if run.config.get("article") else ""
    return f"{f'{model.name} · ' if model else ''}{how}{seed}{where}"


def clusterer_title(id: str) -> str:
    """Return the title of a clusterer; its id if it has no card in this version."""
    return CLUSTERERS.get(id).title if id in CLUSTERERS else id


EDIT = "Edit"
"""The tab of the Relabel page on which a labelling is edited."""
DIFFERS_FROM_PEOPLE = "Differs from other people"
"""The filter of the Relabel page for sentences that other labellings assign elsewhere."""


def labellings(corpus_id: int | None = None, deleted: bool = False) -> list[LabellingRecord]:
    """Return the labellings (of one corpus) that this person may see, newest first; or else the deleted ones."""
    return queries.read(lambda r: r.labellings.list(corpus_id, deleted))[::-1]


def precedence(labelling: LabellingRecord) -> int:
    """Return the place of a labelling where one is to be edited: one's own, a gold one, a shared one, another's own."""
    if labelling.owner == current_person():
        return 0
    return 1 + (Sharing.GOLD, Sharing.SHARED, Sharing.OWN).index(labelling.kind)


def corrected(corpus_id: int) -> LabellingRecord | None:
    """Return the labelling in which themes of a corpus were corrected, this person's own before others', or None."""
    known = [one for one in labellings(corpus_id) if "run_id" in one.origin and not one.article_id and not one.blind]
    with queries.store().reading() as r:
        return min((one for one in known if r.labellings.newest_step(one.id)), key=precedence, default=None)


def edit_view(labelling: str) -> Mapping[str, str]:
    """Return the view of the Relabel page in which a labelling is edited."""
    return {"labelling": labelling, "view": EDIT}


def disagreement_view(labelling: str) -> Mapping[str, str]:
    """Return the view of the Relabel page for the sentences that other labellings assign elsewhere."""
    return {**edit_view(labelling), "filter": DIFFERS_FROM_PEOPLE}


SELECTION = "Selection"
"""The filter of the Relabel page for the sentences of a stored selection."""


def selection_view(labelling: str, selection_id: int) -> Mapping[str, str]:
    """Return the view of the Relabel page in which the sentences of a stored selection are the working set."""
    return {**edit_view(labelling), "filter": SELECTION, "selection": str(selection_id)}


@dataclass(frozen=True, slots=True)
class Analysis:
    """Theme analysis with its corpus and model."""

    run: RunRecord
    corpus: CorpusRecord
    model: ModelRecord

    @property
    def themes(self) -> list[dict[str, Any]]:
        """Return name, words, size and central sentence ids of each theme, largest first."""
        return list(self.run.config["themes"])

    @property
    def article(self) -> str:
        """Return the title of the article of which the clusters are; "" for themes of the whole corpus."""
        return str(self.run.config.get("title", ""))

    @property
    def name(self) -> str:
        """Return the label in lists."""
        return f"{self.corpus.name} by {self.model.name}, {len(self.themes)} themes"

    @property
    def colour_name(self) -> str:
        """Return the label in the list of what a map is coloured by."""
        if self.article:
            return f"{len(self.themes)} clusters of this article by {self.model.name}"
        return f"{len(self.themes)} themes by {self.model.name}"


@dataclass(frozen=True, slots=True)
class RunListing:
    """Sentences of an analysis; row i of every array is one sentence."""

    ids: Ids
    sentences: list[Sentence]
    labels: Labels
    margins: npt.NDArray[np.float32]
    groups: list[str]
    """Group (section) of each sentence; empty if the list has none."""


def analyses(corpus_id: int | None = None) -> list[Analysis]:
    """Return the themes of whole corpora (of one corpus), newest first."""
    return [a for a in _all_analyses() if not a.article and corpus_id in (None, a.corpus.id)]


def article_clusters(article_id: int) -> list[Analysis]:
    """Return the clusterings of one article that were made from its text, newest first."""
    return [found for found in _all_analyses() if found.run.config.get("article") == article_id]


def _all_analyses() -> list[Analysis]:
    """Return the analyses whose corpus and model exist, newest first."""
    with queries.store().reading() as r:
        runs = r.runs.themes()
        corpora, models = {c.id: c for c in r.corpora.list()}, {m.id: m for m in r.models.list()}
    return [
        Analysis(run, corpora[run.config["corpus_id"]], models[run.model_id])
        for run in reversed(runs)
        if run.model_id in models
    ]


def best_first(found: Sequence[Analysis]) -> list[Analysis]:
    """Return at least one analysis of a project, those by the best model first, the newest first of one model."""
    corpus, used = found[0].corpus, list({a.model.id: a.model for a in found}.values())
    best = queries.best_first(corpus_shares(corpus), corpus.id, used, corpus.articles > 1)
    places = {model.id: place for place, model in enumerate(best)}
    return sorted(found, key=lambda analysis: places[analysis.model.id])


# A resource, which is shared and never changed: copying 18,000 sentences for each run of a page takes 0.3 s.
@st.cache_resource(show_spinner=False, max_entries=4)
def theme_listing(run_id: int, created: datetime) -> RunListing:
    """Return the sentences of an analysis with their themes; ``created`` makes the cache key unique."""
    with queries.store().reading() as r:
        ids, numbers, margins = theme_arrays(r, run_id)
        found = r.corpora.sentences_by_id(ids)
        sentences = [found[int(i)] for i in ids]
        sections = r.corpora.sections_of({s.article_id for s in sentences})
    titles = [sections[s.article_id][s.section].title for s in sentences]
    return RunListing(ids, sentences, numbers.astype(np.int32), margins, titles)


def theme_map_of(analysis: Analysis) -> MapRecord | None:
    """Return the newest map of the corpus by the model of the analysis."""
    return next((m for m in queries.maps(analysis.corpus.id) if m.model_id == analysis.model.id), None)


def sentence_texts(ids: Sequence[int]) -> dict[int, str]:
    """Return sentences by id."""
    return {i: sentence.text for i, sentence in queries.sentences(np.asarray(ids, dtype=np.int64)).items()}
