"""Background jobs: their kinds, their state, and queueing, cancelling and retrying them."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

from themescope.core.client.records import Job, JobKind, Page, Setting
from themescope.core.config import default_of, options
from themescope.db.access import Actor, Right
from themescope.db.records import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.kinds import REGISTRY, JobCard
from themescope.jobs.queue import control
from themescope.jobs.services.remote import acting

_TYPES: Mapping[Any, str] = {
    bool: "true or false", int: "integer", float: "number", str: "text", tuple: "list", Mapping: "object",
    types.NoneType: "null",
}  # fmt: skip


def job_kinds() -> list[JobKind]:
    """Return the kinds of jobs with their settings."""
    return [_kind(card) for card in REGISTRY]


def job_kind(id: str) -> JobKind:
    """Return a kind of job with its settings."""
    return _kind(REGISTRY.get(id))


def jobs(store: Store, status: JobStatus | None = None, offset: int = 0, limit: int = 100) -> Page[Job]:
    """Return the jobs (with a status), newest first."""
    with store.reading() as r:
        counts = r.jobs.counts()
        total = sum(counts.values()) if status is None else counts[status]
        found = r.jobs.list(min(offset + limit, total), status)
    return Page([_job(record) for record in found[offset:]], total, offset)


def job(store: Store, job_id: int) -> Job:
    """Return a job."""
    with store.reading() as r:
        return _job(r.jobs.get(job_id))


def queue(store: Store, actor: Actor, kind: str, arguments: Mapping[str, Any], after: int | None = None) -> Job:
    """Queue a job; with ``after``, it starts when that job is done.

    Raises ``ConfigError`` or ``UnknownNameError`` if kind or arguments are invalid.
    """
    actor.require(Right.MANAGE)
    return _job(control.enqueue(acting(store, actor), kind, arguments, after=after))


def cancel(store: Store, actor: Actor, job_id: int) -> Job:
    """Cancel a job: a queued one at once, a running one within seconds. An ended one is unchanged."""
    actor.require(Right.MANAGE)
    return _job(control.cancel(acting(store, actor), job_id))


def retry(store: Store, actor: Actor, job_id: int) -> Job:
    """Queue a failed or cancelled job again, with the jobs that failed because of it."""
    actor.require(Right.MANAGE)
    return _job(control.retry(acting(store, actor), job_id))


def _job(job: JobRecord) -> Job:
    state = job.status.value, job.progress, job.message
    times = job.created, job.started, job.ended
    return Job(job.id, job.kind, job.title, *state, dict(job.args), job.after, *times, job.error, dict(job.result))


def _kind(card: JobCard) -> JobKind:
    settings = []
    for name, (field, hint, info) in options(card.config_class()).items():
        choices = None if info.choices is None else list(info.choices)
        about = _type_of(hint), default_of(field), info.help
        settings.append(Setting(name, *about, choices, info.low, info.high))
    return JobKind(card.id, card.title, card.summary, settings)


def _type_of(hint: Any) -> str:
    """Return the types of a setting in words: ``int | None`` → "integer or null"."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return " or ".join(_type_of(part) for part in typing.get_args(hint))
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(repr(value) for value in typing.get_args(hint))
    return _TYPES.get(typing.get_origin(hint) or hint, "object")
