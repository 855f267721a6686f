"""Background jobs and workers. The table is the queue: workers claim its rows.

States: ``queued`` → :meth:`Jobs.claim` → ``running`` → :meth:`Jobs.finish` → ``done``, ``failed`` or ``cancelled``.
The column ``owner`` names the worker of a running job. Every write of a worker is conditional on it; a worker that was
considered dead and lost its job learns so at its next heartbeat and writes nothing more.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from themescope.core.errors import StoreError
from themescope.core.records.answers import MetricPoint
from themescope.core.records.stored import JobRecord, JobStatus, Json
from themescope.db import tables as t
from themescope.db.records import WorkerRecord
from themescope.db.sql import RecordRepository, Repository, now

_QUEUED, _RUNNING = JobStatus.QUEUED.value, JobStatus.RUNNING.value
JOBS_KEPT = timedelta(days=400)
"""Time after which a job that has ended is deleted, with its arguments, result and curves."""
_FORGET_WORKER_AFTER = timedelta(days=1)


class HeartbeatReply(NamedTuple):
    """Reply to a heartbeat."""

    owned: bool
    """False: another worker owns the row; stop without writing."""
    cancel: bool
    """True: cancellation was requested."""


class Jobs(RecordRepository[JobRecord]):
    """Repository of jobs and their metrics."""

    table, record = t.job, JobRecord

    def add(self, kind: str, title: str, args: Json, queue: str = "default", after: int | None = None) -> JobRecord:
        """Add a queued job; ``after`` is the id of a job that must be done before it may start."""
        if after is not None:
            self.get(after)
        time = now()
        values = {"kind": kind, "title": title, "args": args, "queue": queue, "after": after}
        blank = {"message": "", "owner": "", "error": "", "traceback": "", "result": {}}
        start = {"status": _QUEUED, "progress": 0.0, "attempt": 0, "cancel": False, "created": time, "queued": time}
        return self.get(self._insert(t.job, **values, **blank, **start))

    def list(
        self, limit: int | None = 100, status: JobStatus | Iterable[JobStatus] | None = None, kind: str | None = None
    ) -> list[JobRecord]:
        """Return jobs, newest first, filtered by one or several values of ``status``, and by their kind."""
        query = self._select().order_by(t.job.c.id.desc()).limit(limit)
        if kind is not None:
            query = query.where(t.job.c.kind == kind)
        if status is not None:
            wanted = [status] if isinstance(status, str) else status
            query = query.where(t.job.c.status.in_([JobStatus(s).value for s in wanted]))
        return self._records(query)

    def newest(self, kind: str, status: JobStatus | None = None) -> JobRecord | None:
        """Return the newest job of a kind (with a status), or None."""
        query = self._select().where(t.job.c.kind == kind).order_by(t.job.c.id.desc()).limit(1)
        return next(iter(self._records(query if status is None else query.where(t.job.c.status == status.value))), None)

    def counts(self) -> dict[JobStatus, int]:
        """Return the number of jobs in each status."""
        rows = self.connection.execute(sa.select(t.job.c.status, sa.func.count()).group_by(t.job.c.status))
        found = {status: int(n) for status, n in rows}
        return {status: found.get(status.value, 0) for status in JobStatus}

    # --- for workers ------------------------------------------------------------------------------------------------

    def claim_next(
        self,
        owner: str,
        silent: Mapping[int, datetime] | None = None,
        *,
        queue: str = "default",
        leave: Collection[int] = (),
    ) -> JobRecord | None:
        """Take the job that was queued first, or that is running and still has the heartbeat in ``silent``.

        ``silent`` and the answers are those of :meth:`claim`. Jobs with an id in ``leave`` are not taken. On PostgreSQL
        a row that another worker is taking is left out; SQLite has one writer at a time.
        """
        silent, left = silent or {}, {*leave}
        while True:
            query = _claimable(silent, queue, left).order_by(t.job.c.queued, t.job.c.id)
            id = self.connection.scalar(query.with_for_update(skip_locked=True, of=t.job))
            if id is None:
                return None
            if (job := self.claim(id, owner, silent.get(id))) is not None:
                return job
            left.add(id)  # it ended here, or another worker took it

    def has_claimable(self, silent: Mapping[int, datetime], queue: str, leave: Collection[int]) -> bool:
        """Return whether :meth:`claim_next` with the same arguments would find a job."""
        return self.connection.scalar(_claimable(silent, queue, leave)) is not None

    def claim(self, id: int, owner: str, silent: datetime | None = None) -> JobRecord | None:
        """Take a job that is queued, or that is running and whose heartbeat is still ``silent``.

        That is a heartbeat which the caller has seen unchanged for so long that the owner must be dead. Clocks are not
        compared, because those of several machines differ.

        Returns None if another worker runs it, it has ended or was deleted, it was cancelled meanwhile (it then ends
        here), or it must wait for ``after``. If that earlier job failed or was cancelled, this one fails.
        """
        row = self._row(self._select().where(t.job.c.id == id))
        if row is None or JobStatus(row.status).ended:
            return None
        free = sa.and_(t.job.c.id == id, sa.or_(t.job.c.status == _QUEUED, _running_at(silent)))
        if row.cancel:
            self._end(free, JobStatus.CANCELLED, "Cancelled.")
            return None
        earlier = None if row.after is None else self.get(row.after)
        if earlier is not None and earlier.status is not JobStatus.DONE:
            if earlier.status.ended:
                self._fail_dependents(earlier)
            return None
        time = now()
        values = {"status": _RUNNING, "owner": owner, "heartbeat": time, "attempt": t.job.c.attempt + 1, "ended": None}
        started = sa.func.coalesce(t.job.c.started, sa.literal(time, t.job.c.started.type))
        taken = self.connection.execute(t.job.update().where(free).values(**values, started=started)).rowcount
        return self.get(id) if taken else None

    def heartbeat(
        self, id: int, owner: str, progress: float | None = None, message: str | None = None
    ) -> HeartbeatReply:
        """Record a heartbeat and the progress (0…1)."""
        values: dict[str, Any] = {"heartbeat": now()}
        if progress is not None:
            values["progress"] = min(max(float(progress), 0.0), 1.0)
        if message is not None:
            values["message"] = message
        if not self.connection.execute(t.job.update().where(_owned(id, owner)).values(values)).rowcount:
            return HeartbeatReply(owned=False, cancel=False)
        return HeartbeatReply(owned=True, cancel=self.get(id).cancel)

    def note(self, id: int, **notes: Any) -> None:
        """Store notes for later attempts in the job's result until it ends."""
        result = {**self.get(id).result, **notes}
        self.connection.execute(t.job.update().where(t.job.c.id == id).values(result=result))

    def finish(
        self,
        id: int,
        owner: str,
        status: JobStatus,
        *,
        result: Json | None = None,
        error: str = "",
        traceback: str = "",
    ) -> bool:
        """End a job of ``owner``; return False if another worker owns it now.

        The jobs that wait for it fail at once if it is not done. A repeated call changes nothing and returns True: the
        connection may have been lost after the first one was committed.
        """
        if not status.ended:
            raise ValueError(f"A job cannot finish as {status.value!r}.")
        values: dict[str, Any] = {"result": result or {}, "traceback": traceback}
        if status is JobStatus.DONE:
            values["progress"] = 1.0
        if self._end(_owned(id, owner), status, error, **values):
            return True
        same = t.job.c.id == id, t.job.c.owner == owner, t.job.c.status == status.value
        return self._row(sa.select(t.job.c.id).where(*same)) is not None

    def requeue(self, id: int, owner: str | None = None, *, interrupted: bool = False) -> bool:
        """Put a running job back into the queue; with ``owner``, only if that worker owns it.

        ``interrupted`` means that the worker was stopped, which does not count as an attempt.
        """
        where = _owned(id, owner) if owner is not None else sa.and_(t.job.c.id == id, t.job.c.status == _RUNNING)
        values: dict[str, Any] = {"status": _QUEUED, "owner": "", "heartbeat": None, "queued": now()}
        if interrupted:
            values["attempt"] = sa.case((t.job.c.attempt > 0, t.job.c.attempt - 1), else_=0)
        return self.connection.execute(t.job.update().where(where).values(values)).rowcount > 0

    def add_metrics(self, id: int, points: Iterable[MetricPoint]) -> None:
        """Add points to the job's curves; a step that is repeated after a resume replaces the old point."""
        unique = {(p.name, float(p.step)): float(p.value) for p in points}
        if not unique:
            return
        c = t.job_metric.c
        old = t.job_metric.delete().where(c.job_id == id)
        old = old.where(c.name == sa.bindparam("at_name"), c.step == sa.bindparam("at_step"))
        self.connection.execute(old, [{"at_name": name, "at_step": step} for name, step in unique])
        rows = [{"job_id": id, "name": name, "step": step, "value": value} for (name, step), value in unique.items()]
        self.connection.execute(t.job_metric.insert(), rows)

    def metrics(self, id: int) -> builtins.list[MetricPoint]:
        """Return the metrics of a job, by name and step."""
        c = t.job_metric.c
        query = sa.select(c.name, c.step, c.value).where(c.job_id == id).order_by(c.name, c.step)
        return [MetricPoint(*row) for row in self.connection.execute(query)]

    # --- for pages and the command line -----------------------------------------------------------------------------

    def request_cancel(self, id: int, stale_s: float) -> JobRecord:
        """Request that a job stops. A running one is cancelled at its next heartbeat, an ended one is unchanged.

        One that is queued, or whose owner has sent no heartbeat for ``stale_s`` seconds by the clock of this machine,
        is cancelled at once. If that clock is wrong, a living owner learns of it at its next heartbeat; a job whose
        owner is dead ends when a worker finds it abandoned.
        """
        self.get(id)
        silent = sa.and_(t.job.c.status == _RUNNING, t.job.c.heartbeat < now() - timedelta(seconds=stale_s))
        free = sa.and_(t.job.c.id == id, sa.or_(t.job.c.status == _QUEUED, silent))
        self._end(free, JobStatus.CANCELLED, "Cancelled.")
        running = sa.and_(t.job.c.id == id, t.job.c.status == _RUNNING)
        self.connection.execute(t.job.update().where(running).values(cancel=True))
        return self.get(id)

    def retry(self, id: int) -> JobRecord:
        """Queue a failed or cancelled job again, with the jobs that failed only because of it."""
        job = self.get(id)
        if job.status not in (JobStatus.FAILED, JobStatus.CANCELLED):
            raise StoreError(f"Job {id} is {job.status.value}; only a failed or cancelled job can be retried.")
        self._reset([id])
        waiting = [id]
        while waiting:
            never_ran = t.job.c.after.in_(waiting), t.job.c.status == JobStatus.FAILED.value, t.job.c.attempt == 0
            waiting = [*self.connection.execute(sa.select(t.job.c.id).where(*never_ran)).scalars()]
            self._reset(waiting)
        return self.get(id)

    def delete(self, id: int) -> None:
        """Delete an ended job."""
        job = self.get(id)
        if not job.status.ended:
            raise StoreError(f"Job {id} is {job.status.value}. Cancel it before you delete it.")
        if job.status is not JobStatus.DONE:
            self._fail_dependents(job)
        self._delete(t.job, id)

    def remove_old(self, most: int = 1_000) -> builtins.list[int]:
        """Delete up to ``most`` jobs that ended more than :data:`JOBS_KEPT` ago; return their ids."""
        old = sa.select(t.job.c.id).where(t.job.c.ended < now() - JOBS_KEPT).order_by(t.job.c.id).limit(most)
        ids = [*self.connection.execute(old).scalars()]
        self.connection.execute(t.job.delete().where(t.job.c.id.in_(ids)))
        return ids

    # --- recovery ---------------------------------------------------------------------------------------------------

    def heartbeats(self) -> dict[int, datetime]:
        """Return the last heartbeat of every running job, by id."""
        query = sa.select(t.job.c.id, t.job.c.heartbeat).where(t.job.c.status == _RUNNING)
        return {id: time for id, time in self.connection.execute(query.order_by(t.job.c.id)) if time is not None}

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _record(self, row: Any) -> JobRecord:
        return JobRecord(**{**row._mapping, "status": JobStatus(row.status)})

    def _end(self, where: sa.ColumnElement[bool], status: JobStatus, error: str, **values: Any) -> int:
        """End the matching jobs, and unless they are done the jobs that wait for them; return the number of jobs."""
        ids = [*self.connection.execute(sa.select(t.job.c.id).where(where)).scalars()]
        change = {"status": status.value, "ended": now(), "error": error, "cancel": False, **values}
        count = self.connection.execute(t.job.update().where(where).values(change)).rowcount
        if count and status is not JobStatus.DONE:
            for id in ids:
                self._fail_dependents(self.get(id))
        return count

    def _fail_dependents(self, earlier: JobRecord) -> None:
        how = "was cancelled" if earlier.status is JobStatus.CANCELLED else "failed"
        named = f"job {earlier.id} ({earlier.title})" if earlier.title else f"job {earlier.id}"
        sentence = f"This job depends on {named}, which {how}. Retry that job first."
        self._end(sa.and_(t.job.c.after == earlier.id, t.job.c.status == _QUEUED), JobStatus.FAILED, sentence)

    def _reset(self, ids: builtins.list[int]) -> None:
        # The result is kept: if a job was cancelled after its worker died, it holds the notes of that attempt.
        blank = {"owner": "", "error": "", "traceback": "", "message": ""}
        times = {"queued": now(), "started": None, "heartbeat": None, "ended": None}
        state = {"status": _QUEUED, "progress": 0.0, "attempt": 0, "cancel": False}
        self.connection.execute(t.job.update().where(t.job.c.id.in_(ids)).values(**blank, **times, **state))


