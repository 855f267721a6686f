"""Requests that a program may repeat without doing their work twice, by the header ``Idempotency-Key``.

The keys of the last day are in the memory of the server, so a request that is repeated after a restart does its work
again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import Header
from pydantic import BaseModel

from themescope.core.errors import DataError
from themescope.core.records.stored import JobRecord
from themescope.jobs.api.problems import Caller

KEPT_S = 86_400
MOST_KEYS = 10_000
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=r"^[!-~]{1,200}$",
        description="A text of your choice, such as a UUID: a request that repeats an earlier one of the last day with "
        "the same key queues nothing, and is answered with the jobs of the earlier one.",
    ),
]
_known: dict[tuple[str, str, str], tuple[float, str, list[int]]] = {}
_lock = threading.Lock()


def once(
    caller: Caller, key: str | None, what: str, body: BaseModel, queue: Callable[[], Sequence[JobRecord]]
) -> list[JobRecord]:
    """Return the jobs that ``queue`` adds, or those of an earlier request of this person with the same key.

    Raises ``DataError`` if that request was another one.
    """
    if key is None:
        return [*queue()]
    owner, request = (str(caller.store.settings.home), caller.actor.name, key), what + body.model_dump_json()
    with _lock:  # so that of two requests at the same time, one waits for the other
        for old in [old for old, (when, _, _) in _known.items() if when < time.monotonic() - KEPT_S]:
            del _known[old]
        if owner not in _known:
            jobs = [*queue()]
            if len(_known) == MOST_KEYS:
                del _known[next(iter(_known))]
            _known[owner] = time.monotonic(), request, [job.id for job in jobs]
            return jobs
        _, earlier, ids = _known[owner]
    if earlier != request:
        raise DataError("This Idempotency-Key was sent with another request. Use a new key for a new request.")
    with caller.store.reading() as r:
        return [r.jobs.get(id) for id in ids]
