"""Triplets page: inspect and review the automatically generated training data, and what each model makes of it."""

import streamlit as st

from webapp.features.triplets import browser, margins, reviews, section_pairs, sets, slices
from webapp.features.triplets.state import BROWSE, MARGINS, NEW, PAIRS, REVIEWS, SETS, SLICES, VIEW
from webapp.shared import queries
from webapp.shared.choose import corpus, nothing, title
from webapp.shared.guard import closed
from webapp.shared.job_status import watch
from webapp.shared.navigation import saved_views

title(
    "Triplets",
    "Pivot and positive come from one section, the negative from another: the model should place the first two closer "
    "together. Generated automatically; spot-check them.",
)
watch("triplets")
found = queries.triplet_sets_to_read()
browse_tab, margins_tab, pairs_tab, slices_tab, reviews_tab, sets_tab, new_tab = st.tabs(
    [BROWSE, MARGINS, PAIRS, SLICES, REVIEWS, SETS, NEW], key=VIEW, bind="query-params", on_change="rerun"
)
for tab, show in (
    (browse_tab, browser.show),
    (margins_tab, margins.show),
    (pairs_tab, section_pairs.show),
    (slices_tab, slices.show),
    (reviews_tab, reviews.show),
    (sets_tab, sets.show),
):
    if tab.open:
        with tab:
            if found:
                show(found)
            else:
                nothing(
                    "No triplets yet.", f"Open the tab “{NEW}”. Triplets need a corpus whose articles have sections."
                )
if new_tab.open:
    with new_tab:
        if not closed("Building a triplet set") and (chosen := corpus(newest=True)) is not None:
            sets.form(chosen)
saved_views("triplets")
