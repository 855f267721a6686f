"""Executor that notes how long each shard took to read, to compute and to store."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from themescope.core.protocols import Records, Report
from themescope.core.types import Shard
from themescope.jobs.executors.base import Pool, ShardExecutor


@dataclass
class Times:
    """Times of the shards of one or more calls of ``map``, in seconds."""

    sizes: list[int] = field(default_factory=list)
    """Units in each shard."""
    read: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    write: list[float] = field(default_factory=list)
    """From the result of a shard to the request of the next one."""


class Probe(ShardExecutor):
    """Executor that computes all shards in this process, one after the other.

    Shards and results are packed and unpacked as if they were sent to another process.
    """

    remote = True  # so that everything that a cluster would compute is computed here

    def __init__(self) -> None:
        super().__init__()
        self.times = Times()

    def workers(self) -> int:
        """Return 1."""
        return 1

    def open_pool(self, gpus: bool) -> Pool:
        """Never called, because there are no workers; raises ``NotImplementedError``."""
        raise NotImplementedError

    def map(
        self,
        fn: Callable[[Any], Any],
        shards: Iterable[Shard],
        *,
        report: Report,
        total: int = 0,
        unit: str = "",
        records: Records | None = None,
    ) -> Iterator[Any]:
        """Yield the result of every shard and note the times; ``records`` are neither read nor written."""
        coming, clock = iter(shards), time.perf_counter
        while True:
            begun = clock()
            shard = next(coming, None)
            if shard is None:
                return
            sent = pickle.dumps(shard.data)
            read = clock()
            received = pickle.dumps(fn(pickle.loads(sent)))
            worked = clock()
            yield pickle.loads(received)
            self.times.sizes.append(shard.size)
            self.times.read.append(read - begun)
            self.times.work.append(worked - read)
            self.times.write.append(clock() - worked)
            report.progress(0, 0)
