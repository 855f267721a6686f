"""Compare: choose a method by numbers that say how sure they are."""

import streamlit as st

from webapp import queries
from webapp.components import benchmarking, comparing
from webapp.components.choose import by_name, corpus, nothing, title
from webapp.components.jobs import watch

title(
    "Compare",
    "A good method puts the sentences of one section into one cluster, in articles it has never seen.",
)
watch(["build-benchmark", "embed", "cluster", "evaluate-triplets"])
clustering, accuracy, make = st.tabs(
    ["Clustering", "Triplet accuracy", "Build a benchmark"], key="view", bind="query-params", on_change="rerun"
)
if clustering.open:
    with clustering:
        found = queries.benchmarks()
        if found:
            chosen = by_name("Benchmark", found, "benchmark", lambda b: b.name)
            comparing.clustering(chosen)
            benchmarking.missing(chosen)
            benchmarking.about(chosen)
        else:
            nothing(
                "No benchmark yet.", "Open the tab “Build a benchmark”: it takes the sections of articles as truth."
            )
if accuracy.open:
    with accuracy:
        sets = queries.triplet_sets()
        if sets:
            comparing.triplet_accuracy(by_name("Triplet set", sets, "set", lambda s: s.name))
        else:
            nothing("No triplets yet.", "Build a set first.", "triplets", "Triplets")
if make.open:
    with make:
        source = corpus()
        if source is not None:
            benchmarking.build(source)
