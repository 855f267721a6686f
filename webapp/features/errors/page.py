"""Errors page: the failures that were collected in a project, random samples of them, and where they are coded."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.records.stored import CorpusRecord, RunRecord
from themescope.db.access import Right
from themescope.jobs.services import failures as service
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing, project
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.labelling import failures
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.compare_queries import edit_view, partition_name
from themescope.webapp.shared.text import count, plain

TRIPLETS, SENTENCES = "Wrong triplets", "Sentences in the wrong cluster"
_USUAL = 50
Source = tuple[RunRecord, str, Callable[[str], str]]
"""Run with failures, where the model failed, and the link to a triplet by its id or to an article by its title."""


def _show(shown: CorpusRecord) -> None:
    of = next((c for c in queries.corpora() if c.name == shown.failures_of), None) if shown.failures_of else shown
    errors = shown if shown.failures_of else queries.read(lambda r: r.failures.of(shown.name))
    st.caption("What models got wrong and what people disagree on, collected with its context and coded by its causes.")
    if of is not None and may(Right.LABEL):
        drawing = st.popover("Sample failures", icon=":material/casino:", key="errors_draw", on_change="rerun")
        if drawing.open:
            with drawing:
                _sample(of)
    if errors is None:
        nothing(
            "No failures yet.",
            "Press O in Triplets or Code, use “Collect as errors” in Compare, in Agreement or for a selection, or "
            "draw a random sample of failures above.",
        )
        return
    with queries.store().reading() as r:
        articles = r.corpora.articles(errors.id, limit=errors.articles)
        sentences = r.corpora.sentences_of([article.id for article in articles])
        own = [x for x in r.labellings.list(errors.id) if x.owner == current_person() and not x.article_id]
        state = r.labellings.snapshot(own[0].id).partition if own else None
    coded = state.ids[state.numbers != UNASSIGNED] if state is not None else np.empty(0, np.int64)
    with st.container(horizontal=True, vertical_alignment="center"):
        if may(Right.LABEL) and st.button("Code them", type="primary", icon=":material/edit_note:", key="errors_code"):
            record = attempt(lambda: service.coding_of(queries.store(), errors, current_person()))
            if record is not None:
                switch_page("code", {"corpus": errors.name, **edit_view(record.name)})
        for page, label in (("themes", "Find kinds"), ("agreement", "Agreement"), ("estimates", "Shares")):
            page_link(page, label, view={"corpus": errors.name}, key=f"errors_to_{page}")
        st.caption(f"{count(errors.sentences, 'failure')}, {len(coded):,} coded by you", width="content")
    draw_table(
        {
            "Collected": [article.title for article in articles],
            "Failures": [article.sentences for article in articles],
            "Coded by you": [
                int(np.isin([one.id for one in sentences.get(article.id, ())], coded).sum()) for article in articles
            ],
            "About": [article.source for article in articles],
        }
    )
    st.caption("Shares of codes in a random sample hold for all failures of its model; those of picked ones do not.")


def _sample(corpus: CorpusRecord) -> None:
    kind = st.segmented_control("Failures", [TRIPLETS, SENTENCES], default=TRIPLETS, required=True, key="errors_kind")
    sources = {name: (run, name, link) for run, name, link in (_sets if kind == TRIPLETS else _clusterings)(corpus)}
    if not sources:
        what = "Evaluate a model in Compare, tab “Triplet accuracy”"
        what = what if kind == TRIPLETS else "Cluster a benchmark in Compare"
        st.info(f"No results of this project yet. {what}.", icon=":material/info:")
        return
    run, name, link = sources[st.selectbox("Model and data", list(sources), key=f"errors_source_{kind}")]
    found = attempt(lambda: service.failing(queries.store(), run, name))
    if found is None or not len(found.ids):
        st.info("This model has no failures there.", icon=":material/info:")
        return
    most = min(len(found.ids), service.MOST_DRAWN)
    size = int(st.number_input("Number of failures", 1, most, min(_USUAL, most), key=f"errors_size_{run.id}"))
    seed = int(st.number_input("Seed", 0, 2**31 - 1, 0, key="errors_seed", help="The same seed draws the same."))
    st.caption(f"{count(len(found.ids), 'failure')} of {plain(name)}.")
    if st.button(f"Draw {size}", type="primary", icon=":material/casino:", key="errors_drawn"):
        about = corpus.id, found, size, seed, current_person(), link
        made = attempt(lambda: service.collect_sample(queries.store(), *about))
        if made is not None:
            st.toast(f"{count(made.new, 'failure')} collected.", icon=failures.ICON)
            st.rerun()


def _sets(corpus: CorpusRecord) -> list[Source]:
    """Return the evaluations of models on the triplet sets of a project."""

    def link_of(name: str) -> Callable[[str], str]:
        return lambda id: f"triplets?{urlencode({'triplets_set': name, 'triplets_triplet': id})}"

    return [
        (e.run, f"{e.model_name} on {chosen.name} ({e.split.value})", link_of(chosen.name))
        for chosen in queries.triplet_sets_to_read(corpus.id)
        for e in triplet_queries.evaluations(chosen)
    ]


def _clusterings(corpus: CorpusRecord) -> list[Source]:
    """Return the clusterings by models of the benchmarks of a project, newest first."""
    models = {model.id: model for model in queries.models()}

    def link_of(name: str) -> Callable[[str], str]:
        view = {"compare_tab": "Pair", "compare_left": "Sections", "compare_right": name}
        return lambda title: f"compare?{urlencode({**view, 'compare_article': title})}"

    return [
        (run, name, link_of(name))
        for benchmark in queries.clustered_benchmarks(corpus.id)
        for run in queries.clusterings(benchmark.id)
        if run.model_id in models
        for name in [partition_name(run, models[run.model_id], benchmark)]
    ]


current = project()
if current is not None:
    _show(current)
