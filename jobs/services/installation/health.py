"""Health, readiness and metrics of a process, for load balancers, container engines and monitoring."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from threading import Lock

from prometheus_client import CollectorRegistry

from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.monitoring.metrics import PROCESS, StoreMetrics, text_of

logger = logging.getLogger(__name__)

ALIVE = "/healthz"
READY = "/readyz"
METRICS = "/metrics"
OK = "ok"
LATE_S = 15.0
"""Seconds without a heartbeat after which a worker is not ready; pages report it as missing after 10 s."""
_ANSWER_S = 5.0
_KEEP_S = 2.0
METRICS_REFUSED = (
    "Metrics require a token. Set THEMESCOPE_METRICS_TOKEN for Themescope, and send it in the header "
    "“Authorization: Bearer …”."
)


class Health:
    """Readiness and metrics of a process. Thread-safe.

    States are kept for 2 seconds, and one thread finds them, so that requests of strangers cost nothing. A part that
    gives no answer within 5 seconds is not ready.
    """

    def __init__(self, store: Store, heartbeat_age: Callable[[], float] | None = None) -> None:
        self._store = store
        self._parts: dict[str, Callable[[], str]] = {"store": self._store_state}
        if heartbeat_age is not None:
            self._parts["worker"] = lambda: OK if heartbeat_age() < LATE_S else "no heartbeat"
        self._threads = ThreadPoolExecutor(len(self._parts), thread_name_prefix="readiness")
        self._lock = Lock()
        self._found: dict[str, tuple[float, Future[str]]] = {}
        self._registry = CollectorRegistry()
        self._registry.register(StoreMetrics(store))

    def states(self) -> dict[str, str]:
        """Return the state of each part, "ok" or what is wrong; no host names, no messages of the database."""
        until = time.monotonic() + _ANSWER_S
        return {part: self._answer(self._asked(part), until) for part in self._parts}

    def metrics(self) -> bytes:
        """Return the metrics of this process and of the store."""
        return text_of(PROCESS, self._registry)

    def close(self) -> None:
        """Stop the threads; a question without an answer is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _asked(self, part: str) -> Future[str]:
        with self._lock:
            asked, future = self._found.get(part, (0.0, None))
            if future is None or (future.done() and time.monotonic() - asked > _KEEP_S):
                future = self._threads.submit(self._state, part)
                self._found[part] = time.monotonic(), future
            return future

    @staticmethod
    def _answer(future: Future[str], until: float) -> str:
        try:
            return future.result(max(until - time.monotonic(), 0.0))
        except NoAnswer:
            return "no answer"

    def _state(self, part: str) -> str:
        try:
            return self._parts[part]()
        except Exception:
            logger.warning("Not ready: the %s cannot be reached.", part, exc_info=True)
            return "unreachable"

    def _store_state(self) -> str:
        return OK if self._store.is_current() else "not migrated"


def may_read_metrics(settings: Settings, authorization: str, private: bool) -> bool:
    """Return whether a request with this ``Authorization`` header may read the metrics.

    Without a token in the settings, only where nobody but this machine can ask (``private``).
    """
    if not settings.metrics_token:
        return private
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), settings.metrics_token.encode())
