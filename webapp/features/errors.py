"""Errors page: what models got wrong, collected, and listed by the causes that it was coded with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from themescope.core.labelling.partition import UNASSIGNED, Partition, code_clusters, code_sizes
from themescope.core.records.stored import CorpusRecord, RunRecord
from themescope.db.access import Right
from themescope.jobs.services import failures as service
from themescope.webapp.shared import labelling as failures
from themescope.webapp.shared import queries, triplet_queries
from themescope.webapp.shared.choose import Stage, project, steps
from themescope.webapp.shared.compare_queries import edit_view, labellings, partition_name
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import count

Source = tuple[RunRecord, str, Callable[[str], str]]
"""Run with failures, where the model failed, and the link to a triplet by its id or to an article by its title."""


def _show(shown: CorpusRecord) -> None:
    of = next((c for c in queries.corpora() if c.name == shown.failures_of), None) if shown.failures_of else shown
    errors = shown if shown.failures_of else queries.read(lambda r: r.failures.of(shown.name))
    labels = may(Right.LABEL)
    if errors is None:
        steps(_steps(shown))
        if of is not None and labels and (_sets(of) or _clusterings(of)):
            with st.popover("Draw a sample", type="primary", icon=":material/casino:", key="errors_draw"):
                _sample(of)
        return
    with queries.store().reading() as r:
        articles = r.corpora.articles(errors.id, limit=errors.articles)
        own = [x for x in r.labellings.list(errors.id) if x.owner == current_person() and not x.article_id]
        coding = r.labellings.snapshot(own[0].id).partition if own else None
    with st.container(horizontal=True, vertical_alignment="center"):
        if labels and st.button("Code them", type="primary", icon=":material/edit_note:", key="errors_code"):
            record = attempt(lambda: service.coding_of(queries.store(), errors, current_person()))
            if record is not None:
                switch_page("code", {"corpus": errors.name, **edit_view(record.name)})
        if of is not None and labels:
            with st.popover("Collect more", icon=":material/add:", key="errors_draw"):
                st.caption("Or press O in Triplets and Code, and use “Collect as errors” in Compare and Agreement.")
                _sample(of)
        for page, label in (("agreement", "Agreement"), ("estimates", "Shares with intervals")):
            page_link(page, label, view={"corpus": errors.name}, key=f"errors_to_{page}")
    _causes(coding, errors.sentences)
    with st.expander(f"Collected from ({len(articles):,})", icon=":material/inbox:"):
        draw_table(
            {
                "Collected": [article.title for article in articles],
                "Failures": [article.sentences for article in articles],
                "About": [article.source for article in articles],
            }
        )
        st.caption("Shares in a random sample hold for all failures of its model; those of picked ones do not.")


def _causes(coding: Partition | None, failures: int) -> None:
    """Draw the own codes of the failures with their shares, the most frequent first."""
    coded = 0 if coding is None else len(coding.ids) - len(coding.members(UNASSIGNED))
    st.markdown(f"**{count(failures, 'failure')}**, {coded:,} coded by you")
    if coding is not None and coded:
        named = code_clusters(coding)
        rows = sorted(((n, named[code].name) for code, n in code_sizes(coding).items() if n), reverse=True)
        share = st.column_config.ProgressColumn(format="percent", help="Of the failures that you coded.")
        causes = [{"Cause": name, "Failures": n, "Share": n / coded} for n, name in rows]
        draw_table(causes, column_config={"Share": share})
    else:
        st.caption("Code them by what went wrong: the causes and their shares will be listed here.")


def _steps(corpus: CorpusRecord) -> list[Stage]:
    evaluated, compared = bool(_sets(corpus) or _clusterings(corpus)), len(labellings(corpus.id)) > 1
    collect = "A random sample, or those that you meet: O in Triplets and Code, “Collect as errors” elsewhere."
    first = (
        Stage("Evaluate a model", "On triplets or on a benchmark.", evaluated, "compare")
        if evaluated or corpus.has_sections
        else Stage("Compare codings", "What two people code differently can be collected, too.", compared, "agreement")
    )
    return [
        first,
        Stage(
            "Collect what it got wrong",
            collect,
            False,
            "errors" if evaluated else "agreement",
            needs="" if evaluated or compared else "Needs a result.",
        ),
        Stage("Code it by its causes", "", False, "code", needs="Needs failures."),
    ]


def _sample(corpus: CorpusRecord) -> None:
    """Draw the form that collects a random sample of what a model got wrong."""
    sources = {name: (run, name, link) for run, name, link in (*_sets(corpus), *_clusterings(corpus))}
    if not sources:
        st.caption("No model is evaluated in this project yet.")
        return
    help = "Wrong triplets of a triplet set, or sentences outside the cluster that matches their section."
    run, name, link = sources[st.selectbox("Model and data", list(sources), key="errors_source", help=help)]
    found = attempt(lambda: service.failing(queries.store(), run, name))
    if found is None or not len(found.ids):
        st.info("This model has no failures there.", icon=":material/info:")
        return
    most = min(len(found.ids), service.MOST_DRAWN)
    left, right = st.columns(2)
    size = int(left.number_input("Number of failures", 1, most, min(50, most), key=f"errors_size_{run.id}"))
    seed = int(right.number_input("Seed", 0, 2**31 - 1, 0, key="errors_seed", help="The same seed draws the same."))
    if st.button(f"Draw {size} of {len(found.ids):,}", icon=":material/casino:", key="errors_drawn"):
        about = corpus.id, found, size, seed, current_person(), link
        made = attempt(lambda: service.collect_sample(queries.store(), *about))
        if made is not None:
            st.toast(f"{count(made.new, 'failure')} collected.", icon=failures.ICON)
            st.rerun()


def _sets(corpus: CorpusRecord) -> list[Source]:
    """Return the evaluations of models on the triplet sets of a project."""
    return [
        (
            e.run,
            f"{e.model_name} on {chosen.name} ({e.split.value})",
            partial(_link, "triplets", {"triplets_set": chosen.name}, "triplets_triplet"),
        )
        for chosen in queries.triplet_sets_to_read(corpus.id)
        for e in triplet_queries.evaluations(chosen)
    ]


def _link(page: str, view: dict[str, str], key: str, shown: str) -> str:
    return f"{page}?{urlencode({**view, key: shown})}"


def _clusterings(corpus: CorpusRecord) -> list[Source]:
    """Return the clusterings by models of the benchmarks of a project, newest first."""
    models, view = {model.id: model for model in queries.models()}, {"compare_tab": "Pair", "compare_left": "Sections"}
    return [
        (run, name, partial(_link, "compare", view | {"compare_right": name}, "compare_article"))
        for benchmark in queries.clustered_benchmarks(corpus.id)
        for run in queries.clusterings(benchmark.id)
        if run.model_id in models
        for name in [partition_name(run, models[run.model_id], benchmark)]
    ]


current = project()
if current is not None:
    _show(current)
