"""Triplets page: how often models are right about triplets, the wrong ones one by one, and the sets."""

import streamlit as st

from themescope.webapp.features.triplets import ACCURACY, BROWSE, FILTER, SETS, TRIPLET, VIEW, accuracy, browser, sets
from themescope.webapp.shared import projects, queries
from themescope.webapp.shared.choose import no_sections, open_tab, project
from themescope.webapp.shared.navigation import saved_views

found = queries.triplet_sets_to_read(projects.current_id())
chosen = projects.current()
if found:
    # A link to a triplet, or to those that a filter selects, names no tab.
    linked = any(name in st.query_params for name in (*FILTER, TRIPLET))
    views = {ACCURACY: accuracy.show, BROWSE: browser.show, SETS: sets.show}
    view, tab = open_tab(list(views), VIEW, BROWSE if linked else ACCURACY)
    with tab:
        views[view](found)
    saved_views("triplets")
elif chosen is not None and not chosen.has_sections:
    no_sections(chosen, "A triplet compares sentences of two sections of an article.")
    sets.own()
elif (chosen := project()) is not None:
    sets.first(chosen)
