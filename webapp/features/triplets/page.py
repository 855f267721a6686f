"""Triplets page: inspect and review the automatically generated triplets, and the results of models on them."""

from themescope.webapp.features.triplets import ACCURACY, BROWSE, NEW, REVIEWS, SETS, VIEW, accuracy, browser, sets
from themescope.webapp.shared import projects, queries
from themescope.webapp.shared.choose import closed, nothing, open_tab, project
from themescope.webapp.shared.navigation import saved_views

found = queries.triplet_sets_to_read(projects.current_id())
views = {
    BROWSE: browser.show,
    ACCURACY: accuracy.show,
    REVIEWS: sets.show_reviews,
    SETS: sets.show,
}
view, tab = open_tab([*views, NEW], VIEW)
with tab:
    chosen = projects.current()
    if found and view != NEW:
        views[view](found)
    elif chosen is not None and not chosen.has_sections:
        sets.no_sections(chosen)
    elif view == NEW:
        if not closed("Building a triplet set") and (chosen := project()) is not None:
            sets.form(chosen)
    else:
        nothing("No triplets yet.", f"Open the tab “{NEW}”. Triplets need articles with sections.")
saved_views("triplets")
