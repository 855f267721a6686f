"""Executor of local processes: the default."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any

from themescope.core.config import Config, option
from themescope.jobs.executors.base import Pool, ShardExecutor, WorkerDied, call


@dataclass(frozen=True)
class LocalConfig(Config):
    """Settings of local processes."""

    workers: int = option(0, "Processes; 0: one per core; 1: the process of the job itself.", low=0, high=256)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalExecutor(ShardExecutor):
    """Executor of local processes, started by "spawn", so that a script needs its ``__name__ == "__main__"`` guard."""

    def __init__(self, config: LocalConfig | None = None) -> None:
        super().__init__()
        self._workers = (config or LocalConfig()).workers or available_cores()

    def workers(self) -> int:
        """Return the number of processes."""
        return self._workers

    def open_pool(self, gpus: bool) -> Pool:
        """Return a pool, which starts its processes with the first shards; processes of a machine share its GPUs."""
        return _Processes(self._workers)


class _Processes:
    """Pool of processes. If one dies, all shards in progress are lost, and new processes replace all of them."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool = self._new()
        self._pools: dict[Future[Any], ProcessPoolExecutor] = {}

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"), initializer=end_with_parent)

    def submit(self, function: bytes, data: Any) -> Future[Any]:
        """Start a shard."""
        try:
            handle = self._pool.submit(call, function, data)
        except BrokenProcessPool:  # a process died since the last result
            self._replace()
            handle = self._pool.submit(call, function, data)
        self._pools[handle] = self._pool
        return handle

    def finished(self, handles: Collection[Future[Any]], timeout: float) -> Collection[Future[Any]]:
        """Return the finished shards."""
        return wait(handles, timeout, return_when=FIRST_COMPLETED).done

    def result(self, handle: Future[Any]) -> Any:
        """Return the result of a shard."""
        pool = self._pools.pop(handle)
        try:
            return handle.result()
        except BrokenProcessPool:
            if pool is self._pool:  # else another shard that was lost with it has replaced it
                self._replace()
            raise WorkerDied("A local process ended unexpectedly.") from None

    def _replace(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._new()

    def close(self) -> None:
        """End the processes after the shards that they compute now."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def end_with_parent() -> None:
    """End a process of the pool when its parent is killed; otherwise it would wait forever."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
