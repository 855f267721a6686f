"""Compare page: scores of methods with intervals and tests, and pairs of methods or partitions side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.tasks.scb import ScbRules
from themescope.db.access import Right
from themescope.db.records import BenchmarkRecord
from themescope.jobs.common.models import corpus_shares
from themescope.webapp.features import compare
from themescope.webapp.features.compare import method_table, pairs
from themescope.webapp.shared import forms, projects, queries
from themescope.webapp.shared.choose import by_name, closed, grouped, nothing, open_tab, preselected, project
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.forms import checked, config_fields
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.navigation import saved_views
from themescope.webapp.shared.people import may
from themescope.webapp.shared.results.compare_queries import clusterer_title
from themescope.webapp.shared.text import count, plain, words


def missing(benchmark: BenchmarkRecord) -> None:
    """Draw the form that runs the missing combinations."""
    if not may(Right.MANAGE):
        return
    st.subheader("Run methods", anchor=False)
    corpus = queries.read(lambda r: r.corpora.get(benchmark.corpus_id))
    best = queries.best_first(corpus_shares(corpus), corpus.id, across=False)
    models = grouped(best, lambda model: model.method)
    left, right = st.columns(2)
    chosen = left.multiselect("Models", [m.name for m in models], default=_brought(models) or preselected(best))
    ids = CLUSTERERS.ids()
    paper = [c.id for c in CLUSTERERS if "paper" in c.tags or "no-vectors" in c.tags]
    clusterers = right.multiselect("Clusterers", ids, default=paper, format_func=clusterer_title)
    wanted = combinations(benchmark, [m for m in models if m.name in chosen], clusterers)
    label = f"Run {count(len(wanted), 'missing combination')}" if wanted else "All combinations run"
    clicked = st.button(label, type="primary", icon=":material/play_arrow:", disabled=not wanted)
    if clicked and _queue(benchmark, wanted):
        st.rerun()


def _brought(models: Sequence[ModelRecord]) -> list[str]:
    """Return the model that the address names, if it is one of ``models``."""
    return [m.name for m in models if m.name == st.session_state.get(compare.RUN)]


def combinations(
    benchmark: BenchmarkRecord, models: Sequence[ModelRecord], clusterers: Sequence[str]
) -> list[tuple[ModelRecord | None, str]]:
    """Return the combinations without a run; a clusterer without vectors counts once."""
    done = {(run.model_id, run.clusterer) for run in queries.clusterings(benchmark.id)}
    found: list[tuple[ModelRecord | None, str]] = []
    for id in clusterers:
        rows: Sequence[ModelRecord | None] = [None] if "no-vectors" in CLUSTERERS.get(id).tags else models
        found += [(m, id) for m in rows if (m.id if m else None, id) not in done]
    return found


def _queue(benchmark: BenchmarkRecord, wanted: Sequence[tuple[ModelRecord | None, str]]) -> bool:
    """Queue a job per combination; the first of a model computes the vectors for the others."""
    queued = []
    for model, clusterer in wanted:
        name = model.name if model else ""
        args = {"model": name, "clusterer": clusterer, "benchmark": benchmark.name}
        title = f"{clusterer_title(clusterer)}{f' of {name}' if name else ''} on {benchmark.name}"
        queued.append(submit("cluster", args, title))
    return all(queued)


def about(benchmark: BenchmarkRecord) -> None:
    """Draw the statistics of a benchmark, beside those of the published set if available."""
    folded = st.expander(
        f"About {plain(benchmark.name)}", icon=":material/info:", key="compare_about", on_change="rerun"
    )
    if folded.open:
        with folded:
            counts = {key: value for key, value in benchmark.counts.items() if key != "table"}
            beside = benchmark.counts.get("table")
            left, right = st.columns([3, 2], gap="medium")
            with left:
                if isinstance(beside, Mapping):
                    st.caption("Benchmark statistics beside the published set")
                    rows = list(dict.fromkeys(key for column in beside.values() for key in column))
                    columns = {
                        words(name): [forms.fact_text(row, column.get(row)) for row in rows]
                        for name, column in beside.items()
                    }
                    draw_table({"Count": [words(row) for row in rows], **columns}, height="content")
            with right:
                st.caption("Article selection")
                forms.facts_table({**counts, "rules": benchmark.config}, ("Rule or count", "Value"), height=420)


def build(corpus: CorpusRecord) -> None:
    """Draw the form for a new benchmark."""
    if closed("Building benchmarks"):
        return
    with st.form(f"benchmark-{corpus.id}"):
        left, middle, right = st.columns([2, 1, 2])
        name = left.text_input("Benchmark name", value=f"{corpus.name} sections")
        seed = middle.number_input("Seed", min_value=0, value=0, step=1)
        splits = right.multiselect(
            "Splits",
            ["test", "validation", "train"],
            default=["test"],
            help="Models are trained on train; evaluate on test.",
        )
        values = config_fields(ScbRules, f"scb-{corpus.id}")
        if not st.form_submit_button("Build benchmark", type="primary", icon=":material/rule:"):
            return
    rules = checked(ScbRules, values)
    if rules is None:
        return
    args = {"corpus": corpus.name, "name": name.strip(), "rules": rules.to_dict(), "seed": int(seed), "splits": splits}
    if submit("build-benchmark", args, f"Benchmark {name.strip()}"):
        st.rerun()


# --- page -------------------------------------------------------------------------------------------------------------


CLUSTERING, TRIPLETS, BUILD = "Clustering", "Triplet accuracy", "Build a benchmark"
view, tab = open_tab([CLUSTERING, compare.PAIR, TRIPLETS, BUILD], compare.TAB)
with tab:
    if view in (CLUSTERING, compare.PAIR):
        if queries.benchmarks(projects.current_id()):
            benchmark, scope = method_table.choose_scope()
            if view == CLUSTERING:
                method_table.clustering(scope)
                missing(benchmark)
                about(benchmark)
            elif (pair := pairs.choose_pair(scope)) is not None:
                pairs.show(pair)
        else:
            nothing(
                "No benchmark yet.", "Build one in the tab “Build a benchmark”. Article sections are the ground truth."
            )
        if view == compare.PAIR and (chosen := project()) is not None:
            st.subheader("One article, divided in two ways", anchor=False)
            pairs.choose_and_show(chosen)
    elif view == TRIPLETS:
        sets = queries.triplet_sets_to_read(projects.current_id())
        if sets:
            method_table.show(by_name("Triplet set", sets, compare.TRIPLETS, lambda s: s.name))
        else:
            nothing("No triplets yet.", "Build a triplet set first.", "triplets", "Triplets")
    elif (chosen := project()) is not None:
        build(chosen)
saved_views("compare")
