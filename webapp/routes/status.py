"""Routes of the web server for load balancers and monitoring, and the metrics of its requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

from prometheus_client import Gauge, Histogram
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.monitoring.logs import CONTENT_TYPE, PROCESS
from themescope.jobs.services.installation.health import (
    ALIVE,
    METRICS,
    METRICS_REFUSED,
    OK,
    READY,
    Health,
    may_read_metrics,
)
from themescope.webapp.shared import people

PROBES = (ALIVE, READY)
"""Paths that are answered under every host name, since a load balancer uses an address or a name of its own."""
REQUEST_SECONDS = Histogram(
    "themescope_http_request_seconds",
    "Time until a request was answered completely.",
    ["kind", "status"],
    registry=PROCESS,
)
SESSIONS = Gauge("themescope_sessions", "Open pages: websockets of browsers.", registry=PROCESS)
_KINDS = {"_stcore/upload_file": "upload", "_stcore": "protocol", "static": "static", "media": "media", "api": "api"}
_KINDS |= {path.strip("/"): "status" for path in (ALIVE, READY, METRICS)}


@cache
def _health() -> Health:
    """Return the health of this process, with connections of its own. Raises ``ConfigError``."""
    return Health(Store(Settings.from_environment()))


async def alive(request: Request) -> Response:
    """Answer that the process runs."""
    return PlainTextResponse(OK)


async def ready(request: Request) -> Response:
    """Answer with the states of store and queue; status 503 unless both are ready."""
    states = await run_in_threadpool(lambda: _health().states())
    return JSONResponse(states, 200 if set(states.values()) == {OK} else 503)


async def metrics(request: Request) -> Response:
    """Answer with the metrics, or with status 403."""
    settings = Settings.from_environment()
    if not may_read_metrics(settings, request.headers.get("authorization", ""), private=not people.sign_in_required()):
        return PlainTextResponse(METRICS_REFUSED, 403)
    return Response(await run_in_threadpool(lambda: _health().metrics()), media_type=CONTENT_TYPE)


ROUTES = [Route(ALIVE, alive), Route(READY, ready), Route(METRICS, metrics)]


class Wrapper:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app


def seeing(send: Send, see: Callable[[Message], None]) -> Send:
    """Return ``send`` that passes each message to ``see`` first, which may change it."""

    async def see_and_send(message: Message) -> None:
        see(message)
        await send(message)

    return see_and_send


class RequestMetrics(Wrapper):
    """Middleware that measures requests and counts open websockets."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and measure it."""
        started, status, accepted = time.perf_counter(), 500, False

        def see(message: Message) -> None:
            nonlocal status, accepted
            if message["type"] == "http.response.start":
                status = int(message["status"])
            elif message["type"] == "websocket.accept" and not accepted:
                accepted = True
                SESSIONS.inc()

        try:
            await self._app(scope, receive, seeing(send, see))
        finally:
            if accepted:
                SESSIONS.dec()
            if scope["type"] == "http":
                seconds = time.perf_counter() - started
                REQUEST_SECONDS.labels(kind_of(str(scope["path"])), str(status)).observe(seconds)


def kind_of(path: str) -> str:
    """Return the kind of a request: "page" or another of few, so that paths of strangers make no new metrics."""
    parts = path.strip("/").split("/")
    return _KINDS.get("/".join(parts[:2])) or _KINDS.get(parts[0], "page")
