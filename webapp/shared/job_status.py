"""Queueing of jobs; their progress and results on pages; workers."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import streamlit as st

from themescope.core.records.answers import MetricPoint
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.jobs.kinds import shown_on
from themescope.jobs.queue import control as commands
from themescope.webapp.shared import forms, queries
from themescope.webapp.shared.components import attempt, toast_error
from themescope.webapp.shared.figures import curve_figure, tones
from themescope.webapp.shared.people import polled
from themescope.webapp.shared.text import ago, count, duration, plain, words

_LIVE_POLL_S, _AGAIN_S = 1.5, 3.0
_LISTED, _BESIDE, _CANCELLED = 20, 2, 3
"""Numbers of queued jobs on the page Jobs and on others, and of cancelled ones."""
_DISMISSED = "jobs_dismissed"
_BADGES = {
    JobStatus.QUEUED: ("queued", "gray", ":material/schedule:"),
    JobStatus.RUNNING: ("running", "blue", ":material/autorenew:"),
    JobStatus.DONE: ("done", "green", ":material/check:"),
    JobStatus.FAILED: ("failed", "red", ":material/error:"),
    JobStatus.CANCELLED: ("cancelled", "orange", ":material/cancel:"),
}
FOLLOWED = "followed_jobs"
"""Session key: ids of the jobs queued in this session whose outcome has not been dismissed."""
_INTERRUPTED = ("interrupted", "orange", ":material/pause_circle:")


def submit(
    kind: str,
    args: Mapping[str, Any],
    title: str = "",
    then: Callable[[int], Sequence[JobRecord]] | None = None,
    after: int | None = None,
) -> JobRecord | None:
    """Queue a job, and with ``then`` what follows the job of that id; without a title its arguments name it.

    A job of the same title and arguments that was queued seconds ago is the same click: a run of a page that is
    interrupted after it has queued something is repeated.
    """
    wanted = json.loads(json.dumps(dict(args), default=str))

    def queue() -> Sequence[JobRecord]:
        since = datetime.now(UTC) - timedelta(seconds=_AGAIN_S)
        known = [one for one in queries.active_jobs((kind,)) if (one.title, one.after) == (title, after)]
        same = [one for one in known if all(one.args.get(name) == value for name, value in wanted.items())]
        if again := [one for one in same if one.created > since]:
            return again[-1:]
        job = commands.enqueue(queries.store(), kind, args, title=title, after=after)
        return [job, *(then(job.id) if then else ())]

    return next(iter(follow(queue)), None)


def follow(queue: Callable[[], Sequence[JobRecord]]) -> Sequence[JobRecord]:
    """Call ``queue`` and follow its jobs in this session; none, with the reason on the page, if it queues nothing."""
    jobs = attempt(queue) or ()
    st.session_state.setdefault(FOLLOWED, []).extend(job.id for job in jobs)
    return jobs


def badge(job: JobRecord) -> None:
    """Draw the status as a coloured badge with an icon."""
    name, colour, icon = _INTERRUPTED if commands.abandoned(job) else _BADGES[job.status]
    st.badge(name, icon=icon, color=colour)  # type: ignore[arg-type]


def live(page: str) -> None:
    """Draw the active jobs whose kinds name this page, with their curves; the tray reruns the page when one ends."""
    kinds = tuple(sorted(shown_on(page)))
    if queries.active_jobs(kinds):
        polled(_LIVE_POLL_S)(_live)(kinds)


def _live(kinds: tuple[str, ...]) -> None:
    active(queries.active_jobs(kinds), "live", _BESIDE)


def progress(job: JobRecord) -> None:
    """Draw title, progress, message and a button to cancel; a queued job has no progress bar."""
    if commands.abandoned(job):
        since = ago(job.heartbeat)
    else:
        since = f"for {duration(elapsed(job))}" if job.started else f"queued {ago(job.created)}"
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        badge(job)
        st.markdown(f"**{plain(job.title)}**" if job.started else plain(job.title), width="stretch")
        st.caption(since, width="content")
        cancel_button(job, f"cancel-{job.id}")
    if job.started:
        st.progress(min(max(job.progress, 0.0), 1.0), text=message(job) or None)


def message(job: JobRecord) -> str:
    """Return what a running job does now."""
    if commands.abandoned(job):
        return "The worker stopped. The next worker resumes the job, or you can cancel it."
    return "Cancelling …" if job.cancel else plain(job.message)


def active(jobs: Sequence[JobRecord], key: str, listed: int = _LISTED) -> None:
    """Draw the running jobs with their curves, and the queued ones below."""
    for job in jobs:
        if job.status is JobStatus.RUNNING:
            with st.container(border=True):
                progress(job)
                curves(job.id, key=f"{key}-{job.id}")
    waiting = [job for job in jobs if job.status is JobStatus.QUEUED]
    if waiting:
        with st.container(border=True, gap="xxsmall"):
            for job in waiting[:listed]:
                progress(job)
            if waiting[listed:]:
                st.caption(f"and {len(waiting) - listed:,} more queued; see the Jobs page")


def cancel_button(job: JobRecord, key: str) -> None:
    """Draw the button that cancels a job."""
    st.button(
        "Cancel",
        key=key,
        icon=":material/stop_circle:",
        type="tertiary",
        disabled=job.cancel and not commands.abandoned(job),
        on_click=lambda: toast_error(lambda: commands.cancel(queries.store(), job.id)),
    )


def elapsed(job: JobRecord) -> float:
    """Return the seconds that a job has run."""
    if job.started is None:
        return 0.0
    return max(0.0, ((job.ended or datetime.now(UTC)) - job.started).total_seconds())


def curves(job_id: int, key: str) -> None:
    """Draw the curves of a job: losses and accuracies first, the others in an expander."""
    by_name: dict[str, list[MetricPoint]] = defaultdict(list)
    for point in queries.read(lambda r: r.jobs.metrics(job_id)):
        by_name[point.name].append(point)
    first = sorted(name for name in by_name if any(word in name for word in ("accuracy", "loss")))
    _curve_rows(by_name, sorted(first, key=lambda name: "accuracy" not in name) or sorted(by_name), key)
    rest = sorted(set(by_name) - set(first)) if first else []
    if rest:
        more = st.expander(
            f"More curves ({len(rest)})", icon=":material/monitoring:", key=f"{key}-more", on_change="rerun"
        )
        if more.open:
            with more:
                _curve_rows(by_name, rest, key)


def _curve_rows(by_name: Mapping[str, Sequence[MetricPoint]], names: Sequence[str], key: str) -> None:
    shades = tones(st.context.theme.type)
    for start in range(0, len(names), 3):
        for column, name in zip(st.columns(3), names[start : start + 3], strict=False):
            figure = curve_figure(words(name), by_name[name], shades)
            column.plotly_chart(figure, key=f"{key}-{name}", config={"displayModeBar": False})


def cancelled(page: str) -> None:
    """Draw the jobs that were cancelled last and whose kinds name this page, with a button that resumes each."""
    kinds, hidden = shown_on(page), st.session_state.setdefault(_DISMISSED, [])
    found = queries.read(lambda r: r.jobs.list(limit=500, status=(JobStatus.CANCELLED,)))
    for job in [job for job in found if job.kind in kinds and job.id not in hidden][:_CANCELLED]:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"cancelled-{job.id}"):
            badge(job)
            st.markdown(f"**{plain(job.title)}** :gray[· {job.progress:.0%} done · {ago(job.ended)}]", width="stretch")
            retry_button(job)
            st.button(
                "Dismiss",
                key=f"dismiss-{job.id}",
                icon=":material/close:",
                type="tertiary",
                on_click=hidden.append,
                args=(job.id,),
            )


def ended(job: JobRecord) -> None:
    """Draw what an ended job did: its error, curves, arguments and result."""
    with st.container(horizontal=True, vertical_alignment="center"):
        badge(job)
        attempts = f", attempt {job.attempt}" if job.attempt > 1 else ""
        st.markdown(f"**{plain(job.title)}** :gray[· {plain(words(job.kind)).lower()}{attempts}]", width="stretch")
        if job.status is not JobStatus.DONE:
            retry_button(job)
    if job.status is JobStatus.FAILED:
        st.error(plain(job.error), icon=":material/error:")
    if job.traceback:
        with st.popover("Technical details", icon=":material/bug_report:", type="tertiary"):
            st.code(job.traceback, language=None)
    curves(job.id, key=f"ended-{job.id}")
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption("Arguments")
        forms.facts_table(job.args)
    with right:
        st.caption("Result")
        forms.facts_table(job.result, ("Name", "Value"))


def retry_button(job: JobRecord) -> None:
    """Draw the button that queues an ended job again: it resumes what was cancelled from its last checkpoint."""
    resumed = job.status is JobStatus.CANCELLED
    st.button(
        "Resume" if resumed else "Try again",
        icon=":material/resume:" if resumed else ":material/replay:",
        key=f"retry-{job.id}",
        on_click=lambda: toast_error(lambda: commands.retry(queries.store(), job.id)),
    )


def no_worker(waiting: int = 0) -> None:
    """Draw the warning that no worker is running."""
    held = f" {count(waiting, 'queued job')} will start once a worker is running." if waiting else ""
    st.warning(
        f"**No worker is running.** Pages work, but jobs do not run.{held}  \n"
        "Start the web server and a worker with `python -m themescope`, or only a worker with `themescope worker`.",
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
        about = f"Process {plain(rest.partition(':')[0])}, queue “{plain(worker.queue)}”."
        st.caption(f":green[●] Worker on {plain(host)}, started {ago(worker.started)}", help=about)
