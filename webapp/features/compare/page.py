"""Compare page: scores of methods with intervals and tests, and pairs of methods or partitions side by side."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.tasks.scb import ScbRules
from themescope.db.access import Right
from themescope.db.records import BenchmarkRecord
from themescope.jobs.common.models import corpus_shares
from themescope.webapp.features import compare
from themescope.webapp.features.compare import CLUSTERING, PAIR, TRIPLET_ACCURACY, method_table, pairs
from themescope.webapp.shared import projects, queries
from themescope.webapp.shared.choose import Stage, closed, grouped, no_sections, open_tab, preselected, project, steps
from themescope.webapp.shared.compare_queries import clusterer_title
from themescope.webapp.shared.forms import checked, config_fields
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.navigation import saved_views
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import count, plain


def run(benchmark: BenchmarkRecord) -> None:
    """Draw the button that runs the model which a link brought along, or the menu that runs missing combinations."""
    if not may(Right.MANAGE):
        return
    corpus = queries.read(lambda r: r.corpora.get(benchmark.corpus_id))
    best = queries.best_first(corpus_shares(corpus), corpus.id, across=False)
    offered = [c.id for c in CLUSTERERS if "tables-only" not in c.tags]
    usual = [c.id for c in CLUSTERERS if "paper" in c.tags or "no-vectors" in c.tags]
    brought = [model for model in best if model.name == st.session_state.get(compare.RUN)]
    wanted = combinations(benchmark, brought, usual) if brought else []
    if wanted:
        label = f"Run {plain(brought[0].name)}"
        if st.button(label, type="primary", icon=":material/play_arrow:") and _queue(benchmark, wanted):
            st.rerun()
        return
    with st.popover("Run methods", type="primary", icon=":material/play_arrow:"):
        models = grouped(best, lambda model: model.method)
        chosen = st.multiselect("Models", [m.name for m in models], default=preselected(best))
        clusterers = st.multiselect("Clusterers", offered, default=usual, format_func=clusterer_title)
        wanted = combinations(benchmark, [m for m in models if m.name in chosen], clusterers)
        label = f"Run {count(len(wanted), 'missing combination')}" if wanted else "All combinations run"
        if st.button(label, icon=":material/play_arrow:", disabled=not wanted) and _queue(benchmark, wanted):
            st.rerun()


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


def build(corpus: CorpusRecord) -> None:
    """Draw the form for a new benchmark."""
    if closed("Building benchmarks"):
        return
    name = st.text_input("Benchmark name", value=f"{corpus.name} sections", key=f"compare_benchmark_name_{corpus.id}")
    row = st.container(horizontal=True)
    button = row.container(width="content")
    with row.popover("Options", icon=":material/tune:", key="compare_benchmark_options"):
        left, right = st.columns([1, 3])
        seed = left.number_input("Seed", min_value=0, value=0, step=1, key="compare_benchmark_seed")
        every, about = ["test", "validation", "train"], "Models are trained on train; evaluate on test."
        splits = right.multiselect("Splits", every, ["test"], help=about, key="compare_benchmark_splits")
        values = config_fields(ScbRules, f"scb-{corpus.id}", shown=99)
    if not button.button("Build benchmark", type="primary", icon=":material/rule:"):
        return
    rules = checked(ScbRules, values)
    if rules is None:
        return
    args = {"corpus": corpus.name, "name": name.strip(), "rules": rules.to_dict(), "seed": int(seed), "splits": splits}
    if submit("build-benchmark", args, f"Benchmark {name.strip()}"):
        st.rerun()


def without_benchmark(corpus: CorpusRecord) -> None:
    """Draw the steps of a project without a benchmark, the first of which is the form."""
    steps(
        [
            Stage(
                "Build a benchmark", "The sections of unseen articles are the clusters to be found.", False, "compare"
            ),
            Stage("Run methods", "", False, "compare", needs="Needs a benchmark."),
            Stage("Compare them", "", False, "compare", needs="Needs two methods."),
        ]
    )
    build(corpus)


current, benchmarks = projects.current(), queries.benchmarks(projects.current_id())
sets = queries.triplet_sets_to_read(projects.current_id())
if current is None:
    project()
elif not (benchmarks or sets or current.has_sections):
    no_sections(current, "A benchmark compares clusters with the sections of articles.")
else:
    view, tab = open_tab([CLUSTERING, TRIPLET_ACCURACY, PAIR], compare.TAB)
    with tab:
        if view == TRIPLET_ACCURACY:
            method_table.triplets(sets)
        elif benchmarks and view == CLUSTERING:
            method_table.clustering(run, build)
        elif view == CLUSTERING:
            without_benchmark(current)
        else:
            if benchmarks and (found := method_table.choose_comparison()[1]) is not None:
                pairs.choose_and_compare(found)
            pairs.choose_and_show(current)
    saved_views("compare")
