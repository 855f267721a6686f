"""Home: what is there, and three ways in."""

import streamlit as st

from webapp.features.home import board
from webapp.shared import queries
from webapp.shared.choose import title
from webapp.shared.status import no_worker

_POLL_S = 2.0

title(
    "Themescope", "Which sentences belong to the same theme? Learn it from sections, cluster by it, compare, and look."
)
known = queries.fingerprint()


@st.fragment(run_every=_POLL_S)
def now() -> None:
    """Work in progress; the whole page is drawn anew when something has been finished."""
    if queries.fingerprint() != known:
        st.rerun()
    active = queries.active_jobs()
    if not queries.worker_alive():
        no_worker(len(active))
    if active:
        with st.container(border=True):
            st.markdown(f"**Being built: {len(active)} to go**" if len(active) > 1 else "**Being built**")
            board.running(active)


now()
corpora, models, benchmarks = queries.corpora(), queries.models(), queries.benchmarks()
jobs = queries.jobs()
board.doors(corpora, [job for job in jobs if not job.status.ended])
board.totals(corpora, models, benchmarks)
left, right = st.columns([5, 6], gap="medium")  # names of methods and titles of jobs need the room
with left:
    board.results(benchmarks)
    board.corpora(corpora)
with right:
    board.models(models)
    board.lately([job for job in jobs if job.status.ended])
