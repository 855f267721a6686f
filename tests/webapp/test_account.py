"""The account page: people change their password, see and end their sessions, and manage tokens for programs."""

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.webapp.browsers import SECRET, admitted, browser, form_token, signed_in, submit, token_of
from themescope.core.errors import AccessError
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.webapp.routes import sign_in
from themescope.webapp.routes.sign_in import EXPIRED

pytestmark = pytest.mark.usefixtures("cheap_passwords")
NEW = "another long secret"


def change(client: TestClient, current: str = SECRET, new: str = NEW, again: str = "", **fields: str) -> Any:
    """Fill in the form of the password and send it."""
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
    """Send a form about tokens."""
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
    client.get("/sign-in")
    from themescope.webapp.shared.people import cookie

    client.cookies.clear()
    client.cookies.set(*cookie(people.sign_in_by_organisation(shared, "oda"), secure=False))
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
