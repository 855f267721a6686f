"""Queries of the Compare page: methods, their scores by article, and comparisons corrected together.

A run never changes, so what is computed from runs is cached under their digests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics.article_difficulty import TRAITS, ArticleSlice, article_slices
from themescope.core.metrics.statistics import Family, SignificanceTest, bootstrap_mean, compare_all, mcnemar_test
from themescope.core.metrics.triplets import correctness
from themescope.core.records.stored import ModelRecord, RunRecord, ScoreRecord
from themescope.core.types import Floats, Ids
from themescope.db.records import BenchmarkRecord
from themescope.webapp.shared import queries
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.partition_queries import NO_VECTORS, clusterer_title
from themescope.webapp.shared.results.triplet_queries import Evaluation
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
    def seconds(self) -> float:
        """Seconds of clustering, mean over seeds."""
        return float(np.mean([run.seconds for run in self.runs]))

    @property
    def digest(self) -> tuple[str, ...]:
        """Digest of the scores."""
        return tuple(run.digest for run in self.runs)


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


HASHES = {**queries.HASHES, Method: lambda method: method.digest, SignificanceTest: lambda test: test.id}


# ---------------------------------------------------------------- rows


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
        alike = [key for key in found if key[:2] == (family, clusterer)]
        title = clusterer_title(clusterer) + _differing_settings(runs[0], alike)
        floor = runs[0].model_id is None
        name = title if floor else f"{family} · {title}"
        rows.append(Method(name, family, title, runs, floor, places.get(clusterer, len(places))))
    names = distinct(method.name for method in rows)
    return [replace(method, name=name) for method, name in zip(rows, names, strict=True)]


def _differing_settings(run: RunRecord, keys: Sequence[tuple[str, str, str]]) -> str:
    """Return the settings that distinguish a run from others of the same model and clusterer."""
    others = [json.loads(settings) for _, _, settings in keys]
    differing = sorted({key for other in others for key in other if any(o.get(key) != other[key] for o in others)})
    listed = ", ".join(f"{words(key).lower()} {run.config.get(key)}" for key in differing)
    return f" ({listed})" if listed else ""


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


# ---------------------------------------------------------------- scores


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
def family(found: Sequence[Method], metric: str, test: SignificanceTest) -> tuple[ArticleScores, Family] | None:
    """Return the comparisons of methods with scores of single articles; None if there are none."""
    scores = article_scores(found, metric)
    if not len(scores.articles):
        return None
    return scores, compare_all(scores.values, test, scores.sizes if (scores.sizes > 1).any() else None)


# ---------------------------------------------------------------- triplets


def accuracy_methods(found: Sequence[Evaluation]) -> list[Method]:
    """Return the evaluations on one split of a triplet set as rows of a comparison."""
    return [Method(e.name, e.model.name, "", (e.run,), False, 0) for e in found]


def by_triplets(found: Sequence[Evaluation]) -> SignificanceTest:
    """Return McNemar's tests over the common triplets of all evaluations."""
    margins = [triplet_queries.margins(e) for e in found]
    shared = reduce(np.intersect1d, (ids for ids, _ in margins))
    right = []
    for ids, values in margins:
        order = np.argsort(ids)
        right.append(correctness(values[order[np.searchsorted(ids, shared, sorter=order)]]))
    return mcnemar_test(np.stack(right, axis=1))


# ---------------------------------------------------------------- articles


@dataclass(frozen=True, slots=True)
class Articles:
    """Properties of the articles of a benchmark, in ascending order of their ids."""

    ids: Ids
    titles: tuple[str, ...]
    traits: Mapping[str, Floats]
    """Property → (n,) values."""

    def rows(self, articles: Ids) -> Ids:
        """Return the rows of ``articles``."""
        return np.searchsorted(self.ids, articles)


@st.cache_resource(show_spinner=False, max_entries=8, hash_funcs=HASHES)
def articles(benchmark: BenchmarkRecord) -> Articles:
    """Return titles and properties of the articles of a benchmark."""
    with queries.store().reading() as r:
        items = sorted(r.benchmarks.items(benchmark.id), key=lambda item: item.article_id)
        records = r.corpora.articles_by_id([item.article_id for item in items])
    traits = {t.id: np.array([t.of(item.truth) for item in items]) for t in TRAITS}
    ids = np.array([item.article_id for item in items], dtype=np.int64)
    return Articles(ids, tuple(records[int(i)].title for i in ids), traits)


@st.cache_resource(show_spinner="Slicing the articles …", max_entries=64, hash_funcs=HASHES)
def slices(benchmark: BenchmarkRecord, first: Method, second: Method, metric: str) -> dict[str, list[ArticleSlice]]:
    """Return property → slices with the means of both methods and of their difference."""
    scores, about = article_scores((first, second), metric), articles(benchmark)
    values = np.column_stack([scores.values, scores.values[:, 0] - scores.values[:, 1]])
    rows = about.rows(scores.articles)
    return {trait: article_slices(values, found[rows]) for trait, found in about.traits.items()}
