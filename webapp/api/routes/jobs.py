"""Operations on background jobs, and the person of a token."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from themescope.core.client.records import Job, JobKind, Me, Page
from themescope.core.errors import DataError, UnknownNameError
from themescope.db.access import Right
from themescope.db.records import JobStatus
from themescope.jobs.common.results import code_version
from themescope.jobs.services.remote import jobs
from themescope.webapp.api.access import CallerNow
from themescope.webapp.api.parameters import MOST_ID, Body, Id, Limit, Offset
from themescope.webapp.api.problems import WRITING, responses

router = APIRouter(tags=["jobs"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)


class NewJob(Body):
    """A job to queue."""

    kind: str = Field(max_length=100, description="Id of the job kind.", examples=["find-themes"])
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="Settings of the kind.", examples=[{"corpus": "Claims", "model": "default"}]
    )
    after: Annotated[int, Field(ge=1, le=MOST_ID)] | None = Field(
        None, description="Id of a job that has to be done before this one starts."
    )


@router.get("/me", tags=["account"])
def get_me(caller: CallerNow) -> Me:
    """Return the person of the token with the role in force."""
    rights = [right.name.lower() for right in Right if caller.actor.may(right)]
    return Me(caller.actor.name, caller.actor.role.value, rights, code_version())


@router.get("/job-kinds")
def list_job_kinds(caller: CallerNow) -> list[JobKind]:
    """List the kinds of jobs with their settings."""
    return jobs.job_kinds()


@router.get("/job-kinds/{kind}", responses=_FOUND)
def get_job_kind(caller: CallerNow, kind: str) -> JobKind:
    """Return a kind of job with its settings."""
    return jobs.job_kind(kind)


@router.get("/jobs")
def list_jobs(caller: CallerNow, status: JobStatus | None = None, offset: Offset = 0, limit: Limit = 100) -> Page[Job]:
    """List the jobs (with one status), newest first."""
    return jobs.jobs(caller.store, status, offset, limit)


@router.post("/jobs", status_code=201, responses=responses(*WRITING))
def queue_job(caller: CallerNow, new: NewJob) -> Job:
    """Queue a job. Requires the admin role."""
    try:
        return jobs.queue(caller.store, caller.actor, new.kind, new.arguments, new.after)
    except UnknownNameError as error:
        raise DataError(str(error)) from None  # in the body, not in the path


@router.get("/jobs/{job_id}", responses=_FOUND)
def get_job(caller: CallerNow, job_id: Id) -> Job:
    """Return a job."""
    return jobs.job(caller.store, job_id)


@router.post("/jobs/{job_id}/cancel", responses=_CHANGED)
def cancel_job(caller: CallerNow, job_id: Id) -> Job:
    """Cancel a job: a queued one at once, a running one within seconds. Requires the admin role."""
    return jobs.cancel(caller.store, caller.actor, job_id)


@router.post("/jobs/{job_id}/retry", responses=_CHANGED)
def retry_job(caller: CallerNow, job_id: Id) -> Job:
    """Queue a failed or cancelled job again. Requires the admin role."""
    return jobs.retry(caller.store, caller.actor, job_id)
