"""Error notebook page: collected cases, their categories, counts with intervals, agreement, and a report."""

from webapp.features.notebook import agreement, cases, categories, counts, report
from webapp.features.notebook.state import AGREEMENT, CASES, CATEGORIES, COUNTS, REPORT, VIEW
from webapp.shared import error_notebook
from webapp.shared.choose import open_tab, project
from webapp.shared.navigation import saved_views

current = project()
if current is not None:
    notebook = error_notebook.read(current.id, current.created)
    views = {
        CASES: cases.show,
        CATEGORIES: categories.show,
        COUNTS: counts.show,
        AGREEMENT: agreement.show,
        REPORT: report.show,
    }
    view, tab = open_tab([*views], VIEW)
    with tab:
        views[view](current, notebook)
    saved_views("notebook")
