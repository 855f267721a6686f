"""Triplets: inspect the weak labels that training learns from."""

import streamlit as st

from webapp import queries
from webapp.components import triplets
from webapp.components.choose import by_name, corpus, nothing, title
from webapp.components.jobs import watch

title(
    "Triplets",
    "Two sentences from one section, and a third from another: the nearer pair should be the first two. "
    "Nobody labelled these, so look before you trust them.",
)
watch(["build-triplets", "evaluate-triplets"])
sets = queries.triplet_sets()
look, listing, make = st.tabs(["Look", "All sets", "Build a set"], key="view", bind="query-params", on_change="rerun")
if look.open:
    with look:
        if sets:
            triplets.browse(by_name("Triplet set", sets, "set", lambda s: s.name))
        else:
            nothing(
                "No triplets yet.", "Open the tab “Build a set”. Triplets need a corpus whose articles have sections."
            )
if listing.open:
    with listing:
        if sets:
            triplets.overview(sets, {c.id: c.name for c in queries.corpora()})
            triplets.dropped(by_name("Details of", sets, "set-details", lambda s: s.name))
        else:
            nothing("No triplets yet.", "Open the tab “Build a set”.")
if make.open:
    with make:
        chosen = corpus()
        if chosen is not None:
            triplets.build(chosen)
