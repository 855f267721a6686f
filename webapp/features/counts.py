"""Counts page: how many units have each theme or code, by a column."""

from themescope.webapp.shared import by_column, compare_queries, projects
from themescope.webapp.shared.choose import project, steps, study_steps

current = project()
if current is not None:
    found = compare_queries.analyses(projects.current_id())
    analysis = compare_queries.best_first(found)[0] if found else None
    listed = compare_queries.theme_listing(analysis.run.id, analysis.run.created) if analysis else None
    if not by_column.show_categories(current, analysis, listed):
        steps(study_steps())
