"""Jobs page: the queue, running jobs, and the jobs that have ended with their errors."""

import streamlit as st

from themescope.webapp.features.jobs import JOB
from themescope.webapp.shared import job_status as jobs
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import clickable, nothing
from themescope.webapp.shared.job_status import workers
from themescope.webapp.shared.people import polled
from themescope.webapp.shared.text import ago, duration

known = queries.job_states()


@polled(2.0)
def now() -> None:
    """Draw the worker and the active jobs; rerun the page when a job has started or ended."""
    if queries.job_states() != known:
        st.rerun()
    workers()
    jobs.active(queries.active_jobs(), "curve")


now()
ended = [job for job in queries.jobs(limit=500) if job.status.ended]
ended.sort(key=lambda job: job.ended or job.created, reverse=True)
if ended:
    st.subheader("Ended", anchor=False)
    columns = {
        "Job": [job.title for job in ended],
        "Status": [job.status.value for job in ended],
        "Ended": [ago(job.ended) for job in ended],
        "Took": [duration(jobs.elapsed(job)) if job.started else "" for job in ended],
    }
    if any(job.error for job in ended):
        columns["Error"] = [job.error for job in ended]
    widths = {"Job": st.column_config.TextColumn(width="large")}
    chosen = clickable(ended, JOB, lambda job: str(job.id), columns, widths)
    if st.session_state.get(JOB) == str(chosen.id):
        with st.container(border=True):
            jobs.ended(chosen)
elif not queries.active_jobs():
    nothing("No jobs yet.", "Imports, training, clustering and maps appear here.")
