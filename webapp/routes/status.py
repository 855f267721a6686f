"""Routes of the web server for load balancers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Send

from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services.installation.health import ALIVE, OK, READY, Health

PROBES = (ALIVE, READY)
"""Paths that are answered under every host name, since a load balancer uses an address or a name of its own."""


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


ROUTES = [Route(ALIVE, alive), Route(READY, ready)]


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
