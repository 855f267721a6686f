"""The gate before uploads: Streamlit would keep in memory what any open page sends, signed in or not."""

from __future__ import annotations

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_UPLOADS = "/_stcore/upload_file/"


class Gate:
    """Refuses an upload, before any of it is read, of a page where people must sign in and nobody has."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is no upload, and uploads of those who are in."""
        _, found, rest = str(scope.get("path", "")).partition(_UPLOADS)
        sends = scope["type"] == "http" and scope["method"] not in ("OPTIONS", "DELETE")
        if sends and found and not _may_send(rest.partition("/")[0]):
            await PlainTextResponse("Sign in first.", status_code=403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _may_send(session: str) -> bool:
    # Imported with the first upload: the server begins to listen without the store.
    from webapp.shared import login
    from webapp.shared import store as house

    return not house.shared() or login.is_in(session)
