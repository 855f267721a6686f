"""A comparison of methods, and its exports: CSV files, a LaTeX table and a methods paragraph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from themescope.core.config import Config
from themescope.core.labelling import markup
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics import ALPHA, FEWEST_ARTICLES, RESAMPLES, Family, SignificanceTest
from themescope.core.records.stored import ScoreRecord
from themescope.db.records import BenchmarkRecord, TripletSetRecord
from themescope.jobs.common.results import code_version
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.compare_queries import ArticleScores, Method
from themescope.webapp.shared.text import count, score


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
    test: SignificanceTest
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


def comparisons_csv(family: Family, names: Mapping[int, str], test: SignificanceTest) -> str:
    """Return all comparisons of a family as CSV, lowest p-value first; p-values are empty without a test."""
    header = ("first", "second", "difference", "low", "high", "articles", f"p_{test.id}", "p_holm")
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


def latex(found: Comparison) -> str:
    """Return a LaTeX table (booktabs): the best of each column in bold, letters at the tested metric."""
    metrics = found.metrics
    best = {m: max((row[m].value for row in found.means if m in row), default=None) for m in metrics}
    lines = [
        rf"\begin{{tabular}}{{ll{'r' * len(metrics)}}}",
        r"\toprule",
        " & ".join(["Model", "Clusterer", *(markup.latex(metric_title(m)) for m in metrics)]) + r" \\",
        r"\midrule",
    ]
    for method, means, letters in zip(found.methods, found.means, found.letters(), strict=True):
        cells = [markup.latex(method.model), markup.latex(method.clusterer)]
        for metric in metrics:
            cells.append(_cell(means.get(metric), best[metric], letters if metric == found.metric else ""))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _cell(found: ScoreRecord | None, best: float | None, letters: str) -> str:
    if found is None:
        return "--"
    value = score(found.value).replace("-", "$-$")
    value = rf"\textbf{{{value}}}" if found.value == best else value
    half = "" if found.low is None or found.high is None else rf" $\pm$ {score((found.high - found.low) / 2)}"
    return value + half + (rf"$^{{\mathrm{{{letters}}}}}$" if letters else "")


def paragraph(found: Comparison) -> str:
    """Return a methods paragraph: data, scores, intervals, tests, correction, seeds, settings, version."""
    n, on_triplets = most_articles(found), isinstance(found.data, TripletSetRecord)
    if on_triplets:
        parts = [
            f"We measured for {count(len(found.methods), 'model')} the share of triplets whose pivot is nearer to the "
            f"positive than to the negative, in {count(n, 'article')} (set “{found.data.name}”; chance is .500), with "
            f"95 % percentile bootstrap intervals over articles ({RESAMPLES:,} resamples)."
        ]
    else:
        rules = f": {_settings_text(found.data.config)}" if found.data.config else ""
        parts = [
            f"We clustered the sentences of {count(n, 'article')} (benchmark “{found.data.name}”{rules}) by "
            f"{count(len(found.methods), 'combination')} of sentence vectors and clustering algorithm, each article "
            "into as many clusters as it has sections, and compared clusters with sections.",
            "Scores are " + ", ".join(f"{METRICS.get(m).title} ({METRICS.get(m).source})" for m in found.metrics)
            + f", averaged over articles without weights, with 95 % percentile bootstrap intervals over articles "
            f"({RESAMPLES:,} resamples).",
        ]  # fmt: skip
    seeds = {len(method.runs) for method in found.methods}
    if seeds != {1}:
        parts.append(f"For methods with several seeds (up to {max(seeds)}) scores were first averaged by article.")
    if found.family is not None and found.tested:
        parts.append(
            f"Differences in {metric_title(found.metric)} were tested with {found.test.source}, two-sided; the "
            f"p-values of all {count(len(found.family.ps), 'comparison')} were corrected together (Holm 1979). We call "
            f"a method better where the corrected p is below {ALPHA:.2f} and the interval of the mean difference lies "
            "above 0; methods that share a letter do not differ significantly (Piepho 2004)."
        )
    elif found.family is not None and not found.family.tested:
        parts.append(f"Differences were not tested, because {FEWEST_ARTICLES} articles are needed.")
    settings = {m.clusterer: m.runs[0].config for m in found.methods if m.clusterer and m.runs[0].config}
    listed = "; ".join(f"{name}: {_settings_text(values)}" for name, values in settings.items())
    parts.append(f"Settings: {listed}." if listed else "")
    days = sorted({f"{run.created:%Y-%m-%d}" for method in found.methods for run in method.runs})
    when = (f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}") if days else ""
    parts.append(f"Computed with Themescope {code_version()} {when}.".replace(" .", "."))
    return " ".join(part for part in parts if part)


def most_articles(found: Comparison) -> int:
    """Return the number of articles of the scores."""
    return max((s.n for row in found.means for s in row.values()), default=0)


def _settings_text(values: Config | Mapping[str, object]) -> str:
    facts = values.to_dict() if isinstance(values, Config) else values
    return ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in facts.items()) or "no settings"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " and ".join(str(part) for part in value)
    return str(value)
