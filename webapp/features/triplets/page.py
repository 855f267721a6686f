"""Triplets: inspect the weak labels that training learns from, and what each model makes of them."""

import streamlit as st

from webapp.features.triplets import browser, margins, reviews, section_pairs, slices
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
watch("triplets")
sets = queries.triplet_sets_to_read()
look_tab, margins_tab, pairs_tab, slices_tab, reviews_tab, sets_tab, new_tab = st.tabs(
    ["Look", "Margins", "Sections confused", "Slices", "Reviews", "All sets", "Build a set"],
    key="view",
    bind="query-params",
    on_change="rerun",
)


def no_sets() -> None:
    """Where there is nothing to show yet."""
    nothing("No triplets yet.", "Open the tab “Build a set”. Triplets need a corpus whose articles have sections.")


if look_tab.open:
    with look_tab:
        if sets:
            browser.browse(sets)
        else:
            no_sets()
SHOWN = ((margins_tab, margins), (pairs_tab, section_pairs), (slices_tab, slices), (reviews_tab, reviews))
for tab, part in SHOWN:
    if tab.open:
        with tab:
            if sets:
                part.show(sets)
            else:
                no_sets()
if sets_tab.open:
    with sets_tab:
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
if new_tab.open:
    with new_tab:
        if not closed("Building a set of triplets") and (chosen := corpus(newest=True)) is not None:
            triplet_sets.build(chosen)
saved_views("triplets")
