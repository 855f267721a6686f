"""Executors, which compute the shards of a job in several processes. The setting ``EXECUTOR_URL`` chooses one.

An executor is a class with :meth:`~themescope.core.types.Executor.map`; subclasses of
:class:`themescope.jobs.executors.base.ShardExecutor` provide a pool of workers. The row of the job remains the truth:
an executor stores nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from themescope.core.errors import ConfigError
from themescope.core.registry import Card, Registry
from themescope.jobs.executors.base import ShardExecutor


@dataclass(frozen=True, slots=True)
class ExecutorCard(Card):
    """Declaration of an executor; ``scheme`` is the scheme of its URLs, empty for the default."""

    source: str = "Themescope"
    factory: str = ""
    config: str = ""
    scheme: str = ""


REGISTRY = Registry(
    "executor",
    [
        ExecutorCard(
            id="local",
            title="Local processes",
            summary="Processes on the machine of the worker, one per core. Models run in the process of the job.",
            factory="themescope.jobs.executors.base:LocalExecutor",
            config="themescope.jobs.executors.base:LocalConfig",
        ),
        ExecutorCard(
            id="ray",
            title="Ray",
            summary="Actors of a Ray cluster, one per CPU, or one per GPU for models. Each loads its own copy of a "
            "model. Needs the extra ray.",
            source="Moritz et al. 2018, Ray: A distributed framework for emerging AI applications",
            factory="themescope.jobs.executors.ray_cluster:RayExecutor",
            config="themescope.jobs.executors.ray_cluster:RayConfig",
            scheme="ray",
        ),
    ],
)


def open_executor(url: str) -> ShardExecutor:
    """Return the executor of a URL such as ``ray://host:10001``; the local processes for an empty one.

    Processes are started, and a cluster is reached, on first use. Raises ``ConfigError`` for an unknown scheme.
    """
    scheme, _, address = url.rpartition("://")
    for card in REGISTRY:
        if card.scheme == scheme:
            executor: ShardExecutor = REGISTRY.build(card.id, {"address": address} if scheme else None)
            return executor
    known = " or ".join(f"{card.scheme}://…" for card in REGISTRY if card.scheme)
    raise ConfigError(f"EXECUTOR_URL must be empty or {known}, not {url!r}.")
