"""Themes: what the machine found, as cards, by column and over time."""

from functools import partial

import streamlit as st

from themescope.core.records.stored import JobStatus
from themescope.core.tasks.themes import FEWEST
from themescope.db.access import Right
from themescope.jobs.services import pipeline
from themescope.webapp.features import themes
from themescope.webapp.features.themes import results
from themescope.webapp.shared import compare_queries, header, projects, queries
from themescope.webapp.shared.choose import Stage, steps
from themescope.webapp.shared.navigation import show_next
from themescope.webapp.shared.people import may

job = queries.job(st.session_state.get(themes.REQUESTED, 0))
if job is not None and job.status is JobStatus.DONE:
    ready = next((a for a in compare_queries.analyses() if a.run.id == job.result["run_id"]), None)
    if ready is not None:
        show_next({"corpus": ready.corpus.name, "result": ready.name})
    # Once something else has taken note of the result: a click may end a run anywhere.
    st.session_state.pop(themes.REQUESTED, None)
    st.rerun()
project = projects.current()
found = compare_queries.analyses(projects.current_id())
known = pipeline.steps_of(queries.store(), project.name) if project is not None else []
unfinished = any(step.active or step.failed for step in known)
if unfinished or not found:
    header.watch(project if unfinished and not found else None)
if found:
    results.show(found)
elif not any(step.active for step in known):
    few = project is not None and project.sentences < FEWEST
    needs = "Needs texts." if project is None else f"Needs at least {FEWEST} units." if few else ""
    needs = needs if may(Right.MANAGE) else "Requires the admin role."
    begin = partial(header.start, project) if project is not None else None
    steps(
        [
            Stage("Import texts", "Paste or drop texts of any kind.", project is not None, "import"),
            Stage("Find themes", "Takes a few minutes, and draws the map.", False, "themes", None, needs, begin),
            Stage("Name and compare them", "By column, over time and on the map.", False, "map", None, "Needs themes."),
        ]
    )
