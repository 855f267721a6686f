"""Table of methods on a benchmark: means with intervals, ranks, tests and random baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics import (
    BOOTSTRAP,
    MCNEMAR,
    TESTS,
    WILCOXON,
    Family,
    SignificanceTest,
    corrected_together,
)
from themescope.core.records.stored import ModelRecord, ScoreRecord
from themescope.core.registry import Card
from themescope.core.types import Split
from themescope.db.access import Right
from themescope.db.records import BenchmarkRecord, TripletSetRecord
from themescope.jobs.common.models import corpus_shares, within_article
from themescope.webapp.features import compare
from themescope.webapp.features.compare import exports
from themescope.webapp.features.compare.exports import Comparison, as_csv, latex, paragraph, rank_text, untested
from themescope.webapp.shared import choose, projects, queries
from themescope.webapp.shared.choose import grouped, preselected
from themescope.webapp.shared.components import clickable_table, download, draw_table
from themescope.webapp.shared.figures import interval_figure, interval_row, tones
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.queries import HEADLINE
from themescope.webapp.shared.results import compare_queries, triplet_queries
from themescope.webapp.shared.results.compare_queries import Method
from themescope.webapp.shared.results.triplet_queries import Evaluation
from themescope.webapp.shared.text import count, duration, plain, score, with_half_width, with_interval

BEST = "background-color: rgba(31, 143, 136, 0.25)"
FLOOR = "color: light-dark(#5b656d, #a3abb2)"


@dataclass(frozen=True, slots=True)
class TableScope:
    """Selected benchmark, methods, metric and test, with scores on other benchmarks."""

    comparison: Comparison
    metrics: tuple[str, ...]
    """Metrics with a score of any method, those of the papers first."""
    scores: compare_queries.ArticleScores | None
    """Scores by article on the selected benchmark."""
    beside: Mapping[str, Mapping[str, ScoreRecord]]
    """Other benchmark → method name → mean."""


def choose_scope() -> tuple[BenchmarkRecord, TableScope | None]:
    """Draw the selection above the tables; the scope is None, with a message, if there are no results.

    The project must have a benchmark.
    """
    benchmarks = {b.name: b for b in queries.benchmarks(projects.current_id())}
    row = st.columns(4 if len(benchmarks) > 1 else 3)
    with row[0]:
        # The newest benchmark with results of enough articles, as on Home.
        best = next((b.name for b in queries.clustered_benchmarks(projects.current_id())), "")
        benchmark = benchmarks[choose.one_of("Benchmark", list(benchmarks), compare.BENCHMARK, best)]
    found = compare_queries.methods(benchmark)
    with row[1]:
        models = compare.several("Models", list(dict.fromkeys(m.model for m in found if not m.floor)), compare.MODELS)
    with row[2]:
        clusterers = compare.several("Clusterers", list(dict.fromkeys(m.clusterer for m in found)), compare.CLUSTERERS)
    others: list[str] = []
    if len(benchmarks) > 1:
        with row[3]:
            rest = [name for name in benchmarks if name != benchmark.name]
            others = compare.several(
                "Other benchmarks", rest, compare.OTHERS, "All comparisons are corrected together.", none="none"
            )
    kept = [m for m in found if (m.floor or m.model in models) and m.clusterer in clusterers]
    means = compare_queries.means(kept, METRICS.ids())
    present = sorted(
        {m for row in means for m in row}, key=lambda m: ("paper" not in METRICS.get(m).tags, METRICS.ids().index(m))
    )
    if not present:
        st.info("No results on this benchmark yet. Run methods below.", icon=":material/info:")
        return benchmark, None
    metric, test = _choose_test(present)
    return benchmark, scope_of((benchmark, [benchmarks[name] for name in others]), kept, means, present, (metric, test))


def _choose_test(present: Sequence[str]) -> tuple[Card, SignificanceTest]:
    tests = {test.id: test for test in TESTS}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        metric = METRICS.get(
            choose.segment("Metric", {m: METRICS.get(m).title for m in present}, compare.METRIC, HEADLINE)
        )
        test = tests[
            choose.segment(
                "Paired test",
                {test.id: test.title for test in TESTS},
                compare.TEST,
                help="  \n".join(f"**{test.title}**: {test.summary}" for test in TESTS),
            )
        ]
    return metric, test


def scope_of(
    benchmarks: tuple[BenchmarkRecord, Sequence[BenchmarkRecord]],
    found: Sequence[Method],
    means: Sequence[dict[str, ScoreRecord]],
    present: Sequence[str],
    by: tuple[Card, SignificanceTest],
) -> TableScope:
    """Rank and test the methods, and look up their scores on the other benchmarks."""
    (benchmark, others), (metric, test) = benchmarks, by
    order = sorted(range(len(found)), key=lambda i: _value(means[i], metric.id), reverse=True)
    rows, ordered = [found[i] for i in order], [means[i] for i in order]
    families, beside, scores = {}, {}, None
    tested = compare_queries.family(rows, metric.id, test)
    if tested is not None:
        scores, families[benchmark.name] = tested
    names = {method.name for method in rows}
    for other in others:
        same = [m for m in compare_queries.methods(other) if m.name in names]
        here = zip(same, compare_queries.means(same, [metric.id]), strict=True)
        beside[other.name] = {m.name: row[metric.id] for m, row in here if metric.id in row}
        tested = compare_queries.family(same, metric.id, test) if same else None
        if tested is not None:
            families[other.name] = tested[1]
    together = dict(zip(families, corrected_together(list(families.values())), strict=True))
    measured = scores.measured if scores else (False,) * len(rows)
    columns = [sum(measured[:i]) if has else -1 for i, has in enumerate(measured)]
    names_of = [benchmark.name, *(other.name for other in others)]
    comparison = Comparison(benchmark, rows, ordered, metric, test, together, columns, names_of)
    return TableScope(comparison, tuple(present), scores, beside)


def clustering(scope: TableScope | None) -> None:
    """Draw the table, chart and exports of a benchmark with results."""
    if scope is None:
        return
    found = scope.comparison
    if found.family is not None and not found.family.tested:
        st.info(untested(found.family), icon=":material/info:")
    _table(scope)
    _explained(scope)
    scored = [
        (m, row[found.metric.id]) for m, row in zip(found.methods, found.means, strict=True) if found.metric.id in row
    ]
    lines = [interval_row(m.name, s, -1 if m.floor else m.colour) for m, s in scored]
    exports.chart(
        interval_figure(lines, found.metric.title, tones(st.context.theme.type)),
        f"intervals-{found.metric.id}",
        "themescope-comparison",
    )
    exports.comparisons(found.family, found.names, found.test, f"themescope-comparisons-{found.metric.id}")
    _seeds(found)
    with st.container(horizontal=True):
        for label, text, file in (
            ("CSV", lambda: as_csv(found, scope.metrics), "themescope-comparison.csv"),
            ("LaTeX table", lambda: latex(found, scope.metrics), "themescope-comparison.tex"),
        ):
            download(label, text, file)
        shut = st.popover(
            "Methods paragraph", icon=":material/notes:", key="compare_methods_paragraph", on_change="rerun"
        )
        if shut.open:
            settings = {m.clusterer: m.runs[0].config for m in found.methods if m.runs[0].clusterer in CLUSTERERS}
            shut.code(
                paragraph(found, scope.metrics, {title: config for title, config in settings.items() if config}),
                language=None,
                wrap_lines=True,
            )


def _value(row: Mapping[str, ScoreRecord], metric: str) -> float:
    return row[metric].value if metric in row else float("-inf")


def _table(scope: TableScope) -> None:
    """Draw a row per method; a click compares it with the best, or the best with the second."""
    found = scope.comparison
    frame, styled = _frame(scope)
    key = f"methods-{found.benchmark.id}-{found.metric.id}-{len(frame)}"

    def choose(row: int) -> None:
        if len(found.methods) > 1:
            best, second = found.methods[0], found.methods[row or 1]
            compare.show({compare.FIRST: best.name, compare.SECOND: second.name, compare.TAB: compare.PAIR})

    text = st.column_config.TextColumn
    shown = _shown(scope)
    numbers = {METRICS.get(m).title: text(help=METRICS.get(m).summary, alignment="right", width=81) for m in shown}
    beside = {_beside(scope.comparison.metric, name): text(alignment="right", width=150) for name in scope.beside}
    column_config = {
        "Rank": text(help="Ranks that the tests do not exclude. Click a row to see the difference.", width=52),
        "Model": text(width=194 if len(shown) < 6 else 126),
        "Clusterer": text(width=174 if len(shown) < 6 else 146),
        "Seeds": st.column_config.NumberColumn(help="Runs with different seeds, averaged first.", width=50),
        **numbers,
        **beside,
        "Group": text(help="Methods that share a letter do not differ significantly.", width=54),
        "Time": text(help="Clustering only, without embedding.", alignment="right", width=54),
    }
    clickable_table(styled, key, choose, column_config=column_config, height="content" if len(frame) <= 25 else 35 * 26)


def _frame(scope: TableScope) -> tuple[pd.DataFrame, Styler]:
    found = scope.comparison
    titles = {m: METRICS.get(m).title for m in scope.metrics}
    shown = _shown(scope)
    several = any(len(method.runs) > 1 for method in found.methods)
    frame = pd.DataFrame(
        {
            "Rank": [rank_text(rank) for rank in found.ranks()],
            "Model": ["–" if m.floor else m.model for m in found.methods],
            "Clusterer": [m.clusterer for m in found.methods],
            **({"Seeds": [len(m.runs) for m in found.methods]} if several else {}),
            **{titles[m]: [with_half_width(row.get(m)) for row in found.means] for m in shown},
            **{
                _beside(found.metric, name): [with_half_width(rows.get(m.name)) for m in found.methods]
                for name, rows in scope.beside.items()
            },
            "Group": found.letters(),
            "Time": [duration(m.seconds) for m in found.methods],
        }
    )
    styles = pd.DataFrame("", index=frame.index, columns=frame.columns)
    for metric in shown:
        values = [_value(row, metric) for row in found.means]
        styles.loc[values.index(max(values)), titles[metric]] = BEST
    for place, method in enumerate(found.methods):
        if method.floor:
            styles.loc[place] = FLOOR
    return frame, frame.style.apply(lambda _: styles, axis=None)


def _shown(scope: TableScope) -> list[str]:
    """Return the metrics with a column: the chosen one beside other benchmarks, otherwise all."""
    chosen = scope.comparison.metric.id
    return [m for m in scope.metrics if m == chosen or not (scope.beside or "variant" in METRICS.get(m).tags)]


def _beside(metric: Card, benchmark: str) -> str:
    return f"{metric.title} on {benchmark}"


def _explained(scope: TableScope) -> None:
    found = scope.comparison
    n = max((s.n for row in found.means for s in row.values()), default=0)
    on = f" on {count(len(found.benchmarks), 'benchmark')}" if len(found.benchmarks) > 1 else ""
    tested = (
        f"Rank and group: {found.test.title} over articles for {found.metric.title}, "
        f"{count(found.claims, 'comparison')}{on}, Holm-corrected; methods that share a letter do not differ "
        "significantly at the 5 % level. "
        "**Click a row** to see which articles cause its difference to the best."
        if found.claims
        else "No tests: they need two methods with scores for each article."
        if found.family is None or found.family.tested
        else untested(found.family)
    )
    st.caption(
        f"Means over {count(n, 'article')}; ± is half the width of the 95 % bootstrap interval over articles; "
        f"the chart and the CSV file show its ends. {tested}  \n"
        + " ".join(f"**{plain(METRICS.get(m).title)}**: {plain(METRICS.get(m).summary)}" for m in _shown(scope))
    )


def _seeds(found: Comparison) -> None:
    several = [method for method in found.methods if len(method.runs) > 1]
    spreads = [(m, compare_queries.seed_spread(m, found.metric.id)) for m in several]
    rows = [(m, *spread) for m, spread in spreads if spread is not None]
    if not rows:
        return
    with st.expander(f"Spread over seeds ({len(rows)})", icon=":material/casino:"):
        draw_table(
            {
                "Method": [m.name for m, _, _ in rows],
                "Seeds": [len(values) for _, values, _ in rows],
                "Standard deviation": [score(spread) for _, _, spread in rows],
                f"{found.metric.title} of each seed": [", ".join(score(v) for v in values) for _, values, _ in rows],
            }
        )
        st.caption("Scores are averaged over seeds, then over articles. Intervals are over articles only.")


# Triplet accuracy of models: intervals and tests over articles, McNemar over triplets, letters

_TESTS = (BOOTSTRAP, WILCOXON, MCNEMAR)
_SPLITS = (Split.TEST, Split.VALIDATION, Split.TRAIN)
_WITH = ", with the article"


def show(chosen: TripletSetRecord) -> None:
    """Draw the accuracy of models on a set, and the form that evaluates others."""
    every = triplet_queries.evaluations(chosen)
    splits = [split for split in _SPLITS if any(e.split is split for e in every)]
    if splits:
        _compare(every, splits)
    else:
        st.info("No model has been evaluated on this set yet.", icon=":material/info:")
    done = {e.model.name for e in every if e.split is Split.TEST}
    if may(Right.MANAGE):
        corpus = queries.read(lambda r: r.corpora.get(chosen.corpus_id))
        best = [m for m in queries.best_first(corpus_shares(corpus), corpus.id) if m.name not in done]
        if best:
            rest = grouped(best, lambda model: model.method)
            st.subheader("Evaluate more models", anchor=False)
            names = st.multiselect("Models", [m.name for m in rest], default=preselected(best), key="compare_evaluate")
            if st.button("Evaluate", type="primary", icon=":material/play_arrow:", disabled=not names):
                queued = [_submit(chosen, model) for model in rest if model.name in names]
                if all(queued):
                    st.rerun()


def _compare(every: Sequence[Evaluation], splits: Sequence[Split]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        split = choose.segment("Split", {s.value: s.value for s in splits}, compare.SPLIT)
        tests = {test.id: test for test in _TESTS}
        about = "  \n".join(f"**{test.title}**: {test.summary}" for test in _TESTS)
        test = tests[choose.segment("Paired test", {t.id: t.title for t in _TESTS}, compare.TRIPLET_TEST, help=about)]
    found = [e for e in every if e.split is Split(split)]
    means = queries.mean_scores(e.run.id for e in found)
    scored = [(e, next(iter(means[e.run.id].values()))) for e in found if means.get(e.run.id)]
    scored.sort(key=lambda row: row[1].value, reverse=True)
    family, columns = _family([e for e, _ in scored], test)
    _triplet_accuracy_table(scored, family, columns)
    lines = [interval_row(e.name, s) for e, s in scored]
    figure = interval_figure(lines, "Triplet accuracy", tones(st.context.theme.type), chance=0.5)
    exports.chart(figure, "compare_accuracy_chart", "themescope-triplet-accuracy")
    tested = (
        f" Rank and group: {test.title}, Holm-corrected over {count(len(family.ps), 'comparison')}; a model "
        "ranks higher only if the interval of the difference over articles also excludes 0."
        if family and family.tested
        else f" {untested(family)}"
        if family
        else ""
    )
    st.caption(
        "Share of triplets whose pivot is nearer to the positive than to the negative; chance is "
        f".500. Mean with the 95 % bootstrap interval over articles.{tested}  \n**{test.title}**: {test.summary}"
    )
    names = {column: scored[row][0].name for row, column in columns.items()}
    exports.comparisons(family, names, test, "themescope-triplet-comparisons")


def _family(found: Sequence[Evaluation], test: SignificanceTest) -> tuple[Family | None, Mapping[int, int]]:
    """Return the comparisons of evaluations with scores of single articles, and the row of each column."""
    rows = compare_queries.accuracy_methods(found)
    measured = compare_queries.article_scores(rows, triplet_queries.ACCURACY).measured
    used = [i for i, has in enumerate(measured) if has]
    if len(used) < 2:
        return None, {}
    chosen = compare_queries.by_triplets([found[i] for i in used]) if test is MCNEMAR else test
    tested = compare_queries.family([rows[i] for i in used], triplet_queries.ACCURACY, chosen)
    return (None, {}) if tested is None else (tested[1], {row: column for column, row in enumerate(used)})


def _triplet_accuracy_table(
    scored: Sequence[tuple[Evaluation, ScoreRecord]], family: Family | None, columns: Mapping[int, int]
) -> None:
    ranks, letters = (family.ranks(), family.groups()) if family else ([], [])
    columns = columns if family is not None and family.tested else {}
    rows = range(len(scored))
    draw_table(
        {
            "Rank": [rank_text(ranks[columns[i]]) if i in columns else "–" for i in rows],
            "Model": [e.name for e, _ in scored],
            "Triplet accuracy": [with_interval(s) for _, s in scored],
            "Group": [letters[columns[i]] if i in columns else "" for i in rows],
            "Articles": [s.n for _, s in scored],
        },
        column_config={
            "Rank": st.column_config.TextColumn(help="Ranks that the tests do not exclude.", width=60),
            "Triplet accuracy": st.column_config.TextColumn(alignment="right"),
            "Group": st.column_config.TextColumn(help="Models that share a letter do not differ significantly."),
        },
    )


def _submit(chosen: TripletSetRecord, model: ModelRecord) -> bool:
    """Queue the evaluation of a model; one whose vectors depend on the article is also evaluated with the article."""
    args: dict[str, Any] = {"model": model.name, "triplets": chosen.name}
    variants = [args, args | {"context": True}] if within_article(model) else [args]
    title = f"Triplet accuracy of {model.name}"
    return all([submit("evaluate-triplets", given, title + _WITH * ("context" in given)) for given in variants])
