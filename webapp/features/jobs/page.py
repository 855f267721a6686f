"""Jobs page: the queue, running jobs, and the jobs that have ended with their errors."""

from datetime import UTC, datetime

import streamlit as st

from themescope.core.records.stored import JobStatus
from themescope.db.access import Right
from themescope.jobs.services.installation.backups import backup_state
from themescope.webapp.features.jobs import PAGE, SEARCH, STATUS
from themescope.webapp.shared import job_status as jobs
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.job_status import workers
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import count, plain

_POLL_S = 2.0
_SHOWN = 25

known = queries.job_states()


@st.fragment(run_every=_POLL_S)
def now() -> None:
    """Draw the worker and the active jobs; rerun the page when a job has started or ended."""
    if queries.job_states() != known:
        st.rerun()
    workers()
    jobs.active(queries.active_jobs(), "curve")


def backups() -> None:
    """Draw the last regular backup and what is wrong."""
    state = backup_state(queries.store())
    late = state.overdue(datetime.now(UTC))
    if state.regular or state.newest is not None:
        st.caption(f":material/backup: Last backup: {plain(state.summary)}{' (overdue)' * late}")
    if state.problem:
        st.warning(f"Backup: {plain(state.problem)}", icon=":material/warning:")


now()
if may(Right.MANAGE):
    backups()
everything = queries.jobs(limit=500)
if not everything:
    nothing("No jobs yet.", "Imports, training, clustering and maps appear here.")
ended = sorted((j for j in everything if j.status.ended), key=lambda j: j.ended or j.created, reverse=True)
if ended:
    st.subheader("Ended", anchor=False)
    states = ["all", *(s.value for s in (JobStatus.DONE, JobStatus.FAILED, JobStatus.CANCELLED))]
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    state = left.segmented_control(
        "Show", states, default="all", required=True, key=STATUS, bind="query-params", label_visibility="collapsed"
    )
    search = right.text_input(
        "Find a job",
        key=SEARCH,
        bind="query-params",
        placeholder="text in the title or error",
        icon=":material/search:",
        label_visibility="collapsed",
    )
    wanted = search.strip().casefold()
    listed = [
        job for job in ended if state in ("all", job.status.value) and wanted in f"{job.title} {job.error}".casefold()
    ]
    pages = max(1, -(-len(listed) // _SHOWN))
    if st.session_state.get(PAGE, 1) > pages:
        st.session_state.pop(PAGE)
    lines = st.container(gap="xsmall")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        page = (
            st.number_input(f"Page (of {pages})", 1, pages, 1, key=PAGE, bind="query-params", width=140)
            if pages > 1
            else 1
        )
        st.caption(count(len(listed), "job") if listed else "No job matches.")
    with lines:
        for job in listed[(page - 1) * _SHOWN : page * _SHOWN]:
            jobs.ended(job)
