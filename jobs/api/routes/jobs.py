"""Operations on background jobs, and the person of a token."""

from __future__ import annotations

import time
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Query
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from themescope.core.config import default_of, options
from themescope.core.records.answers import JobKind, JobSetting, Me, Page
from themescope.core.records.stored import JobStatus, JobSummary
from themescope.db.access import Right
from themescope.jobs.api.problems import WRITING, Body, BodyId, Caller, CallerNow, Id, Limit, Offset, responses
from themescope.jobs.common.articles import code_version
from themescope.jobs.kinds import REGISTRY, JobCard
from themescope.jobs.queue import control

MOST_WAIT_S = 30
_POLL_S = 0.5
Wait = Annotated[float, Query(ge=0, le=MOST_WAIT_S, description="Seconds to wait for the end of the job.")]
router = APIRouter(tags=["jobs"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)

_TYPES: Mapping[Any, str] = {
    bool: "true or false",
    int: "integer",
    float: "number",
    str: "text",
    tuple: "list",
    Mapping: "object",
    types.NoneType: "null",
}


class NewJob(Body):
    """A job to queue."""

    kind: str = Field(max_length=100, description="Id of the job kind.", examples=["find-themes"])
    args: dict[str, Any] = Field(
        default_factory=dict, description="Settings of the kind.", examples=[{"corpus": "Claims", "model": "default"}]
    )
    after: BodyId | None = Field(None, description="Id of a job that has to be done before this one starts.")


@router.get("/me", tags=["account"])
def get_me(caller: CallerNow) -> Me:
    """Return the person of the token with the role in force."""
    rights = [right.name.lower() for right in Right if caller.actor.may(right)]
    return Me(name=caller.actor.name, role=caller.actor.role.value, rights=rights, version=code_version())


@router.get("/job-kinds")
def list_job_kinds(caller: CallerNow) -> list[JobKind]:
    """List the kinds of jobs with their settings."""
    return [_kind(card) for card in REGISTRY]


@router.get("/jobs")
def list_jobs(
    caller: CallerNow, status: JobStatus | None = None, offset: Offset = 0, limit: Limit = 100
) -> Page[JobSummary]:
    """List the jobs (with one status), newest first."""
    with caller.store.reading() as r:
        counts = r.jobs.counts()
        total = sum(counts.values()) if status is None else counts[status]
        found = r.jobs.list(min(offset + limit, total), status)
    return Page([_shown(caller, job) for job in found[offset:]], total, offset)


@router.post("/jobs", status_code=201, responses=_CHANGED)
def queue_job(caller: CallerNow, new: NewJob) -> JobSummary:
    """Queue a job. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    return control.enqueue(caller.store, new.kind, new.args, after=new.after)


@router.get("/jobs/{job_id}", responses=_FOUND)
async def get_job(caller: CallerNow, job_id: Id, wait: Wait = 0) -> JobSummary:
    """Return a job; with ``wait``, when it has ended or these seconds have passed."""

    def read() -> JobSummary:
        with caller.store.reading() as r:
            return _shown(caller, r.jobs.get(job_id))

    until = time.monotonic() + wait
    while True:
        job = await run_in_threadpool(read)
        if job.status.ended or time.monotonic() >= until:
            return job
        await anyio.sleep(min(_POLL_S, max(until - time.monotonic(), 0)))


@router.delete("/jobs/{job_id}", status_code=204, responses=_CHANGED)
def delete_job(caller: CallerNow, job_id: Id) -> None:
    """Delete an ended job; what it made stays. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    control.forget(caller.store, job_id)


@router.post("/jobs/{job_id}/cancel", responses=_CHANGED)
def cancel_job(caller: CallerNow, job_id: Id) -> JobSummary:
    """Cancel a job: a queued one at once, a running one within seconds. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    return control.cancel(caller.store, job_id)


@router.post("/jobs/{job_id}/retry", responses=_CHANGED)
def retry_job(caller: CallerNow, job_id: Id) -> JobSummary:
    """Queue a failed or cancelled job again. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    return control.retry(caller.store, job_id)


def _shown(caller: Caller, job: JobSummary) -> JobSummary:
    return job if caller.actor.may(Right.MANAGE) else control.without_paths(job)


def _kind(card: JobCard) -> JobKind:
    settings = []
    for name, (field, hint, info) in options(card.config_class()).items():
        choices = None if info.choices is None else [*info.choices]
        settings.append(
            JobSetting(name, _type_of(hint), default_of(field), info.help, choices, minimum=info.low, maximum=info.high)
        )
    return JobKind(id=card.id, title=card.title, summary=card.summary, settings=settings)


def _type_of(hint: Any) -> str:
    """Return the types of a setting in words: ``int | None`` → "integer or null"."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return " or ".join(_type_of(part) for part in typing.get_args(hint))
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(repr(value) for value in typing.get_args(hint))
    return _TYPES.get(typing.get_origin(hint) or hint, "object")
