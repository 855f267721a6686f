"""Is the machine working? In the sidebar of every page, and in full where work is asked for."""

from __future__ import annotations

import streamlit as st

from db.records import JobStatus
from webapp.shared import queries
from webapp.shared.text import ago, count, plain

_POLL_S = 2.0


def sidebar() -> None:
    """What runs at the moment, or that nobody works; up to date within seconds on every page."""
    with st.sidebar:
        st.space("small")
        _state()


@st.fragment(run_every=_POLL_S)
def _state() -> None:
    active = queries.active_jobs()
    running = [job for job in active if job.status is JobStatus.RUNNING]
    waiting = len(active) - len(running)
    if not queries.worker_alive():
        st.warning("**No worker is running.** The page Jobs says what to do.", icon=":material/pause_circle:")
        return
    for job in running[:2]:
        st.progress(min(max(job.progress, 0.0), 1.0), text=plain(job.title))
    if waiting:
        st.caption(f"{count(waiting, 'job')} waiting")
    if not active:
        st.caption(":green[●] Worker ready")


def no_worker(waiting: int = 0) -> None:
    """The banner: what is wrong, what it means, what to do."""
    held = f" {count(waiting, 'job')} will wait until one does." if waiting else ""
    st.warning(
        f"**No worker is running.** Pages work, but nothing is computed.{held}  \n"
        "Start everything with `python -m webapp`, or a worker alone with `themescope worker`.",
        icon=":material/pause_circle:",
    )


def workers() -> None:
    """Who works, since when; or the banner."""
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