def _claimable(silent: Mapping[int, datetime], queue: str, leave: Collection[int]) -> sa.Select[Any]:
    """Select a job of a queue that could start, or whose heartbeat is still the one in ``silent``."""
    earlier = t.job.alias("earlier")
    held = sa.exists().where(earlier.c.id == t.job.c.after, earlier.c.status.in_([_QUEUED, _RUNNING]))
    free = sa.and_(t.job.c.status == _QUEUED, ~held)
    lost = [sa.and_(t.job.c.id == id, _running_at(heartbeat)) for id, heartbeat in silent.items()]
    query = sa.select(t.job.c.id).where(t.job.c.queue == queue, t.job.c.id.not_in({*leave}))
    return query.where(sa.or_(free, *lost)).limit(1)


def _running_at(heartbeat: datetime | None) -> sa.ColumnElement[bool]:
    """Return the condition that a job is running and its last heartbeat is ``heartbeat``; never if that is None."""
    if heartbeat is None:
        return sa.false()
    return sa.and_(t.job.c.status == _RUNNING, t.job.c.heartbeat == heartbeat)


def _owned(id: int, owner: str) -> sa.ColumnElement[bool]:
    return sa.and_(t.job.c.id == id, t.job.c.owner == owner, t.job.c.status == _RUNNING)


class Workers(Repository):
    """Repository of worker processes, updated by their heartbeats."""

    def heartbeat(self, owner: str, queue: str) -> None:
        """Record a heartbeat of ``owner``; the first one adds it and removes workers silent for a day."""
        time = now()
        update = t.worker.update().where(t.worker.c.owner == owner).values(queue=queue, heartbeat=time)
        if self.connection.execute(update).rowcount == 0:
            self.connection.execute(t.worker.delete().where(t.worker.c.heartbeat < time - _FORGET_WORKER_AFTER))
            self.connection.execute(t.worker.insert().values(owner=owner, queue=queue, started=time, heartbeat=time))

    def alive(self, within_s: float = 10) -> list[WorkerRecord]:
        """Return the workers with a heartbeat in the last ``within_s`` seconds, oldest first."""
        query = sa.select(t.worker).where(t.worker.c.heartbeat >= now() - timedelta(seconds=within_s))
        return [WorkerRecord(**r._mapping) for r in self.connection.execute(query.order_by(t.worker.c.started))]

    def leave(self, owner: str) -> None:
        """Remove the row of a worker that stops; unknown owners are ignored."""
        self.connection.execute(t.worker.delete().where(t.worker.c.owner == owner))
