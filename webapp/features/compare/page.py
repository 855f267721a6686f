"""Compare page: scores of methods with intervals and tests, and pairs of methods or partitions side by side."""

import streamlit as st

from themescope.webapp.features.compare import (
    benchmarks,
    method_pair,
    method_table,
    partition_pair,
    state,
    triplet_accuracy,
)
from themescope.webapp.features.compare.state import PAIR, tabs_in_url
from themescope.webapp.shared import projects, queries
from themescope.webapp.shared.choose import by_name, nothing, project
from themescope.webapp.shared.navigation import saved_views

CLUSTERING, TRIPLETS, BUILD = "Clustering", "Triplet accuracy", "Build a benchmark"
tabs = tabs_in_url([CLUSTERING, PAIR, TRIPLETS, BUILD], state.TAB)
view = next(name for name, tab in tabs.items() if tab.open)
with tabs[view]:
    if view in (CLUSTERING, PAIR):
        if queries.benchmarks(projects.current_id()):
            benchmark, scope = method_table.choose_scope()
            if view == CLUSTERING:
                method_table.clustering(scope)
                benchmarks.missing(benchmark)
                benchmarks.about(benchmark)
            elif (pair := method_pair.choose_pair(scope)) is not None:
                method_pair.show(pair)
        else:
            nothing(
                "No benchmark yet.", "Build one in the tab “Build a benchmark”. Article sections are the ground truth."
            )
        if view == PAIR and (chosen := project()) is not None:
            st.subheader("One article, divided in two ways", anchor=False)
            partition_pair.choose_and_show(chosen)
    elif view == TRIPLETS:
        sets = queries.triplet_sets_to_read(projects.current_id())
        if sets:
            triplet_accuracy.show(by_name("Triplet set", sets, state.TRIPLETS, lambda s: s.name))
        else:
            nothing("No triplets yet.", "Build a triplet set first.", "triplets", "Triplets")
    elif (chosen := project()) is not None:
        benchmarks.build(chosen)
saved_views("compare")
