"""Queries of the Compare page: methods, their scores by article, and comparisons corrected together.

A run never changes, so what is computed from runs is cached under their digests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics.statistics import Family, bootstrap_mean, compare_all
from themescope.core.records.stored import (
    ArticleRecord,
    CorpusRecord,
    LabellingRecord,
    ModelRecord,
    RunRecord,
    ScoreRecord,
    Sharing,
    StoredTheme,
)
from themescope.core.types import Floats, Ids, Labels, Sentence
from themescope.db.records import BenchmarkRecord
from themescope.jobs.common.models import SCORE, corpus_shares
from themescope.jobs.services.selections import theme_arrays
from themescope.webapp.shared import queries
from themescope.webapp.shared.people import UNNAMED, current_person
from themescope.webapp.shared.text import distinct, words


@dataclass(frozen=True, slots=True)
class Method:
    """A row of a comparison: model × clusterer, with one run for each seed."""

    name: str
    """Unique name."""
    model: str
    clusterer: str
    runs: tuple[RunRecord, ...]
    """Runs, at least one: the newest of each seed."""
    floor: bool
    """Whether it is a random baseline, which uses no vectors."""
    colour: int
    """Index in the palette, the same for a clusterer on all benchmarks."""

    @property
    def digest(self) -> tuple[str, ...]:
        """Digest of the scores."""
        return tuple(run.digest for run in self.runs)

    @property
    def seconds(self) -> float:
        """Seconds of clustering, mean over seeds."""
        return float(np.mean([run.seconds for run in self.runs]))


@dataclass(frozen=True, slots=True)
class ArticleScores:
    """Scores of m methods on their n common articles, mean over seeds."""

    articles: Ids
    values: Floats
    """Scores, of shape (n, m)."""
    sizes: Ids
    """Number of items per score: 1, or the number of triplets."""
    measured: tuple[bool, ...]
    """For each requested method, whether it has scores of single articles and so a column."""


HASHES = {**queries.HASHES, Method: lambda method: method.digest}


def methods(benchmark: BenchmarkRecord) -> list[Method]:
    """Return the methods with runs on a benchmark; models that differ only in the seed are one method."""
    models = {m.id: m for m in queries.models()}
    families = _seed_families(models.values())
    found: dict[tuple[str, str, str], dict[tuple[int, int], RunRecord]] = {}
    for run in queries.clusterings(benchmark.id):  # newest first
        model = models.get(run.model_id or -1)
        family = families[model.id] if model else NO_VECTORS
        seeds = found.setdefault((family, run.clusterer, json.dumps(run.config, sort_keys=True)), {})
        seeds.setdefault((model.seed if model else 0, run.seed), run)
    places = {id: place for place, id in enumerate(CLUSTERERS.ids())}
    rows: list[Method] = []
    for (family, clusterer, _), seeds in found.items():
        runs = tuple(seeds[seed] for seed in sorted(seeds))
        alike = [json.loads(key[2]) for key in found if key[:2] == (family, clusterer)]
        differing = sorted({name for one in alike for name in one if any(o.get(name) != one[name] for o in alike)})
        listed = ", ".join(f"{words(name).lower()} {runs[0].config.get(name)}" for name in differing)
        title = clusterer_title(clusterer) + (f" ({listed})" if listed else "")
        floor = runs[0].model_id is None
        name = title if floor else f"{family} · {title}"
        rows.append(Method(name, family, title, runs, floor, places.get(clusterer, len(places))))
    names = distinct(method.name for method in rows)
    return [replace(method, name=name) for method, name in zip(rows, names, strict=True)]


def _seed_families(models: Iterable[ModelRecord]) -> dict[int, str]:
    """Return model id → group name; a group has the same method, settings and data, but different seeds."""
    alike: dict[str, list[ModelRecord]] = {}
    for model in models:
        what = (model.method, model.config, model.corpus_id, model.triplet_set_id)
        alike.setdefault(json.dumps(what, sort_keys=True), []).append(model)
    names: dict[int, str] = {}
    for family in alike.values():
        known = family[0].corpus_id is not None or family[0].triplet_set_id is not None  # deleted data are unknown
        apart = known and len({model.seed for model in family}) == len(family)
        shared = _shared_name([model.name for model in family]) if apart else ""
        names |= {model.id: shared or model.name for model in family}
    return names


def _shared_name(names: Sequence[str]) -> str:
    """Return the common prefix of names without a trailing "seed" or sign; "" if there is none."""
    if len(names) == 1:
        return names[0]
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    shared = "".join(letters[0] for letters in same).rstrip(" -_·,(.0123456789").removesuffix("seed").rstrip(" -_·,(")
    return shared if len(shared) > 1 else ""


def means(found: Sequence[Method], metrics: Sequence[str]) -> list[dict[str, ScoreRecord]]:
    """Return metric → mean with interval for each method; seeds are averaged first, by article."""
    stored = queries.mean_scores(run.id for method in found for run in method.runs)
    rows = []
    for method in found:
        row = {m: s for m, s in stored.get(method.runs[0].id, {}).items() if m in metrics}
        if len(method.runs) > 1:
            row |= {m: score for m in row if (score := _mean_over_seeds(m, method)) is not None}
        rows.append(row)
    return rows


@st.cache_resource(show_spinner=False, max_entries=512, hash_funcs=HASHES)
def _mean_over_seeds(metric: str, method: Method) -> ScoreRecord | None:
    scores = article_scores([method], metric)
    if not scores.measured[0]:
        return None
    e = bootstrap_mean(scores.values[:, 0])
    return ScoreRecord(method.runs[0].id, None, metric, e.value, e.low, e.high, e.n)


def seed_spread(method: Method, metric: str) -> tuple[list[float], float] | None:
    """Return the mean score of each seed and their standard deviation; None for a single seed."""
    stored = queries.mean_scores(run.id for run in method.runs)
    values = [stored[run.id][metric].value for run in method.runs if metric in stored.get(run.id, {})]
    return (values, float(np.std(values, ddof=1))) if len(values) > 1 else None


@st.cache_resource(show_spinner=False, max_entries=64, hash_funcs=HASHES)
def article_scores(found: Sequence[Method], metric: str) -> ArticleScores:
    """Return scores by article."""
    ids = [run.id for method in found for run in method.runs]
    values = queries.read(lambda r: r.runs.article_values(ids, metric))
    measured = tuple(all(run.id in values for run in method.runs) for method in found)
    used = [method for method, has in zip(found, measured, strict=True) if has]
    if not used:
        return ArticleScores(np.empty(0, np.int64), np.empty((0, 0)), np.empty(0, np.int64), measured)
    articles = reduce(np.intersect1d, (values[run.id][0] for method in used for run in method.runs))
    columns = [np.mean([_at(articles, *values[run.id][:2]) for run in method.runs], axis=0) for method in used]
    known, _, sizes = values[used[0].runs[0].id]
    return ArticleScores(articles, np.stack(columns, axis=1), _at(articles, known, sizes), measured)


def _at(articles: Ids, known: Ids, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values of ``articles``, a subset of the ascending ``known``."""
    return values[np.searchsorted(known, articles)]


