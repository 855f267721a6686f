"""Status of workers and jobs in the sidebar and on the Jobs page."""

from __future__ import annotations

import streamlit as st

from db.records import JobStatus
from webapp.shared import queries
from webapp.shared.text import ago, count, plain

_POLL_S = 2.0


def sidebar() -> None:
    """Draw running jobs and worker status in the sidebar; refreshed every two seconds."""
    with st.sidebar:
        st.space("small")
        _state()


@st.fragment(run_every=_POLL_S)
def _state() -> None:
    active = queries.active_jobs()
    running = [job for job in active if job.status is JobStatus.RUNNING]
    waiting = len(active) - len(running)
    if not queries.worker_alive():
        st.warning("**No worker is running.** See the Jobs page.", icon=":material/pause_circle:")
        return
    for job in running[:2]:
        st.progress(min(max(job.progress, 0.0), 1.0), text=plain(job.title))
    if waiting:
        st.caption(f"{count(waiting, 'job')} queued")
    if not active:
        st.caption(":green[●] Worker ready")


def no_worker(waiting: int = 0) -> None:
    """Draw the warning that no worker is running."""
    held = f" {count(waiting, 'queued job')} will start once a worker is running." if waiting else ""
    st.warning(
        f"**No worker is running.** Pages work, but jobs do not run.{held}  \n"
        "Start the web server and a worker with `python -m webapp`, or only a worker with `themescope worker`.",
        icon=":material/pause_circle:",
    )


def workers() -> None:
    """Draw the running workers, or the warning that there is none."""
    alive = queries.workers()
    if not alive:
        no_worker(sum(job.status is JobStatus.QUEUED for job in queries.active_jobs()))
        return
    for worker in alive:
        host, _, rest = worker.owner.partition(":")
        st.caption(
            f":green[●] Worker on {plain(host)}, process {plain(rest.partition(':')[0])}, queue "
            f"“{plain(worker.queue)}”, started {ago(worker.started)}"
        )
