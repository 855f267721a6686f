"""Signing in with a real browser: a reload and another tab stay in, signing out ends it, roles are told apart."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import HOSTILE_NAME, SECRET, App
from tests.e2e.hands import menu, using


def sign_in(page: Page, name: str, password: str = SECRET) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture
def tabs(shared: App, tab: Page) -> Iterator[tuple[Page, Page]]:
    other = tab.context.new_page()
    with using(tab, shared.url), using(other, shared.url):
        yield tab, other
    other.close()


def test_people_sign_in_and_out(shared: App, tabs: tuple[Page, Page]) -> None:
    (page, other), url = tabs, shared.url
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
    page.goto(f"{url}/people?{urlencode({'people_member': HOSTILE_NAME})}", wait_until="commit")
    expect(page.get_by_role("heading", name=HOSTILE_NAME)).to_be_visible()
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
