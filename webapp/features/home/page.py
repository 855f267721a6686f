"""Home: starting points, results and recent activity."""

import streamlit as st

from webapp.features.home import overview
from webapp.shared import queries
from webapp.shared.choose import title
from webapp.shared.status import no_worker

_POLL_S = 2.0

title("Themescope", "Find sentences that share a theme: train on sections, cluster, compare, explore.")
known = queries.fingerprint()


@st.fragment(run_every=_POLL_S)
def active_jobs() -> None:
    """Draw running jobs; rerun the page when corpora, models, runs or maps have changed."""
    if queries.fingerprint() != known:
        st.rerun()
    active = queries.active_jobs()
    if not queries.worker_alive():
        no_worker(len(active))
    if active:
        with st.container(border=True):
            st.markdown(f"**Running and queued jobs: {len(active)}**")
            overview.running(active)


active_jobs()
corpora, models, benchmarks = queries.corpora(), queries.models(), queries.benchmarks()
jobs = queries.jobs()
overview.starting_points(corpora, [job for job in jobs if not job.status.ended])
overview.totals(corpora, models, benchmarks)
left, right = st.columns([5, 6], gap="medium")  # names of methods and titles of jobs need the room
with left:
    overview.results(benchmarks)
    overview.corpora(corpora)
with right:
    overview.models(models)
    overview.recent_activity([job for job in jobs if job.status.ended])
