"""Health, readiness and metrics of a process, for load balancers and monitoring; HTTP server of a worker for them."""

from __future__ import annotations

import hmac
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from prometheus_client import CollectorRegistry

from themescope.core.errors import ConfigError
from themescope.db.settings import Settings, host_and_port, is_loopback
from themescope.db.store import Store
from themescope.jobs.common.monitoring.metrics import CONTENT_TYPE, PROCESS, StoreMetrics, text_of

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


_REQUEST_S = 10.0


@contextmanager
def serving_status(settings: Settings, health: Health) -> Iterator[int]:
    """Serve at ``settings.status_address`` in a thread, and yield the port (a free one for the port 0).

    Raises ``ConfigError`` if the address cannot be used.
    """
    address, port = host_and_port(settings.status_address)
    try:
        server = _Server(address, port, settings, health)
    except OSError as error:
        raise ConfigError(
            f"The worker cannot serve its status at {settings.status_address} ({error.strerror}). Set "
            "THEMESCOPE_STATUS_ADDRESS to a free port of this machine."
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="status", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        health.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: str, port: int, settings: Settings, health: Health) -> None:
        import socket

        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.settings, self.health, self.private = settings, health, is_loopback(address)
        super().__init__((address, port), _Handler)

    def answer(self, path: str, authorization: str) -> tuple[int, str, bytes]:
        """Return status, media type and body of a response."""
        if path == ALIVE:
            return 200, "text/plain", OK.encode()
        if path == READY:
            states = self.health.states()
            return 200 if set(states.values()) == {OK} else 503, "application/json", json.dumps(states).encode()
        if path == METRICS:
            if not may_read_metrics(self.settings, authorization, self.private):
                return 403, "text/plain", METRICS_REFUSED.encode()
            return 200, CONTENT_TYPE, self.health.metrics()
        return 404, "text/plain", b"Not found."


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _REQUEST_S

    def do_GET(self) -> None:
        """Answer a request."""
        path, authorization = self.path.partition("?")[0], self.headers.get("Authorization", "")
        status, media_type, body = self.server.answer(path, authorization)
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: probes come every few seconds."""
