"""ETags of answers, so that a program that reads one again gets 304 without a body if it has not changed."""

from __future__ import annotations

import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ETags:
    """Middleware that adds the digest of a JSON answer to GET, and compares it with ``If-None-Match``.

    Files that are sent while they are written have none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; only the first message of its answer waits for the body."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        known = [tag.strip().removeprefix("W/") for tag in Headers(scope=scope).get("if-none-match", "").split(",")]
        start: Message | None = None

        async def tagged(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and message["status"] == 200 and _is_json(message):
                start = message
                return
            if start is not None:
                first, start = start, None
                if message["type"] == "http.response.body" and not message.get("more_body"):
                    tag = f'"{hashlib.sha256(message.get("body", b"")).hexdigest()[:32]}"'
                    headers = MutableHeaders(scope=first)
                    headers["etag"] = tag
                    if tag in known or known == ["*"]:
                        first["status"], message = 304, {**message, "body": b""}
                        del headers["content-length"], headers["content-type"]
                await send(first)
            await send(message)

        await self._app(scope, receive, tagged)


def _is_json(message: Message) -> bool:
    return Headers(scope=message).get("content-type", "").partition(";")[0] == "application/json"
