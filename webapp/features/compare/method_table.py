"""Tables of methods on a benchmark and of models on a triplet set: means with intervals, ranks and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.delta_generator import DeltaGenerator

from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics import FEWEST_ARTICLES, Family
from themescope.core.records.stored import CorpusRecord, ModelRecord, ScoreRecord
from themescope.core.types import Split
from themescope.db.access import Right
from themescope.db.records import BenchmarkRecord, TripletSetRecord
from themescope.jobs.common.models import corpus_shares, within_article
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import compare
from themescope.webapp.shared import choose, compare_queries, forms, projects, queries, triplet_queries
from themescope.webapp.shared.choose import grouped, nothing, preselected
from themescope.webapp.shared.compare_queries import ArticleScores, Method
from themescope.webapp.shared.components import clickable_table, download, draw_table
from themescope.webapp.shared.figures import IntervalRow, interval_figure, tones
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.queries import HEADLINE
from themescope.webapp.shared.text import count, p_text, plain, score, with_half_width, with_interval
from themescope.webapp.shared.triplet_queries import ACCURACY

Means = Mapping[str, ScoreRecord]
"""Metric → mean score of a method."""


def compared(
    data: BenchmarkRecord | TripletSetRecord, found: Sequence[Method], means: Sequence[Means], metric: str
) -> Comparison:
    """Rank and test methods by one metric."""
    order = sorted(range(len(found)), key=lambda i: _value(means[i], metric), reverse=True)
    rows, ordered = [found[i] for i in order], [means[i] for i in order]
    present = sorted({m for row in means for m in row}, key=_place)
    scores, family = compare_queries.family(rows, metric) or (None, None)
    return Comparison(data, rows, ordered, present, metric, scores, family)


def _value(row: Means, metric: str) -> float:
    return row[metric].value if metric in row else float("-inf")


def _place(metric: str) -> tuple[bool, int]:
    """Return a sort key that puts the metrics of the papers first."""
    ids = METRICS.ids()
    return (False, 0) if metric not in ids else ("paper" not in METRICS.get(metric).tags, ids.index(metric))


def clustering(run: Callable[[BenchmarkRecord], None], build: Callable[[CorpusRecord], None]) -> None:
    """Draw the choice of a benchmark, with ``run``, its table of methods, and the rest folded, with ``build``.

    The project must have a benchmark.
    """
    row = _row()
    benchmark, found = choose_comparison(row, run)
    if found is not None:
        _table(found, row)
        _folded(found)
    about = st.expander("Benchmark", icon=":material/rule:", key="compare_about", on_change="rerun")
    if about.open:
        with about:
            st.markdown(f"**{plain(benchmark.name)}**")
            forms.facts_table({"articles": benchmark.counts, "rules": benchmark.config}, ("Rule or count", "Value"))
            if (corpus := projects.current()) is not None:
                st.markdown("**New benchmark**")
                build(corpus)


def _row() -> DeltaGenerator:
    return st.container(horizontal=True, vertical_alignment="bottom", key="compare_row")


def choose_comparison(
    row: DeltaGenerator | None = None, run: Callable[[BenchmarkRecord], None] | None = None
) -> tuple[BenchmarkRecord, Comparison | None]:
    """Draw the selection above the table; the comparison is None, with a message, without results."""
    row = row or _row()
    benchmarks = {b.name: b for b in queries.benchmarks(projects.current_id())}
    # The newest benchmark with results of enough articles.
    best = next((b.name for b in queries.clustered_benchmarks(projects.current_id())), next(iter(benchmarks)))
    if len(benchmarks) > 1:
        with row.container(width=280):
            best = choose.one_of("Benchmark", list(benchmarks), compare.BENCHMARK, best)
    benchmark = benchmarks[best]
    found = compare_queries.methods(benchmark)
    means = compare_queries.means(found, METRICS.ids())
    present = sorted({m for row in means for m in row}, key=lambda m: (m != HEADLINE, _place(m)))
    if run is not None:
        with row:
            run(benchmark)
    if not present:
        st.info("No results on this benchmark yet. Run methods.", icon=":material/info:")
        return benchmark, None
    with row.popover("Options", icon=":material/tune:"):
        models = compare.several("Models", list(dict.fromkeys(m.model for m in found if not m.floor)), compare.MODELS)
        clusterers = compare.several("Clusterers", list(dict.fromkeys(m.clusterer for m in found)), compare.CLUSTERERS)
        metric = choose.by_name("Rank by", present, compare.METRIC, metric_title)
    kept = [i for i, m in enumerate(found) if (m.floor or m.model in models) and m.clusterer in clusterers]
    return benchmark, compared(benchmark, [found[i] for i in kept], [means[i] for i in kept], metric)


def triplets(sets: Sequence[TripletSetRecord]) -> None:
    """Draw the choice of a set, the button or menu that evaluates models on it, and the table of their accuracies."""
    if not sets:
        nothing("No triplets yet.", "Build a triplet set first.", "triplets", "Triplets")
        return
    row, chosen = _row(), sets[0]
    if len(sets) > 1:
        with row.container(width=360):
            chosen = choose.by_name("Triplet set", sets, compare.TRIPLETS, lambda s: s.name)
    every = triplet_queries.evaluations(chosen)
    if may(Right.MANAGE):
        with row:
            _evaluate(chosen, {e.model.name for e in every if e.split is Split.TEST})
    ordered = (Split.TEST, Split.VALIDATION, Split.TRAIN)
    splits = {split.value: split.value for split in ordered if any(e.split is split for e in every)}
    if not splits:
        st.info("No model has been evaluated on this set yet.", icon=":material/info:")
        return
    split = Split(next(iter(splits)))
    if len(splits) > 1:
        with row.popover("Options", icon=":material/tune:"):
            split = Split(choose.segment("Split", splits, compare.SPLIT))
    means = queries.mean_scores(e.run.id for e in every)
    found = [e for e in every if e.split is split and means.get(e.run.id)]
    methods = [Method(e.name, e.model.name, "", (e.run,), False, 0) for e in found]
    comparison = compared(chosen, methods, [means[e.run.id] for e in found], ACCURACY)
    _table(comparison, row)
    _folded(comparison)


def _evaluate(chosen: TripletSetRecord, done: set[str]) -> None:
    corpus = queries.read(lambda r: r.corpora.get(chosen.corpus_id))
    best = [m for m in queries.best_first(corpus_shares(corpus), corpus.id) if m.name not in done]
    brought = [m for m in best if m.name == st.session_state.get(compare.RUN)]
    names = [m.name for m in brought]
    if not brought:
        with st.popover("Evaluate models", type="primary", icon=":material/play_arrow:"):
            listed = [m.name for m in grouped(best, lambda model: model.method)]
            names = st.multiselect("Models", listed, default=preselected(best), key="compare_evaluate")
            clicked = st.button("Evaluate", icon=":material/play_arrow:", disabled=not names)
    else:
        clicked = st.button(f"Evaluate {plain(names[0])}", type="primary", icon=":material/play_arrow:")
    if clicked and all([_submit(chosen, model) for model in best if model.name in names]):
        st.rerun()


def _submit(chosen: TripletSetRecord, model: ModelRecord) -> bool:
    """Queue the evaluation of a model; one whose vectors depend on the article is also evaluated with the article."""
    args: dict[str, Any] = {"model": model.name, "triplets": chosen.name}
    variants = [args, args | {"context": True}] if within_article(model) else [args]
    title = f"Triplet accuracy of {model.name}"
    with_article = ", with the article"
    return all([submit("evaluate-triplets", given, title + with_article * ("context" in given)) for given in variants])


def _table(found: Comparison, row: DeltaGenerator) -> None:
    """Draw a row per method and one sentence; a click on a clustering compares it with the best."""
    more = row.popover("⋯", help="More", key="compare_more", on_change="rerun")
    if more.open:
        with more:
            download("CSV", lambda: as_csv(found), "themescope-comparison.csv")
    styled, config = _frame(found)

    def choose_row(at: int) -> None:
        if isinstance(found.data, BenchmarkRecord) and len(found.methods) > 1:
            best, second = found.methods[0], found.methods[at or 1]
            chosen = {compare.FIRST: best.name, compare.SECOND: second.name, compare.TAB: compare.PAIR}
            st.session_state.update(chosen)

    rows = len(found.methods)
    key = f"methods-{found.data.digest}-{found.metric}-{rows}"
    clickable_table(styled, key, choose_row, column_config=config, height="content" if rows <= 16 else 35 * 17)
    st.caption(_sentence(found))


def _frame(found: Comparison) -> tuple[Styler, dict[str, Any]]:
    text = st.column_config.TextColumn
    shown = [m for m in found.metrics if m == found.metric or "variant" not in METRICS.get(m).tags]
    seeds = [f" ({len(m.runs)} seeds)" if len(m.runs) > 1 else "" for m in found.methods]
    # A rank is such as "1", "2–4", or a dash.
    ranks = ["–".join(map(str, dict.fromkeys(rank))) if rank else "–" for rank in found.ranks()]
    columns: dict[str, Sequence[str]] = {"Rank": ranks}
    config: dict[str, Any] = {"Rank": text(help="Ranks that the tests do not exclude.", width=50)}
    if isinstance(found.data, BenchmarkRecord):
        models = zip(found.methods, seeds, strict=True)
        columns["Model"] = ["–" if m.floor else m.model + several for m, several in models]
        columns["Clusterer"] = [m.clusterer for m in found.methods]
    else:
        columns["Model"] = [m.name for m in found.methods]
        columns["Articles"] = [str(max((s.n for s in row.values()), default=0)) for row in found.means]
    for metric in shown:
        ranked = metric == found.metric
        cell = with_interval if ranked else with_half_width
        columns[metric_title(metric)] = [cell(row.get(metric)) or "–" for row in found.means]
        config[metric_title(metric)] = text(alignment="right", width=136 if ranked else 88)
    columns["Group"] = found.letters()
    config["Group"] = text(help="Methods that share a letter do not differ significantly.", width=56)
    frame = pd.DataFrame(columns)
    styles = pd.DataFrame("", index=frame.index, columns=frame.columns)
    for metric in shown:
        values = [_value(row, metric) for row in found.means]
        styles.loc[values.index(max(values)), metric_title(metric)] = "background-color: rgba(31, 143, 136, 0.25)"
    for place, method in enumerate(found.methods):
        if method.floor:
            styles.loc[place] = "color: light-dark(#5b656d, #a3abb2)"
    return frame.style.apply(lambda _: styles, axis=None), config


def _sentence(found: Comparison) -> str:
    tested = (
        f"rank and group by {metric_title(found.metric)} (Wilcoxon's signed-rank test over articles, "
        f"{count(len(found.family.ps), 'comparison')} corrected by Holm)"
        if found.family is not None and found.tested
        else "no tests, which need two methods with scores for each article"
        if found.family is None or found.family.tested
        else untested(found.family).rstrip(".").replace("No test:", "no test:")
    )
    most = max((s.n for row in found.means for s in row.values()), default=0)
    said = (
        f"Means over the {count(most, 'article')} of {plain(found.data.name)} with 95 % bootstrap intervals; {tested}."
    )
    clickable = isinstance(found.data, BenchmarkRecord)
    return said + " **Click a row** to see where it differs from the best." if clickable else said


def _folded(found: Comparison) -> None:
    """Draw chart, pairwise tests, and metrics with the spread over seeds, each when it is opened."""
    chart = st.expander("Chart", icon=":material/bar_chart:", key="compare_chart", on_change="rerun")
    if chart.open:
        lines = [
            IntervalRow(m.name, score.value, score.low, score.high, -1 if m.floor else m.colour)
            for m, row in zip(found.methods, found.means, strict=True)
            if (score := row.get(found.metric)) is not None
        ]
        chance = 0.5 if found.metric == ACCURACY else None
        figure = interval_figure(lines, metric_title(found.metric), tones(st.context.theme.type), chance)
        image = {"format": "svg", "filename": "themescope-comparison"}
        config = {"displaylogo": False, "modeBarButtons": [["toImage"]], "toImageButtonOptions": image}
        chart.plotly_chart(figure, key=f"intervals-{found.metric}", config=config)
    if found.family is not None and len(found.family.ps):
        label = f"Pairwise tests ({len(found.family.ps):,})"
        pairs = st.expander(label, icon=":material/compare_arrows:", key="compare_tests", on_change="rerun")
        if pairs.open:
            with pairs:
                _pairs(found, found.family)
    about = st.expander("Metrics and tests", icon=":material/info:", key="compare_metrics", on_change="rerun")
    if about.open:
        with about:
            known = [METRICS.get(m) for m in found.metrics if m in METRICS]
            listed = [f"**{plain(m.title)}**: {plain(m.summary)}" for m in known] or [
                "Share of triplets whose pivot is nearer to the positive than to the negative; chance is .500."
            ]
            test = "signed ranks of the differences per article: whether one method is better on a typical article."
            st.markdown("  \n".join([*listed, f"**Wilcoxon**: {test}"]))
            _seeds(found)


def _pairs(found: Comparison, family: Family) -> None:
    order = family.ps.argsort(kind="stable").tolist()
    draw_table(
        {
            "First": [found.names[int(family.first[i])] for i in order],
            "Second": [found.names[int(family.second[i])] for i in order],
            "Difference": [with_interval(family.differences[i]) for i in order],
            "p": [_p(family.ps[i]) for i in order],
            "Corrected p": [_p(family.corrected[i]) for i in order],
        },
        column_config=dict.fromkeys(("Difference", "p", "Corrected p"), st.column_config.TextColumn(alignment="right")),
    )
    download("CSV", partial(comparisons_csv, family, found.names), "themescope-comparisons.csv")


def _p(value: float) -> str:
    return "–" if math.isnan(value) else p_text(float(value))


def _seeds(found: Comparison) -> None:
    spreads = [(m, compare_queries.seed_spread(m, found.metric)) for m in found.methods if len(m.runs) > 1]
    rows = [(m, *spread) for m, spread in spreads if spread is not None]
    if not rows:
        return
    draw_table(
        {
            "Method": [m.name for m, _, _ in rows],
            "Seeds": [len(values) for _, values, _ in rows],
            "Standard deviation": [score(spread) for _, _, spread in rows],
            f"{metric_title(found.metric)} of each seed": [", ".join(map(score, values)) for _, values, _ in rows],
        }
    )
    st.caption("Scores are averaged over seeds, then over articles. Intervals are over articles only.")


# A comparison of methods, and its CSV files


@dataclass(frozen=True, slots=True)
class Comparison:
    """Methods on one benchmark or triplet set in the order of the table, best first."""

    data: BenchmarkRecord | TripletSetRecord
    methods: Sequence[Method]
    means: Sequence[Means]
    """Those of each method."""
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
