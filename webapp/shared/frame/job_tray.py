"""The jobs tray: a control of the header on every page with the running jobs and those that ended in this session.

Notices are overlays, so that they do not move the content of a page.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from themescope.core.records.stored import JobRecord, JobStatus
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds import shown_on
from themescope.jobs.services.pipeline import remaining_s
from themescope.webapp.shared import job_status, queries
from themescope.webapp.shared.job_status import FOLLOWED, elapsed
from themescope.webapp.shared.navigation import offered, page_link
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.text import ago, count, duration, plain, shorten, time_left

_POLL_S = 2.0
_LISTED, _ENDED, _FOLLOWED, _NEWEST = 6, 5, 20, 50
_TITLE_CHARS = 70
_TOLD, _TRAY = "jobs_told", "jobs_tray"
_SEEN = "jobs_seen"
"""Session key: states of the newest jobs of the page at the beginning of its last run."""


def tray(page: str) -> None:
    """Draw the tray; the page reruns when a job changes whose results it may show.

    That includes a job which this run of the page queues, and which ends before the tray looks for the first time.
    """
    st.session_state.pop(_SEEN, None)
    st.fragment(_live, run_every=_POLL_S)(tuple(sorted(shown_on(page))))


def _live(kinds: tuple[str, ...]) -> None:
    active, alive = queries.active_jobs(), queries.worker_alive()
    states = {job.id: job.status for job in [*queries.jobs(limit=_NEWEST), *active] if job.kind in kinds}
    seen: dict[int, JobStatus] = st.session_state.setdefault(_SEEN, states)
    if any(seen.get(id) is not status for id, status in states.items()) or any(
        id not in states for id, status in seen.items() if not status.ended
    ):
        st.rerun()
    latest = st.session_state.get(FOLLOWED, [])[-_FOLLOWED:]
    followed = [job for job in map(queries.job, latest) if job is not None]
    _tell(followed)
    running = [job for job in active if job.status is JobStatus.RUNNING]
    ended = [job for job in followed if job.status.ended][-_ENDED:]
    label, icon = "No jobs", ":material/task_alt:"
    if not alive:
        label, icon = "No worker", ":material/pause_circle:"
    elif running:
        label, icon = f"{count(len(active), 'job')} · {running[0].progress:.0%}", ":material/autorenew:"
    elif active:
        label, icon = f"{count(len(active), 'job')} queued", ":material/schedule:"
    with st.popover(label, key=_TRAY, type="tertiary", icon=icon):
        if not alive:
            job_status.no_worker(len(active) - len(running))
        history = queries.jobs(limit=200) if running else []
        for job in [*running, *(job for job in active if job not in running)][:_LISTED]:
            _job(job, history)
        if len(active) > _LISTED:
            st.caption(f"and {count(len(active) - _LISTED, 'more job')}")
        for job in reversed(ended):
            _ended(job)
        if not active and not ended:
            st.caption("No jobs are running.")
        if page_link("jobs", "All jobs", key=f"{_TRAY}-all"):
            st.rerun()


def _job(job: JobRecord, history: list[JobRecord]) -> None:
    with st.container(key=f"{_TRAY}-{job.id}", gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            st.markdown(plain(shorten(job.title, _TITLE_CHARS)), width="stretch")
            job_status.cancel_button(job, f"{_TRAY}-cancel-{job.id}")
        if job.started is None:
            st.caption(f"queued {ago(job.created)}")
            return
        left = remaining_s(job, history, datetime.now(UTC))
        about = [job_status.message(job), "" if left is None or job.cancel else time_left(left)]
        st.progress(min(max(job.progress, 0.0), 1.0), text=" · ".join(filter(None, about)) or None)


def _ended(job: JobRecord) -> None:
    """Draw a job of this session that has ended, with a link to its result."""
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        job_status.badge(job)
        st.markdown(plain(shorten(job.title, _TITLE_CHARS)), width="stretch")
        if job.status is JobStatus.DONE and result_link(job, f"open-{job.id}"):
            st.rerun()
    if job.status is JobStatus.FAILED:
        st.caption(plain(job.error))
    if renamed := job.result.get("renamed"):
        st.caption(plain(renamed))


def result_link(job: JobRecord, key: str) -> bool:
    """Draw the link to the result of a job, where a page shows it; returns whether it changed the open page."""
    link = KINDS.get(job.kind).link if job.kind in KINDS else None
    view = link.view_of({**job.args, **job.result}) if link else None
    if link is None or view is None or not offered(link.page):
        return False
    project = {CORPUS: str(job.args[CORPUS])} if CORPUS in job.args else {}
    return page_link(link.page, "Open result", view=project | view, key=key)


# ---------------------------------------------------------------- notices


def _tell(followed: list[JobRecord]) -> None:
    told: dict[int, JobStatus] = st.session_state.setdefault(_TOLD, {})
    news = [job for job in followed if told.get(job.id) is not _stage(job)]
    told |= {job.id: _stage(job) for job in news}
    for stage, show in _NOTICES.items():
        if found := [job for job in news if _stage(job) is stage]:
            show(found)


def _stage(job: JobRecord) -> JobStatus:
    """Return what was told last: that a job is queued, which includes running, or how it ended."""
    return job.status if job.status.ended else JobStatus.QUEUED


def _queued(found: list[JobRecord]) -> None:
    others = f" and {count(len(found) - 1, 'other job')}" if len(found) > 1 else ""
    st.toast(f"Queued: **{_title(found[0])}**{others}.", icon=":material/schedule:")


def _done(found: list[JobRecord]) -> None:
    more = f" ({count(len(found) - 1, 'other job')} done)" if len(found) > 1 else ""
    st.toast(f"**{_title(found[-1])}** finished in {duration(elapsed(found[-1]))}{more}.", icon=":material/check:")


def _failed(found: list[JobRecord]) -> None:
    for job in found:
        st.toast(f"**{_title(job)}** failed. {plain(job.error)}", icon=":material/error:", duration="long")


def _title(job: JobRecord) -> str:
    return plain(shorten(job.title, _TITLE_CHARS))


_NOTICES: dict[JobStatus, Callable[[list[JobRecord]], None]] = {
    JobStatus.QUEUED: _queued, JobStatus.DONE: _done, JobStatus.FAILED: _failed,
}  # fmt: skip
