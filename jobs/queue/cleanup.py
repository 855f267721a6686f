"""Cleanup after killed jobs: unfinished corpora and triplet sets that no job will complete."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from db.records import JobRecord, JobStatus
from db.store import Store
from jobs.common.removal import remove_unfinished
from jobs.kinds import REGISTRY

logger = logging.getLogger(__name__)

FAR = 10_000
"""Limit of a listing that is meant to hold every active job."""

OLD = timedelta(minutes=1)
"""Younger ones are kept, because their job may not be stored yet."""

CORPUS_S = 4.0
"""Seconds spent on one corpus, because the worker sends no heartbeat meanwhile; the next round continues."""


def remove_leftovers(store: Store) -> list[str]:
    """Delete unfinished corpora and triplet sets that no queued or running job writes, and return their names."""
    with store.reading() as r:
        corpora = [c for c in r.corpora.list(include_unready=True) if not c.ready]
        sets = [s for s in r.triplets.list(include_unready=True) if not s.ready]
        if not corpora and not sets:
            return []
        live = r.jobs.list(limit=FAR, status=(JobStatus.QUEUED, JobStatus.RUNNING))
    if any("runs-others" in _tags(job) for job in live):
        return []  # Its steps have no rows of their own, so what they write is unknown.
    limit = datetime.now(UTC) - OLD
    wanted = {job.args.get("corpus") for job in live if "fills-a-corpus" in _tags(job)}
    wanted_sets = {job.args.get("name") for job in live if "fills-a-triplet-set" in _tags(job)}
    # The corpus of a bundle without a given name is called as the bundle says, which the arguments do not tell.
    gone_corpora = [] if "" in wanted else [c for c in corpora if c.name not in wanted and c.created < limit]
    gone_sets = [s for s in sets if s.name not in wanted_sets and s.created < limit]
    for corpus in gone_corpora:
        with store.writing() as w:
            w.corpora.abandon(corpus.id)
        remove_unfinished(store, corpus.id, CORPUS_S)
    for triplets in gone_sets:
        with store.writing() as w:
            w.triplets.delete(triplets.id)
    names = [c.name for c in gone_corpora] + [s.name for s in gone_sets]
    if names:
        logger.info("Removed unfinished corpora and triplet sets: %s.", ", ".join(names))
    return names


def _tags(job: JobRecord) -> frozenset[str]:
    return REGISTRY.get(job.kind).tags if job.kind in REGISTRY else frozenset()
