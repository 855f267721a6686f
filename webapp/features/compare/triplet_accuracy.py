"""Triplet accuracy of models: intervals and tests over articles, McNemar over triplets, letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from themescope.core.metrics.statistics import (
    BOOTSTRAP,
    MCNEMAR,
    WILCOXON,
    Family,
    SignificanceTest,
)
from themescope.core.records.stored import ModelRecord, ScoreRecord
from themescope.core.types import Split
from themescope.db.access import Right
from themescope.db.records import TripletSetRecord
from themescope.jobs.common.model_choice import corpus_shares, within_article
from themescope.webapp.features.compare import exports, state
from themescope.webapp.features.compare.exports import (
    rank_text,
    untested,
)
from themescope.webapp.shared import choose, queries
from themescope.webapp.shared.choose import grouped, preselected
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.figures import interval_figure, interval_row, tones
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.results import compare_queries, triplet_queries
from themescope.webapp.shared.results.triplet_queries import Evaluation
from themescope.webapp.shared.text import count, with_interval

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
        split = choose.segment("Split", {s.value: s.value for s in splits}, state.SPLIT)
        tests = {test.id: test for test in _TESTS}
        about = "  \n".join(f"**{test.title}**: {test.summary}" for test in _TESTS)
        test = tests[choose.segment("Paired test", {t.id: t.title for t in _TESTS}, state.TRIPLET_TEST, help=about)]
    found = [e for e in every if e.split is Split(split)]
    means = queries.mean_scores(e.run.id for e in found)
    scored = [(e, next(iter(means[e.run.id].values()))) for e in found if means.get(e.run.id)]
    scored.sort(key=lambda row: row[1].value, reverse=True)
    family, columns = _family([e for e, _ in scored], test)
    _table(scored, family, columns)
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


def _table(scored: Sequence[tuple[Evaluation, ScoreRecord]], family: Family | None, columns: Mapping[int, int]) -> None:
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
