"""Links of version 0.1 open the same view."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import pytest
from starlette.types import Receive, Scope, Send

from tests.event_loops import run
from themescope.webapp.features import REGISTRY
from themescope.webapp.middleware import PermalinkRedirect
from themescope.webapp.shared.pages import PageKeys, translated

KEYS = PageKeys("toys")
VIEW = KEYS.url("view", values={"Look": "Browse"})
SORT = KEYS.url("order", old="sort")


def of(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("view=Look&corpus=Rivers", "toys_view=Browse&corpus=Rivers"),
        ("view=Other", "toys_view=Other"),
        ("sort=a&sort=b", "toys_order=a&toys_order=b"),
        ("view=Look&toys_view=Edit", "toys_view=Edit"),
        ("toys_view=Look", "toys_view=Look"),
        ("unknown=1", "unknown=1"),
    ],
)
def test_old_names_and_values_are_translated(old: str, new: str) -> None:
    assert translated(KEYS, of(old)) == of(new)


def pages_with_keys() -> list[str]:
    return [card.id for card in REGISTRY if card.keys]


@pytest.mark.parametrize("page", pages_with_keys())
def test_every_old_name_of_a_page_leads_to_one_key(page: str) -> None:
    keys = REGISTRY.get(page).page_keys()
    assert keys is not None
    old = [url.old for url in keys.urls.values()]
    assert len(set(old)) == len(old)
    for url in keys.urls.values():
        assert translated(keys, [(url.old, "x")]) == [(url.key, "x")]
        for before, after in url.values.items():
            assert translated(keys, [(url.old, before)]) == [(url.key, after)]


def answer(path: str, query: str) -> tuple[int, str]:
    """Status and location of the answer to a request; (200, "") where it is passed on."""
    sent: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": [],
             "query_string": query.encode(), "server": ("localhost", 80), "scheme": "http"}  # fmt: skip
    run(partial(PermalinkRedirect(app), scope, None, send))  # type: ignore[arg-type]
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers.get("location", "")


def test_a_request_with_old_names_is_redirected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(REGISTRY.get("themes")), "page_keys", lambda card: KEYS)
    assert answer("/themes", "view=Look&corpus=a+b") == (307, "/themes?toys_view=Browse&corpus=a+b")
    assert answer("/themes", "toys_view=Browse") == (200, "")
    assert answer("/themes", "") == (200, "")
    assert answer("/_stcore/health", "view=Look") == (200, "")
    assert answer("//example.org/themes", "view=Look") == (307, "/example.org/themes?toys_view=Browse")
