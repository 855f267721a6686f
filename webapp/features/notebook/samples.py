"""Drawing a random sample of the failures of a model into the error notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from themescope.core.records.stored import CorpusRecord, RunRecord
from themescope.jobs.services.notebook import cases
from themescope.webapp.features.notebook import state
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.partition_queries import partition_name
from themescope.webapp.shared.text import count, plain

_USUAL = 50
TRIPLETS, SENTENCES = "Wrong triplets", "Sentences in the wrong cluster"


@dataclass(frozen=True, slots=True)
class SampleSource:
    """A run with failures, and links to them."""

    run: RunRecord
    name: str
    permalink: Callable[[str], str]


def popover(corpus: CorpusRecord) -> None:
    """Draw the button with the form."""
    shut = st.popover("Sample failures", icon=":material/casino:", key=f"{state.DRAW}_popover", on_change="rerun")
    if shut.open:
        with shut:
            _form(corpus)


def _form(corpus: CorpusRecord) -> None:
    st.caption("Shares of categories in a random sample estimate those of all failures; hand-picked cases do not.")
    kind = st.segmented_control(
        "Failures", [TRIPLETS, SENTENCES], default=TRIPLETS, required=True, key=f"{state.DRAW}_kind"
    )
    sources = {s.name: s for s in (evaluations(corpus) if kind == TRIPLETS else clusterings(corpus))}
    if not sources:
        where = (
            "Evaluate a model in Compare, tab “Triplet accuracy”."
            if kind == TRIPLETS
            else "Cluster a benchmark in Compare."
        )
        st.info(f"No results of this project yet. {where}", icon=":material/info:")
        return
    source = sources[st.selectbox("Model and data", list(sources), key=f"{state.DRAW}_source_{kind}")]
    found = attempt(lambda: cases.failures(queries.store(), source.run, source.name, source.permalink))
    if found is None:
        return
    most = min(len(found.ids), cases.MOST_DRAWN)
    if not most:
        st.info("This model has no failures there.", icon=":material/info:")
        return
    size = int(
        st.number_input("Number of failures", 1, most, min(_USUAL, most), key=f"{state.DRAW}_size_{source.run.id}")
    )
    seed = int(st.number_input("Seed", 0, 2**31 - 1, 0, key=f"{state.DRAW}_seed", help="The same seed draws the same."))
    st.caption(f"{count(len(found.ids), 'failure')} of {plain(found.name)}.")
    if st.button(f"Draw {size}", type="primary", icon=":material/casino:", key=f"{state.DRAW}_draw"):
        with st.spinner("Drawing …"):
            made = attempt(lambda: cases.draw(queries.store(), corpus.id, found, size, seed, current_person()))
        if made is not None:
            st.toast(plain(f"Added {made.name}."), icon=":material/casino:")
            st.session_state[state.SAMPLE] = made.name
            st.rerun()


def evaluations(corpus: CorpusRecord) -> list[SampleSource]:
    """Return the evaluations of models on the triplet sets of a project."""
    return [
        SampleSource(e.run, f"{e.model_name} on {chosen.name} ({e.split.value})", _to_triplet(chosen.name))
        for chosen in queries.triplet_sets_to_read(corpus.id)
        for e in triplet_queries.evaluations(chosen)
    ]


def _to_triplet(name: str) -> Callable[[str], str]:
    return lambda id: f"triplets?{urlencode({'triplets_set': name, 'triplets_triplet': id})}"


def clusterings(corpus: CorpusRecord) -> list[SampleSource]:
    """Return the clusterings by models of the benchmarks of a project, newest first."""
    models = {model.id: model for model in queries.models()}
    return [
        SampleSource(run, name, _to_article(name))
        for benchmark in queries.clustered_benchmarks(corpus.id)
        for run in queries.clusterings(benchmark.id)
        if run.model_id in models
        for name in [partition_name(run, models[run.model_id], benchmark)]
    ]


def _to_article(name: str) -> Callable[[str], str]:
    view = {"compare_tab": "Pair", "compare_left": "Sections", "compare_right": name}
    return lambda title: f"compare?{urlencode({**view, 'compare_article': title})}"
