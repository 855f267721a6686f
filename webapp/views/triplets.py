"""Triplets: inspect the weak labels that training learns from."""

import streamlit as st

from webapp import queries
from webapp.components import deleting, triplets
from webapp.components.choose import corpus, nothing, title
from webapp.components.jobs import watch
from webapp.components.text import plain

title(
    "Triplets",
    "Two sentences from one section and a third from another: the first two should be nearer. "
    "Nobody labelled these; look before you trust them.",
)
watch(["build-triplets", "evaluate-triplets"])
sets = queries.triplet_sets()
look, listing, make = st.tabs(["Look", "All sets", "Build a set"], key="view", bind="query-params", on_change="rerun")
if look.open:
    with look:
        if sets:
            triplets.browse(sets)
        else:
            nothing(
                "No triplets yet.", "Open the tab “Build a set”. Triplets need a corpus whose articles have sections."
            )
if listing.open:
    with listing:
        if sets:
            chosen_set = triplets.overview(sets, {c.id: c.name for c in queries.corpora()})
            st.subheader(plain(chosen_set.name), anchor=False)
            triplets.dropped(chosen_set)
            deleting.button(
                "set", chosen_set.name, "the accuracies measured on it", lambda r: r.triplets.delete(chosen_set.id)
            )
        else:
            nothing("No triplets yet.", "Open the tab “Build a set”.")
if make.open:
    with make:
        chosen = corpus()
        if chosen is not None:
            triplets.build(chosen)
