"""HTTP server of a worker: ``/healthz``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from themescope.core.errors import ConfigError
from themescope.db.settings import Settings, host_and_port, is_loopback
from themescope.jobs.common.monitoring.metrics import CONTENT_TYPE
from themescope.jobs.services.installation.health import (
    ALIVE,
    METRICS,
    METRICS_REFUSED,
    OK,
    READY,
    Health,
    may_read_metrics,
)

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
