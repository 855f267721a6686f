"""Uploads: refused before a byte is read where people sign in and nobody has; else Streamlit takes them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from webapp.middleware import Gate
from webapp.shared import login

PATH = "/_stcore/upload_file/{}/file-1"


def put(path: str, method: str = "PUT", kind: str = "http") -> list[Any]:
    """What a request is answered; ["passed on"] where Streamlit hears of it."""
    heard: list[Any] = []

    async def inner(*_: Any) -> None:
        heard.append("passed on")

    async def receive() -> Any:
        raise AssertionError("Nothing of the body is read.")

    async def send(message: Any) -> None:
        heard.append(message.get("status", message.get("body")))

    scope = {"type": kind, "path": path, "method": method, "headers": []}
    with ThreadPoolExecutor(1) as aside:  # where no other loop runs, such as that of a browser test before
        aside.submit(lambda: asyncio.run(Gate(inner)(scope, receive, send))).result()
    return heard


def test_uploads_are_for_those_who_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "_IN", {"known"})
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    for path in (PATH.format("unknown"), "/under/a/path" + PATH.format("unknown"), PATH.format("")):
        for method in ("PUT", "POST"):
            assert put(path, method) == [403, b"Sign in first."]
    assert put(PATH.format("known")) == ["passed on"]
    assert put("/_stcore/health", "GET") == ["passed on"]
    assert put(PATH.format("unknown"), "DELETE") == ["passed on"]
    monkeypatch.setattr("webapp.shared.store.shared", lambda: False)
    assert put(PATH.format("unknown")) == ["passed on"]
