"""Triplets: inspect the weak labels that training learns from, and what each model makes of them."""

import streamlit as st

from webapp.features.triplets import section_pairs, triplet_margins, triplet_reviews, triplet_slices, triplets
from webapp.shared import deleting, queries, triplet_sets
from webapp.shared.choose import corpus, nothing, title
from webapp.shared.guard import closed
from webapp.shared.job_status import watch
from webapp.shared.saved_views import saved_views
from webapp.shared.text import plain

title(
    "Triplets",
    "Two sentences from one section and a third from another: the first two should be nearer. "
    "Nobody labelled these; look before you trust them.",
)
watch(["build-triplets", "clean-triplets", "evaluate-triplets", "train"])
sets = queries.triplet_sets_to_read()
look, margins, pairs, slices, reviews, listing, make = st.tabs(
    ["Look", "Margins", "Sections confused", "Slices", "Reviews", "All sets", "Build a set"],
    key="view",
    bind="query-params",
    on_change="rerun",
)


def no_sets() -> None:
    """Where there is nothing to show yet."""
    nothing("No triplets yet.", "Open the tab “Build a set”. Triplets need a corpus whose articles have sections.")


if look.open:
    with look:
        if sets:
            triplets.browse(sets)
        else:
            no_sets()
SHOWN = (
    (margins, triplet_margins),
    (pairs, section_pairs),
    (slices, triplet_slices),
    (reviews, triplet_reviews),
)
for tab, part in SHOWN:
    if tab.open:
        with tab:
            if sets:
                part.show(sets)
            else:
                no_sets()
if listing.open:
    with listing:
        if sets:
            chosen_set = triplet_sets.overview(sets, {c.id: c.name for c in queries.corpora()})
            st.subheader(plain(chosen_set.name), anchor=False)
            triplet_sets.dropped(chosen_set)
            deleting.button(
                "set",
                chosen_set.name,
                "its reviews and the accuracies measured on it",
                lambda r: r.triplets.delete(chosen_set.id),
            )
        else:
            no_sets()
if make.open:
    with make:
        if not closed("Building a set of triplets") and (chosen := corpus(newest=True)) is not None:
            triplet_sets.build(chosen)
saved_views("triplets")