@st.cache_resource(show_spinner=False, max_entries=64, hash_funcs=HASHES)
def family(found: Sequence[Method], metric: str) -> tuple[ArticleScores, Family] | None:
    """Return the comparisons of methods with scores of single articles; None if there are none."""
    scores = article_scores(found, metric)
    if not len(scores.articles):
        return None
    return scores, compare_all(scores.values, scores.sizes if (scores.sizes > 1).any() else None)


# Partitions of sentences: sections, clusterings, themes and labellings

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


def partitions(article: ArticleRecord, created: datetime) -> list[ClusteringRun]:
    """Return the partitions of an article, sections first; equal names are numbered.

    ``created``, the creation time of its corpus, is for cache keys.
    """
    found = [_sections(article, created), *_runs(article, created), *_labellings(article)]
    names = distinct(partition.name for partition in found)
    return [replace(partition, name=name) for partition, name in zip(found, names, strict=True)]


def _sections(article: ArticleRecord, created: datetime) -> ClusteringRun:
    def load() -> Division:
        titles, sentences = queries.article_text(article.id, created)
        names = {s.position: s.title or LEAD for s in titles}
        ids = np.array([s.id for s in sentences], dtype=np.int64)
        return Division(ids, np.array([s.section for s in sentences], dtype=np.int32), names)

    return ClusteringRun("Sections", "sections", load)


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
        named = {place: theme["name"] for place, theme in enumerate(run.found.get("themes", ()))}
        return Division(np.array([s.id for s in sentences], dtype=np.int64), labels, named)

    return [partition(run) for run in found]


