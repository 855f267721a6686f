"""A comparison of methods, and its CSV files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics import FEWEST_ARTICLES, Family
from themescope.core.records.stored import ScoreRecord
from themescope.db.records import BenchmarkRecord, TripletSetRecord
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.compare_queries import ArticleScores, Method
from themescope.webapp.shared.text import count


@dataclass(frozen=True, slots=True)
class Comparison:
    """Methods on one benchmark or triplet set in the order of the table, best first."""

    data: BenchmarkRecord | TripletSetRecord
    methods: Sequence[Method]
    means: Sequence[Mapping[str, ScoreRecord]]
    """Metric → mean, for each method."""
    metrics: Sequence[str]
    """Metrics with a score of any method, those of the papers first."""
    metric: str
    """The metric that the methods are ranked and tested by."""
    scores: ArticleScores | None
    family: Family | None
    """Scores by article and the comparisons by them; None without scores of single articles."""

    @property
    def columns(self) -> list[int]:
        """Column of each method in the comparisons; -1 for none."""
        measured = self.scores.measured if self.scores else (False,) * len(self.methods)
        return [sum(measured[:i]) if has else -1 for i, has in enumerate(measured)]

    @property
    def tested(self) -> bool:
        """Whether there are tests of at least two methods."""
        return self.family is not None and self.family.tested and len(self.family.ps) > 0

    def ranks(self) -> list[tuple[int, int] | None]:
        """Return the best and worst rank that the tests do not exclude, for each method; None without tests."""
        found = self.family.ranks() if self.family is not None and self.tested else []
        return [found[column] if found and column >= 0 else None for column in self.columns]

    def letters(self) -> list[str]:
        """Return the compact letter display: methods that share a letter do not differ significantly."""
        found = self.family.groups() if self.family is not None and self.tested else []
        return [found[column] if found and column >= 0 else "" for column in self.columns]

    @property
    def names(self) -> dict[int, str]:
        """Column of the comparisons → name of the method."""
        return {column: m.name for column, m in zip(self.columns, self.methods, strict=True) if column >= 0}


def metric_title(id: str) -> str:
    """Return the title of a metric of clusterings, or of the accuracy on triplets."""
    return "Triplet accuracy" if id == triplet_queries.ACCURACY else METRICS.get(id).title


def rank_text(rank: tuple[int, int] | None) -> str:
    """Return ``1``, ``2–4``, or a dash."""
    if rank is None:
        return "–"
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}–{rank[1]}"


def as_csv(found: Comparison) -> str:
    """Return all scores as CSV: value, interval, number of articles; rank and letters by one metric."""
    header = ["model", "clusterer", "seeds", "seconds"]
    header += [f"{m}{part}" for m in found.metrics for part in ("", "_low", "_high", "_n")]
    header += [f"first_place_{found.metric}", f"last_place_{found.metric}", f"group_{found.metric}"]
    rows = []
    listed = zip(found.methods, found.means, found.ranks(), found.letters(), strict=True)
    for method, means, rank, letters in listed:
        cells: list[object] = [method.model, method.clusterer, len(method.runs), method.seconds]
        for metric in found.metrics:
            s = means.get(metric)
            cells += [None] * 4 if s is None else [s.value, s.low, s.high, s.n]
        rows.append([*cells, *(rank or (None, None)), letters])
    return csv_text(header, rows)


def comparisons_csv(family: Family, names: Mapping[int, str]) -> str:
    """Return all comparisons of a family as CSV, lowest p-value first; p-values are empty without a test."""
    header = ("first", "second", "difference", "low", "high", "articles", "p_wilcoxon", "p_holm")
    rows = []
    for i in family.ps.argsort(kind="stable").tolist():
        d, ps = family.differences[i], (float(family.ps[i]), float(family.corrected[i]))
        tested = [None if math.isnan(p) else p for p in ps]
        rows.append((names[int(family.first[i])], names[int(family.second[i])], d.value, d.low, d.high, d.n, *tested))
    return csv_text(header, rows)


def untested(family: Family) -> str:
    """Return why a family has no tests."""
    articles = family.estimates[0].n if family.estimates else 0
    return f"No test: {count(articles, 'article')} are too few. Tests need at least {FEWEST_ARTICLES} articles."


def most_articles(found: Comparison) -> int:
    """Return the number of articles of the scores."""
    return max((s.n for row in found.means for s in row.values()), default=0)
