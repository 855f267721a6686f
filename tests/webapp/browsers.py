"""Browsers in front of the sign-in page and the check of sessions, with a stand-in for Streamlit behind them."""

import re
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from themescope.webapp.routes import api, middleware, sign_in
from themescope.webapp.routes.middleware import REFUSED, HostCheck, SecurityHeaders, SessionCheck
from themescope.webapp.shared import people

SECRET = "correct horse battery"
PAGE = {"accept": "text/html"}
INSIDE = "inside"


async def inside(request: Request) -> Response:
    await request.body()
    return PlainTextResponse(INSIDE)


async def stream(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.close()


APP = Starlette(
    routes=[
        *middleware.STATUS,
        *sign_in.ROUTES,
        *api.ROUTES,
        Route("/{path:path}", inside, methods=["GET", "PUT", "DELETE", "POST"]),
        WebSocketRoute("/{path:path}", stream),
    ],
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(HostCheck),
        Middleware(SessionCheck),
        Middleware(SessionMiddleware, secret_key="of this test"),
    ],
)


def browser(address: str = "http://localhost:8501", **options: Any) -> TestClient:
    return TestClient(APP, base_url=address, follow_redirects=False, **options)


def form_token(answer: Any) -> str:
    return re.search(r'name="form_token" value="([^"]+)"', answer.text)[1]  # type: ignore[index]


def submit(client: TestClient, name: str, password: str = SECRET, **fields: str) -> Any:
    form = {"form_token": form_token(client.get("/sign-in")), "person": name, "password": password, **fields}
    return client.post("/sign-in", data=form, headers={"origin": str(client.base_url)})


def signed_in(name: str = "lea") -> TestClient:
    client = browser()
    assert submit(client, name).status_code == 303
    return client


def token_of(client: TestClient) -> str:
    return people.browser_token(dict(client.cookies))


PATHS = [
    "/",
    "/corpora",
    "/_stcore/host-config",
    "/media/1.png",
    "/component/x.js",
    "/_stcore/agent/mcp",
    "/auth/login",
]
ALL = {*PATHS, "PUT", "POST", "DELETE", "websocket"}


def admitted(client: TestClient) -> set[str]:
    """Return what a browser is let in to; everything else is refused in the right way."""
    found = set()
    for path in PATHS:
        if (answer := client.get(path)).status_code == 200:
            found.add(path)
        else:
            assert (answer.status_code, answer.text) == (403, REFUSED)
            page = client.get(path, headers=PAGE)
            assert page.status_code == 303 and page.headers["location"].startswith("/sign-in")
    for method in ("PUT", "POST", "DELETE"):
        if client.request(method, "/_stcore/upload_file/a/b", content=b"x" * 1_000).text == INSIDE:
            found.add(method)
    try:
        with client.websocket_connect("ws://localhost:8501/_stcore/stream"):
            found.add("websocket")
    except WebSocketDenialResponse as answer:
        assert (answer.status_code, answer.text) == (403, REFUSED)
    return found
