"""The account page: people change their password, and see and end their sessions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from db.store import Store
from jobs.services import people
from jobs.services import sign_in as service
from tests.webapp.browsers import SECRET, admitted, browser, form_token, signed_in, submit, token_of
from webapp import account
from webapp.plain_pages import EXPIRED

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
    assert answer.status_code == 200 and account.CHANGED in answer.text
    assert token_of(own) != before and service.session_of(shared, before) is None
    assert "websocket" in admitted(own) and admitted(other) == set() and admitted(somebody_else)
    assert submit(browser(), "lea").status_code == 401 and submit(browser(), "lea", NEW).status_code == 303
    with shared.reading() as r:
        assert ("lea", "password changed", "lea") in [(e.author, e.action, e.person) for e in r.audit_log.latest(9)]
    assert change(own, current=NEW, new="a third secret").status_code == 200  # the form of the answer is valid


WRONG: dict[str, tuple[dict[str, str], int, str]] = {
    "another current password": ({"current": "wrong password"}, 401, account.WRONG),
    "two new passwords": ({"again": "yet another secret"}, 422, account.DIFFERENT),
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
    assert done.status_code == 200 and account.SIGNED_OUT in done.text
    assert re.findall(r"<li>(.*?)<small>", done.text) == ["This browser"]
    assert admitted(client) and admitted(other) == set() and admitted(somebody_else)


def test_who_signs_in_through_an_organisation_has_no_password_to_change(shared: Store) -> None:
    people.add(shared, "oda", people.Role.VIEWER, None)
    client = browser()
    client.get("/sign-in")
    from webapp.shared import cookies

    client.cookies.clear()
    client.cookies.set(*cookies.cookie(service.sign_in_by_organisation(shared, "oda"), secure=False))
    page = client.get("/account")
    assert page.status_code == 200 and re.search(r'action="/account" hidden>\s*<input[^>]*>\s*<input', page.text)
    assert change(client).status_code == 401
    with shared.reading() as r:
        assert r.logins.of("oda") == ""


def test_without_a_session_there_is_no_account(shared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in("lea")
    form = {"form_token": form_token(client.get("/account")), "change": "password", "current": SECRET}
    service.sign_out(shared, token_of(client))
    assert client.post("/account", data={**form, "new": NEW, "again": NEW}).status_code == 403
    assert submit(browser(), "lea").status_code == 303
    monkeypatch.setenv("THEMESCOPE_LOGIN", "auto")
    assert browser().get("/account").headers["location"] == "/sign-in"
