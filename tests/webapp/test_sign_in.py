"""The sign-in page, the check of sessions, and the account page: who is let in, cookies, passwords, tokens."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.webapp.browsers import ALL, INSIDE, PAGE, SECRET, admitted, browser, form_token, signed_in, submit, token_of
from themescope.core.errors import AccessError
from themescope.core.records.stored import Role
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.jobs.services.people import LONGEST_NAME
from themescope.webapp.routes import sign_in
from themescope.webapp.routes.middleware import PUBLIC, REFUSED
from themescope.webapp.routes.sign_in import EXPIRED
from themescope.webapp.shared.people import browser_token, cookie, new_token
from themescope.webapp.shared.people import form_token as form_token_of

pytestmark = pytest.mark.usefixtures("cheap_passwords")


def cookie_of(client: TestClient) -> tuple[str, str]:
    ((name, value),) = client.cookies.items()
    return name, value


def send(client: TestClient, name: str, value: str) -> None:
    client.cookies.clear()
    client.cookies.set(name, value)


def _forged(store: Store, client: TestClient) -> None:
    name, value = cookie_of(client)
    send(client, name, value[:-4] + ("AAAA" if value[-4:] != "AAAA" else "BBBB"))


def _named(store: Store, client: TestClient) -> None:
    people.sign_out(store, token_of(client))
    people.remember_name(store, token_of(client), "ada")


ENDS: dict[str, Callable[[Store, TestClient], object]] = {
    "nobody": lambda s, c: c.cookies.clear(),
    "unsigned cookie": lambda s, c: send(c, cookie_of(c)[0], cookie_of(c)[1].rpartition(".")[0]),
    "forged cookie": _forged,
    "guessed session": lambda s, c: send(c, *cookie(new_token(), secure=False)),
    "name that was only entered": _named,
    "signed out in another tab": lambda s, c: people.sign_out(s, token_of(c)),
}


@pytest.mark.parametrize("end", ENDS)
def test_only_who_has_a_session_is_let_in(shared: Store, end: str) -> None:
    client = signed_in()
    assert admitted(client) == ALL
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


NEW = "another long secret"


def change(client: TestClient, current: str = SECRET, new: str = NEW, again: str = "", **fields: str) -> Any:
    form = {"change": "password", "current": current, "new": new, "again": again or new}
    token = form_token(client.get("/account"))
    return client.post("/account", data={"form_token": token, **form, **fields})


def test_a_new_password_ends_the_sessions_of_other_browsers(shared: Store) -> None:
    own, other, somebody_else = signed_in("lea"), signed_in("lea"), signed_in("ada")
    before = token_of(own)
    answer = change(own)
    assert answer.status_code == 200 and sign_in.CHANGED in answer.text
    assert token_of(own) != before and people.session_of(shared, before) is None
    assert "websocket" in admitted(own) and admitted(other) == set() and admitted(somebody_else)
    assert submit(browser(), "lea").status_code == 401 and submit(browser(), "lea", NEW).status_code == 303
    with shared.reading() as r:
        assert ("lea", "password changed", "lea") in [(e.author, e.action, e.person) for e in r.audit_log.latest(9)]
    assert change(own, current=NEW, new="a third secret").status_code == 200  # the form of the answer is valid


WRONG: dict[str, tuple[dict[str, str], int, str]] = {
    "another current password": ({"current": "wrong password"}, 401, sign_in.WRONG),
    "two new passwords": ({"again": "yet another secret"}, 422, sign_in.DIFFERENT),
    "too short": ({"new": "short"}, 422, "A password must have 10 to 1,000 characters."),
    "own name": ({"new": "Lea.Lea.Lea.1"}, 422, "A password must not consist of the name"),
    "name of the product": ({"new": "Themescope1!"}, 422, "A password must not consist of the name"),
    "another form": ({"form_token": "x"}, 403, EXPIRED),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_and_change_nothing(shared: Store, case: str) -> None:
    fields, status, message = WRONG[case]
    client, other = signed_in("lea"), signed_in("lea")
    answer = change(client, **fields)
    assert answer.status_code == status and message in answer.text
    assert all(value not in answer.text for key, value in fields.items() if key != "form_token")
    assert admitted(client) == admitted(other) != set()
    assert submit(browser(), "lea").status_code == 303


def test_attempts_with_the_current_password_are_limited(shared: Store) -> None:
    client = signed_in("lea")
    statuses = [change(client, current="wrong password").status_code for _ in range(4)]
    assert statuses == [401, 401, 401, 429]
    assert change(client).status_code == 429 and submit(browser(), "lea").status_code == 429


def test_sessions_are_listed_and_ended(shared: Store) -> None:
    client, other, somebody_else = signed_in("lea"), signed_in("lea"), signed_in("ada")
    page = client.get("/account")
    assert re.findall(r"<li>(.*?)<small>", page.text) == ["This browser", "Another browser"]
    done = client.post("/account", data={"form_token": form_token(page), "change": "sessions"})
    assert done.status_code == 200 and sign_in.SIGNED_OUT in done.text
    assert re.findall(r"<li>(.*?)<small>", done.text) == ["This browser"]
    assert admitted(client) and admitted(other) == set() and admitted(somebody_else)


def tokens(client: TestClient, change: str, **fields: str) -> Any:
    return client.post("/account", data={"form_token": form_token(client.get("/account")), "change": change, **fields})


def test_tokens_are_created_shown_once_and_revoked(shared: Store) -> None:
    lea, ada = signed_in("lea"), signed_in("ada")
    page = tokens(lea, "create-token", name="<b>notebook</b>", days="30", current=SECRET)
    assert page.status_code == 200 and sign_in.CREATED in page.text
    secret = re.search(r'<output aria-label="New token">(themescope_[\w-]+)</output>', page.text)[1]  # type: ignore[index]
    program = browser(headers={"authorization": f"Bearer {secret}"})
    assert program.get("/api/v1/me").json()["name"] == "lea"
    page = lea.get("/account")
    assert secret not in page.text and "&lt;b&gt;notebook&lt;/b&gt;" in page.text and "Last used on" in page.text
    assert "&lt;b&gt;notebook" not in ada.get("/account").text
    assert tokens(ada, "revoke-token", token="1").status_code == 422 and program.get("/api/v1/me").status_code == 200
    assert sign_in.REVOKED in tokens(lea, "revoke-token", token="1").text
    assert program.get("/api/v1/me").status_code == 401 and "&lt;b&gt;notebook" not in lea.get("/account").text
    with shared.reading() as r:
        events = [(e.author, e.action, e.person) for e in r.audit_log.latest(20)]
    assert {("lea", "token created", "lea"), ("lea", "token revoked", "lea")} <= {*events}


@pytest.mark.parametrize(
    "fields",
    [
        {"change": "create-token", "name": " ", "days": "30", "current": SECRET},
        {"change": "create-token", "name": "x", "days": "31"},
        {"change": "create-token", "name": "x"},
        {"change": "revoke-token", "token": "x"},
        {"change": "revoke-token", "token": "9" * 30},
        {"change": "revoke-token"},
    ],
)
def test_mistakes_about_tokens_are_told(shared: Store, fields: dict[str, str]) -> None:
    answer = tokens(signed_in("lea"), **fields)
    assert answer.status_code == 422 and 'role="alert"' in answer.text
    assert people.tokens_of(shared) == []


def test_a_token_needs_the_password_and_a_new_password_revokes_it(shared: Store) -> None:
    lea = signed_in("lea")
    for wrong in ({}, {"current": "wrong password"}):
        answer = tokens(lea, "create-token", name="x", days="30", **wrong)
        assert answer.status_code == 401 and sign_in.WRONG in answer.text
    assert people.tokens_of(shared) == []
    assert tokens(lea, "create-token", name="x", days="30", current=SECRET).status_code == 200
    other = people.create(shared, "ada", "y")
    assert change(lea).status_code == 200
    assert [one.revoked is None for one in people.tokens_of(shared)] == [False, True]
    people.set_password(shared, "ada", NEW)
    with pytest.raises(AccessError):
        people.actor_of(shared, other.secret, "")


def test_tokens_need_a_session_and_the_token_of_the_form(shared: Store) -> None:
    client = signed_in("lea")
    wanted = {"change": "create-token", "name": "x", "days": "30"}
    assert client.post("/account", data={**wanted, "form_token": "x"}).status_code == 403
    assert browser().post("/account", data=wanted).status_code == 403
    assert people.tokens_of(shared) == []


def test_who_signs_in_through_an_organisation_has_no_password_to_change(shared: Store) -> None:
    people.add(shared, "oda", people.Role.VIEWER, None)
    client = browser()
    send(client, *cookie(people.sign_in_by_organisation(shared, "oda"), secure=False))
    page = client.get("/account")
    assert page.status_code == 200 and re.search(r'action="/account" hidden>\s*<input[^>]*>\s*<input', page.text)
    assert change(client).status_code == 401
    assert tokens(client, "create-token", name="x", days="30").status_code == 200
    with shared.reading() as r:
        assert r.logins.of("oda") == ""


def test_without_a_session_there_is_no_account(shared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in("lea")
    form = {"form_token": form_token(client.get("/account")), "change": "password", "current": SECRET}
    people.sign_out(shared, token_of(client))
    assert client.post("/account", data={**form, "new": NEW, "again": NEW}).status_code == 403
    assert submit(browser(), "lea").status_code == 303
    monkeypatch.setenv("THEMESCOPE_LOGIN", "auto")
    assert browser().get("/account").headers["location"] == "/sign-in"
