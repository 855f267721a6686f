"""The sign-in page and the check of sessions: who is let in, cookies, and other sites."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from tests.webapp.browsers import (
    INSIDE,
    PAGE,
    PATHS,
    SECRET,
    admitted,
    browser,
    cookie_of,
    form_token,
    signed_in,
    submit,
    token_of,
)
from themescope.core.records.stored import Role
from themescope.db import tables as t
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.jobs.services.people import LONGEST_NAME
from themescope.webapp.routes.middleware import PUBLIC, REFUSED
from themescope.webapp.routes.sign_in import EXPIRED
from themescope.webapp.shared.people import browser_token, cookie, new_token
from themescope.webapp.shared.people import form_token as form_token_of

pytestmark = pytest.mark.usefixtures("cheap_passwords")


# --- who is let in ----------------------------------------------------------------------------------------------------


def age(store: Store, column: sa.Column[Any], by: timedelta) -> None:
    with store.writing() as w:
        for digest, value in w.people.connection.execute(sa.select(t.session.c.token_hash, column)).all():
            own = t.session.update().where(t.session.c.token_hash == digest)
            w.people.connection.execute(own.values({column.name: value - by}))


def send(client: TestClient, name: str, value: str) -> None:
    """Replace the cookies of a browser."""
    client.cookies.clear()
    client.cookies.set(name, value)


def _unsigned(store: Store, client: TestClient) -> None:
    name, value = cookie_of(client)
    send(client, name, value.rpartition(".")[0])


def _forged(store: Store, client: TestClient) -> None:
    name, value = cookie_of(client)
    send(client, name, value[:-4] + ("AAAA" if value[-4:] != "AAAA" else "BBBB"))


def _guessed(store: Store, client: TestClient) -> None:
    send(client, *cookie(new_token(), secure=False))


def _named(store: Store, client: TestClient) -> None:
    people.sign_out(store, token_of(client))
    people.remember_name(store, token_of(client), "ada")


ENDS: dict[str, Callable[[Store, TestClient], object]] = {
    "nobody": lambda s, c: c.cookies.clear(),
    "unsigned cookie": _unsigned,
    "forged cookie": _forged,
    "guessed session": _guessed,
    "name that was only entered": _named,
    "signed out in another tab": lambda s, c: people.sign_out(s, token_of(c)),
    "idle": lambda s, c: age(s, t.session.c.seen, s.settings.session_idle),
    "too old": lambda s, c: age(s, t.session.c.created, s.settings.session_limit),
    "new password": lambda s, c: people.set_password(s, "lea", "another password"),
    "new role": lambda s, c: people.set_role(s, "lea", Role.VIEWER),
    "removed": lambda s, c: people.remove(s, "lea"),
}


@pytest.mark.parametrize("end", ENDS)
def test_only_who_has_a_session_is_let_in(shared: Store, end: str) -> None:
    client = signed_in()
    assert admitted(client) == {*PATHS, "PUT", "POST", "DELETE", "websocket"}
    ENDS[end](shared, client)
    assert admitted(client) == set()


def test_what_is_public(shared: Store) -> None:
    answers = {path: browser().get(path).status_code for path in PUBLIC}
    assert answers == {
        "/healthz": 200, "/readyz": 200, "/_stcore/health": 200, "/sign-in": 200,
        "/sign-out": 200, "/sign-in/organisation": 303, "/oauth2callback": 403,
    }  # fmt: skip
    assert browser().get("/static/js/index.js").text == INSIDE
    for path in ("/staticx", "/sign-in/", "/sign-in/x", "/healthz/x", "//sign-in", "/STATIC/x", "/_stcore/health/x"):
        assert browser().get(path).text == REFUSED, path


def test_the_address_that_was_opened_first_opens_afterwards(shared: Store) -> None:
    client = browser()
    to = client.get("/corpora?corpus=A%26B&view=Read", headers=PAGE).headers["location"]
    page = client.get(to)
    wanted = re.search(r'name="next" value="([^"]+)"', page.text)[1].replace("&amp;", "&")  # type: ignore[index]
    assert submit(client, "ada", next=wanted).headers["location"] == "/corpora?corpus=A%26B&view=Read"
    assert client.get("/sign-in?next=%2Fmap").headers["location"] == "/map"


@pytest.mark.parametrize(
    "next",
    ["//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "/a\nb",
     "///evil.example", "evil.example", "http:evil.example", "/\t/evil.example", "//[", ""],
)  # fmt: skip
def test_signing_in_leads_to_no_other_site(shared: Store, next: str) -> None:
    assert submit(browser(), "ada", next=next).headers["location"] == "/"
    assert quote(next) not in browser().get("/sign-in", params={"next": next}).text or not next


def test_invalid_settings_let_nobody_in(shared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in()
    monkeypatch.setenv("THEMESCOPE_LOGIN", "allways")
    answer = client.get("/", headers=PAGE)
    assert answer.status_code == 503 and "THEMESCOPE_LOGIN must be" in answer.text


# --- cookies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "headers", "secure"),
    [
        ("http://localhost:8501", {}, False),
        ("https://localhost:8501", {}, True),
        ("http://localhost:8501", {"x-forwarded-proto": "https"}, True),
    ],
)
def test_the_flags_of_the_cookie(shared: Store, address: str, headers: dict[str, str], secure: bool) -> None:
    client = browser(address, headers=headers)
    page = client.get("/sign-in")
    form = {"form_token": form_token(page), "person": "ada", "password": SECRET}
    sent = {"cookie": page.headers["set-cookie"].partition(";")[0]}
    answer = client.post("/sign-in", data=form, headers=sent)
    assert answer.status_code == 303
    for header, kept in ((page.headers["set-cookie"], ""), (answer.headers["set-cookie"], "Max-Age=604800")):
        name, *flags = header.split("; ")
        assert {*flags} == {"HttpOnly", "Path=/", "SameSite=lax", *filter(None, [kept]), *(["Secure"] * secure)}
        assert name.startswith("__Host-themescope-" if secure else "themescope-")


def test_the_token_changes_at_every_sign_in_and_sign_out(shared: Store) -> None:
    client = browser()
    page = client.get("/sign-in")
    fixed = cookie_of(client)
    tokens = [token_of(client)]
    assert "set-cookie" not in client.get("/sign-in").headers
    for name in ("ada", "lea"):
        form = {"form_token": form_token_of(tokens[-1]), "person": name, "password": SECRET}
        assert client.post("/sign-in", data=form).status_code == 303
        tokens.append(token_of(client))
        assert people.session_of(shared, tokens[-1]).person == name  # type: ignore[union-attr]
        assert people.session_of(shared, tokens[-2]) is None
    assert form_token(page) == form_token_of(tokens[0])
    attacker = browser()
    attacker.cookies.set(*fixed)
    assert admitted(attacker) == set()
    other_tab = browser(cookies=dict(client.cookies))
    out = client.post("/sign-out", data={"form_token": form_token_of(tokens[-1])})
    assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
    assert token_of(client) not in (*tokens, "") and admitted(client) == admitted(other_tab) == set()


def test_two_installations_on_one_host_have_two_cookies(shared: Store, tmp_path: Path) -> None:
    own = cookie("token", secure=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEMESCOPE_HOME", str(tmp_path / "other"))
        other = cookie("token", secure=False)
        assert browser_token({own[0]: own[1], other[0]: other[1]}) == "token"
        assert browser_token({other[0]: own[1]}) == ""
    assert own[0] != other[0] and own[1] != other[1]


def test_who_does_not_sign_in_is_known_by_a_cookie(sqlite_store: Store) -> None:
    client = browser()
    assert "set-cookie" not in client.get("/_stcore/host-config").headers
    header = client.get("/", headers=PAGE).headers["set-cookie"]
    assert {*header.split("; ")[1:]} == {"HttpOnly", "Path=/", "SameSite=lax", "Max-Age=34560000"}
    assert "set-cookie" not in client.get("/corpora", headers=PAGE).headers
    assert client.get("/sign-in?next=/map").headers["location"] == "/map"
    assert "websocket" in admitted(browser())


# --- the form ---------------------------------------------------------------------------------------------------------


def test_forms_of_other_sites_are_refused(shared: Store) -> None:
    client, other = browser(), browser()
    client.get("/sign-in")
    tokens = ["", "x", "ü", form_token(other.get("/sign-in"))]
    for token in tokens:
        form = {"form_token": token, "person": "ada", "password": SECRET}
        answer = client.post("/sign-in", data=form)
        assert answer.status_code == 403 and EXPIRED in answer.text
    form["form_token"] = form_token(client.get("/sign-in"))
    for origin in ("https://evil.example", "null", "http://localhost:9999"):
        assert client.post("/sign-in", data=form, headers={"origin": origin}).status_code == 403
    assert browser().post("/sign-in", data=form).status_code == 403  # a browser without the cookie
    assert client.post("/sign-in", data=form).status_code == 303
    for token in tokens:
        assert client.post("/sign-out", data={"form_token": token}).status_code == 403
    assert client.get("/sign-out").headers["location"] == "/" and client.get("/").text == INSIDE


def test_wrong_passwords_are_told_and_counted(shared: Store) -> None:
    client = browser()
    for name in ("ada", "nobody"):
        answer = submit(client, name, "wrong password")
        assert answer.status_code == 401 and "Wrong name or password." in answer.text
        assert f'value="{name}"' in answer.text and "wrong password" not in answer.text
        assert re.search('<input name="password"[^>]* autofocus>', answer.text) and answer.text.count("autofocus") == 1
    statuses = [submit(browser(), "ada", "wrong password").status_code for _ in range(3)]
    assert statuses == [401, 401, 429]
    answer = submit(browser(), "ada")
    assert answer.status_code == 429 and 0 < int(answer.headers["retry-after"]) <= 2
    assert submit(client, "lea").status_code == 303


def test_the_page_runs_nothing_that_was_entered(shared: Store) -> None:
    hostile = "<img src=x onerror=alert(1)>\"'$name ${message}"
    answer = submit(browser(), hostile, "wrong password", next=f"/{hostile}")
    assert "<img" not in answer.text and "&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;$name" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "script-src" not in policy
    assert answer.headers["cache-control"] == "no-store" and answer.headers["x-frame-options"] == "SAMEORIGIN"


@pytest.mark.parametrize("body", [b"x" * 30_000, b"\xff=\xff", b"a=1&" * 50, b"", b"person=ada&person=lea"])
def test_other_bodies_are_refused(shared: Store, body: bytes) -> None:
    client = browser()
    client.get("/sign-in")
    assert client.post("/sign-in", content=body).status_code == 403
    assert client.post("/sign-out", content=body).status_code == 403


def test_long_names_are_cut_as_they_are_stored(shared: Store) -> None:
    people.add(shared, "x" * 100, Role.VIEWER, SECRET)
    assert submit(browser(), "x" * LONGEST_NAME).status_code == 303
    assert submit(browser(), "y" * 5_000).status_code == 401


def test_while_nobody_can_sign_in_the_page_says_so(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    answer = browser().get("/sign-in")
    assert answer.status_code == 503 and "nobody can sign in yet" in answer.text
