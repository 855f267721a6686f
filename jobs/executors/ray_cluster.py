"""Executor of a Ray cluster, or of Ray on this machine."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from themescope.core.config import Config, option
from themescope.core.errors import ConfigError, ExecutorError, MissingExtraError
from themescope.jobs.executors import MAX_DEATHS, Pool, ShardExecutor, WorkerDied, call

THIS_MACHINE = "local"
AHEAD = 2
"""Shards sent to an actor: one is computed while the next one travels."""


@dataclass(frozen=True)
class RayConfig(Config):
    """Settings of Ray."""

    address: str = option(THIS_MACHINE, "Host and port of the Ray Client server of a cluster; local: this machine.")
    workers: int = option(0, "Actors; 0: one per CPU of the cluster.", low=0, high=100_000)

    def validate(self) -> None:
        """Check the form of the address."""
        host, _, port = self.address.rpartition(":")
        if self.address != THIS_MACHINE and not (host and port.isdecimal()):
            raise ConfigError(f"{self.named('address')} must be host:port or {THIS_MACHINE}, not {self.address!r}.")


class RayExecutor(ShardExecutor):
    """Executor of Ray actors. Every node needs this package, and for models the same data folder."""

    remote = True

    def __init__(self, config: RayConfig | None = None) -> None:
        super().__init__()
        self._config = config or RayConfig()

    def workers(self) -> int:
        """Return the number of actors."""
        return self._config.workers or max(int(self._connected().cluster_resources().get("CPU", 1)), 1)

    def open_pool(self, gpus: bool) -> Pool:
        """Start the actors, with a GPU each if ``gpus`` is true and the cluster has any."""
        found = int(self._connected().cluster_resources().get("GPU", 0)) if gpus else 0
        count = min(self.workers(), found) if found else self.workers()
        return _Actors(count, {"num_cpus": 0, "num_gpus": 1} if found else {"num_cpus": 1}, self._config.address)

    def _connected(self) -> Any:
        """Connect this process to the cluster, once for all its jobs; return the package ray."""
        ray = _ray()
        if ray.is_initialized():
            return ray
        here = self._config.address == THIS_MACHINE
        try:
            if here:
                ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.WARNING)
            else:
                ray.init(f"ray://{self._config.address}", log_to_driver=False)
        except Exception as error:
            raise ExecutorError(
                f"The Ray cluster at {self._config.address} cannot be reached ({_short(error)}). Start it, or correct "
                "EXECUTOR_URL."
            ) from error
        return ray


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("The executor “ray”", "ray", "ray") from None
    return ray


def _short(reason: object) -> str:
    return " ".join(str(reason).split())[:200]


class _Worker:
    """Actor; one shard at a time."""

    def ready(self) -> bool:
        return True

    def compute(self, function: bytes, data: Any) -> Any:
        """Compute a shard; see :func:`themescope.jobs.executors.call`."""
        return call(function, data)


@dataclass(eq=False)
class _Task:
    """Shard of a pool, which an actor computes once ``ref`` is set."""

    function: bytes
    data: Any
    ref: Any = None
    actor: Any = None


class _Actors:
    """Pool of actors. One that dies, alone or with its node, is replaced by another.

    Shards are sent only to actors that run: a new one waits for a free CPU, perhaps for as long as other jobs keep the
    cluster busy or until a lost node is back, and the others compute its share.
    """

    def __init__(self, workers: int, resources: dict[str, int], address: str) -> None:
        self._ray, self._resources, self._address = _ray(), resources, address
        self._starting: dict[Any, Any] = {}
        self._busy: dict[Any, int] = {}
        self._waiting: deque[_Task] = deque()
        self._running: dict[Any, _Task] = {}
        self._function: tuple[bytes, Any] = b"", None
        self._failed_starts = MAX_DEATHS * workers
        for _ in range(workers):
            self._start_actor()

    def _start_actor(self) -> None:
        actor = self._ray.remote(**self._resources)(_Worker).remote()
        self._starting[actor.ready.remote()] = actor

    def submit(self, function: bytes, data: Any) -> _Task:
        task = _Task(function, data)
        self._waiting.append(task)
        self._send()
        return task

    def _send(self) -> None:
        """Send waiting shards to the actors with the fewest, at most ``AHEAD`` each."""
        while self._waiting and self._busy:
            actor = min(self._busy, key=lambda one: self._busy[one])
            if self._busy[actor] >= AHEAD:
                return
            task = self._waiting.popleft()
            if self._function[0] != task.function:  # a reference to it, which each node fetches once
                self._function = task.function, self._ray.put(task.function)
            task.actor, task.ref = actor, actor.compute.remote(self._function[1], task.data)
            self._busy[actor] += 1
            self._running[task.ref] = task

    def finished(self, handles: Collection[_Task], timeout: float) -> Collection[_Task]:
        """Return the finished shards; raises ``ExecutorError`` if no node is alive, or actors cannot start."""
        try:
            refs = [*self._running, *self._starting]
            done: list[Any] = self._ray.wait(refs, num_returns=1, timeout=timeout)[0]
            alive = done or sum(self._ray.cluster_resources().get(name, 0) for name in ("CPU", "GPU"))
        except Exception as error:
            raise self._gone(error) from error
        if not alive:
            raise self._gone("no node is alive")
        for ref in done:
            if (actor := self._starting.pop(ref, None)) is None:
                continue
            try:
                self._ray.get(ref)
            except self._losses() as error:
                self._failed_starts -= 1
                if self._failed_starts < 0:
                    raise self._cannot_start(error) from error
                self._start_actor()
            except Exception as error:
                raise self._cannot_start(error) from error
            else:
                self._busy[actor] = 0
                self._send()
        return [self._running[ref] for ref in done if ref in self._running]

    def result(self, handle: _Task) -> Any:
        del self._running[handle.ref]
        try:
            result = self._ray.get(handle.ref)
        except self._losses() as error:
            if self._busy.pop(handle.actor, None) is not None:  # else another shard that was lost with it did this
                self._start_actor()
            raise WorkerDied(f"A Ray actor was lost: {_short(error)}") from None
        except ConnectionError as error:
            raise self._gone(error) from error
        if handle.actor in self._busy:
            self._busy[handle.actor] -= 1
        self._send()
        return result

    def _losses(self) -> tuple[type[Exception], ...]:
        """Return the errors of Ray for a lost actor, node or result."""
        errors = self._ray.exceptions
        return errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError, errors.NodeDiedError

    def close(self) -> None:
        """End the actors; the connection stays for the next job."""
        for actor in [*self._busy, *self._starting.values()]:
            try:
                self._ray.kill(actor)
            except Exception:  # the cluster is gone, and the actors with it
                self._ray.shutdown()
                return

    def _gone(self, reason: object) -> ExecutorError:
        return ExecutorError(
            f"The Ray cluster at {self._address} was lost ({_short(reason)}). Start it again, then retry the job: "
            "finished shards are kept."
        )

    def _cannot_start(self, reason: object) -> ExecutorError:
        return ExecutorError(
            f"Workers cannot start on the Ray cluster at {self._address} ({_short(reason)}). Install the same version "
            "of Themescope and Python on every node."
        )
