"""Error notebook page: collected cases, their categories, counts with intervals, agreement, and a report."""

from themescope.webapp.features.notebook import cases, categories, report
from themescope.webapp.features.notebook.state import AGREEMENT, CASES, CATEGORIES, COUNTS, REPORT, VIEW
from themescope.webapp.shared.choose import open_tab, project
from themescope.webapp.shared.labelling import error_notebook
from themescope.webapp.shared.navigation import saved_views

views = {
    CASES: cases.show,
    CATEGORIES: categories.show,
    COUNTS: report.show_counts,
    AGREEMENT: report.show_agreement,
    REPORT: report.show,
}
view, tab = open_tab([*views], VIEW)
with tab:
    current = project()
    if current is not None:
        views[view](current, error_notebook.read(current.id, current.created))
saved_views("notebook")
