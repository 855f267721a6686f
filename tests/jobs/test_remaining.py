"""Remaining time of a job: its own rate, else the time of jobs like it, else nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from themescope.core.records.stored import JobRecord, JobStatus
from themescope.jobs.services.pipeline import remaining_s

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING = JobRecord(
    id=1, kind="train", title="", args={"method": "a"}, status=JobStatus.RUNNING, queue="", progress=0.0, message="",
    attempt=1, owner="", after=None, cancel=False, created=NOW, started=NOW - timedelta(seconds=60),
    heartbeat=NOW, ended=None, error="", traceback="", result={},
)  # fmt: skip


def ended(seconds: float, **changes: object) -> JobRecord:
    done = {"status": JobStatus.DONE, "started": NOW, "ended": NOW + timedelta(seconds=seconds), **changes}
    return replace(RUNNING, **done)


def test_the_rate_of_the_job_counts_first() -> None:
    assert remaining_s(replace(RUNNING, progress=0.25), [ended(70)], NOW) == 180


def test_before_that_the_median_of_jobs_like_it() -> None:
    known = [ended(100), ended(90), ended(400), ended(1, args={"method": "b"}), ended(1, kind="embed")]
    assert remaining_s(RUNNING, known, NOW) == 40
    assert remaining_s(replace(RUNNING, progress=0.5, attempt=2), known, NOW) == 40


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert remaining_s(RUNNING, [], NOW) is None
    assert remaining_s(RUNNING, [ended(30), ended(400, status=JobStatus.FAILED)], NOW) is None
    assert remaining_s(replace(RUNNING, status=JobStatus.QUEUED), [ended(90)], NOW) is None


@given(st.floats(0, 1), st.floats(0, 1e6))
def test_an_estimate_is_never_negative(progress: float, seconds: float) -> None:
    job = replace(RUNNING, progress=progress, started=NOW - timedelta(seconds=seconds))
    found = remaining_s(job, [], NOW)
    assert found is None or found >= 0