def _labellings(article: ArticleRecord) -> list[ClusteringRun]:
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


def partition_name(run: RunRecord, model: ModelRecord | None, benchmark: BenchmarkRecord | None) -> str:
    """Return model, clusterer, a seed other than the default, and the benchmark: an article may be in several."""
    how = clusterer_title(run.clusterer) if run.clusterer else run.kind.capitalize()
    seed = f", seed {run.seed}" if run.seed else ""
    where = f" on {benchmark.name}" if benchmark else ", this article" if run.found.get("article") else ""
    return f"{f'{model.name} · ' if model else ''}{how}{seed}{where}"


def clusterer_title(id: str) -> str:
    """Return the title of a clusterer; its id if it has no card in this version."""
    return CLUSTERERS.get(id).title if id in CLUSTERERS else id


CODE, SORT, TABLE = "Code", "Sort", "Table"
"""Surfaces of the page Code: one unit at a time, clusters with their units, and a table."""
DIFFERS_FROM_PEOPLE = "Differs from other people"
"""The filter of the page Code for sentences that other labellings assign elsewhere."""


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
    """Return the view of the page Code in which the clusters of a labelling are corrected."""
    return {"labelling": labelling, "surface": SORT}


def unit_view(labelling: str, queue: str = "") -> Mapping[str, str]:
    """Return the view of the page Code with one unit of a labelling at a time, of its first queue by default."""
    return {"labelling": labelling, "surface": CODE} | ({"queue": queue} if queue else {})


SELECTION = "Selection"
"""The filter of the page Code for the sentences of a stored selection."""


def selection_view(labelling: str, selection_id: int) -> Mapping[str, str]:
    """Return the view of the page Code in which the sentences of a stored selection are the working set."""
    return {"labelling": labelling, "surface": TABLE, "filter": SELECTION, "selection": str(selection_id)}


@dataclass(frozen=True, slots=True)
class Analysis:
    """Theme analysis with its corpus and model."""

    run: RunRecord
    corpus: CorpusRecord
    model: ModelRecord

    @property
    def themes(self) -> list[StoredTheme]:
        """Return name, words, size and central sentence ids of each theme, largest first."""
        return self.run.found["themes"]

    @property
    def article(self) -> str:
        """Return the title of the article of which the clusters are; "" for themes of the whole corpus."""
        return str(self.run.found.get("title", ""))

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


def levels(analysis: Analysis) -> list[Analysis]:
    """Return the nested levels of an analysis, itself among them, the one with the fewest themes first."""
    return [replace(analysis, run=run) for run in queries.read(lambda r: r.runs.levels(analysis.run))]


def article_clusters(article_id: int) -> list[Analysis]:
    """Return the clusterings of one article that were made from its text, newest first."""
    return [found for found in _all_analyses() if found.run.found.get("article") == article_id]


def _all_analyses() -> list[Analysis]:
    """Return the analyses whose corpus and model exist, newest first."""
    with queries.store().reading() as r:
        runs = r.runs.themes()
        corpora, models = {c.id: c for c in r.corpora.list()}, {m.id: m for m in r.models.list()}
    return [
        Analysis(run, corpora[run.found["corpus_id"]], models[run.model_id])
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


def sentence_texts(ids: Sequence[int]) -> dict[int, str]:
    """Return sentences by id."""
    return {i: sentence.text for i, sentence in queries.sentences(np.asarray(ids, dtype=np.int64)).items()}
