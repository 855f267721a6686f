"""Signing in with a real browser: a reload and another tab stay in, signing out ends it, roles are told apart."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import serving
from tests.e2e.hands import menu, using
from tests.homes import MakeHome
from themescope.core.records.stored import Role
from themescope.db.store import Store
from themescope.jobs.services import people

SECRET = "correct horse battery"
HOSTILE = "<img src=x onerror='window.pwned=1'> **b** [x](x:y) :red[r]"


@pytest.fixture
def shared(make_home: MakeHome) -> Iterator[str]:
    """The address of a server that asks people to sign in."""

    def fill(store: Store) -> None:
        for name, role in (("ada", Role.ADMIN), ("val", Role.VIEWER), (HOSTILE, Role.LABELLER)):
            people.add(store, name, role, SECRET)

    home = make_home(fill)
    with serving(home, THEMESCOPE_LOGIN="always") as url:
        yield url
    log = (home / "log.txt").read_text(encoding="utf-8", errors="replace")
    assert SECRET not in log and "wrong password" not in log


def sign_in(page: Page, name: str, password: str = SECRET) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_people_sign_in_and_out(shared: str, tab: Page) -> None:
    with using(tab, shared):
        other = tab.context.new_page()
        with using(other, shared):
            in_and_out(tab, other, shared)
        other.close()


def in_and_out(page: Page, other: Page, url: str) -> None:
    """``other`` is a tab of the same browser."""
    page.goto(f"{url}/people", wait_until="commit")
    sign_in(page, "ada", "wrong password")
    expect(page.get_by_role("alert")).to_have_text("Wrong name or password.")
    expect(page.get_by_label("Name", exact=True)).to_have_value("ada")
    sign_in(page, "ada")
    expect(page.get_by_role("heading", name="People", exact=True)).to_be_visible()
    with menu(page) as opened:
        expect(opened.get_by_text("ada admin")).to_be_visible()
    (cookie,) = (c for c in page.context.cookies() if str(c["name"]).startswith("themescope-"))
    assert cookie["httpOnly"] and cookie["sameSite"] == "Lax" and "themescope-" not in page.evaluate("document.cookie")
    page.goto(f"{url}/people?{urlencode({'people_member': HOSTILE})}", wait_until="commit")
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert page.evaluate("window.pwned") is None
    other.goto(f"{url}/texts", wait_until="commit")
    expect(other.get_by_role("heading", name="Texts")).to_be_visible()
    page.locator(".st-key-frame-menu").get_by_role("button").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password", exact=True)).to_be_visible()
    # The open page notices within seconds, by what it draws anew, and shows nothing else.
    expect(other.get_by_text("You have signed out in another tab")).to_be_visible()
    expect(other.get_by_role("link", name="Import", exact=True)).to_have_count(0)
    expect(other.get_by_text("encountered an error")).to_have_count(0)
    other.get_by_role("link", name="Sign in").click()
    sign_in(other, "val")
    other.goto(f"{url}/import", wait_until="commit")
    expect(other.get_by_text("Importing requires the coder role.")).to_be_visible()
    with menu(other) as opened:
        expect(opened.get_by_role("link", name="Jobs")).to_have_count(1)
        expect(opened.get_by_role("link", name="People")).to_have_count(0)
